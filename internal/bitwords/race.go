//go:build race

package bitwords

import (
	"runtime"
	"unsafe"
)

// Race reports whether the race detector is on.
const Race = true

// RaceRead tells the race detector what assembly reads.
func RaceRead(p unsafe.Pointer, bytes int) {
	if bytes > 0 {
		runtime.RaceReadRange(p, bytes)
	}
}

// RaceWrite tells the race detector what assembly writes.
func RaceWrite(p unsafe.Pointer, bytes int) {
	if bytes > 0 {
		runtime.RaceWriteRange(p, bytes)
	}
}
