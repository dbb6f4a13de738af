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
	"time"
)

// A process is a program that measures a filter. It is a program in another language, or a build of
// this program without assembly. It is started with
//
//	file width n window passes p
//
// The file has n keys of that width to add, and then the absent keys. The program makes a filter,
// warms up, and writes
//
//	ready <bits> <false positives among the absent keys>
//
// Then it reads lines. Each line is the number of a round. For each line it measures as
// filter.measure does, and writes three numbers of nanoseconds a key: add, present, absent. Add is
// nan if the program fills its filters itself. Until the next line it sleeps. So its rounds take
// turns with all other rows.
type process struct {
	name, note string
	args       []string // the program and its first arguments
}

//go:embed boost/boost.cc guava/Guava.java rust/Cargo.toml rust/Cargo.lock rust/src/main.rs
var sources embed.FS

// builds builds this program without assembly. Unless quick is true, it also builds the programs in
// other languages. If a build fails, its rows are left out, and missing has the reason.
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
		err := command(".", "go", "build", "-tags", "purego", "-o", program, ".")
		return []process{{args: []string{program, "-serve"}}}, err
	})
	if quick {
		return found, missing
	}
	missing = append(missing, "Bloofi (Crainiceanu and Lemire, 2015). It looks a key up in many "+
		"filters at once, as bank.Bank does. It is published only as Java source")
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
			return nil, errors.New("name the folder of its headers with -boost")
		}
		program := filepath.Join(dir, "boost-bench")
		found["Boost.Bloom, many"] = []process{
			{"Boost.Bloom classic", "", []string{program, "classic.many"}},
			{"Boost.Bloom blocked", "", []string{program, "blocked.many"}},
		}
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

// peer is a process that is running.
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
	err := os.WriteFile(file, slices.Concat(r.added.buf, r.absent.buf), 0o600)
	args := []string{
		file, strconv.Itoa(w.kind.width), strconv.Itoa(w.n),
		strconv.Itoa(r.window), strconv.Itoa(r.passes), fmt.Sprint(w.p),
	}
	for _, program := range w.processes {
		p := &peer{result: &result{
			name: program.name, note: program.note, absent: r.absent.len(), err: err,
		}}
		if err == nil {
			p.result.err = p.start(slices.Concat(program.args, args))
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

// measure measures a round. If p has failed, it returns NaNs.
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

// serve makes this program a process, which measures one of its rows.
func serve(args []string) error {
	if len(args) != 7 {
		return errors.New("-serve wants: row file width n window passes p")
	}
	var r run
	var width int
	var p float64
	numbers := strings.Join(args[2:], " ")
	if _, err := fmt.Sscan(numbers, &width, &r.n, &r.window, &r.passes, &p); err != nil {
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
