//go:build !race

package bitwords

import "unsafe"

// Store sets *word to w, with an ordinary store; see the package comment. Others may load the
// word with atomic.LoadUint64 at the same time, but not store to it.
func Store(word *uint64, w uint64) { *word = w }

// Race reports the race detector. RaceRead and RaceWrite tell it what assembly reads and writes.
const Race = false

func RaceRead(at unsafe.Pointer, bytes int)  {}
func RaceWrite(at unsafe.Pointer, bytes int) {}
