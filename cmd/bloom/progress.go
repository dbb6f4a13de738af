package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/mattn/go-isatty"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// progress is a line on the terminal that says how far a command is. Without a terminal it is nil,
// and its methods do nothing.
type progress struct {
	cfg   *lines.Config
	total int64  // the bytes to read, or 0 if unknown
	verb  string // describes some of the lines, such as "written"
	start time.Time
	stop  chan struct{}

	mu    sync.Mutex
	read  uint64 // the number of lines read
	some  uint64 // the number of lines to which verb applies
	shown bool   // the line is on the terminal now
}

// newProgress shows the line four times a second, until end is called.
func newProgress(cfg *lines.Config, verb string) *progress {
	if fd := os.Stderr.Fd(); !isatty.IsTerminal(fd) && !isatty.IsCygwinTerminal(fd) {
		return nil
	}
	p := &progress{
		cfg:   cfg,
		total: totalSize(cfg.Names),
		verb:  verb,
		start: time.Now(),
		stop:  make(chan struct{}),
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
	return p
}

// add adds to the number of lines read, and to the number of lines to which verb applies.
func (p *progress) add(read, some int) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.read += uint64(read)
		p.some += uint64(some)
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

// hide removes the line until the next time it is shown.
func (p *progress) hide() {
	if p != nil {
		p.show("\r\x1b[K", false)
	}
}

// end removes the line, and writes the numbers of lines and the time.
func (p *progress) end() {
	if p != nil {
		close(p.stop)
		p.hide()
		took := time.Since(p.start).Round(time.Millisecond)
		say("%s, %s %s, in %v",
			counted(p.read, "line"), humanize.Comma(int64(p.some)), p.verb, took)
	}
}

// text returns the line. It fits into 80 columns.
func (p *progress) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := time.Since(p.start)
	text := fmt.Sprintf("%s lines, %s %s, %s lines/s",
		short(float64(p.read)), short(float64(p.some)), p.verb,
		short(float64(p.read)/took.Seconds()))
	read := float64(p.cfg.Read.Load())
	if p.total > 0 && read > 0 && took > time.Second {
		left := max(0, float64(p.total)-read) / read * float64(took)
		text += fmt.Sprintf(", %v left", time.Duration(left).Round(time.Second))
	}
	return text
}

// short returns n with a unit, such as "1.2 M".
func short(n float64) string { return strings.TrimSpace(humanize.SIWithDigits(n, 1, "")) }
