// Package bitwords has the arrays that filters are made of: it allocates, counts and combines
// words, plainly or atomically, and converts strings and bytes where they lie.
//
// Store is an ordinary store of a 64-bit word that others load atomically at the same time. That
// is right where the compiler makes one store instruction of it, and the processor does not divide
// an aligned one: on all 64-bit platforms of Go. On 32-bit platforms a load may see the halves of
// two stores, so only words whose halves may be seen apart are stored in that way: each bit of
// a filter stands for itself. An atomic store would be as slow as a lock on amd64, as it also
// orders all other stores. With the race detector, which reports an ordinary store during a load,
// Store is atomic.
package bitwords

import (
	"fmt"
	"sync"
)

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

// Fill returns dst[:n], which a batch of package pkg is about to fill. It panics if dst is
// shorter.
func Fill[T any](pkg string, dst []T, n int) []T {
	if len(dst) < n {
		panic(fmt.Sprintf("%s: batch of %d with room for %d results", pkg, n, len(dst)))
	}
	return dst[:n]
}

// Discard calls addBatch for all of hs, in portions, with room for answers that are not read. It is
// an AddBatch whose caller passed no room, and allocates nothing.
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
