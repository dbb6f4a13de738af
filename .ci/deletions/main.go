// Deletions lists the statements of packages that no test misses:
//
//	go run ./.ci/deletions [FLAGS] DIR...
//
// Each call, assignment and branch gets a guard that an environment variable switches off, so that
// one build serves all of them. The tests run once without each statement: those of the package,
// and those of all types. A line that is only for speed says so at its end, "// speed", and is left
// out, as are the checks of package invariants.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	skip = flag.String("skip", "Alloc|OneCopy|OneFilter|Promises/.*/(Allocations|Batches)",
		"leaves out the `tests` of allocations, which guards change")
	some    = flag.Int("some", 1, "tries each `n`-th statement")
	workers = flag.Int("workers", 2, "runs `n` tests in parallel")
	all     = flag.String("all", "internal/alltypes",
		"the `package` with the tests of all types, for packages of its module")
)

// guard is a statement that can be switched off.
type guard struct{ where, text string }

func main() {
	log.SetFlags(0)
	log.SetPrefix("deletions: ")
	flag.Parse()
	lived := 0
	for _, dir := range flag.Args() {
		n, err := try(filepath.Clean(dir))
		if err != nil {
			log.Fatalf("%s: %v", dir, err)
		}
		lived += n
	}
	if lived > 0 {
		os.Exit(1)
	}
}

// try deletes the statements of a package, and returns how many are not missed.
func try(dir string) (lived int, err error) {
	temp, err := os.MkdirTemp("", "deletions")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	guards, err := overlay(dir, temp)
	if err != nil || len(guards) == 0 {
		return 0, err
	}
	var tests []string // the programs, and the directories to run them in
	packages := []string{dir}
	if *all != "" && module(dir) == module(*all) {
		packages = append(packages, *all)
	}
	for i, pkg := range packages {
		program := filepath.Join(temp, fmt.Sprint("tests", i))
		compile := exec.Command("go", "test", "-c", "-vet=off",
			"-overlay", filepath.Join(temp, "overlay.json"), "-o", program, ".")
		compile.Dir = pkg
		if out, err := compile.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%w\n%s", err, out)
		}
		if _, err := os.Stat(program); err == nil { // it has tests
			tests = append(tests, program, pkg)
		}
	}
	began := time.Now()
	if out, ok := passes(tests, 0, 10*time.Minute); !ok {
		return 0, fmt.Errorf("the tests fail with all statements: %s", out)
	}
	limit := 10*time.Since(began) + 10*time.Second
	var mu sync.Mutex
	var running sync.WaitGroup
	free := make(chan bool, *workers)
	tried := 0
	for i := 1; i <= len(guards); i += *some {
		tried++
		free <- true
		running.Add(1)
		go func() {
			defer running.Done()
			defer func() { <-free }()
			if _, ok := passes(tests, i, limit); ok {
				mu.Lock()
				lived++
				fmt.Printf("%s: %s\n", guards[i-1].where, guards[i-1].text)
				mu.Unlock()
			}
		}()
	}
	running.Wait()
	fmt.Printf("%s: %d of %d statements are missed by no test\n", dir, lived, tried)
	return lived, nil
}

// module returns the directory of the module that has a package.
func module(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		log.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(abs, "go.mod")); err == nil {
			return abs
		}
		parent := filepath.Dir(abs)
		if parent == abs {
			log.Fatalf("%s is in no module", dir)
		}
		abs = parent
	}
}

// passes runs the tests with one statement deleted, and reports whether they pass. A test that
// takes longer than limit fails.
func passes(tests []string, deleted int, limit time.Duration) (out string, ok bool) {
	for i := 0; i < len(tests); i += 2 {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		run := exec.CommandContext(ctx, tests[i], "-test.short", "-test.failfast", "-test.skip", *skip)
		run.Dir = tests[i+1]
		run.Env = append(os.Environ(), fmt.Sprint("BLOOM_DELETED=", deleted))
		run.WaitDelay = time.Second
		var output bytes.Buffer
		run.Stdout, run.Stderr = &output, &output
		err := run.Run()
		cancel()
		if err != nil {
			return output.String(), false
		}
	}
	return "", true
}

// overlay writes the package with guards, and overlay.json, to a directory.
func overlay(dir, temp string) (guards []guard, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	pkg := ""
	add := func(path, text string) error {
		abs, err := filepath.Abs(path)
		replace[abs] = filepath.Join(temp, filepath.Base(path))
		return cmp.Or(err, os.WriteFile(replace[abs], []byte(text), 0o600))
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "verify.go") {
			continue
		}
		built, err := build.Default.MatchFile(filepath.Split(path))
		if err != nil {
			return nil, err
		}
		if !built { // no test here can miss it
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		guarded, name, err := guardAll(path, string(text), &guards)
		if err != nil {
			return nil, err
		}
		pkg = name
		if err := add(path, guarded); err != nil {
			return nil, err
		}
	}
	const switches = `package %s

import "os"

var bloomDeleted = os.Getenv("BLOOM_DELETED")

func bloomHas(guard string) bool { return guard != bloomDeleted }
`
	if err := add(filepath.Join(dir, "deletions_switch.go"), fmt.Sprintf(switches, pkg)); err != nil {
		return nil, err
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	return guards, cmp.Or(err, os.WriteFile(filepath.Join(temp, "overlay.json"), data, 0o600))
}

// guardAll returns a file with guards, which it appends to guards, and the name of its package.
func guardAll(path, text string, guards *[]guard) (guarded, pkg string, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", "", err
	}
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	inserts := map[int]string{}
	insert := func(p token.Pos, s string, first bool) {
		if first {
			s += inserts[offset(p)]
		} else {
			s = inserts[offset(p)] + s
		}
		inserts[offset(p)] = s
	}
	lines := strings.Split(text, "\n")
	next := func(s ast.Stmt) (has string, ok bool) {
		line := lines[set.Position(s.Pos()).Line-1]
		if strings.HasSuffix(line, "// speed") {
			return "", false
		}
		*guards = append(*guards, guard{
			fmt.Sprintf("%s:%d", path, set.Position(s.Pos()).Line), strings.TrimSpace(line),
		})
		return fmt.Sprintf("bloomHas(%q)", fmt.Sprint(len(*guards))), true
	}
	isPanic := func(e ast.Expr) bool {
		call, ok := e.(*ast.CallExpr)
		name, isName := (*ast.Ident)(nil), false
		if ok {
			name, isName = call.Fun.(*ast.Ident)
		}
		return isName && name.Name == "panic"
	}
	isInvariant := func(cond ast.Expr) bool {
		s, ok := cond.(*ast.SelectorExpr)
		return ok && s.Sel.Name == "On"
	}
	list := func(stmts []ast.Stmt) {
		for _, s := range stmts {
			assign, assigns := s.(*ast.AssignStmt)
			call, calls := s.(*ast.ExprStmt)
			_, counts := s.(*ast.IncDecStmt)
			switch {
			case assigns && assign.Tok != token.DEFINE, calls && !isPanic(call.X), counts:
				if has, ok := next(s); ok {
					insert(s.Pos(), "if "+has+" { ", false)
					insert(s.End(), " }", true)
				}
			}
			if branch, ok := s.(*ast.IfStmt); ok && !isInvariant(branch.Cond) {
				if has, ok := next(s); ok {
					insert(branch.Cond.Pos(), has+" && (", false)
					insert(branch.Cond.End(), ")", true)
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if isInvariant(n.Cond) {
				return false
			}
		case *ast.BlockStmt:
			list(n.List)
		case *ast.CaseClause:
			list(n.Body)
		case *ast.CommClause:
			list(n.Body)
		}
		return true
	})
	var at []int
	for i := range inserts {
		at = append(at, i)
	}
	slices.Sort(at)
	var out strings.Builder
	done := 0
	for _, i := range at {
		out.WriteString(text[done:i] + inserts[i])
		done = i
	}
	return out.String() + text[done:], file.Name.Name, nil
}
