//go:build !race

package bitwords

import (
	"unsafe"

	"github.com/seed79a3ff49/bloom/internal/limits"
)

// Race reports whether the race detector runs, or package orders, to which ordinary stores are
// invisible. RaceRead and RaceWrite tell the detector what assembly reads and writes.
const Race = limits.Explored

func RaceRead(p unsafe.Pointer, bytes int)  {}
func RaceWrite(p unsafe.Pointer, bytes int) {}
