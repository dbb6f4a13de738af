//go:build !race

package bitwords

import "unsafe"

// Store sets *word to w. Others may load it with atomic.LoadUint64 at the same time, and none
// may store to it.
//
// atomic.StoreUint64 would also order it among all other stores, which on amd64 takes as
// long as a lock. By Go's memory model a load finds what some store left there, in each
// machine word: on machines of 32 bits, the halves may be of two stores. With the race
// detector, which reports a plain store beside a load, Store is atomic.
func Store(word *uint64, w uint64) { *word = w }

// Race reports the race detector. RaceRead and RaceWrite tell it what assembly reads and writes.
const Race = false

func RaceRead(at unsafe.Pointer, bytes int)  {}
func RaceWrite(at unsafe.Pointer, bytes int) {}
