package cuckoo_test

import (
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cuckoo"
)

// Servers ask a filter before they ask the database whether a token was revoked. One token of a million
// that were not asks the database for nothing. A token leaves the filter when it expires: what expires is
// in the database, so nothing is removed that was not inserted.
func Example() {
	revoked, err := cuckoo.NewSync(100_000, 1e-6) // 300 KB
	if err != nil {
		fmt.Println(err)
		return
	}
	if !revoked.InsertString("token-1") || !revoked.InsertString("token-2") {
		fmt.Println("full: make a larger one from the database")
	}
	fmt.Println(revoked.ContainsString("token-1")) // probably: ask the database
	fmt.Println(revoked.ContainsString("token-3")) // certainly not

	fmt.Println(revoked.RemoveString("token-1")) // which has expired
	fmt.Println(revoked.ContainsString("token-1"), revoked.Len())
	// Output:
	// true
	// false
	// true
	// false 1
}

// A key that was inserted twice is in until it is removed twice.
func ExampleFilter_Remove() {
	f := bloom.Must(cuckoo.New(1000, 0.01))
	fmt.Println(f.InsertString("a"), f.InsertString("a"))
	fmt.Println(f.RemoveString("a"), f.ContainsString("a"))
	fmt.Println(f.RemoveString("a"), f.ContainsString("a"))
	fmt.Println(f.RemoveString("a"))
	// Output:
	// true true
	// true true
	// true false
	// false
}
