// Command overlay writes an overlay for go build, in which the library's packages import
// internal/orders instead of sync and sync/atomic:
//
//	go run ./internal/orders/overlay DIR          writes DIR/overlay.json
//	go run ./internal/orders/overlay DIR SEED     the same with the bug SEED in the library
//	go run ./internal/orders/overlay              lists the seeds: a name, and the cases that find it
//
// It runs in the root of the module. Besides the imports, it changes lines whose points are neither
// locks nor atomics, and sizes that are too large to explore; see substitutions.go. It stops unless
// it finds each line exactly once.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const standIn = `"github.com/seed79a3ff49/bloom/internal/orders"`

// packages are the packages whose locks and atomics become points. Packages whose state no case
// reaches, such as files, are left out.
var packages = []string{
	".", "bank", "blocked", "counting", "cuckoo", "flower", "growing", "guard", "replica", "window",
	"internal/bitwords", "internal/form", "internal/publish", "internal/splitblock",
}

// substitution replaces a text in a file, which has it once.
type substitution struct{ file, old, by string }

// seed is a bug, and a pattern of the tests that find it.
type seed struct {
	name, cases string
	bug         []substitution
}

//go:embed moves.go.txt
var moves string

func main() {
	log.SetFlags(0)
	log.SetPrefix("overlay: ")
	if len(os.Args) == 1 {
		for _, s := range seeds {
			fmt.Println(s.name, s.cases)
		}
		return
	}
	changes := substitutions
	if len(os.Args) > 2 {
		changes = append(changes, bug(os.Args[2])...)
	}
	if err := write(os.Args[1], changes); err != nil {
		log.Fatal(err)
	}
}

func bug(name string) []substitution {
	for _, s := range seeds {
		if s.name == name {
			return s.bug
		}
	}
	log.Fatalf("no seed %s", name)
	return nil
}

func write(to string, changes []substitution) error {
	files := map[string]string{}
	for _, p := range packages {
		paths, err := filepath.Glob(filepath.Join(p, "*.go"))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files[path] = imports(string(text))
		}
	}
	for _, c := range changes {
		if n := strings.Count(files[c.file], c.old); n != 1 {
			return fmt.Errorf("%s has %d times, not once:\n%s", c.file, n, c.old)
		}
		if strings.Count(c.old, "\n") != strings.Count(c.by, "\n") {
			return fmt.Errorf("%s gets other lines than the library, by %s", c.file, c.by)
		}
		files[c.file] = strings.Replace(files[c.file], c.old, c.by, 1)
	}
	files["cuckoo/moves_for_orders.go"] = moves
	replace := map[string]string{}
	for path, text := range files {
		from, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		replace[from] = filepath.Join(to, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(replace[from], []byte(text), 0o644); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "overlay.json"), overlay, 0o644)
}

var imported = regexp.MustCompile(`(?m)^(\t|import )"(sync|sync/atomic)"$`)

// imports returns a file that imports the stand-in under the names of sync and sync/atomic.
func imports(text string) string {
	return imported.ReplaceAllStringFunc(text, func(line string) string {
		before, path, _ := strings.Cut(line, `"`)
		return before + filepath.Base(strings.TrimSuffix(path, `"`)) + " " + standIn
	})
}
