//go:build race

package memory

import "sync/atomic"

// Store is described in store.go.
func Store(word *uint64, w uint64) { atomic.StoreUint64(word, w) }

// Race reports the race detector.
const Race = true
