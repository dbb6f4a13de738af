package growing_test

import (
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
)

// A crawler does not know how many addresses it will meet.
func Example() {
	seen := bloom.Must(growing.New(0, 1e-6))
	for i := range 100_000 {
		seen.AddString(fmt.Sprintf("https://example.org/%d", i))
	}
	fmt.Println(seen.ContainsString("https://example.org/99999"))
	fmt.Println(seen.AddString("https://example.org/new"), seen.AddString("https://example.org/new"))
	fmt.Printf("about %.0e keys\n", float64(seen.Stats().ApproxCount))
	// Output:
	// true
	// true false
	// about 1e+05 keys
}
