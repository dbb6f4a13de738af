//go:build race

package bitwords

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Store is described in store.go.
func Store(word *uint64, w uint64) { atomic.StoreUint64(word, w) }

// Race reports whether the race detector runs.
const Race = true

// RaceRead tells the race detector what assembly reads.
func RaceRead(at unsafe.Pointer, bytes int) {
	if bytes > 0 {
		runtime.RaceReadRange(at, bytes)
	}
}

// RaceWrite tells the race detector what assembly writes.
func RaceWrite(at unsafe.Pointer, bytes int) {
	if bytes > 0 {
		runtime.RaceWriteRange(at, bytes)
	}
}
