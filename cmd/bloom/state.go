package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/durable"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// state is the file that remembers from run to run what was written. Without a path nothing
// is saved.
type state struct {
	path  string
	every time.Duration
	saved time.Time     // when it last was what it should be
	took  time.Duration // saving it
	held  uint64        // lines of this run that it has
	lines uint64        // lines of this run that are to be written and that it lacks
	since []bloom.Hash  // their digests; none if they are more than mostSince
}

// mostSince is so many lines that their digests, 4 MB, do not matter beside a filter.
const mostSince = 1 << 18

// note adds the lines of hs that are to be written.
func (s *state) note(hs []bloom.Hash, kept []int) {
	if s.path == "" {
		return
	}
	if s.since == nil { // whole, as growing it leaves twice its memory behind
		s.since = make([]bloom.Hash, 0, mostSince)
	}
	if s.lines += uint64(len(kept)); s.lines > mostSince {
		s.since = s.since[:0]
		return
	}
	for _, i := range kept {
		s.since = append(s.since, hs[i])
	}
}

// wrote returns the digests of the lines that the file lacks, if so many of the run's lines
// were written. It reports whether they are known.
func (s *state) wrote(lines uint64) ([]bloom.Hash, bool) {
	if s.lines > mostSince {
		return nil, false
	}
	return s.since[:lines-s.held], true
}

// due reports whether to save. At most a twentieth of the time is spent on it.
func (s *state) due() bool {
	return s.lines > 0 && time.Since(s.saved) >= max(s.every, 20*s.took)
}

// save saves what was seen, once all of it that is in a file is on the disk. Otherwise lines
// that a power cut took from the file would be in the state, and no run would write them.
func (s *state) save(seen memory, out *output) error {
	if s.path == "" {
		return nil
	}
	start := time.Now()
	if err := out.sync(); err != nil {
		return err
	}
	if err := seen.filter().SaveFile(s.path); err != nil {
		return err
	}
	s.held, s.lines, s.since = s.held+s.lines, 0, s.since[:0]
	s.saved, s.took = time.Now(), time.Since(start)
	return nil
}

// output is where lines go, and where the progress makes room for them.
type output struct {
	file interface {
		io.Writer
		Stat() (os.FileInfo, error)
		Sync() error
	}
	progress *progress
	failed   bool
}

func (o *output) Write(p []byte) (int, error) {
	o.progress.hide()
	n, err := o.file.Write(p)
	o.failed = o.failed || err != nil
	return n, err
}

func (o *output) regular() bool {
	info, err := o.file.Stat()
	return err == nil && info.Mode().IsRegular()
}

// sync returns once a regular file has what was written on the disk. Nothing else can.
func (o *output) sync() (err error) {
	if o.regular() {
		err = o.file.Sync()
	}
	o.failed = o.failed || err != nil
	return err
}

// goOn opens the output at path to append lines to, made if it is missing. It cuts off what
// follows the last whole line.
func goOn(path string, cfg *lines.Config) (*os.File, error) {
	isNew := !exists(path)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is no regular file: write to standard output", path)
	default:
		for _, name := range cfg.Names {
			if in, err := os.Stat(name); err == nil && os.SameFile(in, info) {
				return nil, errors.Join(usageError{fmt.Errorf("-o %s is a file of the input, too", path)}, file.Close())
			}
		}
		err = cut(file, info.Size(), cfg.Delim)
	}
	if err == nil && isNew { // its name must be there after a power cut, too
		err = durable.SyncDir(path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// cut truncates file behind the last delim.
func cut(file *os.File, size int64, delim byte) error {
	buf := make([]byte, 64<<10)
	end := size
	for end > 0 {
		from := max(0, end-int64(len(buf)))
		piece := buf[:end-from]
		if _, err := file.ReadAt(piece, from); err != nil {
			return err
		}
		if i := bytes.LastIndexByte(piece, delim); i >= 0 {
			end = from + int64(i) + 1
			break
		}
		end = from
	}
	if end == size {
		return nil
	}
	fmt.Fprintf(os.Stderr, "bloom: %s ended with half a line, of %d bytes, which was cut off\n", file.Name(), size-end)
	return file.Truncate(end)
}
