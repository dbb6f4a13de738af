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
	"strconv"
	"strings"
	"time"
)

// A process is a program that measures a filter, of another language or of a build of this
// program without assembly. It is started with
//
//	file width n window passes p
//
// where file holds n added keys of that width and then the absent ones. It makes a filter, warms
// up, and writes
//
//	ready <bits> <false positives among the absent keys>
//
// For each line that it then reads, the number of a round, it measures what filter.measure does
// and writes nanoseconds a key: add, present, absent. Add is nan for filters that the program fills
// itself. Until the next line it sleeps. So its rounds take turns with those of all other rows.
type process struct {
	name, note string
	args       []string // the program and what precedes the above
}

//go:embed boost/boost.cc guava/Guava.java rust/Cargo.toml rust/Cargo.lock rust/src/main.rs
var sources embed.FS

// builds are this program without assembly and, unless quick, those of other languages. A build that
// fails leaves its rows out, and the report says why.
func builds(dir, boost string, quick bool) (found map[string][]process, missing []string) {
	if err := os.CopyFS(dir, sources); err != nil {
		return nil, []string{err.Error()}
	}
	found = map[string][]process{}
	try := func(name string, build func() ([]process, error)) {
		processes, err := build()
		if found[name] = processes; err != nil {
			missing = append(missing, name+": "+err.Error())
		}
	}
	try("purego", func() ([]process, error) {
		program := filepath.Join(dir, "purego")
		return []process{{args: []string{program, "-serve"}}}, command(".", "go", "build", "-tags", "purego", "-o", program, ".")
	})
	if quick {
		return found, missing
	}
	missing = append(missing, "Bloofi (Crainiceanu and Lemire, 2015), which asks many filters at once as "+
		"bank.Bank does: it is published as source of Java only")
	try("Guava", func() ([]process, error) {
		jar := os.Getenv("GUAVA_JAR")
		if jar == "" {
			jar = "/usr/share/java/guava.jar" // Debian's
		}
		java := []string{"java", "-Xmx1500m", "-cp", jar + string(os.PathListSeparator) + dir, "Guava"}
		return []process{{"Guava", "on the JVM", java}}, command(dir, "javac", "-cp", jar, "-d", dir, filepath.Join(dir, "guava", "Guava.java"))
	})
	try("fastbloom", func() ([]process, error) {
		program := filepath.Join(dir, "target", "release", "fastbloom-bench")
		return []process{{"fastbloom", "in Rust, with foldhash", []string{program, "fold"}}},
			command(filepath.Join(dir, "rust"), "cargo", "build", "--release", "--locked", "--quiet", "--config", "build.rustflags='-Ctarget-cpu=native'", "--target-dir", filepath.Join(dir, "target"))
	})
	try("Boost.Bloom", func() ([]process, error) {
		if boost == "" {
			return nil, errors.New("name the folder of its headers with -boost")
		}
		program := filepath.Join(dir, "boost-bench")
		found["Boost.Bloom, many"] = []process{
			{"Boost.Bloom classic", "", []string{program, "classic.many"}},
			{"Boost.Bloom blocked", "", []string{program, "blocked.many"}},
		}
		return []process{
			{"Boost.Bloom classic", "in C++; one by one", []string{program, "classic"}},
			{"Boost.Bloom classic, bulk", "", []string{program, "classic.bulk"}},
			{"Boost.Bloom blocked", "fast_multiblock32<8>; one block a key at 1 %, two at lower rates", []string{program, "blocked"}},
			{"Boost.Bloom blocked, bulk", "", []string{program, "blocked.bulk"}},
		}, command(dir, "g++", "-std=c++17", "-O3", "-march=native", "-I", boost, "-o", program, filepath.Join(dir, "boost", "boost.cc"))
	})
	return found, missing
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// peer is a process that runs.
type peer struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	result *result
}

// startAll starts the processes of w and waits until they are warm.
func startAll(w workload, r run) (peers []*peer) {
	if len(w.processes) == 0 {
		return nil
	}
	file := filepath.Join(os.TempDir(), fmt.Sprintf("keys-%d", os.Getpid()))
	defer os.Remove(file)
	err := os.WriteFile(file, append(r.added.buf[:len(r.added.buf):len(r.added.buf)], r.absent.buf...), 0o600)
	for _, program := range w.processes {
		p := &peer{result: &result{name: program.name, note: program.note, absent: r.absent.len(), err: err}}
		if err == nil {
			p.result.err = p.start(append(program.args[:len(program.args):len(program.args)], file, strconv.Itoa(w.kind.width),
				strconv.Itoa(w.n), strconv.Itoa(r.window), strconv.Itoa(r.passes), fmt.Sprint(w.p)))
		}
		if answer := p.ask("", 3); p.result.err == nil {
			p.result.bitsPerKey, p.result.falses = answer[1]/float64(w.n), int(answer[2])
		}
		peers = append(peers, p)
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

// ask writes a question and returns the n numbers of the answer. After an error it does nothing.
func (p *peer) ask(question string, n int) []float64 {
	if p.result.err != nil {
		return nil
	}
	deadline := time.AfterFunc(5*time.Minute, func() { p.cmd.Process.Kill() })
	defer deadline.Stop()
	io.WriteString(p.in, question)
	p.out.Scan()
	words := strings.Fields(strings.Replace(p.out.Text(), "ready", "0", 1))
	numbers := make([]float64, n)
	for i := range numbers {
		if len(words) != n {
			p.result.err = fmt.Errorf("answered %q", p.out.Text())
			return nil
		}
		numbers[i], p.result.err = strconv.ParseFloat(words[i], 64)
	}
	return numbers
}

// measure measures a round, unless p has failed.
func (p *peer) measure(round int) sample {
	answer := p.ask(fmt.Sprintln(round), absent+1)
	if p.result.err != nil {
		return sample{nan, nan, nan, nan}
	}
	return sample{answer[add], answer[present], answer[absent], nan}
}

func (p *peer) stop() {
	if p.cmd != nil && p.cmd.Process != nil {
		p.in.Close()
		deadline := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
		defer deadline.Stop()
		p.cmd.Wait()
	}
}

// serve is a process that measures a row of this program.
func serve(args []string) error {
	if len(args) != 7 {
		return errors.New("-serve wants: row file width n window passes p")
	}
	var r run
	var width int
	var p float64
	if _, err := fmt.Sscan(strings.Join(args[2:], " "), &width, &r.n, &r.window, &r.passes, &p); err != nil {
		return err
	}
	data, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	all := keys{buf: data, width: width}
	r.added, r.absent = all.part(0, r.n), all.part(r.n, all.len()-r.n)
	for _, row := range ours {
		if row.name != args[0] {
			continue
		}
		f := row.make(r.n, p)
		f.add(r.added)
		fmt.Println("ready", f.bits, f.count(r.absent))
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			round, _ := strconv.Atoi(in.Text())
			s := f.measure(r, round)
			fmt.Println(s[add], s[present], s[absent])
		}
	}
	return nil
}
