//go:build !race

package bitwords

import (
	"unsafe"

	"github.com/seed79a3ff49/bloom/internal/limits"
)

// Race is true with the race detector, and with package orders, which does not see ordinary stores.
// RaceRead and RaceWrite tell the detector what assembly reads and writes.
const Race = limits.Explored

func RaceRead(p unsafe.Pointer, bytes int)  {}
func RaceWrite(p unsafe.Pointer, bytes int) {}
