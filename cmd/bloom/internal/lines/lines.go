// Package lines reads lines and hashes their keys, on several cores, in order.
//
// One goroutine reads pieces that end with a line's end, workers find the lines in
// them and hash, the caller gets the pieces as they were read and picks lines, and one
// more goroutine writes those. So decompressing, hashing and writing go on beside what
// the caller does.
package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
)

// Config says what to read.
type Config struct {
	Names []string  // of files
	Delim byte      // ends each line
	Key   Key       // what of a line is hashed
	Out   io.Writer // gets what Batch.Keep keeps; nil if nothing is kept

	Window  uint64                // of zstd, at most, in bytes; 0 means DefaultWindow
	SkipBad bool                  // lines without a key are left out, and are no error
	Take    func(bloom.Hash) bool // whether a line is wanted; nil means all are
	Blank   bool                  // lines with an empty key are lines; else they are left out

	Read     atomic.Int64 // bytes of files read so far
	Bad      int          // lines left out so far by SkipBad
	FirstBad error        // the first of them
	Blanks   int          // lines with an empty key so far
	Keys     uint64       // lines so far that have a key, whether Take wants them or not
}

// Batch is some lines of one file.
type Batch struct {
	Data   []byte // the lines, each with its delimiter, one after the other
	Ends   []int  // where in Data each line ends, behind its delimiter
	Hashes []bloom.Hash
	File   int   // the number of its file in Config.Names
	picked bool  // Hashes are not those of all lines
	taken  []int // the numbers of their lines then
	blanks int
	keys   uint64 // lines that count for Config.Keys

	kept    []byte // to write
	cfg     *Config
	name    string
	first   bool // of its file
	sep     byte
	at      int   // where in the data as it was read the next line begins
	skipped int   // lines without a key
	skip    error // of the first of them
	skipAt  int   // the number of lines before it
	long    bool  // it holds a place in Reader.long
	err     error // of the line behind the last one, or of reading
	bad     bool  // err is a line's
	ready   chan struct{}
}

// Key returns what was hashed for Hashes[i], for as long as b is valid.
func (b *Batch) Key(i int) []byte {
	i = b.line(i)
	key, _, _ := b.cfg.Key.Of(b.Data[b.start(i):b.Ends[i]-1], b.sep, nil) // which was no error before
	return key
}

// line returns the number of the line of Hashes[i].
func (b *Batch) line(i int) int {
	if !b.picked {
		return i
	}
	return b.taken[i]
}

// pieceSize is how much is read at a time, if there is as much: what a core's cache
// has room for, with the hashes.
const pieceSize = 256 << 10

// longLine is the length of a line, in bytes, whose copies matter beside other memory. There is one
// batch at a time with such a line, and one copy of it where a key is no part of its line.
const longLine = 8 << 20

// grown returns b with room for n bytes more. It does not touch that room, as slices.Grow does, so
// that it takes no memory before it is used.
func grown(b []byte, n int) []byte {
	if cap(b)-len(b) < n {
		b = append(make([]byte, 0, len(b)+max(n, len(b))), b...)
	}
	return b
}

// Reader yields batches. See Each.
type Reader struct {
	cfg   *Config
	line  int         // of the present file, so far
	queue chan *Batch // in the order of the lines
	work  chan *Batch
	free  chan *Batch
	long  chan struct{} // holds one for the batch with a long line

	out      chan *Batch   // to write, in order; nil asks for an answer at flushed
	flushed  chan struct{} // yields once all before are written
	pieces   atomic.Int64  // that Out has taken
	failed   chan struct{} // closed once writeErr is set
	writeErr error         // to read when failed, flushed or written has said so
	written  chan struct{} // closed once out is, and all is written
}

// Start starts reading. Once ctx is done, nothing more is read from the files, and
// what was read is still delivered.
func Start(ctx context.Context, cfg *Config) *Reader {
	if cfg.Delim != '\n' {
		cfg.Key.KeepCR = true
	}
	if cfg.Window == 0 {
		cfg.Window = DefaultWindow
	}
	workers := max(1, min(runtime.GOMAXPROCS(0)-1, 8))
	n := 2*workers + 2
	r := &Reader{cfg: cfg, queue: make(chan *Batch, n), work: make(chan *Batch, n), free: make(chan *Batch, n), long: make(chan struct{}, 1),
		out: make(chan *Batch, n+1), flushed: make(chan struct{}, 1), failed: make(chan struct{}), written: make(chan struct{})}
	for range n {
		r.free <- &Batch{cfg: cfg, ready: make(chan struct{}, 1)}
	}
	for range workers {
		go func() {
			var keys [hashChunk][]byte
			var scratch []byte
			for b := range r.work {
				if scratch = r.hash(b, keys[:0], scratch); b.long { // nothing of it stays
					scratch = nil
					clear(keys[:])
				}
				b.ready <- struct{}{}
			}
		}()
	}
	go r.write()
	go func() {
		defer close(r.queue)
		defer close(r.work)
		for i, name := range cfg.Names {
			if !r.file(ctx, i, name) {
				return
			}
		}
	}()
	return r
}

// file reads one file. It reports whether to go on with the next.
func (r *Reader) file(ctx context.Context, number int, name string) bool {
	if ctx.Err() != nil {
		return false
	}
	in, shut, err := open(name, r.cfg.Window, &r.cfg.Read)
	if err != nil {
		b := <-r.free
		b.Data, b.err, b.bad = b.Data[:0], named(name, err), false
		r.queue <- b
		r.work <- b
		return false
	}
	defer shut()
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
				if len(b.Data) > longLine && !b.long {
					b.long = true
					r.long <- struct{}{}
				}
				b.Data = grown(b.Data, max(pieceSize, len(b.Data)))
				if b.long {
					debug.FreeOSMemory() // of what was copied, which would wait as long for a collection
				}
			}
			old, n := len(b.Data), 0
			n, err = in.Read(b.Data[old:min(cap(b.Data), old+pieceSize)])
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
		b.File, b.name, b.first, b.sep, b.err, b.bad = number, name, first, sep, nil, false
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
	if strings.Contains(err.Error(), Shown(name)) {
		return err
	}
	return fmt.Errorf("%s: %w", Shown(name), err)
}

// Shown returns a file's name for messages.
func Shown(name string) string {
	if name == Stdin {
		return "standard input"
	}
	return name
}

// hashChunk is how many keys are hashed at a time. Their slices stay in a core's
// nearest cache.
const hashChunk = 256

// hash finds b's lines and hashes their keys. It uses keys, which has room for
// hashChunk of them, and scratch, which it returns.
func (r *Reader) hash(b *Batch, keys [][]byte, scratch []byte) []byte {
	b.Ends, b.Hashes, b.taken = b.Ends[:0], b.Hashes[:0], b.taken[:0]
	b.at, b.skipped = 0, 0
	cut := cutLines
	if !b.cfg.Key.whole() {
		cut = func(b *Batch, keys [][]byte) [][]byte {
			keys, scratch = cutKeys(b, keys, scratch[:0])
			return keys
		}
	}
	for keys = cut(b, keys); len(keys) > 0; keys = cut(b, keys[:0]) {
		n := len(b.Hashes)
		b.Hashes = slices.Grow(b.Hashes, len(keys))[:n+len(keys)]
		bloom.SumBatch(b.Hashes[n:], keys)
	}
	b.pick()
	return scratch
}

// IsBlank reports whether h is the digest of the empty key, which is no other key's.
func IsBlank(h bloom.Hash) bool { return h == bloom.Hash{} }

// pick leaves only those digests that are wanted, and counts blank lines.
func (b *Batch) pick() {
	b.blanks = 0
	for _, h := range b.Hashes {
		if IsBlank(h) {
			b.blanks++
		}
	}
	take, dropBlanks := b.cfg.Take, b.blanks > 0 && !b.cfg.Blank
	b.keys = uint64(len(b.Hashes))
	if dropBlanks {
		b.keys -= uint64(b.blanks)
	}
	if b.picked = take != nil || dropBlanks; !b.picked {
		return
	}
	b.taken = slices.Grow(b.taken, len(b.Hashes))
	n := 0
	for i, h := range b.Hashes {
		if (take == nil || take(h)) && !(dropBlanks && IsBlank(h)) {
			b.Hashes[n] = h
			b.taken = append(b.taken, i)
			n++
		}
	}
	b.Hashes = b.Hashes[:n]
}

// cutLines appends the next lines of b to keys, for as many as there is room, and where
// they end to b.Ends.
func cutLines(b *Batch, keys [][]byte) [][]byte {
	data, ends, at, delim, dropCR := b.Data, b.Ends, b.at, b.cfg.Delim, !b.cfg.Key.KeepCR
	for at < len(data) && len(keys) < cap(keys) {
		end := at + bytes.IndexByte(data[at:], delim)
		key := data[at:end]
		if dropCR && len(key) > 0 && key[len(key)-1] == '\r' {
			key = key[:len(key)-1]
		}
		keys = append(keys, key)
		at = end + 1
		ends = append(ends, at)
	}
	b.Ends, b.at = ends, at
	return keys
}

// cutKeys is cutLines for keys that are not whole lines. It appends to scratch what does
// not lie in a line as it is. Lines move to the place of those that were left out.
func cutKeys(b *Batch, keys [][]byte, scratch []byte) ([][]byte, []byte) {
	to := b.start(len(b.Ends))
	for b.at < len(b.Data) && len(keys) < cap(keys) && len(scratch) < longLine {
		end := b.at + bytes.IndexByte(b.Data[b.at:], b.cfg.Delim) + 1
		if to < b.at {
			copy(b.Data[to:], b.Data[b.at:end])
		}
		next := to + end - b.at
		b.at = end
		var key []byte
		var err error
		if key, scratch, err = b.cfg.Key.Of(b.Data[to:next-1], b.sep, scratch); err == nil {
			keys = append(keys, key)
			b.Ends = append(b.Ends, next)
			to = next
			continue
		}
		if !b.cfg.SkipBad {
			b.err, b.bad, b.at = err, true, len(b.Data)
			break
		}
		if b.skipped++; b.skipped == 1 {
			b.skip, b.skipAt = err, len(b.Ends)
		}
	}
	if b.at == len(b.Data) && len(keys) == 0 {
		b.Data = b.Data[:to] // all keys were cut
	}
	return keys, scratch
}

// writeSize is how much is written at a time, so that a slow reader is seen to read.
const writeSize = 64 << 10

// write writes what is kept. After an error it writes nothing more.
func (r *Reader) write() {
	defer close(r.written)
	for b := range r.out {
		if b == nil {
			r.flushed <- struct{}{}
			continue
		}
		for left := b.kept; r.writeErr == nil && len(left) > 0; {
			n := min(len(left), writeSize)
			if _, r.writeErr = r.cfg.Out.Write(left[:n]); r.writeErr != nil {
				close(r.failed)
				break
			}
			r.pieces.Add(1)
			left = left[n:]
		}
		if b.long {
			b.Data, b.kept, b.long = nil, nil, false
			<-r.long
		}
		r.free <- b
	}
}

// Each calls use with every batch, in order, and tick when it fires, never both at
// once, and tick only when all that use kept is written. After ctx's end it still
// delivers what was read, without waiting for more. It returns, once what was kept is
// written, the first error, of reading, writing or a function. If ctx has ended and nobody
// takes the output for Patience, it returns ErrStuck, while a write is still under way.
func (r *Reader) Each(ctx context.Context, tick <-chan time.Time, onTick func() error, use func(*Batch) error) error {
	err := r.each(ctx, tick, onTick, use)
	close(r.out)
	if !r.finish(ctx) {
		return ErrStuck
	}
	if r.writeErr != nil {
		return r.writeErr
	}
	return err
}

// ErrStuck is that of a run that was to end while nobody took its output.
var ErrStuck = errors.New("nobody takes the output")

// Patience is how long the output may take nothing once a run is to end.
var Patience = 2 * time.Second

// finish waits until all is written, and reports whether it is.
func (r *Reader) finish(ctx context.Context) bool {
	select {
	case <-r.written:
		return true
	case <-ctx.Done():
	}
	for {
		before := r.pieces.Load()
		select {
		case <-r.written:
			return true
		case <-time.After(Patience):
		}
		if r.pieces.Load() == before {
			return false
		}
	}
}

func (r *Reader) each(ctx context.Context, tick <-chan time.Time, onTick func() error, use func(*Batch) error) error {
	ended := ctx.Done()
	for {
		var idle <-chan time.Time
		if ended == nil { // what was read is still used, and what one read under way brings
			idle = time.After(50 * time.Millisecond)
		}
		select {
		case b, ok := <-r.queue:
			if !ok {
				return nil
			}
			if err := r.deliver(b, use); err != nil {
				return err
			}
		case <-r.failed:
			return r.writeErr
		case <-tick:
			r.out <- nil
			select {
			case <-r.flushed:
			case <-ended: // and somebody may take no output
				ended, tick = nil, nil
				continue
			}
			if r.writeErr != nil {
				return r.writeErr
			}
			if err := onTick(); err != nil {
				return err
			}
		case <-ended:
			ended, tick = nil, nil
		case <-idle:
			return nil // it waits for input
		}
	}
}

// deliver has b used, once it is ready, and written.
func (r *Reader) deliver(b *Batch, use func(*Batch) error) error {
	<-b.ready
	if b.first {
		r.line = 0
	}
	if b.skipped > 0 {
		if r.cfg.Bad == 0 {
			r.cfg.FirstBad = fmt.Errorf("%s: line %d: %w", Shown(b.name), r.line+b.skipAt+1, b.skip)
		}
		r.cfg.Bad += b.skipped
	}
	r.cfg.Blanks += b.blanks
	r.cfg.Keys += b.keys
	b.kept = nil
	if err := use(b); err != nil {
		return err
	}
	r.line += len(b.Ends) // of no use once lines were skipped: then no line is an error
	err := b.err
	if b.bad {
		err = fmt.Errorf("%s: line %d: %w", Shown(b.name), r.line+1, err)
	}
	r.out <- b
	return err
}

// Keep has the lines of these digests, whose numbers ascend, written to Config.Out. It
// moves them to the start of b's data, neighbours at once. Those that stay where they are are
// not copied. It overwrites lines.
func (b *Batch) Keep(lines []int) {
	for n, i := range lines {
		lines[n] = b.line(i)
	}
	to := 0
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && lines[n] == lines[n-1]+1 {
			n++
		}
		from, end := b.start(lines[0]), b.Ends[lines[n-1]]
		if to < from {
			copy(b.Data[to:], b.Data[from:end])
		}
		to, lines = to+end-from, lines[n:]
	}
	b.kept = b.Data[:to]
}

// start returns where in b's data line i begins.
func (b *Batch) start(i int) int {
	if i == 0 {
		return 0
	}
	return b.Ends[i-1]
}
