package foreign

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/bits"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/gunzip"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Spark is a filter of Apache Spark's class org.apache.spark.util.sketch.BloomFilter; a DataFrame's
// stat.bloomFilter makes such filters. Spark 4.0 and earlier versions write form V1; 4.1 and later
// versions usually write V2. [NewSpark] reads both. A Spark must not be copied.
//
// Spark has three kinds of keys. For longs, use AddInt64 and ContainsInt64. Spark treats Ints,
// Shorts and Bytes as longs, so convert them to int64. For strings, use AddString and
// ContainsString, which hash the UTF-8 bytes. For binary keys, use Add and Contains. A string and
// its UTF-8 bytes are the same key.
//
// Spark's hashes are 32 bits long. In a V1 filter with more than about 1e9 bits, the rate of false
// positives may therefore be higher than FPR in Stats. V2 does not have this fault.
//
// The original has neither a JSON form nor a text form, so MarshalJSON and MarshalText return an
// error.
type Spark struct {
	_ nocopy.Locker
	spark
}

type spark struct {
	noText
	table
	version uint32
	seed    uint32 // the seed of the first hash; 0 in V1
}

const (
	sparkV1 = 1
	sparkV2 = 2
)

// NewSpark returns the filter in data, which is the output of writeTo in Spark's BloomFilter.
func NewSpark(data []byte) (*Spark, error) {
	f, err := parseSpark(data)
	if err != nil {
		return nil, decodeError(err)
	}
	return &Spark{spark: f}, nil
}

func parseSpark(data []byte) (spark, error) {
	if gunzip.Begins(data) {
		return spark{}, errZipped
	}
	if len(data) < 12 {
		return spark{}, form.ErrTruncated
	}
	f := spark{version: binary.BigEndian.Uint32(data)}
	k := binary.BigEndian.Uint32(data[4:])
	rest := data[8:]
	switch f.version {
	case sparkV1:
	case sparkV2:
		f.seed = binary.BigEndian.Uint32(rest)
		rest = rest[4:]
	default:
		return spark{}, fmt.Errorf("it starts with % x, not with a 32-bit 1 or 2", data[:4])
	}
	if len(rest) < 4 {
		return spark{}, form.ErrTruncated
	}
	size := binary.BigEndian.Uint32(rest)
	body := rest[4:]
	if size < 1 || size > math.MaxInt32 {
		return spark{}, fmt.Errorf("its number of words, %d, is outside [1, %d]", size, math.MaxInt32)
	}
	m := 64 * uint64(size)
	if err := checkSizes(m, uint64(k)); err != nil {
		return spark{}, err
	}
	if err := checkLength(body, 8*uint64(size)); err != nil {
		return spark{}, err
	}
	words := bitwords.Make(int(size))
	form.GetWords(words, body, form.BigEndian)
	t, err := newTable(words, m, m, uint64(k), int64(len(data)))
	f.table = t
	return f, err
}

// sparkMix mixes a block of a key into h, the state of MurmurHash3_x86_32.
func sparkMix(h, block uint32) uint32 {
	h ^= bits.RotateLeft32(block*0xcc9e2d51, 15) * 0x1b873593
	return bits.RotateLeft32(h, 13)*5 + 0xe6546b64
}

// sparkFinish returns the hash of a key of n bytes. h is the state after its last block.
func sparkFinish(h, n uint32) uint32 {
	h ^= n
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// sparkSum returns the hash of key. It differs from MurmurHash3_x86_32 in the last one to three
// bytes: each of them is a block of its own, sign-extended.
func sparkSum(key []byte, seed uint32) uint32 {
	h := seed
	rest := key
	for len(rest) >= 4 {
		h = sparkMix(h, binary.LittleEndian.Uint32(rest))
		rest = rest[4:]
	}
	for _, b := range rest {
		h = sparkMix(h, uint32(int8(b)))
	}
	return sparkFinish(h, uint32(len(key)))
}

// sparkSumInt64 returns the hash of the eight bytes of key, in little-endian order.
func sparkSumInt64(key int64, seed uint32) uint32 {
	h := sparkMix(seed, uint32(key))
	h = sparkMix(h, uint32(uint64(key)>>32))
	return sparkFinish(h, 8)
}

// sparkIndexes computes a key's indexes before the reduction modulo m. They are sum plus multiples
// of step; if an index is negative, all its bits are inverted.
type sparkIndexes struct {
	sum, step int64
	narrow    bool // the sums are 32-bit, as in V1
}

func (f *spark) indexes(h1, h2 uint32) sparkIndexes {
	if f.version == sparkV1 {
		return sparkIndexes{sum: int64(int32(h1)), step: int64(int32(h2)), narrow: true}
	}
	return sparkIndexes{sum: int64(int32(h1)) * math.MaxInt32, step: int64(int32(h2))}
}

func (x *sparkIndexes) advance() uint64 {
	x.sum += x.step
	if x.narrow {
		x.sum = int64(int32(x.sum))
	}
	return uint64(x.sum ^ x.sum>>63)
}

func (f *spark) contains(h1, h2 uint32) bool {
	x := f.indexes(h1, h2)
	for range f.k {
		if !f.isSet(x.advance()) {
			return false
		}
	}
	return f.k != 0
}

func (f *spark) addSums(h1, h2 uint32) (isNew bool) {
	f.checkMade()
	x := f.indexes(h1, h2)
	for range f.k {
		isNew = f.set(x.advance()) || isNew
	}
	return isNew
}

// Contains reports whether key may have been added. Spark calls it mightContainBinary.
func (f *Spark) Contains(key []byte) bool {
	h1 := sparkSum(key, f.seed)
	return f.contains(h1, sparkSum(key, h1))
}

// ContainsString is like Contains. It does not copy key. Spark calls it mightContainString.
func (f *Spark) ContainsString(key string) bool { return f.Contains(bitwords.BytesOf(key)) }

// ContainsInt64 reports whether key may have been added as a number. Spark calls it
// mightContainLong.
func (f *Spark) ContainsInt64(key int64) bool {
	h1 := sparkSumInt64(key, f.seed)
	return f.contains(h1, sparkSumInt64(key, h1))
}

// Add adds key. It returns true if key was certainly new, and false if it was probably added
// before. Spark calls it putBinary.
func (f *Spark) Add(key []byte) bool {
	h1 := sparkSum(key, f.seed)
	return f.addSums(h1, sparkSum(key, h1))
}

// AddString is like Add. It does not copy key. Spark calls it putString.
func (f *Spark) AddString(key string) bool { return f.Add(bitwords.BytesOf(key)) }

// AddInt64 is like Add, for a number. Spark calls it putLong.
func (f *Spark) AddInt64(key int64) bool {
	h1 := sparkSumInt64(key, f.seed)
	return f.addSums(h1, sparkSumInt64(key, h1))
}

// WriteTo writes f in the form in which it was read. It returns an error if f is zero.
func (f *Spark) WriteTo(w io.Writer) (int64, error) {
	if f.k == 0 {
		return 0, form.NoForm("foreign")
	}
	head := binary.BigEndian.AppendUint32(nil, f.version)
	head = binary.BigEndian.AppendUint32(head, uint32(f.k))
	if f.version == sparkV2 {
		head = binary.BigEndian.AppendUint32(head, f.seed)
	}
	head = binary.BigEndian.AppendUint32(head, uint32(len(f.words)))
	return form.WriteWords(w, head, f.words, form.BigEndian)
}

// String returns the name of f's type, its form and its parameters.
func (f spark) String() string {
	if f.k == 0 {
		return "foreign.Spark(zero)"
	}
	return fmt.Sprintf("foreign.Spark(V%d, m=%d, k=%d)", f.version, f.m, f.k)
}

// LogValue implements slog.LogValuer. The value is the result of String.
func (f spark) LogValue() slog.Value { return slog.StringValue(f.String()) }
