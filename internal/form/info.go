package form

import (
	"cmp"
	"net/url"
	"sync"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"
)

// Info has the fields of bloom.Info, so that each converts to the other.
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

// Check returns which field of i is out of range, or nil if i can be saved.
func (i Info) Check() *Param {
	if !(i.P >= 0 && i.P < 1) {
		return NewParam("Info.P", i.P, "outside [0, 1)")
	}
	for _, text := range []struct {
		name  string
		value string
		most  int
	}{
		{"Info.Hash", i.Hash, maxHashLen},
		{"Info.Comment", i.Comment, maxCommentLen},
		{"Info.Meta", i.Meta, maxMetaLen},
	} {
		if n := len(text.value); n > text.most {
			return NewParam("len("+text.name+")", n, "more than %d", text.most)
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

// Fits returns an error that begins with pkg and wraps ErrMismatch if i and j both have a Hash and
// these differ.
func (i Info) Fits(pkg string, j Info) error {
	if i.Hash != "" && j.Hash != "" && i.Hash != j.Hash {
		return Mismatch(pkg, "hash", i.Hash, j.Hash)
	}
	return nil
}

// Folded returns i without N and P, which do not describe a smaller filter with the same keys.
func (i Info) Folded() Info {
	i.N, i.P = 0, 0
	return i
}

// Kept holds the Info of a filter. Many goroutines may call its methods concurrently. Copies of a
// filter by value share the Info of the original.
//
// The pointer is a plain one, so that reflect.DeepEqual compares what it points to. It is nil in
// the zero filter, until Update sets it.
type Kept struct{ box *box }

type box struct {
	changes sync.Mutex // held while a new Info is made, so that no change is lost
	mu      sync.Mutex // guards info; a change that takes long does not keep Get waiting
	info    Info
}

// Keep returns a Kept that holds i.
func Keep(i Info) Kept { return Kept{&box{info: i}} }

// Clone returns an independent Kept with k's Info.
func (k *Kept) Clone() Kept {
	if k.load() == nil {
		return Kept{}
	}
	return Keep(k.Get())
}

// Get returns the Info.
func (k *Kept) Get() Info {
	b := k.load()
	if b == nil {
		return Info{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.info
}

// Update calls update with a copy of the Info, which becomes the Info when update returns. If
// update panics, the Info stays as it was.
func (k *Kept) Update(update func(*Info)) {
	if k.load() == nil {
		k.swap(new(box)) // or another goroutine has set the pointer
	}
	_ = k.change(func(i Info) (Info, error) {
		update(&i)
		return i, nil
	})
}

// Join returns an error if Info.Fits does. Otherwise, if k has no Hash, it gets the Hash of j.
func (k *Kept) Join(pkg string, j Info) error {
	return k.change(func(old Info) (Info, error) {
		err := old.Fits(pkg, j)
		old.Hash = cmp.Or(old.Hash, j.Hash)
		return old, err
	})
}

// Replace replaces the Info with i. If i has no Hash, the old Hash remains.
func (k *Kept) Replace(i Info) {
	_ = k.change(func(old Info) (Info, error) {
		i.Hash = cmp.Or(i.Hash, old.Hash)
		return i, nil
	})
}

// change replaces the Info with the result of newInfo, unless newInfo fails or k is the zero Kept.
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

// swap sets the pointer if it is nil.
func (k *Kept) swap(b *box) {
	atomic.CompareAndSwapPointer(k.pointer(), nil, unsafe.Pointer(b))
}

// pointer returns the address of k's pointer for package atomic. An atomic.Pointer would hide it in
// an unsafe.Pointer, which reflect.DeepEqual compares by address.
func (k *Kept) pointer() *unsafe.Pointer { return (*unsafe.Pointer)(unsafe.Pointer(&k.box)) }
