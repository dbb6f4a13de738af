// Package door lets the other packages of this module reach what package bloom does not export.
// bloom imports door to open it, so door cannot name bloom's types: the type parameters F and S
// stand for bloom.Filter and bloom.SyncFilter. A call with other types panics.
package door

import "github.com/seed79a3ff49/bloom/internal/form"

// Functions are what package bloom makes available.
type Functions[F, S any] struct {
	Words  func(*F) (form.Header, []uint64)
	Filter func(form.Header, []uint64, form.Info) *F
	Share  func(*F) *S
	Size   func(n uint64, p float64, maxWords uint64) (m uint64, k int, bad *form.Param)
}

// The fields of Functions.
var (
	toWords, toFilter, toShare any
	size                       func(n uint64, p float64, maxWords uint64) (m uint64, k int, bad *form.Param)
)

// Open sets the functions that this package calls.
func Open[F, S any](f Functions[F, S]) {
	toWords = f.Words
	toFilter = f.Filter
	toShare = f.Share
	size = f.Size
}

// Size returns the results of bloom.Size for filters of at most maxWords words, or a Param that is
// out of range.
func Size(n uint64, p float64, maxWords uint64) (m uint64, k int, bad *form.Param) {
	return size(n, p, maxWords)
}

// Words returns the parameters of f and its words, which are shared with f.
func Words[F any](f *F) (form.Header, []uint64) {
	return toWords.(func(*F) (form.Header, []uint64))(f)
}

// Filter returns a bloom.Filter with h's Strategy and K. It retains words.
func Filter[F any](h form.Header, words []uint64, info form.Info) *F {
	return toFilter.(func(form.Header, []uint64, form.Info) *F)(h, words, info)
}

// Share returns a bloom.SyncFilter that takes over the words and the Info of f, which must not be
// used afterwards.
func Share[S, F any](f *F) *S { return toShare.(func(*F) *S)(f) }
