package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/invariants"
)

// output receives the lines that dedupe or check writes. It is standard output or, for dedupe with
// -o, the file OUT.
//
// OUT has up to three parts:
//
//	head  the lines that the state remembers; outRecord has their length
//	tail  the bytes after the head when the run began: another program wrote them, or a run that
//	      ended before it saved the state, perhaps in the middle of a line
//	news  the bytes that this run appended
//
// The deduper adds the whole lines of the tail to its filter, so that they are not written again;
// for an exception, see takeTail. If the tail ends with half a line, the first line to write must
// begin with that half, and only the rest of the line is written.
type output struct {
	file interface {
		io.Writer
		io.ReaderAt
		io.Seeker
		Stat() (os.FileInfo, error)
		Sync() error
		Truncate(size int64) error
	}
	progress *progress // hidden before each write
	failed   bool      // lines may be lost because of an error

	path  string    // the absolute path of OUT; "" is standard output
	name  string    // the name of OUT in messages
	named bool      // the file had a name when the run began
	known bool      // the state had a record of OUT when the run began
	delim byte      // the byte that ends each line
	left  tailLines // the lines of the tail that have not yet appeared in the input

	// Offsets in OUT; see check for their order. Standard output has only the last two.
	head    int64 // the end of the head
	skipped int64 // Write has matched the half line at the end of the tail up to here
	tail    int64 // the end of the tail
	lineEnd int64 // the end of the last whole line
	end     int64 // the end of the news
}

// check panics if the offsets are out of order, or if something was appended to half a line.
func (o *output) check() {
	invariants.Require(0 <= o.head && o.head <= o.lineEnd && o.lineEnd <= o.end &&
		o.head <= o.skipped && o.skipped <= o.tail && o.tail <= o.end,
		"offsets are out of order: %+v", o)
	if o.skipped < o.tail {
		invariants.Require(o.lineEnd <= o.skipped && o.end == o.tail,
			"lines were appended to half a line: %+v", o)
	}
}

// Write writes p. If the tail ends with half a line, Write leaves out the bytes that are already
// there.
func (o *output) Write(p []byte) (int, error) {
	o.progress.hide()
	news := p
	var err error
	if o.skipped < o.tail {
		news, err = o.skip(p)
	}
	if err == nil && len(news) > 0 {
		err = o.append(news)
	}
	if invariants.On {
		o.check()
	}
	if err != nil {
		o.failed = true
		return 0, err
	}
	return len(p), nil
}

// skip removes from the start of p what the half line at the end of the tail already has. It
// returns an error if p begins differently.
func (o *output) skip(p []byte) (news []byte, err error) {
	half := make([]byte, min(int64(len(p)), o.tail-o.skipped))
	if _, err := o.file.ReadAt(half, o.skipped); err != nil {
		return nil, err
	}
	news, ok := bytes.CutPrefix(p, half)
	if !ok {
		return nil, fmt.Errorf("%s ends with half a line of %d bytes, "+
			"which this run does not write, and stays as it is; "+
			"to cut it off: truncate -s %d %s", o.name, o.tail-o.lineEnd, o.lineEnd, o.name)
	}
	o.skipped += int64(len(half))
	return news, nil
}

// append writes news to the end of the file. If an error, such as a full disk, leaves half a line
// in a regular file, append cuts it off, unless another program has written after it. It does so
// through the handle, because another file may have the name by now.
func (o *output) append(news []byte) error {
	n, err := o.file.Write(news)
	o.end += int64(n)
	if i := bytes.LastIndexByte(news[:n], o.delim); i >= 0 {
		o.lineEnd = o.end - int64(n-i-1)
	}
	if err == nil || o.lineEnd == o.end {
		return err
	}
	stat, statErr := o.file.Stat()
	isLast := statErr == nil && stat.Mode().IsRegular() && stat.Size() == o.end
	if isLast { // no other program has written after it
		o.file.Truncate(o.lineEnd)
		o.file.Seek(o.lineEnd, io.SeekStart) // for whatever writes to the same file next
	}
	return err
}

// sync waits until all lines written to a regular file are on disk. If the file is OUT, it then
// records OUT in the Info of f. For other outputs, such as pipes, it does nothing.
func (o *output) sync(f infoHolder) error {
	stat, err := o.file.Stat()
	if err != nil || !stat.Mode().IsRegular() {
		return nil
	}
	if err := o.file.Sync(); err != nil {
		o.failed = true
		return err
	}
	if err := o.checkName(); err != nil {
		return err
	}
	if o.path == "" {
		return nil
	}
	size := stat.Size()
	if o.end == o.tail { // nothing was appended: the lines in left may still appear in the next run
		size = o.lineEnd - o.left.bytes
	}
	digest, err := o.digest(size)
	if err != nil {
		return err
	}
	setOutRecord(f, outRecord{size: size, delim: o.delim, digest: digest})
	return nil
}

// checkName returns an error if the file was removed, because its lines would be lost. A file that
// was renamed, as logs are, still has a name.
func (o *output) checkName() error {
	stat, err := o.file.Stat()
	if err != nil || !o.named || !files.Nameless(stat) {
		return nil
	}
	o.failed = true
	return fmt.Errorf("%s was removed while lines were written to it, and they are lost: "+
		"another run writes those that came since the last save of --state",
		cmp.Or(o.name, "the file of standard output"))
}

// pieceOfOut is the largest number of bytes of OUT to read at once.
const pieceOfOut = 64 << 10

// digest returns a digest of up to pieceOfOut bytes of OUT that end at offset size, or of OUT's
// path if size is 0.
func (o *output) digest(size int64) (uint64, error) {
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

// syncDir is a variable because tests replace it.
var syncDir = files.SyncDir

// open opens OUT at path to append lines to it, and creates it if it is missing. seen is the filter
// of the state. If seen has no record of OUT, open returns an error unless OUT is empty.
func (o *output) open(path, state string, seen infoHolder, delim byte) error {
	isNew := !exists(path)
	file, err := files.OpenThere(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	o.file = file
	o.name = path
	o.delim = delim
	if o.path, err = filepath.Abs(path); err != nil {
		return err
	}
	if isNew {
		if err := syncDir(path); err != nil { // before the state records OUT
			return err
		}
	}
	stat, err := file.Stat()
	if err != nil {
		return err
	}
	if !stat.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	o.named = !files.Nameless(stat)
	size := stat.Size()
	record, known, err := o.recorded(seen, size)
	switch {
	case err != nil:
		return err
	case known && record.delim != delim:
		return fmt.Errorf("%s has lines that end with the byte 0x%02x, "+
			"which -0 (-z) would change: "+
			"use the same flags as before, or name another OUT", path, record.delim)
	case !known && size > 0:
		return fmt.Errorf("%s is not as a run with --state %s left it, and stays as it is: "+
			"append to it with >> instead of -o, name another OUT, or remove it", path, state)
	}
	o.known = known
	o.head = record.size
	o.tail = size
	o.end = size
	o.lineEnd, err = lastLine(o.file, o.delim, o.head, size)
	if err != nil {
		return err
	}
	o.skipped = o.lineEnd
	o.left, err = o.tailLines()
	return err
}

// recorded returns the record of OUT that seen has. known is false if there is none, or if OUT no
// longer begins as the record says. size is the present size of OUT.
func (o *output) recorded(seen infoHolder, size int64) (r outRecord, known bool, err error) {
	r, ok := outRecordOf(seen)
	if !ok || r.size > size {
		return outRecord{}, false, nil
	}
	digest, err := o.digest(r.size)
	if err != nil || digest != r.digest {
		return outRecord{}, false, err
	}
	return r, true, nil
}

// lastLine returns the offset after the last whole line of file between the offsets low and high,
// or low if there is none.
func lastLine(file io.ReaderAt, delim byte, low, high int64) (int64, error) {
	buf := make([]byte, pieceOfOut)
	for high > low {
		start := max(low, high-int64(len(buf)))
		piece := buf[:high-start]
		if _, err := file.ReadAt(piece, start); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(piece, delim); i >= 0 {
			return start + int64(i) + 1, nil
		}
		high = start
	}
	return low, nil
}

// openStdout makes o write to standard output; delim ends each line. It returns an error if
// standard output is a regular file that ends with half a line, because the first line would be
// appended to that line. It checks only on Linux, where /proc lets it read a file that the shell
// opened for writing.
func (o *output) openStdout(delim byte) error {
	o.file = os.Stdout
	o.delim = delim
	stat, err := os.Stdout.Stat()
	if err != nil || !stat.Mode().IsRegular() {
		return nil
	}
	o.named = !files.Nameless(stat)
	o.end = stat.Size()
	o.lineEnd = o.end
	file, err := os.Open("/proc/self/fd/1")
	if err != nil {
		return nil
	}
	defer file.Close()
	end, err := lastLine(file, delim, 0, o.end)
	if err != nil || end == o.end {
		return nil
	}
	return fmt.Errorf("standard output goes to a file that ends with half a line of %d bytes, "+
		"and stays as it is; to cut that off: truncate -s %d FILE", o.end-end, end)
}

// checkStdout returns an error if standard output is one of the named files, and is not empty.
func checkStdout(names ...string) error {
	info, err := os.Stdout.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	for _, name := range names {
		if read, err := stat(name); err == nil && os.SameFile(info, read) {
			return usageError{fmt.Errorf("standard output goes to %s, which is also read: "+
				"write to another file", lines.Shown(name))}
		}
	}
	return nil
}

var errClosed = errors.New("standard output is closed, and lines would be lost: " +
	"> /dev/null drops them, -o keeps them")

// stdoutClosed reports whether the program was started without standard output. On Unix it cannot
// tell: Go then opens /dev/null, and many programs do so for the programs that they start.
func stdoutClosed() bool {
	_, err := os.Stdout.Stat()
	return err != nil
}
