package blocked_test

import (
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// A blocked filter looks up a batch of keys while the cache lines of the next are
// on the way, which on large filters is more than twice as fast as one by one.
func ExampleFilter_ContainsBatch() {
	f := bloom.Must(blocked.New(1000, 0.001))
	f.AddString("a")
	f.AddString("b")

	batch := []bloom.Hash{bloom.SumString("a"), bloom.SumString("x"), bloom.SumString("b")}
	fmt.Println(f.ContainsBatch(nil, batch))
	// Output: [true false true]
}
