package bank_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
)

// Which of these files may mention a request?
func Example() {
	logs, err := bank.New(1000, 0.001) // up to a thousand different identifiers a file
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, file := range []struct {
		name string
		ids  []string
	}{
		{"a.log", []string{"r17", "r18"}},
		{"b.log", []string{"r18", "r19"}},
	} {
		i := logs.Append()
		logs.SetName(i, file.name)
		for _, id := range file.ids {
			logs.AddString(i, id)
		}
	}

	for _, id := range []string{"r17", "r18", "r20"} {
		fmt.Print(id)
		for _, i := range logs.Which(nil, bloom.SumString(id)) {
			fmt.Print(" ", logs.Name(i))
		}
		fmt.Println()
	}
	// Output:
	// r17 a.log
	// r18 a.log b.log
	// r20
}

// Find the documents that may contain every word of a query.
func ExampleBank_WhichAll() {
	documents := bloom.Must(bank.New(100, 0.001))
	for _, words := range [][]string{
		{"the", "old", "mill"}, {"the", "new", "mill"}, {"an", "old", "song"},
	} {
		i := documents.Append()
		for _, word := range words {
			documents.AddString(i, word)
		}
	}
	query := []bloom.Hash{bloom.SumString("old"), bloom.SumString("mill")}
	fmt.Println(documents.WhichAll(nil, query))
	// Output: [0]
}

// A bank has a member for each of the last days. A new day reuses the member of the oldest day.
func ExampleBank_Clear() {
	const days = 3
	seen := bloom.Must(bank.New(1000, 0.001))
	for range days {
		seen.Append()
	}
	for day, users := range [][]string{{"ann", "bob"}, {"bob"}, {"cleo"}, {"ann"}} {
		i := day % days
		seen.Clear(i)
		seen.SetName(i, fmt.Sprint("day ", day))
		for _, user := range users {
			seen.AddString(i, user)
		}
	}
	for _, i := range seen.Which(nil, bloom.SumString("ann")) {
		fmt.Println(seen.Name(i))
	}
	// Output: day 3
}

// Each day has a bank in a file of its own. Files of past days are never written again, and the
// oldest file is removed. A look-up asks all files.
func ExampleOpenFile() {
	dir, err := os.MkdirTemp("", "bank-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	days := []string{"monday", "tuesday"}
	for _, day := range days {
		b := bloom.Must(bank.New(1000, 0.001))
		for hour := range 24 {
			i := b.Append()
			b.SetName(i, fmt.Sprintf("%s, %d:00", day, hour))
			b.AddString(i, fmt.Sprint("job ", hour%12))
		}
		if err := b.SaveFile(filepath.Join(dir, day)); err != nil {
			fmt.Println(err)
			return
		}
	}

	h := bloom.SumString("job 7")
	for _, day := range days {
		f, err := bank.OpenFile(filepath.Join(dir, day))
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, i := range f.Which(nil, h) {
			fmt.Println(f.Name(i))
		}
		f.Close()
	}
	// Output:
	// monday, 7:00 <nil>
	// monday, 19:00 <nil>
	// tuesday, 7:00 <nil>
	// tuesday, 19:00 <nil>
}

// object is an object that a server has at a URL. It reads ranges of one version of it.
type object struct {
	url, version string
}

func (o *object) ReadAt(p []byte, from int64) (int, error) {
	req, err := http.NewRequest(http.MethodGet, o.url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+int64(len(p))-1))
	req.Header.Set("If-Match", o.version)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusPartialContent {
		return 0, errors.New(resp.Status)
	}
	return io.ReadFull(resp.Body, p)
}

// A bank is in an object store. A look-up requests a few of its pages.
func ExampleNewReader() {
	b := bloom.Must(bank.New(10, 0.001))
	for i := range 5000 {
		b.AddString(b.Append(), fmt.Sprint("key ", i))
	}
	data := bloom.Must(b.MarshalBinary())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}))
	defer server.Close()

	r, err := bank.NewReader(&object{server.URL, `"1"`}, int64(len(data)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r)
	fmt.Println(r.Which(nil, bloom.SumString("key 4321")))
	server.CloseClientConnections()
	server.Close()
	_, err = r.Which(nil, bloom.SumString("key 4321"))
	fmt.Println(err != nil)
	// Output:
	// bank.Reader(m=192, k=10, members=5000)
	// [4321] <nil>
	// true
}

// A View answers from a bank in memory, such as one that is embedded in the program.
func ExampleNewView() {
	b := bloom.Must(bank.New(10, 0.001))
	for _, key := range []string{"a", "b", "c"} {
		b.AddString(b.Append(), key)
	}
	data, err := b.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}

	v, err := bank.NewView(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Close()
	fmt.Println(v)
	fmt.Println(v.Which(nil, bloom.SumString("b")))
	// Output:
	// bank.View(m=192, k=10, members=3)
	// [1]
}
