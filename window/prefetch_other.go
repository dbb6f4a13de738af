//go:build !amd64 || purego

package window

// prefetch does nothing: the memory is read when it is needed.
func prefetch(words *uint64, x, step, curve, size uint64, pairs int) {}
