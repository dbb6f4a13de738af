package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
)

// pieceSize is the largest number of bytes in a read. A piece and its digests usually fit into a
// core's cache.
const pieceSize = 256 << 10

// longLine is the length, in bytes, above which the copies of a line take most of the program's
// memory. Of the batches with such a line, only one at a time may grow. A key that is not a part of
// its line is one more copy.
const longLine = 8 << 20

// grown returns b with room for n more bytes. Unlike slices.Grow it need not write to that room, so
// the system can provide the memory when it is used.
func grown(b []byte, n int) []byte {
	if cap(b)-len(b) < n {
		b = append(make([]byte, 0, len(b)+max(n, len(b))), b...)
	}
	return b
}

func (r *Reader) readFiles(ctx context.Context) {
	defer close(r.queue)
	defer close(r.work)
	for i, name := range r.cfg.Names {
		if !r.readFile(ctx, i, name) {
			return
		}
	}
}

// readFile reads a file, and reports whether to read more files.
func (r *Reader) readFile(ctx context.Context, number int, name string) (ok bool) {
	if ctx.Err() != nil {
		return false
	}
	in, err := r.open(name)
	if err != nil {
		b := <-r.free
		b.Data = b.Data[:0]
		b.err = named(name, err)
		r.pass(b)
		return false
	}
	defer in.shut()
	s := &source{in: in, first: true}
	for {
		b := <-r.free
		err := r.fill(ctx, b, s)
		if err == errStopped {
			return false
		}
		b.File = number
		b.name = name
		if err != nil && err != io.EOF {
			b.err = named(name, err)
		}
		r.pass(b)
		if err != nil {
			return err == io.EOF
		}
	}
}

func (r *Reader) pass(b *Batch) {
	r.queue <- b
	r.work <- b
}

type source struct {
	in    *opened
	first bool   // nothing has been read yet
	sep   byte   // the byte between fields
	rest  []byte // the beginning of a line that has not been read to its end
}

// errStopped is the error of fill once its context is done.
var errStopped = errors.New("reading was stopped")

// fill reads into b until b has at least one whole line. At the end of the file it returns io.EOF,
// and adds a delimiter if the last line lacks one.
func (r *Reader) fill(ctx context.Context, b *Batch, s *source) error {
	delim := r.cfg.Delim
	b.Data = append(b.Data[:0], s.rest...)
	var err error
	end := 0 // the end of the last whole line
	for err == nil && end == 0 {
		if ctx.Err() != nil {
			return errStopped
		}
		if err = s.in.arrived.Check(int64(len(b.Data))); err != nil {
			err = fmt.Errorf("a line has %w", err)
			b.Data = b.Data[:0] // speed
			break
		}
		r.makeRoom(b)
		old := len(b.Data)
		n := 0
		n, err = s.in.Read(b.Data[old:min(cap(b.Data), old+pieceSize)])
		b.Data = b.Data[:old+n]
		if i := bytes.LastIndexByte(b.Data[old:], delim); i >= 0 {
			end = old + i + 1
		}
	}
	if err == io.EOF && end < len(b.Data) {
		b.Data = append(b.Data, delim)
		end = len(b.Data)
	}
	s.rest = append(s.rest[:0], b.Data[end:]...)
	b.Data = b.Data[:end]
	if s.first && end > 0 {
		s.sep = r.cfg.Key.separator(b.Data[:bytes.IndexByte(b.Data, delim)])
	}
	b.first = s.first
	b.sep = s.sep
	s.first = false
	return err
}

// makeRoom makes room in b for the next read. Before a batch with a long line grows, makeRoom waits
// for room in r.long.
func (r *Reader) makeRoom(b *Batch) {
	if cap(b.Data)-len(b.Data) >= pieceSize/2 { // speed
		return
	}
	if len(b.Data) > longLine && !b.long {
		b.long = true
		r.long <- struct{}{}
	}
	b.Data = grown(b.Data, max(pieceSize, len(b.Data)))
	if b.long {
		debug.FreeOSMemory() // free the old copy of the line now
	}
}

// named returns err with the name of the file, unless err already has it.
func named(name string, err error) error {
	var names *fs.PathError
	if errors.As(err, &names) && names.Path == name {
		return err
	}
	return fmt.Errorf("%s: %w", Shown(name), err)
}

// Shown returns the name of a file for messages.
func Shown(name string) string {
	if name == Stdin {
		return "standard input"
	}
	return name
}
