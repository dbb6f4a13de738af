package blocked_test

import (
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// A filter for deduplication: of a million new keys, one is lost.
func ExampleNew() {
	seen := bloom.Must(blocked.New(1_000_000, 1e-6))
	for _, page := range []string{"/a", "/b", "/a"} {
		fmt.Println(page, seen.AddString(page))
	}
	fmt.Println(seen)
	// Output:
	// /a true
	// /b true
	// /a false
	// blocked.Filter(m=33779968, lines=2)
}

// Hashing keys first, and then looking all of them up, lets the processor wait for many
// cache lines at once.
func ExampleFilter_ContainsBatch() {
	f := bloom.Must(blocked.New(1000, 0.001))
	f.AddString("a")
	f.AddString("b")

	hashes := bloom.SumStringBatch(nil, []string{"a", "x", "b"})
	fmt.Println(f.ContainsBatch(nil, hashes))
	// Output: [true false true]
}

// What several machines found goes into one filter. All are made with the same
// parameters.
func ExampleFilter_Merge() {
	here, there := bloom.Must(blocked.New(1000, 1e-6)), bloom.Must(blocked.New(1000, 1e-6))
	here.AddString("a")
	there.AddString("b")
	if err := here.Merge(there); err != nil {
		fmt.Println(err)
	}
	fmt.Println(here.ContainsString("a"), here.ContainsString("b"))
	// Output: true true
}
