package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/mattn/go-isatty"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// progress is a line on the terminal that shows how far a command has got, and a summary at the
// end. Without a terminal it is nil, and count, step, hide and end do nothing.
type progress struct {
	start time.Time
	still bool // only the summary is written
	stop  chan struct{}

	mu    sync.Mutex
	cfg   *lines.Config
	total int64     // the number of bytes to read, or 0 if unknown
	verb  string    // what was done with some of the lines, such as "written", or ""
	read  uint64    // the number of lines read
	some  uint64    // the number of lines that verb describes; not shown if verb is ""
	since time.Time // when the current reading of the input began
	phase string    // what the command does after it has read its input, or ""
	steps uint64    // the number of steps of the phase, or 0 if it is unknown
	done  uint64    // the number of steps that are done
	shown bool      // the line is on the terminal now
}

// running is the progress of the command. It is nil before newProgress, after end, and without a
// terminal.
var running atomic.Pointer[progress]

// newProgress shows the line four times a second, until end is called. A second call continues the
// line of the first.
func newProgress(cfg *lines.Config, verb string) *progress {
	if fd := os.Stderr.Fd(); !isatty.IsTerminal(fd) && !isatty.IsCygwinTerminal(fd) {
		return nil
	}
	p := running.Load()
	if p == nil {
		p = &progress{start: time.Now(), still: os.Getenv("TERM") == "dumb", stop: make(chan struct{})}
		if slices.Contains(cfg.Names, lines.Stdin) && isatty.IsTerminal(os.Stdin.Fd()) {
			logf("reading from the keyboard: %s ends the lines", endOfFile)
			p.still = true // the line would be in the way of what is typed
		}
		defer p.run()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cfg = cfg
	p.total = totalSize(cfg.Names)
	p.verb = verb
	p.since = time.Now()
	p.read = 0
	p.some = 0
	p.phase = ""
	return p
}

func (p *progress) run() {
	running.Store(p)
	if p.still {
		return
	}
	go func() {
		for {
			select {
			case <-time.After(time.Second / 4):
				p.show("\r"+p.text()+"\x1b[K", true)
			case <-p.stop:
				return
			}
		}
	}()
}

var endOfFile = "Ctrl-D"

func init() {
	if runtime.GOOS == "windows" {
		endOfFile = "Ctrl-Z and Enter"
	}
}

func (p *progress) count(read, some int) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.read += uint64(read)
		p.some += uint64(some)
	}
}

// doing shows phase, what the command does after it has read its input. steps is 0 if unknown.
func doing(phase string, steps uint64) *progress {
	p := running.Load()
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.phase = phase
		p.steps = steps
		p.done = 0
	}
	return p
}

func (p *progress) step(n int) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.done += uint64(n)
	}
}

func (p *progress) show(text string, shown bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if shown || p.shown {
		fmt.Fprint(os.Stderr, text)
	}
	p.shown = shown
}

func (p *progress) hide() {
	if p != nil {
		p.show(clearLine, false)
	}
}

const clearLine = "\r\x1b[K"

// message removes the progress line, and writes text, a whole line, to standard error.
func message(text string) {
	if p := running.Load(); p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.shown {
			text = clearLine + text
		}
		p.shown = false
	}
	fmt.Fprint(os.Stderr, text)
}

func (p *progress) end() {
	if p == nil || !running.CompareAndSwap(p, nil) {
		return
	}
	close(p.stop)
	p.hide()
	some := ""
	if p.verb != "" {
		some = fmt.Sprintf(", %s %s", humanize.Comma(int64(p.some)), p.verb)
	}
	took := time.Since(p.start).Round(time.Millisecond)
	logf("%s%s, in %v", counted(p.read, "line"), some, took)
}

func endProgress() { running.Load().end() }

// text returns the line. It fits into 80 columns.
func (p *progress) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.phase != "" && p.steps > 0:
		return fmt.Sprintf("%s: %d %%", p.phase, 100*p.done/p.steps)
	case p.phase != "":
		return p.phase
	}
	took := time.Since(p.since)
	text := short(float64(p.read)) + " lines"
	if p.verb != "" {
		text += fmt.Sprintf(", %s %s", short(float64(p.some)), p.verb)
	}
	text += fmt.Sprintf(", %s lines/s", short(float64(p.read)/took.Seconds()))
	read := float64(p.cfg.Read.Load())
	if p.total > 0 && read > 0 && took > time.Second {
		left := max(0, float64(p.total)-read) / read * float64(took)
		text += fmt.Sprintf(", %v left", time.Duration(left).Round(time.Second))
	}
	return text
}

// short returns n with a unit, such as "1.2 M". Below 1,000 it returns a whole number.
func short(n float64) string {
	return strings.TrimSpace(humanize.SIWithDigits(math.Round(n), 1, ""))
}
