// Mutants breaks the code in every way that its lists name, one at a time, and runs the
// test that must notice. It fails if a test passes all the same, or fails without the
// breakage, or if a list no longer fits the code and the tests' names.
//
//	go run ./.ci/mutants [-check] [-race=false] [-run REGEXP] [LIST...]
//
// A list has entries of this form. REGEXP selects tests as in go test -run, and flags such as
// -race and variables may follow. The old lines must be in the file once. Lines that
// begin with a number sign are comments.
//
//	@ FILE PACKAGE-FOLDER REGEXP [FLAG | NAME=VALUE]...
//	-old line
//	+new line
//
// No file is changed: the compiler reads the broken one in its place (go build -overlay).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

type mutant struct {
	where    string // the list and the line
	file     string
	folder   string
	test     string
	flags    []string
	old, new string
}

func (m mutant) String() string {
	line, _, _ := strings.Cut(strings.TrimSpace(m.new), "\n")
	return fmt.Sprintf("%s: %s: %s", m.where, m.file, line)
}

func main() {
	check := flag.Bool("check", false, "only check that every entry fits the code and names a test")
	race := flag.Bool("race", true, "run entries that need the race detector, too")
	run := flag.String("run", "", "only entries whose heading or lines match")
	jobs := flag.Int("j", max(1, runtime.NumCPU()/2), "so many at a time")
	flag.Parse()
	lists := flag.Args()
	if len(lists) == 0 {
		lists, _ = filepath.Glob(".ci/mutants/*.txt")
	}
	bad, err := mutate(lists, *check, *race, regexp.MustCompile(*run), *jobs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || bad > 0 {
		os.Exit(1)
	}
}

func mutate(lists []string, check, race bool, run *regexp.Regexp, jobs int) (bad int, err error) {
	var mutants []mutant
	for _, list := range lists {
		found, err := read(list)
		if err != nil {
			return 0, err
		}
		for _, m := range found {
			_, err := m.broken()
			if err == nil {
				err = m.named()
			}
			if err != nil {
				fmt.Println(err)
				bad++
			} else if run.MatchString(m.file+" "+m.test+"\n"+m.old+m.new) && (race || !slices.Contains(m.flags, "-race")) {
				mutants = append(mutants, m)
			}
		}
	}
	fmt.Printf("%d entries fit the code, %d do not\n", len(mutants), bad)
	if check {
		return bad, nil
	}
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return bad, err
	}
	defer os.RemoveAll(work)

	began, noticed := time.Now(), 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	tokens := make(chan struct{}, jobs)
	fine := map[string]string{} // what a test does without a breakage
	for i, m := range mutants {
		wg.Add(1)
		tokens <- struct{}{}
		go func() {
			defer func() { <-tokens; wg.Done() }()
			began := time.Now()
			verdict := m.try(filepath.Join(work, fmt.Sprint(i)))
			key := m.folder + " " + m.test + " " + strings.Join(m.flags, " ")
			if verdict == "" { // does the test fail without it, too?
				mu.Lock()
				known, ok := fine[key]
				mu.Unlock()
				if !ok {
					known, _ = m.goTest("")
					mu.Lock()
					fine[key] = known
					mu.Unlock()
				}
				verdict = known
			}
			mu.Lock()
			defer mu.Unlock()
			if verdict == "" {
				noticed++
				fmt.Printf("noticed %s (%.1fs)\n", m, time.Since(began).Seconds())
			} else {
				bad++
				fmt.Printf("%s %s\n", strings.ToUpper(verdict[:1])+verdict[1:], m)
			}
		}()
	}
	wg.Wait()
	fmt.Printf("%d of %d breakages noticed in %.0fs\n", noticed, len(mutants), time.Since(began).Seconds())
	return bad, nil
}

// read returns the entries of a list.
func read(path string) (mutants []mutant, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		where := fmt.Sprintf("%s:%d", path, i+1)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '@':
			f := strings.Fields(line[1:])
			if len(f) < 3 {
				return nil, fmt.Errorf("%s: %q has no file, folder and test", where, line)
			}
			mutants = append(mutants, mutant{where: where, file: f[0], folder: f[1], test: f[2], flags: f[3:]})
		case len(mutants) == 0 || line[0] != '-' && line[0] != '+':
			return nil, fmt.Errorf("%s: %q is no line of an entry", where, line)
		case line[0] == '-':
			mutants[len(mutants)-1].old += line[1:] + "\n"
		default:
			mutants[len(mutants)-1].new += line[1:] + "\n"
		}
	}
	return mutants, nil
}

// broken returns the file with m in it.
func (m mutant) broken() (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.where, err)
	}
	lines, old := "\n"+string(text), "\n"+m.old
	if n := strings.Count(lines, old); n != 1 || m.old == "" {
		return "", fmt.Errorf("%s: %s has the old lines %d times: %s", m.where, m.file, n, strings.TrimSpace(m.old))
	}
	return strings.Replace(lines, old, "\n"+m.new, 1)[1:], nil
}

// named returns an error unless each alternative of m's expression names a test of its folder.
func (m mutant) named() error {
	files, _ := filepath.Glob(filepath.Join(m.folder, "*_test.go"))
	var tests []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, found := range testName.FindAllSubmatch(text, -1) {
			tests = append(tests, string(found[1]))
		}
	}
	for name := range strings.SplitSeq(m.test, "|") {
		re, err := regexp.Compile(name)
		if err != nil {
			return fmt.Errorf("%s: %w", m.where, err)
		}
		if !slices.ContainsFunc(tests, re.MatchString) {
			return fmt.Errorf("%s: %s has no test %s", m.where, m.folder, name)
		}
	}
	return nil
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// try returns "" if the test notices m, or else why it does not count.
func (m mutant) try(work string) string {
	text, err := m.broken()
	if err != nil {
		return err.Error()
	}
	file, _ := filepath.Abs(m.file)
	broken := work + filepath.Ext(file)
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{file: broken}})
	if err := os.WriteFile(broken, []byte(text), 0o666); err != nil {
		return err.Error()
	}
	if err := os.WriteFile(work+".json", overlay, 0o666); err != nil {
		return err.Error()
	}
	verdict, out := m.goTest(work + ".json")
	switch {
	case verdict == "":
		return "survived"
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return "does not compile " + out
	}
	return ""
}

// goTest runs m's test, with what overlay replaces, and returns "" if it passes. Programs
// that the test builds have the same overlay.
func (m mutant) goTest(overlay string) (verdict, out string) {
	args := []string{"test", "-vet=off", "-count=1", "-timeout=3m", "-run", m.test}
	env := os.Environ()
	for _, flag := range m.flags {
		if flag[0] == '-' {
			args = append(args, flag)
		} else {
			env = append(env, flag)
		}
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = m.folder
	if overlay != "" {
		env = append(env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
	}
	cmd.Env = env
	output, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		return "fails without it", string(output)
	case strings.Contains(string(output), "[no tests to run]"):
		return "no test of that name", string(output)
	}
	return "", string(output)
}
