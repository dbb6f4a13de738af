package bloom

import (
	"encoding/binary"
	"math/bits"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/guava"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// View looks keys up in a filter's binary form where it lies: in a cookie, a
// cache's value, a file embedded in the program. It copies nothing. It answers
// exactly as the [Filter] decoded from the same bytes does.
//
// The bytes must stay unchanged for as long as the View is used. A View may be
// used by many goroutines at once. The zero View contains nothing. A View must not be
// copied.
type View struct {
	_ nocopy.Locker
	layout
	body   []byte // the bytes of its words
	data   []byte // all that NewView was given
	isFile bool
	closed bool // with its File
}

// layout says where the bits of a key lie in Guava's binary form, behind the header.
type layout struct {
	words      uint64
	reciprocal uint64 // of words; see guava.Locate
	k          int
	strategy   Strategy
	info       Info
}

func layoutOf(h form.Header, info form.Info) layout {
	return layout{uint64(h.Words), guava.Reciprocal(h.Words), h.K, Strategy(h.Strategy), Info(info)}
}

// locate returns the byte, and the position in it, of the bit that x selects. Words are
// big-endian, so bit 0 is in the last of their bytes.
func (l *layout) locate(x uint64) (at int64, pos uint64) {
	word, pos := guava.Locate(x, l.words, l.reciprocal)
	return 8*int64(word) + 7 - int64(pos/8), pos % 8
}

// NewView returns a View of data, which it retains. It accepts what
// [Filter.UnmarshalBinary] does: a binary form, or the content of a file that
// [Filter.SaveFile] wrote, and no byte more. Its errors wrap [ErrFormat]. It takes
// constant time for a binary form. It reads all of a file, to check the checksum.
func NewView(data []byte) (*View, error) { return newView(data, true) }

// newView is NewView, and reads the words only if whole.
func newView(data []byte, whole bool) (*View, error) {
	h, body, info, err := parse(data, whole)
	if err != nil {
		return nil, err
	}
	return &View{layout: layoutOf(h, info), body: body, data: data}, nil
}

// opened returns v, whose bytes are there. v is nil in a zero File.
func (v *View) opened() *View {
	if v == nil || v.closed {
		panic("bloom: use of a File that is closed or zero")
	}
	return v
}

// Contains reports whether key may have been added; see [Filter.Contains].
func (v *View) Contains(key []byte) bool { return v.ContainsHash(Sum(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (v *View) ContainsString(key string) bool { return v.ContainsHash(SumString(key)) }

// ContainsHash is Contains by digest.
func (v *View) ContainsHash(h Hash) bool {
	x, x32 := h.h1, newMitz32(h)
	for range v.opened().k {
		if v.strategy == Mitz32 {
			x = x32.next()
		}
		if at, pos := v.locate(x); v.body[at]>>pos&1 == 0 {
			return false
		}
		x += h.h2
	}
	return v.k != 0
}

// ContainsBatch sets found[i] to ContainsHash of hs[i]. It panics if found is shorter than
// hs.
func (v *View) ContainsBatch(found []bool, hs []Hash) {
	v.opened()
	found = bitwords.Fill("bloom", found, len(hs))
	for i, h := range hs {
		found[i] = v.ContainsHash(h)
	}
}

// M returns the number of bits, a multiple of 64.
func (v *View) M() uint64 { return 64 * v.opened().words }

// K returns the number of hashes.
func (v *View) K() int { return v.opened().k }

// Strategy returns how indexes are made.
func (v *View) Strategy() Strategy { return v.opened().strategy }

// Info returns the filter's Info. It is zero if data was not the content of a file.
func (v *View) Info() Info { return v.opened().info }

// SizeBytes returns the length of the binary form in bytes.
func (v *View) SizeBytes() int64 {
	if v.opened().k == 0 {
		return 0
	}
	return form.HeaderSize + int64(len(v.body))
}

// String describes v by its parameters, without its keys.
func (v *View) String() string {
	if v == nil || v.closed {
		return "bloom.File(closed)"
	}
	return describe(storage.ViewName("bloom", v.isFile), v.M(), v.k, v.strategy)
}

// Stats reads the whole filter, to count the bits set.
func (v *View) Stats() Stats {
	body, ones := v.opened().body, uint64(0)
	for i := 0; i < len(body); i += 8 {
		ones += uint64(bits.OnesCount64(binary.NativeEndian.Uint64(body[i:])))
	}
	return StatsOf(v.M(), v.k, ones)
}
