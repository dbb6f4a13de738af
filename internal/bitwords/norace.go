//go:build !race

package bitwords

import (
	"unsafe"

	"github.com/seed79a3ff49/bloom/internal/limits"
)

// Race reports whether words that goroutines share must be accessed only with atomic operations.
// Without the race detector, only builds for package orders need that, because the package cannot
// see plain stores.
const Race = limits.Explored

func RaceRead(p unsafe.Pointer, bytes int)  {}
func RaceWrite(p unsafe.Pointer, bytes int) {}
