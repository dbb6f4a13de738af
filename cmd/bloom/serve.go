package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/counting"
)

func serveCommand() *cobra.Command {
	var addr string
	var hosts []string
	var key lines.Key
	var blank bool
	c := &cobra.Command{
		Use:  "serve [-addr A] [-host NAME] FILE",
		Args: need(1, 1, "the filter's FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, _, err := net.SplitHostPort(addr); err != nil {
				return usageError{fmt.Errorf("-addr %q is no address, such as :8080 or localhost:8080", addr)}
			}
			s := newServer(args[0], key, c.Flags())
			if err := s.load(); err != nil {
				return err
			}
			s.hosts, s.blank = hosts, blank
			return s.run(c.Context(), addr)
		},
	}
	c.Flags().StringVar(&addr, "addr", "localhost:8080", "`address` to listen on")
	c.Flags().StringArrayVar(&hosts, "host", nil, "answer requests for this `NAME`, too, on a loopback address; may be repeated")
	addKey(c.Flags(), &key)
	c.Flags().BoolVar(&blank, "blank", false, "blank lines, whose key is empty, are lines as others; else they are left out")
	return c
}

// What clients get at most.
const (
	maxBody    = 64 << 20 // bytes of a request
	maxLine    = 64 << 10 // bytes of a line in it
	maxPasted  = 256 << 10
	maxLong    = 32   // answers at once that wait in files, and filters under way
	maxClients = 1024 // connections
)

// patience is how long a client may take to send or to receive so many bytes.
func patience(size int64) time.Duration { return time.Minute + time.Duration(size>>17)*time.Second }

// server serves a file's filter.
type server struct {
	path    string
	key     lines.Key
	flags   *pflag.FlagSet // which key is of; the file says the rest
	blank   bool           // the empty key is looked up
	open    func(path string) (*loaded, error)
	hosts   []string      // names that are answered on a loopback address
	local   bool          // it listens on one
	filters chan struct{} // holds one for each filter that is sent
	files   chan struct{} // holds one for each answer that waits in a file
	info    fs.FileInfo   // of the file that was loaded
	now     atomic.Pointer[served]
	old     weak.Pointer[served] // what now was before, while it is in use
}

func newServer(path string, key lines.Key, flags *pflag.FlagSet) *server {
	return &server{path: path, key: key, flags: flags, open: loadKeys, filters: make(chan struct{}, maxLong), files: make(chan struct{}, maxLong)}
}

// served is one content of the file. It is never changed.
type served struct {
	filter *loaded
	key    lines.Key
	report *report
	loaded time.Time
	plain  func() (*bloom.Filter, string) // the filter for /filter and its ETag; nil if there is none
}

// load loads the file.
func (s *server) load() error {
	info, err := os.Stat(s.path) // first: a file that is replaced meanwhile is loaded again
	if err != nil {
		return err
	}
	f, err := s.open(s.path)
	if err != nil {
		return err
	}
	if part := partOf(f); part.n > 1 {
		return fmt.Errorf("%s is one of %d shards: it lacks the lines of the others", s.path, part.n)
	}
	key := s.key
	if err := f.follow(&key, s.flags); err != nil {
		return err
	}
	next := &served{filter: f, key: key, loaded: time.Now(), report: f.report(s.path)}
	tagged := func(f *bloom.Filter) (*bloom.Filter, string) {
		digest := sha256.New()
		f.WriteTo(digest)
		return f, strconv.Quote(base64.RawURLEncoding.EncodeToString(digest.Sum(nil)[:16]))
	}
	switch f := f.filter.(type) {
	case *bloom.Filter:
		next.plain = sync.OnceValues(func() (*bloom.Filter, string) { return tagged(f) })
	case *counting.Filter:
		next.plain = sync.OnceValues(func() (*bloom.Filter, string) { return tagged(f.Snapshot()) })
	}
	s.info = info
	s.old = weak.Make(s.now.Swap(next))
	debug.FreeOSMemory() // of what was there before
	return nil
}

// reload loads the file if it was replaced, and if the filter before the present one has
// no users any more: two are in memory at most. It reports whether it did.
func (s *server) reload() (bool, error) {
	info, err := os.Stat(s.path)
	if err == nil && os.SameFile(info, s.info) && info.ModTime().Equal(s.info.ModTime()) && info.Size() == s.info.Size() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if s.old.Value() != nil {
		if runtime.GC(); s.old.Value() != nil {
			return false, nil
		}
	}
	return true, s.load()
}

// watch loads the file when it has been replaced.
func (s *server) watch(ctx context.Context) {
	ticks := time.NewTicker(time.Second / 2)
	defer ticks.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		_, err := s.reload()
		if err != nil && !failed {
			fmt.Fprintf(os.Stderr, "bloom: going on with the old filter: %v\n", err)
		}
		failed = err != nil
	}
}

// run serves until ctx ends.
func (s *server) run(ctx context.Context, addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if at, ok := listener.Addr().(*net.TCPAddr); ok {
		s.local = at.IP.IsLoopback()
	}
	web := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       patience(maxBody),
		WriteTimeout:      patience(maxBody),
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	fmt.Fprintf(os.Stderr, "bloom: serving %s at http://%s\n", s.path, listener.Addr())
	go s.watch(ctx)
	done := make(chan error, 1)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		done <- web.Shutdown(grace)
	}()
	if err := web.Serve(&places{Listener: listener, taken: map[*client]struct{}{}}); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-done
}

// places is a listener with room for maxClients. A new client takes the place of the one that was
// idle for the longest time. So those who send and take little by little hold nobody off.
type places struct {
	net.Listener
	mu    sync.Mutex
	taken map[*client]struct{}
}

// client is a connection that knows when it last sent or took something.
type client struct {
	net.Conn
	of   *places
	last atomic.Int64
}

func (p *places) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &client{Conn: conn, of: p}
	c.last.Store(time.Now().UnixNano())
	p.mu.Lock()
	var idle *client
	if len(p.taken) >= maxClients {
		for other := range p.taken {
			if idle == nil || other.last.Load() < idle.last.Load() {
				idle = other
			}
		}
	}
	p.taken[c] = struct{}{}
	p.mu.Unlock()
	if idle != nil {
		idle.Close()
	}
	return c, nil
}

func (c *client) Read(b []byte) (int, error)  { return c.moved(c.Conn.Read(b)) }
func (c *client) Write(b []byte) (int, error) { return c.moved(c.Conn.Write(b)) }

func (c *client) moved(n int, err error) (int, error) {
	if n > 0 {
		c.last.Store(time.Now().UnixNano())
	}
	return n, err
}

func (c *client) Close() error {
	c.of.mu.Lock()
	delete(c.of.taken, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// backlog sends what is written to it, while more is written. A client may send all of its
// lines before it reads an answer. What it does not take yet waits: a little in memory, and
// the rest in a temporary file.
type backlog struct {
	w     http.ResponseWriter
	files chan struct{} // holds one for each backlog that has a file
	done  chan struct{} // closed once nothing more is sent

	mu       sync.Mutex
	changed  sync.Cond // of any change of what follows
	memory   []byte    // to be sent next
	file     *os.File  // then comes what it holds from one offset to the other
	from, to int64
	ended    bool
	began    bool // something was sent
	err      error
}

// inMemory is how much of an answer waits in memory.
const inMemory = 32 << 10

// errBusy says that too many answers wait in files.
var errBusy = errors.New("too many requests at once")

func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, errBusy.Error(), http.StatusServiceUnavailable)
}

func newBacklog(w http.ResponseWriter, files chan struct{}) *backlog {
	b := &backlog{w: w, files: files, memory: make([]byte, 0, inMemory), done: make(chan struct{})}
	b.changed.L = &b.mu
	go func() {
		defer close(b.done)
		piece := make([]byte, 0, inMemory)
		for b.next(&piece) {
			_, err := w.Write(piece)
			if err == nil {
				err = http.NewResponseController(w).Flush()
			}
			b.mu.Lock()
			b.err = errors.Join(b.err, err)
			b.mu.Unlock()
		}
	}()
	return b
}

func (b *backlog) Write(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.changed.Signal()
	if b.err != nil {
		return 0, b.err
	}
	if b.from == b.to && len(b.memory)+len(p) <= inMemory {
		b.memory = append(b.memory, p...)
		return len(p), nil
	}
	if b.file == nil {
		select {
		case b.files <- struct{}{}:
		default:
			return 0, errBusy
		}
		if b.file, err = temporary("bloom-serve-*"); err != nil {
			<-b.files
			return 0, err
		}
	}
	n, err = b.file.WriteAt(p, b.to)
	b.to += int64(n)
	return n, err
}

// next waits for the next piece to send. It returns false after the last one.
func (b *backlog) next(piece *[]byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.err == nil && len(b.memory) == 0 && b.from == b.to && !b.ended {
		b.changed.Wait()
	}
	switch {
	case b.err != nil:
		return false
	case len(b.memory) > 0:
		*piece, b.memory = b.memory, (*piece)[:0]
	case b.from < b.to:
		*piece = (*piece)[:min(inMemory, b.to-b.from)]
		_, b.err = b.file.ReadAt(*piece, b.from)
		b.from += int64(len(*piece))
	default:
		return false
	}
	b.began = b.began || b.err == nil
	return b.err == nil
}

// end returns once all is sent or, after an error, nothing more is. It reports whether
// anything was sent, and returns the first error.
func (b *backlog) end(err error) (began bool, _ error) {
	b.mu.Lock()
	b.ended, b.err = true, errors.Join(b.err, err)
	if b.err != nil && b.began { // nobody waits for a client that gets half an answer
		http.NewResponseController(b.w).SetWriteDeadline(time.Now())
	}
	b.changed.Signal()
	b.mu.Unlock()
	<-b.done
	if b.file != nil {
		discard(b.file)
		<-b.files
	}
	return b.began, b.err
}
