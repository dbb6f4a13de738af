//go:build race

package bitwords

import (
	"runtime"
	"unsafe"
)

// Race is true; see norace.go.
const Race = true

// RaceRead tells the race detector that assembly reads the given number of bytes at p.
func RaceRead(p unsafe.Pointer, bytes int) {
	if bytes > 0 {
		runtime.RaceReadRange(p, bytes)
	}
}

// RaceWrite tells the race detector that assembly writes the given number of bytes at p.
func RaceWrite(p unsafe.Pointer, bytes int) {
	if bytes > 0 {
		runtime.RaceWriteRange(p, bytes)
	}
}
