package cuckoo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cuckoo"
)

// Servers ask a filter whether a token was revoked, and ask the database only if the filter says
// yes. For one of a million good tokens they ask the database in vain. A token leaves the filter
// when it expires. The database lists the tokens that expire, so the program removes only inserted
// tokens.
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

	fmt.Println(revoked.RemoveString("token-1")) // it has expired
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

// Many goroutines may write to a SyncFilter while others look up keys. A Snapshot is a Filter that
// does not change.
func ExampleSyncFilter() {
	online := bloom.Must(cuckoo.NewSync(10_000, 0.001))
	var users sync.WaitGroup
	for i := range 100 {
		users.Add(1)
		go func() {
			defer users.Done()
			user := fmt.Sprint("user ", i)
			if !online.InsertString(user) {
				fmt.Println("full")
			}
			if i%2 == 0 {
				online.RemoveString(user)
			}
		}()
	}
	users.Wait()
	now := online.Snapshot()
	online.RemoveString("user 1")
	fmt.Println(now.Len(), now.ContainsString("user 1"))
	fmt.Println(online.Len(), online.ContainsString("user 1"))
	// Output:
	// 50 true
	// 49 false
}

// A View looks keys up in bytes without decoding them.
func ExampleNewView() {
	f := bloom.Must(cuckoo.New(1000, 0.01))
	f.InsertString("a")
	data, err := f.MarshalBinary() // such as a cache's value
	if err != nil {
		fmt.Println(err)
		return
	}

	v, err := cuckoo.NewView(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Close()
	fmt.Println(v.ContainsString("a"), v.ContainsString("b"), v.Len())
	// Output: true false 1
}

// Several processes can look keys up in one file, which the kernel keeps in memory once.
func ExampleOpenFile() {
	dir, err := os.MkdirTemp("", "cuckoo-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "revoked.cuckoo")
	f := bloom.Must(cuckoo.New(1000, 0.01))
	f.InsertString("token-1")
	if err := f.SaveFile(path); err != nil {
		fmt.Println(err)
		return
	}

	v, err := cuckoo.OpenFile(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Close()
	fmt.Println(v)
	fmt.Println(v.ContainsString("token-1"), v.ContainsString("token-3"))
	// Output:
	// cuckoo.View(buckets=265, bits=10)
	// true false
}
