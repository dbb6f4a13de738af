package main

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A process is a program with a filter: one in another language, or this program built without
// assembly. It is started with
//
//	file width n p
//
// The file has n keys of that width to add, followed by keys to look up. The program makes a
// filter, warms up if its language needs that, and writes
//
//	ready <bits>
//
// Then it reads lines, and answers each with one line. It sleeps until the next line, so that it
// takes turns with all other rows.
//
//	empty                      empties the filter, and answers 0 0
//	fill <first> <n>           adds n keys of the file, and answers 0 0
//	add <first> <n> <warm>     adds n keys of the file, and answers <nanoseconds> 0
//	find <first> <n> <warm>    looks n keys up, and answers <nanoseconds> <keys found>
//
// Before add and find start the clock, they look up n keys, beginning with key warm. The answer to
// add is nan 0 if the program fills its filters itself.
type process struct {
	name, note string
	args       []string // the program and its first arguments
}

//go:embed boost/boost.cc guava/Guava.java rust/Cargo.toml rust/Cargo.lock rust/src/main.rs
var sources embed.FS

// builds compiles this program without assembly and, unless quick is true, the programs in other
// languages, all in parallel. If a build fails, its rows are left out, and missing has the reason.
func builds(dir, boost string, quick bool) (found map[string][]process, missing []string) {
	if err := os.CopyFS(dir, sources); err != nil {
		return nil, []string{err.Error()}
	}
	found = map[string][]process{}
	var wait sync.WaitGroup
	var mu sync.Mutex // guards found and missing
	try := func(name string, build func() ([]process, error)) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			processes, err := build()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				missing = append(missing, name+": "+err.Error())
				return
			}
			found[name] = processes
		}()
	}
	try("purego", func() ([]process, error) {
		program := filepath.Join(dir, "purego")
		err := command(".", "go", "build", "-tags", "purego", "-o", program, ".")
		return []process{{args: []string{program, "-serve"}}}, err
	})
	if !quick {
		buildOthers(dir, boost, try)
	}
	wait.Wait()
	if boost := found["Boost.Bloom"]; boost != nil {
		program := boost[0].args[0]
		found["Boost.Bloom, many"] = []process{
			{"Boost.Bloom classic", "", []string{program, "classic.many"}},
			{"Boost.Bloom blocked", "", []string{program, "blocked.many"}},
		}
	}
	slices.Sort(missing)
	return found, missing
}

func buildOthers(dir, boost string, try func(name string, build func() ([]process, error))) {
	try("Bloofi (Crainiceanu and Lemire, 2015)", func() ([]process, error) {
		return nil, errors.New("it finds which of many filters hold a key, as bank.Bank does, and is " +
			"published only as Java source")
	})
	try("Guava", func() ([]process, error) {
		jar := os.Getenv("GUAVA_JAR")
		if jar == "" {
			jar = "/usr/share/java/guava.jar" // the path in Debian
		}
		classes := jar + string(os.PathListSeparator) + dir
		java := []string{"java", "-Xmx1500m", "-cp", classes, "Guava"}
		source := filepath.Join(dir, "guava", "Guava.java")
		err := command(dir, "javac", "-cp", jar, "-d", dir, source)
		return []process{{"Guava", "on the JVM", java}}, err
	})
	try("fastbloom", func() ([]process, error) {
		target := filepath.Join(dir, "target")
		program := filepath.Join(target, "release", "fastbloom-bench")
		err := command(filepath.Join(dir, "rust"), "cargo", "build", "--release", "--locked",
			"--quiet", "--config", "build.rustflags='-Ctarget-cpu=native'", "--target-dir", target)
		return []process{{"fastbloom", "in Rust, with foldhash", []string{program, "fold"}}}, err
	})
	try("Boost.Bloom", func() ([]process, error) {
		if boost == "" {
			return nil, errors.New("name the directory of its headers with -boost")
		}
		program := filepath.Join(dir, "boost-bench")
		const blocks = "fast_multiblock32<8>; one block a key at 1 %, two at lower rates"
		source := filepath.Join(dir, "boost", "boost.cc")
		err := command(dir, "g++", "-std=c++17", "-O3", "-march=native",
			"-I", boost, "-o", program, source)
		return []process{
			{"Boost.Bloom classic", "in C++; one by one", []string{program, "classic"}},
			{"Boost.Bloom classic, bulk", "", []string{program, "classic.bulk"}},
			{"Boost.Bloom blocked", blocks, []string{program, "blocked"}},
			{"Boost.Bloom blocked, bulk", "", []string{program, "blocked.bulk"}},
		}, err
	})
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// peer is a running process.
type peer struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	result *result
}

func startAll(w workload, keys plan) (peers []*peer) {
	if len(w.processes) == 0 {
		return nil
	}
	file := filepath.Join(os.TempDir(), fmt.Sprintf("keys-%d", os.Getpid()))
	defer os.Remove(file)
	err := os.WriteFile(file, keys.all.buf, 0o600)
	args := []string{file, strconv.Itoa(w.kind.width), strconv.Itoa(w.n), fmt.Sprint(w.p)}
	for _, program := range w.processes {
		p := &peer{result: &result{name: program.name, note: program.note, err: err}}
		if err == nil {
			p.result.err = p.start(slices.Concat(program.args, args))
		}
		peers = append(peers, p)
	}
	for _, p := range peers {
		ready, bits := p.answer()
		if p.result.err == nil && ready != "ready" {
			p.result.err = fmt.Errorf("answered %q", ready)
		}
		p.result.bitsPerKey = bits / float64(w.n)
	}
	return peers
}

func (p *peer) start(args []string) error {
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Stderr = os.Stderr
	in, err1 := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	p.in, p.out = in, bufio.NewScanner(out)
	return errors.Join(err1, err2, p.cmd.Start())
}

// ask writes a line and returns the time and the number in the answer. After an error it returns
// NaN and 0.
func (p *peer) ask(line ...any) (ns float64, found int) {
	if p.result.err != nil {
		return nan, 0
	}
	if _, p.result.err = fmt.Fprintln(p.in, line...); p.result.err != nil {
		return nan, 0
	}
	text, number := p.answer()
	if p.result.err == nil {
		ns, p.result.err = strconv.ParseFloat(text, 64)
	}
	if p.result.err != nil {
		return nan, 0
	}
	return ns, int(number)
}

// answer reads a line with a word and a number.
func (p *peer) answer() (word string, number float64) {
	if p.result.err != nil {
		return "", 0
	}
	deadline := time.AfterFunc(5*time.Minute, func() { p.cmd.Process.Kill() })
	defer deadline.Stop()
	p.out.Scan()
	word, rest, _ := strings.Cut(strings.TrimSpace(p.out.Text()), " ")
	number, err := strconv.ParseFloat(rest, 64)
	if err != nil {
		p.result.err = fmt.Errorf("answered %q", p.out.Text())
	}
	return word, number
}

func (p *peer) contestant() contestant {
	return contestant{
		result: p.result,
		empty:  func() { p.ask("empty") },
		fill:   func(_, first, n int) { p.ask("fill", first, n) },
		operate: func(op, first, n int) (ns float64, found int) {
			switch op {
			case add:
				return p.ask("add", first, n, warm(first, n))
			case remove:
				return nan, 0 // no process removes keys
			}
			return p.ask("find", first, n, warm(first, n))
		},
	}
}

func (p *peer) stop() {
	if p.cmd != nil && p.cmd.Process != nil {
		p.in.Close()
		deadline := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
		defer deadline.Stop()
		p.cmd.Wait()
	}
}

// serve runs this program as a process with the filter of a row in ours.
func serve(args []string) error {
	if len(args) != 5 {
		return errors.New("-serve wants: row file width n p")
	}
	var width, n int
	var p float64
	if _, err := fmt.Sscan(strings.Join(args[2:], " "), &width, &n, &p); err != nil {
		return err
	}
	data, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	i := slices.IndexFunc(ours, func(r row) bool { return r.name == args[0] })
	if i < 0 {
		return fmt.Errorf("no row has the name %q", args[0])
	}
	all := plan{all: keys{buf: data, width: width}, turn: n}
	c := ours[i].local(workload{n: n, p: p}, all)
	fmt.Println("ready", uint64(c.bitsPerKey*float64(n)))
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var first, n, before int
		command, rest, _ := strings.Cut(in.Text(), " ")
		if command == "empty" {
			c.empty()
			fmt.Println(0, 0)
			continue
		}
		if command == "fill" {
			rest += " 0"
		}
		if _, err := fmt.Sscan(rest, &first, &n, &before); err != nil {
			return err
		}
		if command == "fill" {
			c.fill(add, first, n)
			fmt.Println(0, 0)
			continue
		}
		op := present
		if command == "add" {
			op = add
		}
		ns, found := c.operate(op, first, n)
		fmt.Println(ns, found)
	}
	return nil
}
