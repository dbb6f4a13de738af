//go:build !race

package bitwords

import "unsafe"

// Store sets *word to w by an ordinary store; see the package comment. Other goroutines may load
// the word by atomic.LoadUint64 meanwhile, but not store to it.
func Store(word *uint64, w uint64) { *word = w }

// Race reports whether the race detector runs. RaceRead and RaceWrite tell the detector what
// assembly reads and writes.
const Race = false

func RaceRead(at unsafe.Pointer, bytes int)  {}
func RaceWrite(at unsafe.Pointer, bytes int) {}
