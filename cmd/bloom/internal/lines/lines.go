// Package lines reads lines and hashes their keys, on several cores, in order.
//
// One goroutine reads pieces that end with a line's end, workers find the lines in
// them and hash, and the caller gets the pieces as they were read. So decompressing
// and hashing go on beside what the caller does with the lines before.
package lines

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
)

// Config says what to read.
type Config struct {
	Names []string                // of files; none means standard input
	Delim byte                    // ends each line
	Key   Key                     // what of a line is hashed
	Sum   func([]byte) bloom.Hash // nil means bloom.Sum
	Read  atomic.Int64            // bytes of files read so far
}

// Batch is some lines of one file.
type Batch struct {
	Data   []byte   // the lines, each with its delimiter, one after the other
	Ends   []int    // where in Data each line ends, behind its delimiter
	Keys   [][]byte // what of each line was hashed
	Hashes []bloom.Hash

	name    string
	first   bool // of its file
	sep     byte
	scratch []byte
	err     error // of the line behind the last one, or of reading
	bad     bool  // err is a line's
	ready   chan struct{}
}

// pieceSize is how much is read at a time, if there is as much: what a core's cache
// has room for, with the hashes.
const pieceSize = 256 << 10

// Reader yields batches. See Each.
type Reader struct {
	cfg   *Config
	queue chan *Batch // in the order of the lines
	work  chan *Batch
	free  chan *Batch
}

// Start starts reading. Once ctx is done, nothing more is read from the files, and
// what was read is still delivered.
func Start(ctx context.Context, cfg *Config) *Reader {
	workers := max(1, min(runtime.GOMAXPROCS(0)-1, 8))
	n := 2*workers + 2
	r := &Reader{cfg, make(chan *Batch, n), make(chan *Batch, n), make(chan *Batch, n)}
	for range n {
		r.free <- &Batch{ready: make(chan struct{}, 1)}
	}
	for range workers {
		go func() {
			for b := range r.work {
				r.hash(b)
				b.ready <- struct{}{}
			}
		}()
	}
	go func() {
		defer close(r.queue)
		defer close(r.work)
		names := cfg.Names
		if len(names) == 0 {
			names = []string{Stdin}
		}
		for _, name := range names {
			if !r.file(ctx, name) {
				return
			}
		}
	}()
	return r
}

// file reads one file. It reports whether to go on with the next.
func (r *Reader) file(ctx context.Context, name string) bool {
	if ctx.Err() != nil {
		return false
	}
	in, err := Open(name, &r.cfg.Read)
	if err != nil {
		b := <-r.free
		b.Data, b.err, b.bad = b.Data[:0], named(name, err), false
		r.queue <- b
		r.work <- b
		return false
	}
	defer in.Close()
	var rest []byte // the start of a line whose end has not been read
	sep := byte(0)
	for first := true; ; first = false {
		b := <-r.free
		b.Data = append(b.Data[:0], rest...)
		end := 0 // of the last whole line
		for err == nil && end == 0 {
			if ctx.Err() != nil {
				return false
			}
			if cap(b.Data)-len(b.Data) < pieceSize/2 {
				b.Data = slices.Grow(b.Data, max(pieceSize, len(b.Data)))
			}
			old, n := len(b.Data), 0
			n, err = in.Read(b.Data[old:cap(b.Data)])
			b.Data = b.Data[:old+n]
			if i := bytes.LastIndexByte(b.Data[old:], r.cfg.Delim); i >= 0 {
				end = old + i + 1
			}
		}
		if err == io.EOF && end < len(b.Data) {
			b.Data = append(b.Data, r.cfg.Delim)
			end = len(b.Data)
		}
		rest = append(rest[:0], b.Data[end:]...)
		b.Data = b.Data[:end]
		if first && end > 0 {
			sep = r.cfg.Key.separator(b.Data[:bytes.IndexByte(b.Data, r.cfg.Delim)])
		}
		b.name, b.first, b.sep, b.err, b.bad = name, first, sep, nil, false
		if err != nil && err != io.EOF {
			b.err = named(name, err)
		}
		eof, failed := err == io.EOF, b.err != nil // b is no longer ours
		r.queue <- b
		r.work <- b
		if eof || failed {
			return eof
		}
	}
}

// named returns err, which names the file.
func named(name string, err error) error {
	if strings.Contains(err.Error(), shown(name)) {
		return err
	}
	return fmt.Errorf("%s: %w", shown(name), err)
}

// shown is a file's name for people.
func shown(name string) string {
	if name == Stdin {
		return "standard input"
	}
	return name
}

// hash finds b's lines and hashes their keys.
func (r *Reader) hash(b *Batch) {
	b.Ends, b.Hashes, b.Keys, b.scratch = b.Ends[:0], b.Hashes[:0], b.Keys[:0], b.scratch[:0]
	whole := r.cfg.Key.whole()
	for at := 0; at < len(b.Data); {
		end := at + bytes.IndexByte(b.Data[at:], r.cfg.Delim)
		key := b.Data[at:end:end]
		if !whole {
			var err error
			if key, b.scratch, err = r.cfg.Key.Of(key, b.sep, b.scratch); err != nil {
				b.err, b.bad, b.Data = err, true, b.Data[:at]
				break
			}
		}
		b.Keys = append(b.Keys, key)
		at = end + 1
		b.Ends = append(b.Ends, at)
	}
	if r.cfg.Sum == nil {
		b.Hashes = bloom.SumBatch(b.Hashes, b.Keys)
		return
	}
	for _, key := range b.Keys {
		b.Hashes = append(b.Hashes, r.cfg.Sum(key))
	}
}

// Each calls use with every batch, in order, and tick when it fires, never both at
// once. After ctx's end it still delivers what was read, without waiting for more.
// It returns the first error, of reading or of a function.
func (r *Reader) Each(ctx context.Context, tick <-chan time.Time, onTick func() error, use func(*Batch) error) error {
	line := 0 // of the present file
	one := func(b *Batch) error {
		<-b.ready
		if b.first {
			line = 0
		}
		if err := use(b); err != nil {
			return err
		}
		line += len(b.Ends)
		err := b.err
		if b.bad {
			err = fmt.Errorf("%s: line %d: %w", shown(b.name), line+1, err)
		}
		r.free <- b
		return err
	}
	for {
		select {
		case b, ok := <-r.queue:
			if !ok {
				return nil
			}
			if err := one(b); err != nil {
				return err
			}
		case <-tick:
			if err := onTick(); err != nil {
				return err
			}
		case <-ctx.Done():
			return r.rest(one)
		}
	}
}

// rest delivers what was read, and what one read under way may still bring.
func (r *Reader) rest(one func(*Batch) error) error {
	for {
		select {
		case b, ok := <-r.queue:
			if !ok {
				return nil
			}
			if err := one(b); err != nil {
				return err
			}
		case <-time.After(50 * time.Millisecond):
			return nil // it waits for input
		}
	}
}

// Keep moves the lines that keep reports, called for each in order, to the start of
// b's data, and returns them and their number.
func (b *Batch) Keep(keep func(i int) bool) (kept []byte, n int) {
	to, from, at := 0, 0, 0 // the lines from from to at are to be kept, and moved to to
	for i, end := range b.Ends {
		if keep(i) {
			n++
		} else {
			if from < at {
				to += copy(b.Data[to:], b.Data[from:at])
			}
			from = end
		}
		at = end
	}
	if to == 0 {
		return b.Data[from:at], n
	}
	to += copy(b.Data[to:], b.Data[from:at])
	return b.Data[:to], n
}
