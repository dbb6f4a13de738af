package form

import (
	"cmp"
	"net/url"
	"sync"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"
)

// Info has the fields of bloom.Info, so that the two types can be converted to each other.
type Info struct {
	N       uint64
	P       float64
	Hash    string
	Comment string
	Meta    string
}

const (
	maxHashLen    = 255
	maxCommentLen = 4096
	maxMetaLen    = 4096
)

// Check returns a Param for a field of i that is out of range, or nil if i can be saved.
func (i Info) Check() *Param {
	if !(i.P >= 0 && i.P < 1) {
		return NewParam("Info.P", i.P, "outside [0, 1)")
	}
	for _, text := range []struct {
		name  string
		value string
		limit int
	}{
		{"Info.Hash", i.Hash, maxHashLen},
		{"Info.Comment", i.Comment, maxCommentLen},
		{"Info.Meta", i.Meta, maxMetaLen},
	} {
		if n := len(text.value); n > text.limit {
			return NewParam("len("+text.name+")", n, "more than %d", text.limit)
		}
		if !utf8.ValidString(text.value) {
			return NewParam(text.name, text.value, "not UTF-8")
		}
	}
	if values, err := url.ParseQuery(i.Meta); err != nil || values.Encode() != i.Meta {
		return NewParam("Info.Meta", i.Meta, "not what url.Values.Encode returns")
	}
	return nil
}

// Fits returns an error if i and j have different Hashes, neither of which is empty. The error
// begins with pkg and wraps ErrMismatch.
func (i Info) Fits(pkg string, j Info) error {
	if i.Hash != "" && j.Hash != "" && i.Hash != j.Hash {
		return Mismatch(pkg, "hash", i.Hash, j.Hash)
	}
	return nil
}

// Folded returns i without N and P, which are wrong for a folded filter: it is smaller, but has the
// same keys.
func (i Info) Folded() Info {
	i.N, i.P = 0, 0
	return i
}

// Kept holds the Info of a filter. Its methods may be called concurrently. If a filter is copied by
// value, the copy shares the Info of the original, unless the original is zero.
//
// The pointer is not an atomic.Pointer, so that reflect.DeepEqual compares what it points to. It is
// nil in a zero filter until the first Update.
type Kept struct{ box *box }

type box struct {
	changes sync.Mutex // held while a new Info is computed, so that no change is lost
	mu      sync.Mutex // guards info; Get locks only this one
	info    Info
}

func Keep(i Info) Kept { return Kept{&box{info: i}} }

// Clone returns an independent copy of k.
func (k *Kept) Clone() Kept {
	if k.load() == nil {
		return Kept{}
	}
	return Keep(k.Get())
}

func (k *Kept) Get() Info {
	b := k.load()
	if b == nil {
		return Info{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.info
}

// Update calls update with a copy of the Info, and then stores the copy. If update panics, the Info
// remains unchanged.
func (k *Kept) Update(update func(*Info)) {
	if k.load() == nil {
		k.swap(new(box)) // if swap fails, another goroutine has set the pointer
	}
	_ = k.change(func(i Info) (Info, error) {
		update(&i)
		return i, nil
	})
}

// Join returns the error of Info.Fits, if any. Otherwise, it gives k the Hash of j if k has none.
// Join does nothing if k is zero.
func (k *Kept) Join(pkg string, j Info) error {
	return k.change(func(old Info) (Info, error) {
		err := old.Fits(pkg, j)
		old.Hash = cmp.Or(old.Hash, j.Hash)
		return old, err
	})
}

// Replace replaces the Info with i, but keeps the Hash if i has none. It does nothing if
// k is zero.
func (k *Kept) Replace(i Info) {
	_ = k.change(func(old Info) (Info, error) {
		i.Hash = cmp.Or(i.Hash, old.Hash)
		return i, nil
	})
}

// change replaces the Info with the result of newInfo. It does nothing if newInfo returns an error,
// or if k is zero.
func (k *Kept) change(newInfo func(Info) (Info, error)) error {
	b := k.load()
	if b == nil {
		return nil
	}
	b.changes.Lock()
	defer b.changes.Unlock()
	i, err := newInfo(k.Get())
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.info = i
	return nil
}

func (k *Kept) load() *box { return (*box)(atomic.LoadPointer(k.pointer())) }

func (k *Kept) swap(b *box) {
	atomic.CompareAndSwapPointer(k.pointer(), nil, unsafe.Pointer(b))
}

func (k *Kept) pointer() *unsafe.Pointer { return (*unsafe.Pointer)(unsafe.Pointer(&k.box)) }
