//go:build race

package bitwords

import (
	"runtime"
	"unsafe"
)

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
