// Package bitwords has the arrays that filters are made of: it allocates, counts and combines
// words, plainly or atomically, and converts strings and bytes without a copy.
//
// Store is an ordinary store of a 64-bit word that other goroutines load atomically. That works on
// all 64-bit platforms of Go: the compiler makes one store instruction of it, and the processor
// does not divide an aligned store. On 32-bit platforms a load may see the halves of two different
// stores, so Store is for words whose halves do not depend on each other, such as the bits of a
// filter. An atomic store also orders all other stores, which makes it as slow as a lock on amd64.
// The race detector reports an ordinary store during a load, so Store is atomic under it.
package bitwords

import (
	"fmt"
	"sync"
)

// Make returns n zero words. For a large array it asks the kernel for huge pages; if the kernel
// refuses, the array has ordinary pages. If there is no memory, Make panics or exits as make does.
func Make(n int) []uint64 {
	words := make([]uint64, n)
	if n >= hugeBytes/8 {
		adviseHuge(words)
	}
	return words
}

// hugeBytes is the least size of an array for which Make asks for huge pages. Such an array has a
// whole huge page in it, and is larger than what the second-level TLB of many processors covers
// with ordinary pages, so a random access would walk the page table.
const hugeBytes = 4 << 20

// Fill returns dst[:n], which a batch of package pkg is about to fill. It panics if dst is shorter.
func Fill[T any](pkg string, dst []T, n int) []T {
	if len(dst) < n {
		panic(fmt.Sprintf("%s: batch of %d with room for %d results", pkg, n, len(dst)))
	}
	return dst[:n]
}

// Discard calls addBatch for all of hs, in portions, and discards the answers. It implements
// AddBatch for a nil added, and does not allocate.
func Discard[H any](hs []H, addBatch func(added []bool, hs []H)) {
	room := discarded.Get().(*[discardedAnswers]bool)
	for len(hs) > 0 {
		n := min(len(hs), len(room))
		addBatch(room[:n], hs[:n])
		hs = hs[n:]
	}
	discarded.Put(room)
}

// discardedAnswers is the length of a portion, in keys.
const discardedAnswers = 4096

var discarded = sync.Pool{New: func() any { return new([discardedAnswers]bool) }}

// Clear zeroes words, in chunks between which a garbage collection can begin. Go's clear is
// assembly, which nothing interrupts, and needs a second for ten gigabytes.
func Clear(words []uint64) {
	for ; len(words) > 0; words = words[min(len(words), chunk):] {
		clearChunk(words[:min(len(words), chunk)])
	}
}

// chunk is the number of words that are cleared without interruption, in about 50 microseconds if
// their pages are fresh.
const chunk = 32 << 10

// clearChunk is not inlined: a call of a Go function can be interrupted, and a loop with nothing
// but assembly in it cannot.
//
//go:noinline
func clearChunk(words []uint64) { clear(words) }
