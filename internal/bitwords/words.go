// Package bitwords has the arrays that filters are made of: it allocates, counts and combines
// words, plainly or atomically, and converts strings and bytes without a copy.
//
// Store is an ordinary store of a 64-bit word that other goroutines load atomically. On the 64-bit
// platforms of Go that works: the compiler emits one store instruction, and the processor does not
// split an aligned store. On 32-bit platforms a load may see halves of two different stores, so
// Store is only for words whose halves are independent, such as the bits of a filter. An atomic
// store would also order all other stores, which on amd64 makes it as slow as a lock. Under the
// race detector, which reports ordinary stores that run with atomic loads, Store is atomic.
package bitwords

import (
	"fmt"
	"sync"
)

// Make returns n zero words. For a large array it asks the kernel for huge pages, and uses ordinary
// ones if the kernel refuses. Without enough memory, it panics or exits as make does.
func Make(n int) []uint64 {
	words := make([]uint64, n)
	if n >= hugeBytes/8 {
		adviseHuge(words)
	}
	return words
}

// hugeBytes is the smallest size of an array for which Make asks for huge pages. Such an array
// contains a whole huge page. With ordinary pages it would exceed the second-level TLB of many
// processors, so that a random access walks the page table.
const hugeBytes = 4 << 20

// Fill returns dst[:n], which a batch of package pkg is about to fill. It panics if dst is shorter.
func Fill[T any](pkg string, dst []T, n int) []T {
	if len(dst) < n {
		tooShort(pkg, len(dst), n)
	}
	return dst[:n]
}

// tooShort is not inlined, so that Fill is.
//
//go:noinline
func tooShort(pkg string, room, n int) {
	panic(fmt.Sprintf("%s: batch of %d with room for %d results", pkg, n, room))
}

// Discard calls addBatch for hs, in portions, and discards the answers. It implements AddBatch for
// a nil added, without an allocation.
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
// assembly, which cannot be interrupted, and needs a second for ten gigabytes.
func Clear(words []uint64) {
	for ; len(words) > 0; words = words[min(len(words), chunk):] {
		clearChunk(words[:min(len(words), chunk)])
	}
}

// chunk is the number of words that are cleared without interruption. If their pages are fresh,
// that takes about 50 microseconds.
const chunk = 32 << 10

// clearChunk is not inlined, because calls of Go functions can be interrupted, and a loop that
// calls only assembly cannot.
//
//go:noinline
func clearChunk(words []uint64) { clear(words) }
