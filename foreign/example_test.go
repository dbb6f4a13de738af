package foreign_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/foreign"
)

// A program that has changed its library keeps the file that the other library wrote.
func ExampleNewBitsAndBlooms() {
	data, err := os.ReadFile("testdata/bits.json") // 200 keys, among them the text "0"
	if err != nil {
		fmt.Println(err)
		return
	}
	seen := bloom.Must(foreign.NewBitsAndBlooms(data))
	fmt.Println(seen.ContainsString("0"), seen.ContainsString("https://go.dev/"))
	fmt.Println(seen.AddString("https://go.dev/"))

	var file bytes.Buffer
	seen.WriteTo(&file) // the other library reads it
	fmt.Println(file.Len() == len(data), seen.ContainsString("https://go.dev/"))
	// Output:
	// true false
	// true
	// true true
}

// A Go service asks a filter that a Spark job made, and adds a key.
func ExampleNewSpark() {
	data, err := os.ReadFile("testdata/spark-v2.bin") // made with put("0") and 199 more
	if err != nil {
		fmt.Println(err)
		return
	}
	seen := bloom.Must(foreign.NewSpark(data))
	fmt.Println(seen)
	fmt.Println(seen.ContainsString("0"), seen.ContainsInt64(42))
	fmt.Println(seen.AddInt64(42), seen.ContainsInt64(42))
	// Output:
	// foreign.Spark(V2, m=1280, k=4)
	// true false
	// true true
}

// The keys of a Holiman are hashes that the program makes, here by FNV-1a.
func ExampleNewHoliman() {
	data, err := os.ReadFile("testdata/holiman.gz") // 200 keys, among them the text "0"
	if err != nil {
		fmt.Println(err)
		return
	}
	seen := bloom.Must(foreign.NewHoliman(data))
	sum := func(key string) uint64 {
		h := fnv.New64a()
		io.WriteString(h, key)
		return h.Sum64()
	}
	fmt.Println(seen.ContainsHash64(sum("0")), seen.ContainsHash64(sum("https://go.dev/")))
	fmt.Println(seen.AddHash64(sum("https://go.dev/")))
	// Output:
	// true false
	// true
}

func ExampleNewDCSO() {
	data, err := os.ReadFile("testdata/dcso.bin") // 200 keys, among them the text "0"
	if err != nil {
		fmt.Println(err)
		return
	}
	seen := bloom.Must(foreign.NewDCSO(data))
	fmt.Println(seen.ContainsString("0"), seen.ContainsString("https://go.dev/"))
	// Output: true false
}

// A struct that holds a filter keeps its JSON when the program changes its library.
func ExampleBitsAndBlooms_MarshalJSON() {
	var state struct {
		Seen *foreign.BitsAndBlooms
	}
	if err := json.Unmarshal([]byte(`{"Seen":{"m":64,"k":2,"b":"AAAAAAAAAEAAAAAAAAAAAA=="}}`),
		&state); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(state.Seen.AddString("https://go.dev/"))
	data, err := json.Marshal(state)
	fmt.Println(string(data), err)
	// Output:
	// true
	// {"Seen":{"m":64,"k":2,"b":"AAAAAAAAAEAAAIAAAAAIAA=="}} <nil>
}
