package bloomredis

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/seed79a3ff49/bloom"
)

const guavaHeaderSize = 6

type guavaHeader struct {
	Strategy uint8
	K        int
	Words    int
}

func (h guavaHeader) Append(b []byte) []byte {
	b = append(b, h.Strategy, byte(h.K))
	return binary.BigEndian.AppendUint32(b, uint32(h.Words))
}

func (h guavaHeader) Size() int64 { return guavaHeaderSize + 8*int64(h.Words) }

func guavaParseHeader(pkg string, data []byte) (h guavaHeader, err error) {
	if len(data) < 6 {
		return h, bloom.ErrFormat
	}
	n := binary.BigEndian.Uint32(data[2:])
	if data[0] > 1 || data[1] == 0 || n == 0 || n > math.MaxInt32 {
		return h, bloom.ErrFormat
	}
	return guavaHeader{data[0], int(data[1]), int(n)}, nil
}

func (h guavaHeader) String() string {
	return fmt.Sprintf("m = %d, k = %d, strategy = Mitz%d", 64*uint64(h.Words), h.K, 32<<h.Strategy)
}
