package counting_test

import (
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
)

// The writer of a catalogue keeps a counting filter. Readers get plain filters.
func Example() {
	catalogue, err := counting.New(1_000_000, 0.01) // a million keys at 1 %: 4.8 MB
	if err != nil {
		fmt.Println(err)
		return
	}
	catalogue.AddString("lamp")
	catalogue.AddString("table")
	catalogue.RemoveString("lamp")

	data, _ := catalogue.Bloom().MarshalBinary() // Guava's bytes, 1.2 MB
	var published bloom.Filter
	fmt.Println(published.UnmarshalBinary(data))
	fmt.Println(published.ContainsString("lamp"), published.ContainsString("table"))
	// Output:
	// <nil>
	// false true
}

// A key that was added twice is there until it is removed twice.
func ExampleFilter_Remove() {
	f := bloom.Must(counting.New(1000, 0.01))
	f.AddString("a")
	f.AddString("a")
	fmt.Println(f.RemoveString("a"), f.ContainsString("a"))
	fmt.Println(f.RemoveString("a"), f.ContainsString("a"))
	fmt.Println(f.RemoveString("a"))
	// Output:
	// true true
	// true false
	// false
}
