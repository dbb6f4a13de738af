package blocked

import (
	"encoding/binary"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// View looks keys up in a filter's binary form where it lies: in a cache's value, a part of
// a larger file, a file embedded in the program. It copies nothing. It answers exactly as
// the [Filter] decoded from the same bytes does. It is as fast if the bytes begin at a
// multiple of 8 in memory, on a little-endian machine, and else somewhat slower.
//
// The bytes must stay unchanged for as long as the View is used. A View may be used by
// many goroutines at once. The zero View contains nothing. A View must not be copied.
type View struct {
	_    nocopy.Locker
	data []byte // the binary form
	body []byte // the bytes of its words
	f    Filter // of these words where they lie, but without words if they cannot be used so
}

// NewView returns a View of data, which it retains. data is a binary form, which is also
// the content of a file, and no byte more. NewView checks the header and the Info, and
// takes constant time. [View.Verify] checks the rest. Errors wrap [bloom.ErrFormat].
func NewView(data []byte) (*View, error) {
	params, body, info, err := form.Blocked.Parse(data, checkParams)
	if err != nil {
		return nil, err
	}
	v := &View{data: data, body: body}
	if memory.Aligned(body) {
		v.f.set(memory.WordsOf(body, 0, len(body)/8), int(params[1]))
	}
	v.f.lines, v.f.info = int(params[1]), bloom.Info(info)
	return v, nil
}

// inPlace reports whether f has the words.
func (v *View) inPlace() bool { return len(v.f.words) > 0 }

// Contains reports whether key may have been added; see [Filter.Contains].
func (v *View) Contains(key []byte) bool {
	if v.inPlace() {
		return v.f.Contains(key)
	}
	return v.contains(bloom.Sum(key))
}

// ContainsString is Contains of key's bytes, without copying them.
func (v *View) ContainsString(key string) bool { return v.Contains(memory.BytesOf(key)) }

// ContainsHash is Contains by digest.
func (v *View) ContainsHash(h bloom.Hash) bool {
	if v.inPlace() {
		return v.f.ContainsHash(h)
	}
	return v.contains(h)
}

// ContainsBatch sets found[i] to ContainsHash of hs[i]. It panics if found is shorter than
// hs.
func (v *View) ContainsBatch(found []bool, hs []bloom.Hash) {
	if v.inPlace() {
		v.f.ContainsBatch(found, hs)
		return
	}
	found = memory.Fill("blocked", found, len(hs))
	for i, h := range hs {
		found[i] = v.contains(h)
	}
}

// contains is ContainsHash of words as they are in a binary form, wherever they lie.
func (v *View) contains(h bloom.Hash) bool {
	values := spread(h)
	for l, value := range values[:v.f.lines] {
		var clear uint64
		at := v.body[8*block(&values, l, len(v.body)/8):]
		for i := range blockWords {
			clear |= mask(value, i) &^ binary.LittleEndian.Uint64(at[8*i:])
		}
		if clear != 0 {
			return false
		}
	}
	return v.f.lines != 0
}

// M returns the number of bits, a multiple of 256.
func (v *View) M() uint64 { return uint64(len(v.body)) * 8 }

// Lines returns the number of blocks in which a key has bits; see [Filter.Lines].
func (v *View) Lines() int { return v.f.lines }

// Info returns the filter's Info.
func (v *View) Info() bloom.Info { return v.f.info }

// SizeBytes returns the length of the binary form in bytes.
func (v *View) SizeBytes() int64 { return int64(len(v.data)) }

// Stats reads the whole filter; see [Filter.Stats].
func (v *View) Stats() bloom.Stats {
	var c census
	var buf [blockWords * 128]uint64
	for from := 0; from < len(v.body); from += 8 * len(buf) {
		chunk := v.body[from:min(from+8*len(buf), len(v.body))]
		form.GetWords(buf[:len(chunk)/8], chunk, form.LittleEndian)
		c.add(buf[:len(chunk)/8])
	}
	return c.stats(v.f.lines, v.SizeBytes())
}

// Verify reads all of the bytes and returns an error, which wraps [bloom.ErrFormat], if
// they are not the ones that a filter wrote.
func (v *View) Verify() error {
	if v.f.lines == 0 {
		return nil
	}
	return form.Blocked.Verify(v.data)
}

// String describes v by its parameters.
func (v *View) String() string { return describe("blocked.View", v.M(), v.f.lines) }
