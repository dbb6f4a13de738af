//go:build unix || windows

// Other systems have no locks.

package file_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/file"
)

// Several programs add to one file. Each waits for the others, for a minute at most.
func ExampleLock() {
	dir, err := os.MkdirTemp("", "bloom")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "handled.bloom")

	add := func(key string) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		target, unlock, err := file.Lock(ctx, path)
		if err != nil {
			return err
		}
		defer unlock()
		f, err := bloom.LoadOrNew(target, 1000, 0.01)
		if err != nil {
			return err
		}
		f.AddString(key)
		return f.SaveFile(target)
	}
	fmt.Println(add("first"), add("second"))
	f, err := bloom.LoadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.ContainsString("first"), f.ContainsString("second"))
	// Output:
	// <nil> <nil>
	// true true
}
