package bloomredis

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/seed79a3ff49/bloom"
)

// header is the beginning of Guava's binary form: a byte for the strategy, a byte for k, and four
// big-endian bytes for the number of words.
type header struct {
	strategy bloom.Strategy
	k        int
	words    uint64
}

const headerSize = 6

func (h header) bytes() string {
	start := []byte{byte(h.strategy), byte(h.k)}
	return string(binary.BigEndian.AppendUint32(start, uint32(h.words)))
}

// parseHeader returns false if s is not the header of a filter.
func parseHeader(s string) (h header, ok bool) {
	if len(s) != headerSize {
		return h, false
	}
	h = header{bloom.Strategy(s[0]), int(s[1]), uint64(binary.BigEndian.Uint32([]byte(s[2:])))}
	return h, h.strategy <= bloom.Mitz64 && h.k > 0 && h.words > 0 && h.words <= math.MaxInt32
}

func (h header) m() uint64 { return 64 * h.words }

func (h header) size() int64 { return headerSize + 8*int64(h.words) }

func (h header) String() string {
	return fmt.Sprintf("m = %d, k = %d, strategy = %v", h.m(), h.k, h.strategy)
}

// identity is the value of the identity key: a name and a version, the filter's 8-byte id, 8 bytes
// that Reset changes, and the record as JSON. A filter that another program created has no identity
// at first. If Reset writes one, it has no JSON.
type identity struct {
	id, life, json string
	record
}

// record is what Redis keeps with a filter.
type record struct {
	bloom.Info
	Shards int `json:",omitempty"` // the number of shards, if the filter is one of them
}

const (
	identityName = "bloomredis.Filter "
	identityMark = identityName + "1: "
	noID         = "\x00\x00\x00\x00\x00\x00\x00\x00"
)

func (k record) text() string {
	text, _ := json.Marshal(k) // never fails
	return string(text)
}

// parseIdentity decodes an identity. An empty s stands for a filter that another program created.
func (c caller) parseIdentity(s string) (i identity, err error) {
	if s == "" {
		return identity{id: noID, life: noID}, nil
	}
	text, ok := strings.CutPrefix(s, identityMark)
	switch {
	case !ok && strings.HasPrefix(s, identityName):
		return i, c.errorf("%w: %w: its identity key holds %.24q, want %q",
			bloom.ErrFormat, bloom.ErrVersion, s, identityMark)
	case !ok || len(text) < 16:
		return i, c.errorf("%w: its identity key holds %.24q, which names no filter", bloom.ErrFormat, s)
	}
	i.id, i.life, i.json = text[:8], text[8:16], text[16:]
	if i.json == "" { // another program created the filter, and Reset gave it an identity
		return i, nil
	}
	if err := json.Unmarshal([]byte(i.json), &i.record); err != nil {
		return identity{}, c.errorf("%w: its identity key holds %.40q: %w", bloom.ErrFormat, i.json, err)
	}
	return i, nil
}
