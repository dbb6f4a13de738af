// Conform asks a program that reads filters, in any language, every question of testdata/vectors:
//
//	go run ./testdata/conform -- python3 contrib/readers/bloom.py
//
// It starts the program once for each file, with the file's name after the other arguments and a
// key on each line of standard input. The program writes a line for each key: true or false, or for
// a bank the numbers of the members, as in [1, 2]. It then exits with status 0. If it must refuse
// the file, it writes nothing and exits with another status. testdata/vectors/README.md says more.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

var (
	folder  = flag.String("vectors", "testdata/vectors", "the `directory` of the vectors")
	types   = flag.String("types", "", "ask only filters of these `types`, such as bloom,blocked")
	only    = flag.String("only", "", "ask only files whose name begins with this `text`")
	patches = flag.Bool("patches", false, "also give the program patches, after their filters")
	found   = flag.Bool("found", false, "the program writes the keys that it finds, as grep does")
)

type vectors struct {
	Keys    []string
	Filters []struct {
		File, Type, Answers string
		Now                 int64
		Members             [][]int
	}
	Refused        []string
	Patches        []struct{ File, From, Answers string }
	RefusedPatches []struct{ File, From string } `json:"refused_patches"`
}

// question is a run of the program, and what it should answer.
type question struct {
	files   []string
	now     int64
	answers string  // '1' for each key that is found; "" if the program must refuse the files
	members [][]int // of a bank
}

func main() {
	flag.Parse()
	data, err := os.ReadFile(filepath.Join(*folder, "vectors.json"))
	var v vectors
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err == nil && flag.NArg() == 0 {
		err = errors.New("usage: go run ./testdata/conform [flags] -- COMMAND [ARGUMENTS]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conform:", err)
		os.Exit(2)
	}
	all := questions(v)
	wrong := make([]string, len(all))
	var running sync.WaitGroup
	free := make(chan bool, runtime.GOMAXPROCS(0))
	for i, q := range all {
		free <- true
		running.Add(1)
		go func() {
			defer running.Done()
			wrong[i] = ask(q, v.Keys)
			<-free
		}()
	}
	running.Wait()
	bad := 0
	for i, q := range all {
		if wrong[i] != "" {
			bad++
			fmt.Printf("%s: %s\n", strings.Join(q.files, " "), wrong[i])
		}
	}
	fmt.Printf("%d files asked, %d wrong\n", len(all), bad)
	if bad > 0 || len(all) == 0 {
		os.Exit(1)
	}
}

func questions(v vectors) (all []question) {
	add := func(q question) {
		if strings.HasPrefix(q.files[len(q.files)-1], *only) {
			all = append(all, q)
		}
	}
	for _, f := range v.Filters {
		if *types != "" && !slices.Contains(strings.Split(*types, ","), f.Type) {
			continue
		}
		q := question{files: []string{f.File}, now: f.Now, answers: f.Answers, members: f.Members}
		for _, members := range f.Members {
			q.answers += map[bool]string{true: "1", false: "0"}[len(members) > 0]
		}
		add(q)
	}
	for _, name := range v.Refused {
		add(question{files: []string{name}})
	}
	if !*patches {
		return all
	}
	for _, p := range v.Patches {
		add(question{files: []string{p.From, p.File}, answers: p.Answers})
	}
	for _, p := range v.RefusedPatches {
		add(question{files: []string{p.From, p.File}})
	}
	return all
}

// ask returns what is wrong with the program's answers, or "".
func ask(q question, keys []string) string {
	args := flag.Args()[1:]
	for _, name := range q.files {
		args = append(args, filepath.Join(*folder, name))
	}
	cmd := exec.Command(flag.Arg(0), args...)
	cmd.Stdin = strings.NewReader(strings.Join(keys, "\n") + "\n")
	cmd.Env = append(os.Environ(), fmt.Sprintf("BLOOM_NOW=%d", q.now)) // for windows, in nanoseconds
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return err.Error()
	}
	code := cmd.ProcessState.ExitCode()
	fine := code == 0 || *found && code == 1 // grep exits with 1 if it finds nothing
	switch {
	case q.answers == "" && fine:
		return "it was not refused"
	case q.answers == "" && len(out) > 0:
		return fmt.Sprintf("it was refused after an answer, %.40q", out)
	case q.answers == "":
		return ""
	case !fine:
		return fmt.Sprintf("status %d: %s", code, strings.TrimSpace(stderr.String()))
	}
	got := strings.SplitAfter(string(out), "\n")
	got = got[:len(got)-1] // what follows the last line
	if *found {
		var want []string
		for i, key := range keys {
			if q.answers[i] == '1' {
				want = append(want, key+"\n")
			}
		}
		if !slices.Equal(got, want) {
			return fmt.Sprintf("%d keys were found, and not the %d right ones", len(got), len(want))
		}
		return ""
	}
	if len(got) != len(keys) {
		return fmt.Sprintf("%d answers to %d keys", len(got), len(keys))
	}
	for i, answer := range got {
		want := fmt.Sprintln(q.answers[i] == '1')
		if q.members != nil && strings.HasPrefix(answer, "[") {
			want = strings.ReplaceAll(fmt.Sprintln(q.members[i]), " ", ", ")
		}
		if answer != want {
			return fmt.Sprintf("%q is %q, not %q", keys[i], answer, want)
		}
	}
	return ""
}
