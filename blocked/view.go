package blocked

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// View looks keys up in a filter's binary form where it lies: in a cache's value, a part of
// a larger file, a file embedded in the program. It copies nothing. It answers exactly as
// the [Filter] decoded from the same bytes does. It is as fast if the bytes begin at a
// multiple of 8 in memory, on a little-endian machine, and otherwise somewhat slower.
//
// The bytes must stay unchanged for as long as the View is used. A View may be used by
// many goroutines at once. The zero View contains nothing. A View must not be copied.
type View struct {
	_     nocopy.Locker
	data  []byte // the binary form
	body  []byte // the bytes of its words
	lines int
	info  bloom.Info
	b     splitblock.Blocks // where they lie, or zero if they cannot be used so

	isFile bool
	closed bool // with its File
}

// NewView returns a View of data, which it retains. data is a binary form, which is also
// the content of a file, and no byte more. NewView checks the header and the Info, and
// takes constant time. [View.Verify] checks the rest. Errors wrap [bloom.ErrFormat].
func NewView(data []byte) (*View, error) {
	params, body, info, err := form.Blocked.Parse(data, splitblock.CheckParams)
	if err != nil {
		return nil, err
	}
	v := &View{data: data, body: body, lines: int(params[1]), info: bloom.Info(info)}
	if bitwords.Aligned(body) {
		v.b = splitblock.Of(bitwords.WordsOf(body, 0, len(body)/8), v.lines)
	}
	return v, nil
}

// use returns v, which is nil in a zero File.
func (v *View) use() *View {
	if v == nil || v.closed {
		panic("blocked: use of a File that is closed or zero")
	}
	return v
}

// Contains reports whether key may have been added; see [Filter.Contains].
func (v *View) Contains(key []byte) bool {
	if v.use().b.Lines > 0 {
		return v.b.ContainsKey(key)
	}
	return v.contains(bloom.Sum(key))
}

// ContainsString is Contains of key's bytes, without copying them.
func (v *View) ContainsString(key string) bool { return v.Contains(bitwords.BytesOf(key)) }

// ContainsHash is Contains by digest.
func (v *View) ContainsHash(h bloom.Hash) bool {
	if v.use().b.Lines > 0 {
		return v.b.Contains(h)
	}
	return v.contains(h)
}

// ContainsBatch sets found[i] to ContainsHash of hs[i]. It panics if found is shorter than
// hs.
func (v *View) ContainsBatch(found []bool, hs []bloom.Hash) {
	v.use()
	found = bitwords.Fill("blocked", found, len(hs))
	if v.b.Lines > 0 {
		v.b.ContainsBatch(found, hs)
		return
	}
	for i, h := range hs {
		found[i] = v.contains(h)
	}
}

// contains is ContainsHash of words as they are in a binary form, wherever they lie.
func (v *View) contains(h bloom.Hash) bool {
	for l := range v.lines {
		at := splitblock.Bytes * splitblock.Block(h, l, len(v.body)/splitblock.Bytes)
		if !splitblock.HasLine(v.body[at:at+splitblock.Bytes], h, l) {
			return false
		}
	}
	return v.lines != 0
}

// M returns the number of bits, a multiple of 256.
func (v *View) M() uint64 { return uint64(len(v.use().body)) * 8 }

// Lines returns the number of blocks in which a key has bits; see [Filter.Lines].
func (v *View) Lines() int { return v.use().lines }

// Info returns the filter's Info.
func (v *View) Info() bloom.Info { return v.use().info }

// SizeBytes returns the length of the binary form in bytes.
func (v *View) SizeBytes() int64 { return int64(len(v.use().data)) }

// Stats reads the whole filter; see [Filter.Stats].
func (v *View) Stats() bloom.Stats {
	defer files.AdviseSequential(v.use().data, v.isFile)()
	var c splitblock.Census
	var buf [512]uint64
	for from := 0; from < len(v.body); from += 8 * len(buf) {
		chunk := v.body[from:min(from+8*len(buf), len(v.body))]
		form.GetWords(buf[:len(chunk)/8], chunk, form.LittleEndian)
		c.Add(buf[:len(chunk)/8])
	}
	return c.Stats(v.lines, v.SizeBytes())
}

// Verify reads all of the bytes and returns an error, which wraps [bloom.ErrFormat], if
// they are not the ones that a filter wrote.
func (v *View) Verify() error {
	if v.use().lines == 0 {
		return nil
	}
	defer files.AdviseSequential(v.data, v.isFile)()
	return form.Blocked.Verify(v.data)
}

// String describes v by its parameters.
func (v *View) String() string {
	if v == nil || v.closed {
		return "blocked.File(closed)"
	}
	return describe(storage.ViewName("blocked", v.isFile), v.M(), v.lines)
}
