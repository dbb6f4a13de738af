package testkit

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// Uncollected stops garbage collection until t ends where a call of a method by reflection
// cannot be collected beside: reflect keeps the method's address in a variable on the heap,
// and on WebAssembly the collector takes it for a bad pointer. (As go.dev/issue/80472, which
// was itabInit's; this is methodReceiver's.)
func Uncollected(t testing.TB) {
	if runtime.GOARCH == "wasm" {
		percent := debug.SetGCPercent(-1)
		t.Cleanup(func() { debug.SetGCPercent(percent) })
		runtime.GC() // ends one that has begun
	}
}
