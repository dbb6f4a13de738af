// Dedupe writes each line of its input the first time it appears, in order.
//
//	dedupe [-n lines] [-p rate] [-state file] [file ...]
//
// It reads the named files, or standard input where there are none or one is
// called "-". What it has to write is written before it waits for more input.
// With -state it also drops the lines that earlier runs with the same file let
// through. Only a run that comes to its end without an error changes that file,
// and only one should use it at a time.
//
// It remembers lines in a Bloom filter, whose size depends on -n and -p, not on
// the length of the lines: 3.6 MB if they are left as they are. The price is
// that a new line is dropped by mistake now and then: one in a million with -n
// lines in the filter, fewer before, ever more after. No line is written twice.
//
// Lines end with "\n", which is added to the last one where it is missing. All
// before it counts, a "\r" too. Lines may be of any length; as each must be known
// to be new before any of it is written, the longest is held in memory, and takes
// up to four times its length while it arrives.
//
// The exit status is 0, or 1 after an error, or 2 if the flags are wrong.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed79a3ff49/bloom"
)

//go:embed sample.txt
var sample string

func main() {
	n := flag.Uint64("n", 1_000_000, "different `lines` to expect, those in the state file included")
	p := flag.Float64("p", 1e-6, "`rate` of new lines dropped by mistake when there are that many")
	state := flag.String("state", "", "`file` that remembers lines from run to run; made if it is missing")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: dedupe [-n lines] [-p rate] [-state file] [file ...]")
		flag.PrintDefaults()
	}
	flag.Parse()

	// Left alone, a closed pipe on standard output kills the process silently.
	signal.Ignore(syscall.SIGPIPE)

	d := deduper{n: max(*n, 1), p: *p, start: time.Now(), mixed: isTerminal(os.Stdout)}
	d.lines = bufio.NewReaderSize(nil, 64<<10)
	d.out = bufio.NewWriterSize(&d, 64<<10)
	var err error
	if d.seen, err = bloom.New(*n, *p); err != nil {
		fmt.Fprintln(os.Stderr, "dedupe:", err)
		os.Exit(2)
	}
	d.mu.Lock()
	if err = d.run(*state); err != nil {
		d.erase()
		fmt.Fprintln(os.Stderr, "dedupe:", err)
		os.Exit(1)
	}
}

// deduper is one run.
type deduper struct {
	p     float64
	seen  *bloom.Filter
	n     uint64 // lines that seen is made for
	known uint64 // lines that seen held at the start, by its own estimate
	read  uint64
	kept  uint64

	in    io.Reader     // what to read
	lines *bufio.Reader // reads it, through Read
	long  []byte        // a line that lines has no room for
	out   *bufio.Writer // writes to standard output, through Write

	mu    sync.Mutex // held but while it waits for input, which is when progress may look
	start time.Time
	mixed bool // standard output is a terminal
	shown bool // there is a progress line on the screen
}

func (d *deduper) run(state string) error {
	if state != "" {
		if err := d.load(state); err != nil {
			return err
		}
	}
	if isTerminal(os.Stderr) {
		go d.progress()
	}
	err := d.inputs()
	if ferr := d.out.Flush(); err == nil {
		err = ferr
	}
	if err == nil && state != "" {
		err = d.seen.SaveFile(state)
	}
	if err != nil {
		return err
	}
	d.erase()
	fmt.Fprintf(os.Stderr, "dedupe: %d lines read, %d kept, %d dropped\n", d.read, d.kept, d.read-d.kept)
	fmt.Fprintf(os.Stderr, "dedupe: filter of %s, %.3g%% full, false-positive rate now %.2g\n",
		size(d.seen.M()/8), 100*d.seen.FillRatio(), d.seen.FPR())
	return nil
}

// inputs reads all there is to read.
func (d *deduper) inputs() error {
	if len(os.Args) == 1 && isTerminal(os.Stdin) {
		fmt.Fprintln(os.Stderr, `dedupe: no input, so here is a small sample without its repeats ("dedupe -" reads the terminal)`)
		return d.dedupe(strings.NewReader(sample))
	}
	names := flag.Args()
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		file := os.Stdin
		if name != "-" {
			var err error
			if file, err = os.Open(name); err != nil {
				return err
			}
		}
		err := d.dedupe(file)
		if name != "-" {
			file.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dedupe writes the new lines of in.
func (d *deduper) dedupe(in io.Reader) error {
	d.in = in
	d.lines.Reset(d)
	for {
		line, err := d.lines.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			d.long = d.long[:0]
			for err == bufio.ErrBufferFull {
				d.long = append(d.long, line...)
				line, err = d.lines.ReadSlice('\n')
			}
			d.long = append(d.long, line...)
			line = d.long
		}
		if err == nil || err == io.EOF && len(line) > 0 {
			d.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line writes line, which may lack its "\n", if it is new. An error stays in
// d.out until that is flushed.
func (d *deduper) line(line []byte) {
	key := bytes.TrimSuffix(line, []byte{'\n'})
	d.read++
	if !d.seen.Add(key) {
		return
	}
	d.kept++
	if d.known+d.kept == max(d.n, d.known)+1 {
		d.erase()
		fmt.Fprintf(os.Stderr, "dedupe: warning: the filter is made for %d lines (-n) and now has more: new ones are dropped by mistake more and more often\n", d.n)
	}
	d.out.Write(line)
	if len(key) == len(line) {
		d.out.WriteByte('\n')
	}
}

// Read reads from d.in. As that may take long, the output so far goes out first,
// and progress may be shown.
func (d *deduper) Read(p []byte) (int, error) {
	if err := d.out.Flush(); err != nil {
		return 0, err
	}
	d.mu.Unlock()
	defer d.mu.Lock()
	return d.in.Read(p)
}

// Write writes to standard output.
func (d *deduper) Write(p []byte) (int, error) {
	if d.mixed {
		d.erase()
	}
	return os.Stdout.Write(p)
}

// progress shows how far things are, twice a second.
func (d *deduper) progress() {
	for range time.Tick(time.Second / 2) {
		d.mu.Lock()
		rate := float64(d.read) / time.Since(d.start).Seconds()
		fmt.Fprintf(os.Stderr, "\r%-78s", fmt.Sprintf("%d lines read, %d kept, %.0f lines/s", d.read, d.kept, rate))
		d.shown = true
		d.mu.Unlock()
	}
}

// erase removes the progress line, if there is one.
func (d *deduper) erase() {
	if d.shown {
		fmt.Fprintf(os.Stderr, "\r%78s\r", "")
		d.shown = false
	}
}

// load takes the filter from path, if there is such a file, and n from the
// filter. Flags that were given must make a filter of the same size.
func (d *deduper) load(path string) error {
	seen, err := bloom.LoadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(path)) // better now than when saving
		return err
	}
	if err != nil {
		return err
	}
	made := d.seen
	d.seen, d.known = seen, seen.ApproxCount()
	if d.seen.M() == made.M() && d.seen.K() == made.K() {
		return nil
	}
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "n" || f.Name == "p" {
			err = fmt.Errorf("%s holds a filter of %d bits and %d hashes, but -n and -p make one of %d bits and %d hashes; leave both out to use the file's",
				path, d.seen.M(), d.seen.K(), made.M(), made.K())
		}
	})
	d.n = d.seen.Capacity(d.p)
	return err
}

// isTerminal reports whether f is a terminal, as far as the standard library
// can tell: a character device, but not the null device, which is one as well.
// Windows knows no difference between the two.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || runtime.GOOS == "windows" || !os.SameFile(info, null)
}

// size returns bytes in a readable unit.
func size(bytes uint64) string {
	units := []string{"bytes", "kB", "MB", "GB"}
	x := float64(bytes)
	for len(units) > 1 && x >= 1000 {
		x, units = x/1000, units[1:]
	}
	return fmt.Sprintf("%.3g %s", x, units[0])
}
