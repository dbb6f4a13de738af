// Package bitwords has the arrays that filters are made of: it allocates, counts and combines
// words, plainly or atomically, and converts strings and bytes where they lie.
package bitwords

import "fmt"

// Make returns n zero words. Large arrays ask the kernel for huge pages; where
// it refuses, they have ordinary ones. It panics or exits as make does where there
// is no memory.
func Make(n int) []uint64 {
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

// Fill returns the n elements of dst that a batch of package pkg fills. It panics where dst is
// shorter.
func Fill[T any](pkg string, dst []T, n int) []T {
	if len(dst) < n {
		panic(fmt.Sprintf("%s: batch of %d with room for %d results", pkg, n, len(dst)))
	}
	return dst[:n]
}

// Answers is Fill of what AddBatch answers: nil where nobody wants to know.
func Answers(pkg string, added []bool, n int) []bool {
	if added == nil {
		return make([]bool, n)
	}
	return Fill(pkg, added, n)
}

// Clear zeroes words. A garbage collection can begin in between: Go's clear and copy
// are assembly, which nothing interrupts, and take a second for ten gigabytes.
func Clear(words []uint64) {
	for ; len(words) > 0; words = words[min(len(words), chunk):] {
		clearChunk(words[:min(len(words), chunk)])
	}
}

// chunk is the number of words that are handled without interruption, in some 50 microseconds
// if their pages are fresh.
const chunk = 32 << 10

// A call of a function that is not inlined can be interrupted. A loop with nothing but
// assembly in it cannot.

//go:noinline
func clearChunk(words []uint64) { clear(words) }
