// Package door gives other packages access to unexported parts of package bloom. Package bloom
// imports door, so door cannot name bloom's types: its type parameters F and S stand for
// bloom.Filter and bloom.SyncFilter. A call with other types panics.
package door

import "github.com/seed79a3ff49/bloom/internal/form"

// Functions has the functions of package bloom that the other packages call through door.
type Functions[F, S any] struct {
	Words  func(*F) (form.Header, []uint64)
	Filter func(form.Header, []uint64, form.Info) *F
	Share  func(*F) *S
	Size   sizer
}

type sizer func(n uint64, p float64, maxWords uint64) (m uint64, k int, bad *form.Param)

var (
	toWords, toFilter, toShare any

	size sizer
)

// Open sets the functions. Package bloom calls Open during its initialization.
func Open[F, S any](f Functions[F, S]) {
	toWords = f.Words
	toFilter = f.Filter
	toShare = f.Share
	size = f.Size
}

// Size is like bloom.Size, for filters of at most maxWords words, but returns the Param that is out
// of range instead of an error.
func Size(n uint64, p float64, maxWords uint64) (m uint64, k int, bad *form.Param) {
	return size(n, p, maxWords)
}

// Words returns the parameters of f and its words, which remain shared with f.
func Words[F any](f *F) (form.Header, []uint64) {
	return toWords.(func(*F) (form.Header, []uint64))(f)
}

// Filter returns a bloom.Filter with the Strategy and K of h. The bloom.Filter retains words.
func Filter[F any](h form.Header, words []uint64, info form.Info) *F {
	return toFilter.(func(form.Header, []uint64, form.Info) *F)(h, words, info)
}

// Share returns a bloom.SyncFilter that takes over the words and the Info of f. The caller must not
// use f afterwards.
func Share[S, F any](f *F) *S { return toShare.(func(*F) *S)(f) }
