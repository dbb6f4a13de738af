// Deletions lists the statements that can be deleted from packages without any test noticing:
//
//	go run ./.ci/deletions [FLAGS] DIR...
//
// Each call, assignment, increment and if statement gets a guard, but no := does. An environment
// variable can switch a guard off, so one build serves all of them. For each statement, Deletions
// runs the tests that reach it, with the statement deleted: first the tests of the package, then
// the tests of all types, and for an internal package also the tests of the packages that import
// it, until a test fails. It omits calls of panic, statements that only save time, which end with
// "// speed", and the checks of package invariants. If the tests run too long with a statement
// deleted, it lists the statement as not judged.
package main

import (
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
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	skip = flag.String("skip", "Alloc|OneCopy|OneFilter|Promises/.*/Allocations",
		"leaves out the `tests` of allocations, which guards change")
	some    = flag.Int("some", 1, "tries each `n`-th statement")
	workers = flag.Int("workers", 2, "runs `n` tests in parallel")
	all     = flag.String("all", "internal/alltypes,.",
		"the `packages` with the tests of all types, for packages of their module")
)

// guard describes a statement that can be switched off.
type guard struct{ where, text string }

// program is the compiled test binary of a package.
type program struct {
	path  string
	dir   string                   // the working directory
	took  map[string]time.Duration // how long the tests that match a pattern take
	reach map[int][]string         // patterns of the tests that reach each guard, the fastest first
}

// verdict is the result of the tests for a deletion.
type verdict int

const (
	passed verdict = iota
	failed
	endless
)

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

// try deletes statements of the package in dir, and returns how many deletions no test noticed.
func try(dir string) (lived int, err error) {
	temp, err := os.MkdirTemp("", "deletions")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o755); err != nil { // some tests run as another user
		return 0, err
	}
	name, guards, err := overlay(dir, temp)
	if err != nil || len(guards) == 0 {
		return 0, err
	}
	packages, err := testers(dir)
	if err != nil {
		return 0, err
	}
	verdicts := make([]verdict, len(guards)+1) // indexed by guard; the first guard is 1
	tried := 0
	var open []int
	for i := 1; i <= len(guards); i += *some {
		tried++
		open = append(open, i)
	}
	notJudged := 0
	for n, pkg := range packages {
		if len(open) == 0 {
			break
		}
		p := program{path: filepath.Join(temp, fmt.Sprint("tests", n)), dir: pkg}
		if err := p.compile(temp); err != nil {
			return 0, err
		}
		if err := p.measure(name, temp); err != nil {
			return 0, err
		}
		var running sync.WaitGroup
		free := make(chan bool, *workers)
		for _, i := range open {
			free <- true
			running.Add(1)
			go func() {
				defer running.Done()
				verdicts[i] = p.judge(i)
				switch {
				case verdicts[i] == endless:
					fmt.Printf("%s: not judged: %s\n", guards[i-1].where, guards[i-1].text)
				case verdicts[i] == passed && n == len(packages)-1:
					fmt.Printf("%s: %s\n", guards[i-1].where, guards[i-1].text)
				}
				<-free
			}()
		}
		running.Wait()
		open = slices.DeleteFunc(open, func(i int) bool { return verdicts[i] != passed })
	}
	for _, v := range verdicts {
		if v == endless {
			notJudged++
		}
	}
	fmt.Printf("%s: of %d statements %d are missed by no test, and %d are not judged\n",
		dir, tried, len(open), notJudged)
	return len(open), nil
}

// testers returns the directories of the packages with tests that may reach the package in dir.
func testers(dir string) ([]string, error) {
	packages := []string{dir}
	if *all == "" || module(dir) != module(".") {
		return packages, nil
	}
	for _, pkg := range strings.Split(*all, ",") {
		if pkg != dir {
			packages = append(packages, pkg)
		}
	}
	if !strings.HasPrefix(dir, "internal") {
		return packages, nil
	}
	const format = `{{.Dir}} {{join .Imports " "}} `
	out, err := exec.Command("go", "list", "-f", format, "./...").Output()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		abs, imports, _ := strings.Cut(line, " ")
		importer, err := filepath.Rel(module("."), abs)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(packages, importer) && strings.Contains(imports, "/"+filepath.ToSlash(dir)+" ") {
			packages = append(packages, importer)
		}
	}
	return packages, nil
}

// module returns the root directory of the module that contains dir.
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

func (p *program) compile(temp string) error {
	compile := exec.Command("go", "test", "-c", "-vet=off",
		"-overlay", filepath.Join(temp, "overlay.json"), "-o", p.path, ".")
	compile.Dir = p.dir
	if out, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// measure runs each test with all statements. It records how long the test takes, and which guards
// it reaches. If a test has subtests for types of the package, they count instead of the test. name
// is the name of the package.
func (p *program) measure(name, temp string) error {
	p.took = map[string]time.Duration{}
	p.reach = map[int][]string{}
	if _, err := os.Stat(p.path); err != nil { // the package has no tests
		return nil
	}
	list := exec.Command(p.path, "-test.list", "^(Test|Example|Fuzz)")
	list.Dir = p.dir
	out, err := list.Output()
	if err != nil {
		return err
	}
	for _, test := range strings.Fields(string(out)) {
		out, err := p.record("^"+test+"$", temp)
		if err != nil {
			return err
		}
		if strings.Contains(out, "--- PASS: "+test+"/"+name+".") {
			delete(p.took, "^"+test+"$")
			if _, err := p.record("^"+test+"$/^"+name+`\b`, temp); err != nil {
				return err
			}
		}
	}
	for i, tests := range p.reach {
		tests = slices.DeleteFunc(tests, func(test string) bool { return p.took[test] == 0 })
		slices.SortFunc(tests, func(a, b string) int { return cmp.Compare(p.took[a], p.took[b]) })
		p.reach[i] = tests
	}
	return nil
}

// record runs the tests that match pattern, with all statements.
func (p *program) record(pattern, temp string) (out string, err error) {
	reached := filepath.Join(temp, "reached")
	if err := os.WriteFile(reached, nil, 0o600); err != nil {
		return "", err
	}
	if err := os.Chmod(reached, 0o666); err != nil { // regardless of the umask
		return "", err
	}
	out, took, v := p.run(0, []string{pattern}, 10*time.Minute, "BLOOM_REACHED="+reached)
	if v != passed {
		return "", fmt.Errorf("%s fails with all statements: %s", pattern, out)
	}
	p.took[pattern] = took
	numbers, err := os.ReadFile(reached)
	if err != nil {
		return "", err
	}
	for _, number := range strings.Fields(string(numbers)) {
		i, err := strconv.Atoi(number)
		if err != nil {
			return "", err
		}
		if !slices.Contains(p.reach[i], pattern) { // a test may run its own binary again
			p.reach[i] = append(p.reach[i], pattern)
		}
	}
	return out, nil
}

// judge runs the tests that reach a guard, with its statement deleted: first the fast ones, then
// the others.
func (p *program) judge(deleted int) verdict {
	tests := p.reach[deleted]
	for len(tests) > 0 {
		fast := len(tests) == len(p.reach[deleted])
		n := 0
		var took time.Duration
		for n < len(tests) && (!fast || took < time.Second) {
			took += p.took[tests[n]]
			n++
		}
		if _, _, v := p.run(deleted, tests[:n], 4*took+4*time.Second); v != passed {
			return v
		}
		tests = tests[n:]
	}
	return passed
}

// run runs tests with one statement deleted, or none if deleted is 0. took is their processor time,
// or a tenth of the elapsed time if that is longer, so it hardly depends on how busy the machine
// is. run kills tests that take longer than limit, measured in the same way.
func (p *program) run(
	deleted int, tests []string, limit time.Duration, env ...string,
) (out string, took time.Duration, v verdict) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*limit)
	defer cancel()
	run := exec.CommandContext(ctx, "sh", "-c", `ulimit -t "$1" && shift && exec "$@"`, "sh",
		fmt.Sprint(int(limit.Seconds())), p.path, "-test.short", "-test.failfast", "-test.v",
		"-test.skip", *skip, "-test.run", strings.Join(tests, "|"))
	run.Dir = p.dir
	run.Env = append(append(os.Environ(), env...), fmt.Sprint("BLOOM_DELETED=", deleted))
	run.WaitDelay = time.Second
	began := time.Now()
	text, err := run.CombinedOutput()
	if run.ProcessState == nil { // not started
		return err.Error(), 0, failed
	}
	took = max(run.ProcessState.UserTime()+run.ProcessState.SystemTime(), time.Since(began)/10)
	switch {
	case run.ProcessState.ExitCode() < 0: // killed at a limit
		v = endless
	case err != nil:
		v = failed
	}
	return string(text), took, v
}

// overlay writes the guarded package and overlay.json to temp. It returns the name of the package.
func overlay(dir, temp string) (name string, guards []guard, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", nil, err
	}
	replace := map[string]string{}
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
			return "", nil, err
		}
		if !built { // no test can reach it here
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		guarded, pkg, err := guardAll(path, string(text), &guards)
		if err != nil {
			return "", nil, err
		}
		name = pkg
		if err := add(path, guarded); err != nil {
			return "", nil, err
		}
	}
	const switches = `package %s

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	bloomDeleted, _ = strconv.Atoi(os.Getenv("BLOOM_DELETED"))
	bloomReached    = os.Getenv("BLOOM_REACHED")
	bloomNoted      [1 << 16]atomic.Bool
)

func bloomHas(guard int) bool {
	if bloomReached != "" {
		bloomNote(guard)
	}
	return guard != bloomDeleted
}

func bloomNote(guard int) {
	if bloomNoted[guard].Swap(true) {
		return
	}
	f, err := os.OpenFile(bloomReached, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintln(f, guard)
		f.Close()
	}
	if err != nil {
		panic(err)
	}
}
`
	if err := add(filepath.Join(dir, "deletions_switch.go"), fmt.Sprintf(switches, name)); err != nil {
		return "", nil, err
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	return name, guards, cmp.Or(err, os.WriteFile(filepath.Join(temp, "overlay.json"), data, 0o600))
}

// guardAll returns the text of a file with guards, and the name of its package. It appends the
// guards to guards.
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
		return fmt.Sprintf("bloomHas(%d)", len(*guards)), true
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
