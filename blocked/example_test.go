package blocked_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// A filter for deduplication: of a million new keys, one is lost.
func Example() {
	seen, err := blocked.New(1_000_000, 1e-6)
	if err != nil {
		fmt.Println(err)
		return
	}
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
// cache lines together.
func ExampleFilter_ContainsBatch() {
	f := bloom.Must(blocked.New(1000, 0.001))
	f.AddString("a")
	f.AddString("b")

	hashes, found := make([]bloom.Hash, 3), make([]bool, 3)
	bloom.SumStringBatch(hashes, []string{"a", "x", "b"})
	f.ContainsBatch(found, hashes)
	fmt.Println(found)
	// Output: [true false true]
}

// Several machines fill filters of the same parameters. Merge puts all keys into one filter.
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

// The Bloom filter of a column of a Parquet file holds the xxHash64 of each value, as the
// format encodes it: integers as 8 bytes, little-endian.
func ExampleNewBitset() {
	column := func(value int64) bloom.Hash {
		return bloom.NewHash(xxHash64(binary.LittleEndian.AppendUint64(nil, uint64(value))), 0)
	}

	// The writer's filter has 1024 bytes, and one line a key.
	writer := bloom.Must(blocked.NewSize(8*1024, 1))
	for _, value := range []int64{3, 14, 15} {
		writer.AddHash(column(value))
	}
	bitset := writer.Bitset() // follows the header in the file

	// The reader skips the row group unless the value may be there.
	reader, err := blocked.NewBitset(bitset)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reader.ContainsHash(column(14)), reader.ContainsHash(column(92)))
	// Output: true false
}

// Two goroutines add to one SyncFilter, which loses no key.
func ExampleNewSync() {
	seen := bloom.Must(blocked.NewSync(1000, 0.001))
	var wg sync.WaitGroup
	for _, key := range []string{"a", "b"} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			seen.AddString(key)
		}()
	}
	wg.Wait()
	fmt.Println(seen.ContainsString("a"), seen.ContainsString("b"), seen.ContainsString("c"))
	// Output: true true false
}

// A View looks keys up in bytes that a program already has, here those of a cache.
func ExampleNewView() {
	f := bloom.Must(blocked.New(1000, 0.001))
	f.AddString("a")
	cached, _ := f.MarshalBinary()

	v, err := blocked.NewView(cached)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.ContainsString("a"), v.ContainsString("b"), v.Verify())
	// Output: true false <nil>
}

// xxHash64 is the hash of up to 8 bytes, a multiple of 8; see module cespare/xxhash for all
// keys.
func xxHash64(key []byte) uint64 {
	const p1, p2, p3, p4, p5 = 0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
		0x85ebca77c2b2ae63, 0x27d4eb2f165667c5
	h := p5 + uint64(len(key))
	for ; len(key) >= 8; key = key[8:] {
		h ^= bits.RotateLeft64(binary.LittleEndian.Uint64(key)*p2, 31) * p1
		h = bits.RotateLeft64(h, 27)*p1 + p4
	}
	h = (h ^ h>>33) * p2
	h = (h ^ h>>29) * p3
	return h ^ h>>32
}

// rangesOf reads a file of a web server by ranges.
type rangesOf struct{ url, modified string }

func (r rangesOf) ReadAt(p []byte, from int64) (int, error) {
	req, err := http.NewRequest(http.MethodGet, r.url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+int64(len(p))-1))
	req.Header.Set("If-Unmodified-Since", r.modified) // keeps out bytes of a later version
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusPartialContent {
		return 0, fmt.Errorf("GET %s: %s", r.url, resp.Status)
	}
	return io.ReadFull(resp.Body, p)
}

// A Reader looks keys up in a filter on a web server, here that of package net/http. An object
// store works in the same way.
func ExampleNewReader() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	f := bloom.Must(blocked.New(1_000_000, 0.001))
	f.AddString("in the list")
	if err := f.SaveFile(filepath.Join(dir, "list.blocked")); err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()

	url := server.URL + "/list.blocked"
	head, err := http.Head(url)
	if err != nil {
		fmt.Println(err)
		return
	}
	head.Body.Close()
	r, err := blocked.NewReader(rangesOf{url, head.Header.Get("Last-Modified")}, head.ContentLength)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range []string{"in the list", "not in it"} {
		found, err := r.ContainsString(key)
		if err != nil {
			fmt.Println("nobody knows:", err) // an error does not mean that the key is absent
			return
		}
		fmt.Println(key, found)
	}
	// Output:
	// in the list true
	// not in it false
}
