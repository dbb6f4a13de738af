// Package lines reads lines and hashes their keys, on several cores, in order.
//
// A piece of a file, with whole lines only, is a [Batch]. It goes through four stages, each with
// goroutines of its own, so that decompressing, hashing and writing run beside what the caller
// does:
//
//	read.go     one goroutine reads batches
//	hash.go     workers find the lines of a batch, take their keys, and hash these to digests
//	deliver.go  the caller gets the batches in the order in which they were read, and picks lines to keep
//	write.go    one goroutine writes the lines that were kept, and frees their batch for the first stage
package lines

import (
	"context"
	"io"
	"runtime"
	"sync/atomic"

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
	Data   []byte       // the lines, each with its delimiter, one after the other
	Ends   []int        // where in Data each line ends, behind its delimiter
	Hashes []bloom.Hash // the digests of the lines' keys, without those that Config leaves out
	File   int          // the number of its file in Config.Names

	cfg   *Config
	name  string        // of its file
	first bool          // it is the first of its file
	sep   byte          // between fields
	long  bool          // it holds the place in Reader.long
	err   error         // of the line behind the last one, or of reading
	bad   bool          // err is a line's
	ready chan struct{} // yields once Hashes are there

	next    int    // where in Data, as it was read, the next line to hash begins
	skipped int    // lines without a key
	skip    error  // of the first of these
	skipAt  int    // lines before that one
	blanks  int    // lines with an empty key
	keys    uint64 // lines that count for Config.Keys
	picked  bool   // Hashes are not those of all lines
	taken   []int  // if picked, the number of the line of each of Hashes
	kept    []byte // to write
}

// Key returns what was hashed for Hashes[i], for as long as b is valid.
func (b *Batch) Key(i int) []byte {
	i = b.line(i)
	key, _, _ := b.cfg.Key.Of(b.Data[b.start(i):b.Ends[i]-1], b.sep, nil) // hash met no error
	return key
}

// line returns the number of the line of Hashes[i].
func (b *Batch) line(i int) int {
	if !b.picked {
		return i
	}
	return b.taken[i]
}

// start returns where in b's data line i begins.
func (b *Batch) start(i int) int {
	if i == 0 {
		return 0
	}
	return b.Ends[i-1]
}

// Reader yields batches. See Each.
type Reader struct {
	cfg   *Config
	line  int           // lines of the present file so far
	queue chan *Batch   // in the order of the lines
	work  chan *Batch   // to hash
	free  chan *Batch   // to read into
	long  chan struct{} // holds one for the batch with a long line

	out      chan *Batch   // to write, in order; nil asks for an answer at flushed
	flushed  chan struct{} // yields once all before are written
	pieces   atomic.Int64  // how many pieces Out has taken
	failed   chan struct{} // closed once writeErr is set
	writeErr error         // to be read after failed, flushed or written
	written  chan struct{} // closed once out is closed and all is written
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
	batches := 2*workers + 2
	r := &Reader{
		cfg:     cfg,
		queue:   make(chan *Batch, batches),
		work:    make(chan *Batch, batches),
		free:    make(chan *Batch, batches),
		long:    make(chan struct{}, 1),
		out:     make(chan *Batch, batches+1),
		flushed: make(chan struct{}, 1),
		failed:  make(chan struct{}),
		written: make(chan struct{}),
	}
	for range batches {
		r.free <- &Batch{cfg: cfg, ready: make(chan struct{}, 1)}
	}
	for range workers {
		go r.hashBatches()
	}
	go r.write()
	go r.readFiles(ctx)
	return r
}
