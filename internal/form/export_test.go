package form

import "io"

// The tests are in another package, because they need package filtertest, which imports this one.
// They use these names.

var (
	Kinds    = kinds
	BestRice = bestRice
)

func NewKind(pkg string, letter byte, params int) *Kind {
	return &Kind{pkg, pkg + ".Filter", letter, params}
}

func (k *Kind) Letter() byte { return k.letter }

var ReadWordCount = func(k *Kind, r io.Reader, check Check) (int, error) {
	h, err := k.readHead(r, check)
	return h.words, err
}
