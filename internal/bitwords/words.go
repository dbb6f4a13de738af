// Package bitwords provides the arrays of words that filters are made of. It also converts strings
// and bytes without copying them.
//
// [Store] is an ordinary store of a 64-bit word that other goroutines load atomically. On Go's
// 64-bit platforms this is safe: the compiler emits one store instruction, and the processor does
// not split an aligned store. On 32-bit platforms a load may see halves of two different stores, so
// Store is only for words with independent halves, such as the bits of a filter. On amd64, an
// atomic store is much slower, because it is an XCHG instruction. The race detector would report an
// ordinary store during an atomic load, and package orders would not see it, so Store is atomic in
// builds for these two.
package bitwords

import (
	"fmt"
	"sync"
)

// Make returns n zero words. For a large array on Linux, it asks the kernel for huge pages; if the
// kernel refuses, the array has ordinary ones. If memory runs out, Make panics or ends the program,
// as make does.
func Make(n int) []uint64 {
	words := make([]uint64, n)
	if n >= hugeBytes/8 { // speed
		adviseHuge(words) // speed
	}
	return words
}

// hugeBytes is the length in bytes of the shortest array for which Make asks for huge pages. Such
// an array contains at least one whole huge page. With ordinary pages, many of its addresses may be
// missing from the processor's TLB.
const hugeBytes = 4 << 20

// Fill returns dst[:n] for the results of a batch. If len(dst) < n, Fill panics with a message that
// begins with pkg.
func Fill[T any](pkg string, dst []T, n int) []T {
	if len(dst) < n {
		tooShort(pkg, len(dst), n)
	}
	return dst[:n]
}

// tooShort is not inlined, so that Fill can be.
//
//go:noinline
func tooShort(pkg string, room, n int) {
	panic(fmt.Sprintf("%s: batch of %d keys with room for %d results", pkg, n, room))
}

// Discard calls addBatch for consecutive portions of hs and discards the answers, as AddBatch does
// if added is nil.
func Discard[H any](hs []H, addBatch func(added []bool, hs []H)) {
	room := discarded.Get().(*[discardedAnswers]bool)
	for len(hs) > 0 {
		n := min(len(hs), len(room))
		addBatch(room[:n], hs[:n])
		hs = hs[n:]
	}
	discarded.Put(room)
}

const discardedAnswers = 4096

var discarded = sync.Pool{New: func() any { return new([discardedAnswers]bool) }}

// Clear zeroes words in chunks, so that a garbage collection can begin between two chunks. Go's
// clear is assembly that cannot be interrupted, and takes a second for ten gigabytes.
func Clear(words []uint64) {
	for ; len(words) > 0; words = words[min(len(words), chunk):] {
		clearChunk(words[:min(len(words), chunk)])
	}
}

// chunk is the largest number of words that Clear zeroes without interruption. Clearing a chunk of
// unused pages takes about 50 microseconds.
const chunk = 32 << 10

// clearChunk is not inlined, so the runtime can interrupt a loop that calls it.
//
//go:noinline
func clearChunk(words []uint64) { clear(words) }
