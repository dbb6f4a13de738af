package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/mattn/go-isatty"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// output is where lines go, and where the progress makes room for them.
type output struct {
	file interface {
		io.Writer
		io.ReaderAt
		Stat() (os.FileInfo, error)
		Sync() error
	}
	path     string // of OUT, where -o names one
	delim    byte   // ends OUT's lines
	progress *progress
	failed   bool
}

func (o *output) Write(p []byte) (int, error) {
	o.progress.hide()
	n, err := o.file.Write(p)
	o.failed = o.failed || err != nil
	return n, err
}

// written is what a state says of the OUT that its runs wrote. It is part of the comment in the
// state's file, so it is saved together with the filter.
type written struct {
	size  int64
	delim byte
	end   uint64 // digest of the last bytes, or of OUT's path while there are none
}

const writtenText = "dedupe -o: %d bytes, lines end with 0x%02x, digest %016x"

func (w written) String() string { return fmt.Sprintf(writtenText, w.size, w.delim, w.end) }

// fromComment cuts off what a comment says of OUT.
func fromComment(comment string) (rest string, w written, ok bool) {
	if i := strings.LastIndex(comment, "dedupe -o: "); i >= 0 {
		if n, _ := fmt.Sscanf(comment[i:], writtenText, &w.size, &w.delim, &w.end); n == 3 {
			return strings.TrimSuffix(comment[:i], "; "), w, true
		}
	}
	return comment, written{}, false
}

// settle returns once a regular file has what was written on the disk. Nothing else can. It has the
// file of f say what OUT is now.
func (o *output) settle(f informed) error {
	stat, err := o.file.Stat()
	if err != nil || !stat.Mode().IsRegular() {
		return nil
	}
	if err := o.file.Sync(); err != nil {
		o.failed = true
		return err
	}
	if o.path == "" {
		return nil
	}
	w := written{size: stat.Size(), delim: o.delim}
	if w.end, err = o.end(w.size); err != nil {
		return err
	}
	info := f.Info()
	rest, _, _ := fromComment(info.Comment)
	info.Comment = joined(rest, w.String())
	f.SetInfo(info)
	return nil
}

// pieceOfOut is how much of OUT is read at a time.
const pieceOfOut = 64 << 10

// end returns the digest of the last bytes before size.
func (o *output) end(size int64) (uint64, error) {
	last := []byte(o.path)
	if size > 0 {
		last = make([]byte, min(size, pieceOfOut))
		if _, err := o.file.ReadAt(last, size-int64(len(last))); err != nil {
			return 0, err
		}
	}
	digest := sha256.Sum256(last)
	return binary.BigEndian.Uint64(digest[:]), nil
}

// open opens OUT at path to append lines to it, and makes it if it is missing. It refuses one that
// the state, whose filter is seen, does not know. What earlier runs left there since they saved the state
// stays, but for half a line at its end. open reports whether the state knows OUT.
func (o *output) open(path, state string, seen informed, delim byte) (known bool, err error) {
	isNew := !exists(path)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return false, err
	}
	o.file, o.delim = file, delim
	if o.path, err = filepath.Abs(path); err == nil && isNew { // its name must be there after a power cut, too
		err = syncDir(path)
	}
	if err != nil {
		return false, err
	}
	stat, err := file.Stat()
	if err != nil {
		return false, err
	}
	size := stat.Size()
	_, w, known := fromComment(seen.Info().Comment)
	if known = known && w.size <= size; known {
		end, err := o.end(w.size)
		if err != nil {
			return false, err
		}
		known = end == w.end
	}
	switch {
	case known && w.delim != delim:
		return false, fmt.Errorf("%s has lines that end with the byte 0x%02x, and -0 (-z) makes them end otherwise: go on as before, or name another OUT", path, w.delim)
	case !known && size > 0:
		return false, fmt.Errorf("%s is not as a run with -state %s left it, and stays as it is: append to it with >> in place of -o, name another OUT, or remove it", path, state)
	case !known || size == w.size:
		return known, nil
	}
	end, err := o.lastLine(w.size, size)
	if err != nil || end == size {
		return true, err
	}
	fmt.Fprintf(os.Stderr, "bloom: %s ended with half a line, of %d bytes, which was cut off\n", path, size-end)
	return true, file.Truncate(end)
}

// lastLine returns where the last whole line ends that OUT has between from and to, or from.
func (o *output) lastLine(from, to int64) (int64, error) {
	buf := make([]byte, pieceOfOut)
	for to > from {
		start := max(from, to-int64(len(buf)))
		piece := buf[:to-start]
		if _, err := o.file.ReadAt(piece, start); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(piece, o.delim); i >= 0 {
			return start + int64(i) + 1, nil
		}
		to = start
	}
	return from, nil
}

// stdoutApart returns an error if standard output appends to one of the files of these names.
func stdoutApart(names ...string) error {
	info, err := os.Stdout.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	for _, name := range names {
		if read, err := stat(name); err == nil && os.SameFile(info, read) {
			return usageError{fmt.Errorf("standard output is %s, too", name)}
		}
	}
	return nil
}

var errClosed = errors.New("standard output is closed, and lines would be lost: > /dev/null drops them, -o keeps them")

// stdoutClosed reports whether the program was started without a standard output. Go then puts
// /dev/null in its place, opened for reading, too. Nobody who writes > /dev/null opens it so.
func stdoutClosed() bool {
	null, err := os.Stat(os.DevNull)
	out, err2 := os.Stdout.Stat()
	if err != nil || err2 != nil || !os.SameFile(null, out) {
		return err2 != nil
	}
	_, err = os.Stdout.Read(make([]byte, 1))
	return err == io.EOF
}

// progress is a line on the terminal that says how far a command is. A nil progress is that
// of a command without a terminal: its methods do nothing.
type progress struct {
	cfg   *lines.Config
	total int64  // bytes to read, if known
	verb  string // what happened to some lines: "written"
	start time.Time
	stop  chan struct{}

	mu    sync.Mutex
	read  uint64 // lines
	some  uint64 // lines to which it happened
	shown bool
}

// newProgress starts showing progress.
func newProgress(cfg *lines.Config, verb string) *progress {
	if fd := os.Stderr.Fd(); !isatty.IsTerminal(fd) && !isatty.IsCygwinTerminal(fd) {
		return nil
	}
	p := &progress{cfg: cfg, total: totalSize(cfg.Names), verb: verb,
		start: time.Now(), stop: make(chan struct{})}
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

// add counts lines: those read, and those that it happened to.
func (p *progress) add(read, some int) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.read, p.some = p.read+uint64(read), p.some+uint64(some)
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

// hide removes the line until it is due again.
func (p *progress) hide() {
	if p != nil {
		p.show("\r\x1b[K", false)
	}
}

// end removes the line and says how it went.
func (p *progress) end() {
	if p != nil {
		close(p.stop)
		p.hide()
		fmt.Fprintf(os.Stderr, "bloom: %s, %s %s, in %v\n", counted(p.read, "line"), humanize.Comma(int64(p.some)), p.verb, time.Since(p.start).Round(time.Millisecond))
	}
}

// text is short enough for 80 columns.
func (p *progress) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	short := func(n float64) string { return strings.TrimSpace(humanize.SIWithDigits(n, 1, "")) }
	took := time.Since(p.start)
	text := fmt.Sprintf("%s lines, %s %s, %s lines/s", short(float64(p.read)), short(float64(p.some)), p.verb, short(float64(p.read)/took.Seconds()))
	if read := p.cfg.Read.Load(); p.total > 0 && read > 0 && took > time.Second {
		text += fmt.Sprintf(", %v left", time.Duration(float64(took)/float64(read)*float64(max(0, p.total-read))).Round(time.Second))
	}
	return text
}
