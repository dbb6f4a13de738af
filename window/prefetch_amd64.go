//go:build !purego

package window

//go:noescape
func prefetch(words *uint64, x, step, curve, size uint64, pairs int)
