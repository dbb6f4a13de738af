package foreign

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// DCSO is a filter of github.com/DCSO/bloom, in version 1 of its form.
//
// Many goroutines may look keys up at once. Adding needs the filter to itself. The zero
// value contains nothing, and panics when a key is added. A DCSO must not be copied.
type DCSO struct {
	table
	n     uint64 // keys that it is made for
	p     float64
	added uint64 // keys that were new
	data  []byte // the user's
}

const (
	dcsoHead       = 48
	dcsoPrime      = 18446744073709551557 // the largest below 2^64
	dcsoMultiplier = 18446744073709550147 // the next hash is this one times that, modulo dcsoPrime
)

// NewDCSO returns the filter that data holds. The bytes behind it are the user's: the form
// has room for them. WriteTo writes them again. Undo the gzip first that DCSO's WriteFilter adds
// if it is asked to.
func NewDCSO(data []byte) (*DCSO, error) { return decoded(readDCSO(data)) }

func readDCSO(data []byte) (*DCSO, error) {
	if len(data) < dcsoHead {
		return nil, form.ErrTruncated
	}
	var head [6]uint64
	form.GetWords(head[:], data, form.LittleEndian)
	n, p, k, m, added := head[1], math.Float64frombits(head[2]), head[3], head[4], head[5]
	switch {
	case head[0] != 1:
		return nil, fmt.Errorf("it starts with % x, not with a 1 of 64 bits", data[:8])
	case !(p > 0 && p < 1):
		return nil, fmt.Errorf("p = %v is outside (0, 1)", p)
	}
	if err := checkSizes(m, k); err != nil {
		return nil, err
	}
	body, size := data[dcsoHead:], wordsFor(m)
	if size > uint64(len(body)/8) {
		return nil, form.ErrTruncated
	}
	words := bitwords.Make(int(size))
	form.GetWords(words, body, form.LittleEndian)
	f := &DCSO{n: n, p: p, added: added, data: bytes.Clone(body[8*size:])}
	return f, f.init(words, m, m, k, int64(len(data)))
}

// fnv1 returns the hash of hash/fnv.New64.
func fnv1(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = h*1099511628211 ^ uint64(c)
	}
	return h
}

// Contains reports whether key may have been added. It is their Check.
func (f *DCSO) Contains(key []byte) bool { return f.ContainsHash64(fnv1(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (f *DCSO) ContainsString(key string) bool { return f.Contains(bitwords.BytesOf(key)) }

// ContainsHash64 is Contains of the key whose 64-bit FNV-1 hash, as of hash/fnv.New64, is
// the given one.
func (f *DCSO) ContainsHash64(hash uint64) bool {
	hash %= dcsoPrime
	for range f.k {
		hash = hash * dcsoMultiplier % dcsoPrime
		if !f.has(hash) {
			return false
		}
	}
	return f.k != 0
}

// Add adds key. It returns true if the key was certainly new, and false if it was probably
// seen.
func (f *DCSO) Add(key []byte) bool { return f.AddHash64(fnv1(key)) }

// AddString is Add of key's bytes, without copying them.
func (f *DCSO) AddString(key string) bool { return f.Add(bitwords.BytesOf(key)) }

// AddHash64 is Add by hash; see [DCSO.ContainsHash64].
func (f *DCSO) AddHash64(hash uint64) (isNew bool) {
	f.takesKeys()
	hash %= dcsoPrime
	for range f.k {
		hash = hash * dcsoMultiplier % dcsoPrime
		isNew = f.set(hash) || isNew
	}
	if isNew {
		f.added++
	}
	return isNew
}

// WriteTo writes f in DCSO's form. It returns an error if f is zero.
func (f *DCSO) WriteTo(w io.Writer) (int64, error) {
	if f.k == 0 {
		return 0, form.NoForm("foreign")
	}
	head := []uint64{1, f.n, math.Float64bits(f.p), uint64(f.k), f.m, f.added}
	n, err := form.WriteWords(w, form.AppendWords(nil, head, form.LittleEndian), f.words, form.LittleEndian)
	if err != nil {
		return n, err
	}
	more, err := form.WriteFull(w, f.data)
	return n + int64(more), err
}
