//go:build !linux

package bloom

func newWords(n int) []uint64 { return make([]uint64, n) }
