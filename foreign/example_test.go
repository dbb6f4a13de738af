package foreign_test

import (
	"bytes"
	"fmt"
	"os"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/foreign"
)

// A program that has changed its library goes on with the file that the other library wrote.
func ExampleNewBitsAndBlooms() {
	data, err := os.ReadFile("testdata/bits.json") // 200 keys, among them the text "0"
	if err != nil {
		fmt.Println(err)
		return
	}
	seen := bloom.Must(foreign.NewBitsAndBlooms(data))
	fmt.Println(seen.ContainsString("0"), seen.ContainsString("https://go.dev/"))
	fmt.Println(seen.AddString("https://go.dev/"))

	var file bytes.Buffer // which the other library reads
	seen.WriteTo(&file)
	fmt.Println(file.Len() == len(data), seen.ContainsString("https://go.dev/"))
	// Output:
	// true false
	// true
	// true true
}
