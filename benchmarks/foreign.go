package main

import (
	"archive/zip"
	"bufio"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

var nan = math.NaN()

// A foreign library is measured by a process of its own, which is started with
//
//	file width n window passes p
//
// where file holds n added keys of that width and then the absent ones. It
// makes a filter, warms up, and writes
//
//	ready <bits> <false positives among the absent keys>
//
// For each line it then reads, the number of a round, it measures what
// filter.measure does and writes nanoseconds per key: add, present, absent. Until the next
// line it sleeps.
// Thus its rounds take turns with everyone else's.
type foreign struct {
	name, note string
	args       []string // the program and what precedes the above
	slow       bool     // left out at ten million keys, to save time
}

//go:embed boost/boost.cc guava/Guava.java rust/Cargo.toml rust/Cargo.lock rust/src/main.rs
var sources embed.FS

// buildForeign builds the foreign programs in dir, that of Boost with the headers in
// boost. It returns those that could be built, the versions used, and why others could not.
func buildForeign(dir, boost string) (found []foreign, versions, missing []string) {
	if err := os.CopyFS(dir, sources); err != nil {
		return nil, nil, []string{err.Error()}
	}
	if jar, err := buildGuava(dir); err != nil {
		missing = append(missing, "Guava: "+err.Error())
	} else {
		found = append(found, foreign{name: "guava", note: "on the JVM; byteArrayFunnel", args: []string{"java", "-Xmx1500m", "-cp", jar + string(os.PathListSeparator) + dir, "Guava"}, slow: true})
		versions = append(versions, "Guava "+jarVersion(jar), firstLine("java", "-version"))
	}
	if program, err := buildRust(dir); err != nil {
		missing = append(missing, "fastbloom: "+err.Error())
	} else {
		found = append(found,
			foreign{name: "fastbloom", note: "in Rust, -C target-cpu=native; its default hasher, SipHash-1-3", args: []string{program, "sip"}, slow: true},
			foreign{name: "fastbloom.foldhash", note: "in Rust, -C target-cpu=native; foldhash", args: []string{program, "fold"}, slow: true})
		lock, _ := sources.ReadFile("rust/Cargo.lock")
		versions = append(versions, "fastbloom "+locked(string(lock), "fastbloom"), "foldhash "+locked(string(lock), "foldhash"), firstLine("rustc", "--version"))
	}
	if program, err := buildBoost(dir, boost); err != nil {
		missing = append(missing, "Boost.Bloom: "+err.Error())
	} else {
		for _, kind := range [][2]string{
			{"classic", "Boost.Bloom in C++, -O3 -march=native; filter<K>, boost::hash"},
			{"classic.bulk", "its functions that take many keys at once, here all of them"},
			{"blocked", "fast_multiblock32<8>, one block a key at 1 %, two at lower rates"},
			{"blocked.bulk", "the same, many keys at once"},
		} {
			found = append(found, foreign{name: "boost." + kind[0], note: kind[1], args: []string{program, kind[0]}})
		}
		versions = append(versions, firstLine("g++", "--version"))
	}
	return found, versions, missing
}

// buildBoost compiles boost.cc with the headers of Boost in a folder.
func buildBoost(dir, headers string) (program string, err error) {
	if headers == "" {
		return "", errors.New("name the folder of its headers with -boost")
	}
	program = filepath.Join(dir, "boost-bench")
	return program, run(dir, nil, "g++", "-std=c++17", "-O3", "-march=native", "-I", headers, "-o", program, filepath.Join(dir, "boost", "boost.cc"))
}

// buildGuava compiles Guava.java and returns the jar it found: $GUAVA_JAR,
// Debian's, or one in the local Maven repository, which Maven fills if need be.
func buildGuava(dir string) (jar string, err error) {
	home, _ := os.UserHomeDir()
	find := func() string {
		local, _ := filepath.Glob(filepath.Join(home, ".m2/repository/com/google/guava/guava/*/guava-*.jar"))
		slices.Reverse(local)
		for _, jar := range append([]string{os.Getenv("GUAVA_JAR"), "/usr/share/java/guava.jar"}, local...) {
			if info, err := os.Stat(jar); err == nil && info.Mode().IsRegular() {
				return jar
			}
		}
		return ""
	}
	if _, err := exec.LookPath("javac"); err != nil {
		return "", err
	}
	if jar = find(); jar == "" {
		if err := run(dir, nil, "mvn", "-q", "dependency:get", "-Dartifact=com.google.guava:guava:33.4.8-jre"); err != nil {
			return "", fmt.Errorf("no guava.jar (set GUAVA_JAR): %w", err)
		}
		jar = find()
	}
	return jar, run(dir, nil, "javac", "-cp", jar, "-d", dir, filepath.Join(dir, "guava", "Guava.java"))
}

func buildRust(dir string) (program string, err error) {
	err = run(filepath.Join(dir, "rust"), []string{"RUSTFLAGS=-C target-cpu=native", "CARGO_TARGET_DIR=" + filepath.Join(dir, "target")},
		"cargo", "build", "--release", "--locked", "--quiet")
	return filepath.Join(dir, "target", "release", "fastbloom-bench"), err
}

func run(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
		err = fmt.Errorf("%s: %w", name, err)
	}
	return err
}

func firstLine(name string, args ...string) string {
	out, _ := exec.Command(name, args...).CombinedOutput()
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// jarVersion returns what the manifest of an OSGi bundle calls its version.
func jarVersion(jar string) string {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return "unknown"
	}
	defer z.Close()
	manifest, err := fs.ReadFile(z, "META-INF/MANIFEST.MF")
	_, after, found := strings.Cut(string(manifest), "Bundle-Version: ")
	if err != nil || !found {
		return "unknown"
	}
	return strings.Fields(after)[0]
}

// locked returns the version of a crate in a Cargo.lock.
func locked(lock, crate string) string {
	_, after, _ := strings.Cut(lock, fmt.Sprintf("name = %q\nversion = \"", crate))
	version, _, _ := strings.Cut(after, `"`)
	return version
}

// peer is a running foreign program.
type peer struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	result *result
}

// patience is how long a foreign program may take for an answer.
const patience = 5 * time.Minute

// startAll starts the programs and waits until they are warm.
func startAll(programs []foreign, w workload) (peers []*peer) {
	if len(programs) == 0 {
		return nil
	}
	file, err := os.CreateTemp("", "keys-*")
	if err == nil {
		defer os.Remove(file.Name())
		_, err1 := file.Write(w.added.buf)
		_, err2 := file.Write(w.absent.buf)
		err = errors.Join(err1, err2, file.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "keys for foreign programs:", err)
		return nil
	}
	for _, f := range programs {
		peers = append(peers, start(f, w, file.Name()))
	}
	return peers
}

func start(f foreign, w workload, file string) *peer {
	args := slices.Concat(f.args[1:], []string{file, strconv.Itoa(w.added.width), strconv.Itoa(w.n), strconv.Itoa(w.window), strconv.Itoa(w.passes), fmt.Sprint(w.p)})
	p := &peer{cmd: exec.Command(f.args[0], args...), result: &result{name: f.name, allocs: [2]float64{nan, nan}}}
	p.cmd.Stderr = os.Stderr
	in, err1 := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	p.in, p.out = in, bufio.NewScanner(out)
	if p.fail(errors.Join(err1, err2, p.cmd.Start())) {
		return p
	}
	words, err := p.read(3)
	if p.fail(err) {
		return p
	}
	p.result.bitsPerKey = words[1] / float64(w.n)
	p.result.rate = words[2] / float64(w.absent.len())
	p.result.probes = w.absent.len()
	return p
}

// fail reports whether err is one, and if so ends the program.
func (p *peer) fail(err error) bool {
	if err == nil {
		return false
	}
	p.result.err = err
	fmt.Fprintf(os.Stderr, "%s: %v\n", p.result.name, err)
	if p.cmd.Process != nil {
		p.cmd.Process.Kill()
	}
	return true
}

// read returns the numbers of the next line. There must be n.
func (p *peer) read(n int) ([]float64, error) {
	deadline := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer deadline.Stop()
	if !p.out.Scan() {
		return nil, fmt.Errorf("no answer: %w", errors.Join(p.out.Err(), io.ErrUnexpectedEOF))
	}
	words := strings.Fields(strings.Replace(p.out.Text(), "ready", "0", 1))
	if len(words) != n {
		return nil, fmt.Errorf("unexpected answer %q", p.out.Text())
	}
	numbers := make([]float64, n)
	for i, word := range words {
		var err error
		if numbers[i], err = strconv.ParseFloat(word, 64); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// measure adds a round to p's result, unless it failed before.
func (p *peer) measure(round int) {
	if p.result.err != nil {
		return
	}
	_, err := fmt.Fprintln(p.in, round)
	if p.fail(err) {
		return
	}
	ns, err := p.read(ops)
	if p.fail(err) {
		return
	}
	for op := range ops {
		p.result.record(op, ns[op])
	}
}

func (p *peer) stop() {
	if p.cmd.Process == nil {
		return
	}
	p.in.Close()
	deadline := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
	defer deadline.Stop()
	p.cmd.Wait()
}

// machine describes where this runs.
func machine() string {
	cpu := "unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
