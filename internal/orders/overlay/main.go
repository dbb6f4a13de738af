// Command overlay writes an overlay for go build that makes the library's packages import
// internal/orders instead of sync and sync/atomic:
//
//	go run ./internal/orders/overlay DIR          writes DIR/overlay.json
//	go run ./internal/orders/overlay DIR SEED     the same, with the bug SEED in the library
//	go run ./internal/orders/overlay              lists each seed and the cases that find it
//
// It must run in the root of the module. It does not depend on particular lines of the library:
// rules.go finds statements by their syntax, such as go statements, and a seed refers to a function
// by name. Sizes that are too large to explore are constants in internal/limits, which have
// different values with the orders build tag.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed79a3ff49/bloom/internal/alltypes"
)

const standIn = `"github.com/seed79a3ff49/bloom/internal/orders"`

// packages lists the packages in which locks and atomics become points. It omits packages that no
// case needs, such as internal/files.
var packages = append(alltypes.Packages(func(alltypes.Type) bool { return true }),
	"guard", "replica",
	"internal/bitwords", "internal/form", "internal/publish", "internal/splitblock",
)

// real lists files in which locks are not points, because they guard only a cache.
var real = []string{"growing/rates.go"}

// timed lists the packages that read the time from orders.Clock.
var timed = []string{"guard", "window"}

// steps lists the packages for which a case can make each call a single step; see orders.OneStep.
var steps = []string{"growing"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("overlay: ")
	if len(os.Args) == 1 {
		for _, s := range seeds {
			fmt.Println(s.name, s.cases)
		}
		return
	}
	var bug []change
	if len(os.Args) > 2 {
		i := slices.IndexFunc(seeds, func(s seed) bool { return s.name == os.Args[2] })
		if i < 0 {
			log.Fatalf("no seed %s", os.Args[2])
		}
		bug = seeds[i].bug
	}
	if err := write(os.Args[1], bug); err != nil {
		log.Fatal(err)
	}
}

func write(dir string, bug []change) error {
	files := map[string]string{}
	for _, p := range packages {
		paths, err := filepath.Glob(filepath.Join(strings.TrimPrefix(p, "bloom"), "*.go"))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") || slices.Contains(real, path) {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files[path] = string(text)
		}
	}
	for _, c := range bug {
		if err := c.apply(files); err != nil {
			return fmt.Errorf("%s: %w", c.function, err)
		}
	}
	replace := map[string]string{}
	for path, text := range files {
		source, err := parse(path, text)
		if err != nil {
			return err
		}
		source.explore()
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		replace[abs] = filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(replace[abs], []byte(source.edited()), 0o644); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644)
}
