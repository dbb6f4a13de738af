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

// progress is a line on the terminal that says how far a command is. A nil progress is that
// of a command without a terminal: its methods do nothing.
type progress struct {
	cfg   *lines.Config
	total int64  // bytes to read, if known
	room  uint64 // lines that the filter is made for, if known
	verb  string // what happened to some lines: "written"
	start time.Time
	stop  chan struct{}

	mu    sync.Mutex
	read  uint64 // lines
	some  uint64 // lines to which it happened
	held  uint64 // lines in the filter
	shown bool
}

func terminal(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}

// newProgress starts showing progress.
func newProgress(cfg *lines.Config, verb string, held, room uint64) *progress {
	if !terminal(os.Stderr) {
		return nil
	}
	p := &progress{cfg: cfg, total: totalSize(cfg.Names), room: room, held: held, verb: verb,
		start: time.Now(), stop: make(chan struct{})}
	go func() {
		ticks := time.NewTicker(time.Second / 4)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				p.show()
			case <-p.stop:
				return
			}
		}
	}()
	return p
}

// add counts lines: those read, and those that it happened to. Where the filter has a room,
// they are new in it.
func (p *progress) add(read, some int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.read += uint64(read)
	p.some += uint64(some)
	p.held += uint64(some)
	p.mu.Unlock()
}

// hide removes the line until it is due again.
func (p *progress) hide() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(os.Stderr, "\r%s\x1b[K", p.text())
	p.shown = true
}

// end removes the line and says how it went.
func (p *progress) end() {
	if p == nil {
		return
	}
	close(p.stop)
	p.hide()
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(os.Stderr, "bloom: %s, %s %s, in %v\n", counted(p.read, "line"),
		humanize.Comma(int64(p.some)), p.verb, time.Since(p.start).Round(time.Millisecond))
	p.shown = false
}

// text is short enough for 80 columns.
func (p *progress) text() string {
	short := func(n uint64) string { return strings.TrimSpace(humanize.SIWithDigits(float64(n), 1, "")) }
	took := time.Since(p.start)
	parts := []string{
		short(p.read) + " lines",
		short(p.some) + " " + p.verb,
		short(uint64(float64(p.read)/took.Seconds())) + " lines/s",
	}
	if p.room > 0 {
		parts = append(parts, fmt.Sprintf("filter %.0f%% full", 100*float64(p.held)/float64(p.room)))
	}
	if read := p.cfg.Read.Load(); p.total > 0 && read > 0 && took > time.Second {
		left := time.Duration(float64(took) / float64(read) * float64(max(0, p.total-read)))
		parts = append(parts, left.Round(time.Second).String()+" left")
	}
	return strings.Join(parts, ", ")
}
