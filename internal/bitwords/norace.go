//go:build !race

package bitwords

import (
	"unsafe"

	"github.com/seed79a3ff49/bloom/internal/limits"
)

// Race reports whether plain accesses to words that goroutines share must be atomic. In this build
// that is so only for package orders, which cannot see plain stores.
const Race = limits.Explored

func RaceRead(p unsafe.Pointer, bytes int)  {}
func RaceWrite(p unsafe.Pointer, bytes int) {}
