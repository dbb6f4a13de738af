//go:build !race

package bitwords

import (
	"unsafe"

	"github.com/seed79a3ff49/bloom/internal/limits"
)

// Race reports whether Store must be atomic. Without the race detector that is the case only when
// package orders explores the program, because orders does not see ordinary stores.
const Race = limits.Explored

func RaceRead(p unsafe.Pointer, bytes int)  {}
func RaceWrite(p unsafe.Pointer, bytes int) {}
