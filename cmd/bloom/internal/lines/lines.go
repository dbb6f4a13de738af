// Package lines reads lines and hashes their keys, on several cores, in order.
//
// A [Batch] has whole lines of one file. It goes through four stages, which run concurrently:
//
//	read.go     one goroutine reads batches, and decompresses them
//	hash.go     workers find the lines of a batch and hash their keys to digests
//	deliver.go  the caller gets the batches in the order of the input, and picks lines to keep
//	write.go    one goroutine writes the kept lines, and frees their batch for the first stage
package lines

import (
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
)

// Config says which files to read, and how to make keys from their lines.
type Config struct {
	Names []string
	Delim byte      // the byte that ends each line
	Key   Key       // how the key of a line is made
	Named bool      // the user chose Key.Separator
	Out   io.Writer // receives the kept lines; nil if Batch.Keep keeps none

	Window  uint64                // the largest zstd window, in bytes; 0 means DefaultWindow
	SkipBad bool                  // leave out lines without a key; otherwise they are an error
	Select  func(bloom.Hash) bool // reports whether a line is wanted; nil means that all are
	Blank   bool                  // keep lines with an empty key; otherwise they are left out

	*Counts // counts what has been read so far; if it is nil, Start makes it
}

// Again returns a Config for reading the same input again, with its own Counts.
func (c *Config) Again() *Config {
	again := *c
	again.Counts = new(Counts)
	return &again
}

// Counts counts what has been read so far.
type Counts struct {
	Read     atomic.Int64 // number of bytes read from the files, before decompression
	Bad      int          // number of lines that SkipBad left out
	FirstBad error        // the error of the first such line
	Blanks   int          // number of lines with an empty key
	Keys     uint64       // number of lines with a key, wanted or not; empty keys count only if Blank
	Parted   bool         // a line with the byte between fields was read; set only if Key.Field is 1
}

// Batch holds some lines of one file.
type Batch struct {
	Data   []byte       // the lines, each with its delimiter, one after another
	Ends   []int        // the offset in Data after each line and its delimiter
	Hashes []bloom.Hash // the key digests of the lines that Config wants
	File   int          // the index of the file in Config.Names

	cfg   *Config
	name  string
	first bool          // the batch is the first of the file
	sep   byte          // the byte between fields
	long  bool          // the batch has a long line, and an element in Reader.long
	err   error         // a read error, or the error of the line after the last one in Data
	bad   bool          // err is the error of a line
	ready chan struct{} // yields once the worker has finished the batch

	next    int    // the offset of the next line to hash, in Data as it was read
	skipped int    // the number of lines that SkipBad left out
	skip    error  // the error of the first such line
	skipAt  int    // the number of lines before that line
	blanks  int    // the number of lines with an empty key
	keys    uint64 // the number of lines with a key, for Config.Keys
	parted  bool   // for Config.Parted
	picked  bool   // some lines may have no digest in Hashes
	numbers []int  // if picked is true, numbers[i] is the number of the line of Hashes[i]
	output  []byte // the lines to write
}

// Key returns the key with the digest Hashes[i]. The key may share the memory of b.
func (b *Batch) Key(i int) []byte {
	i = b.line(i)
	// The worker has made this key before, without an error.
	key, _, _ := b.cfg.Key.Of(b.Data[b.start(i):b.Ends[i]-1], b.sep, nil)
	return key
}

// Line returns the line of Hashes[i], with its delimiter. It is valid until Keep is called.
func (b *Batch) Line(i int) []byte {
	i = b.line(i)
	return b.Data[b.start(i):b.Ends[i]]
}

// line returns the number of the line of Hashes[i].
func (b *Batch) line(i int) int {
	if !b.picked {
		return i
	}
	return b.numbers[i]
}

// start returns the offset in b.Data of line i.
func (b *Batch) start(i int) int {
	if i == 0 {
		return 0
	}
	return b.Ends[i-1]
}

// Reader yields batches. See Each.
type Reader struct {
	cfg   *Config
	line  int           // the number of lines of the current file that were delivered
	queue chan *Batch   // the batches in the order of the input
	work  chan *Batch   // the batches to hash
	free  chan *Batch   // the batches to read into
	long  chan struct{} // holds an element for a batch with a long line

	out      chan *Batch   // the batches to write, in order; nil requests an element in flushed
	flushed  chan struct{} // yields when all batches before the nil are written or dropped
	writes   atomic.Int64  // counts the beginning and the end of each write to Out
	failed   chan struct{} // closed once writeErr is set
	writeErr error         // valid after a receive from failed, flushed or written
	written  chan struct{} // closed once out is closed and all batches are written or dropped

	// Tests replace these.
	openFile func(name string) (io.ReadCloser, error)
	after    func(time.Duration) <-chan time.Time
}

// Start starts reading, which stops once ctx is done; see Each.
func Start(ctx context.Context, cfg *Config) *Reader {
	r := newReader(cfg)
	r.start(ctx)
	return r
}

func newReader(cfg *Config) *Reader {
	cfg.Key = cfg.key()
	if cfg.Counts == nil {
		cfg.Counts = new(Counts)
	}
	if cfg.Window == 0 {
		cfg.Window = DefaultWindow
	}
	batches := 2*workers() + 2
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

		openFile: openFile,
		after:    time.After,
	}
	for range batches {
		r.free <- &Batch{cfg: cfg, ready: make(chan struct{}, 1)}
	}
	return r
}

func workers() int { return max(1, min(runtime.GOMAXPROCS(0)-1, 8)) }

func (r *Reader) start(ctx context.Context) {
	for range workers() {
		go r.hashBatches()
	}
	go r.write()
	go r.readFiles(ctx)
}
