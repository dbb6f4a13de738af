// Package memory has the arrays that filters are made of: it allocates, counts and combines
// words, plainly or atomically, and converts strings and bytes where they lie.
package memory

import "slices"

// Words returns n zero words. Large arrays ask the kernel for huge pages; where
// it refuses, they have ordinary ones. It panics or exits as make does where there
// is no memory.
func Words(n int) []uint64 {
	words := make([]uint64, n)
	if n >= hugeBytes/8 {
		adviseHuge(words)
	}
	return words
}

// hugeBytes is the size from which an array asks for huge pages. It has a whole one in it,
// and is past what the second-level TLB of many processors reaches: beyond that, a random
// access walks the page table.
const hugeBytes = 4 << 20

// Extend returns dst with n more elements, and these on their own.
func Extend[T any](dst []T, n int) (all, more []T) {
	all = slices.Grow(dst, n)[:len(dst)+n]
	return all, all[len(dst):]
}

// Clear zeroes words. A garbage collection can begin meanwhile: Go's clear and copy
// are assembly, which nothing interrupts, and take a second for ten gigabytes.
func Clear(words []uint64) {
	for ; len(words) > 0; words = words[min(len(words), chunk):] {
		clearChunk(words[:min(len(words), chunk)])
	}
}

// chunk is how many words are handled without interruption, in some 50 microseconds
// if their pages are fresh.
const chunk = 32 << 10

// A call of a function that is not inlined can be interrupted. A loop with nothing but
// assembly in it cannot.

//go:noinline
func clearChunk(words []uint64) { clear(words) }
