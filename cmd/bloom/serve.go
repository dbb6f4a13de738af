package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/counting"
)

func serveCommand() *cobra.Command {
	var addr string
	var key lines.Key
	c := &cobra.Command{
		Use:   "serve [-addr A] FILE",
		Short: "answer look-ups over HTTP",
		Long: `serve answers over HTTP:

  GET  /                 a page for people
  GET  /contains?key=K   true if K may be in the filter, else false
  POST /contains         the body's lines that may be in the filter, as they come; with
                         ?v=1 those that certainly are not
  GET  /filter           the filter in Guava's bytes, by version, for Go's package replica
  GET  /info             what bloom info -json writes

/filter is there for the types bloom.Filter and counting.Filter. When FILE is replaced, as
by bloom add, the new filter answers within a second, or when the last long answer of the
filter before has ended. While FILE cannot be read the old filter answers. Ctrl-C and SIGTERM
let requests end.

A body has up to 64 MiB, and a line of it up to 1 MiB. If a client sends and does not read,
its answers wait in a temporary file (in $TMPDIR), as large as they are. A request may take a
minute, and a second more for each 128 KiB. At most 32 requests for POST or /filter are
answered at once. Others get status 503 and should come again.`,
		Example: `  bloom serve -addr :8080 fruit.bloom & sleep 1; curl 'localhost:8080/contains?key=apple'
  curl --data-binary @lines.txt localhost:8080/contains`,
		Args: need(1, 1, "the filter's FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			s := newServer(args[0], key)
			if err := s.load(); err != nil {
				return err
			}
			warnKeys(c.Name(), s.now.Load().filter, s.key)
			return s.run(c.Context(), addr)
		},
	}
	c.Flags().StringVar(&addr, "addr", "localhost:8080", "`address` to listen on")
	addKey(c.Flags(), &key)
	return c
}

// What a client gets at most.
const (
	maxBody    = 64 << 20 // bytes of a request
	maxLine    = 1 << 20  // bytes of a line in it
	maxPasted  = 256 << 10
	maxLong    = 32   // requests at once that may take long
	maxClients = 1024 // connections
)

// patience is how long a client may take to send or to receive so many bytes.
func patience(size int64) time.Duration { return time.Minute + time.Duration(size>>17)*time.Second }

// server serves a file's filter.
type server struct {
	path string
	key  lines.Key
	open func(path string) (*loaded, error)
	long chan struct{} // holds one for each long answer under way
	info fs.FileInfo   // of the file that was loaded
	now  atomic.Pointer[served]
	old  *served // what now was before, while it may be in use
}

func newServer(path string, key lines.Key) *server {
	return &server{path: path, key: key, open: load, long: make(chan struct{}, maxLong)}
}

// served is one content of the file. It is never changed.
type served struct {
	filter *loaded
	sum    func([]byte) bloom.Hash
	report *report
	loaded time.Time
	plain  func() (*bloom.Filter, string) // the filter for /filter and its ETag; nil if there is none
	using  sync.RWMutex                   // read-locked by answers
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
	next := &served{filter: f, sum: hasher(f.filter), loaded: time.Now(), report: f.report(s.path)}
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
	s.old = s.now.Swap(next)
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
	s.forget()
	if s.old != nil {
		return false, nil
	}
	if err := s.load(); err != nil {
		return false, err
	}
	s.forget()
	return true, nil
}

// forget frees the old filter if nobody uses it.
func (s *server) forget() {
	if s.old != nil && s.old.using.TryLock() {
		s.old = nil
		debug.FreeOSMemory()
	}
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
	var clients atomic.Int64
	web := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       patience(maxBody),
		WriteTimeout:      patience(maxBody),
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnState: func(conn net.Conn, state http.ConnState) {
			switch {
			case state == http.StateNew && clients.Add(1) > maxClients:
				conn.Close()
			case state == http.StateClosed:
				clients.Add(-1)
			}
		},
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
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-done
}

// handler answers all requests.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", s.answer(s.page))
	mux.Handle("POST /{$}", s.limited(s.answer(s.page)))
	mux.Handle("GET /contains", s.answer(s.contains))
	mux.Handle("POST /contains", s.limited(s.answer(s.check)))
	mux.Handle("GET /filter", s.limited(s.answer(s.send)))
	mux.Handle("GET /info", s.answer(func(now *served, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(now.report)
	}))
	return mux
}

// answer has one filter answer all of a request.
func (s *server) answer(f func(*served, http.ResponseWriter, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := s.now.Load()
		for !now.using.TryRLock() { // it was forgotten since
			now = s.now.Load()
		}
		defer now.using.RUnlock()
		f(now, w, r)
	})
}

// limited answers so many requests at once.
func (s *server) limited(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.long <- struct{}{}:
			defer func() { <-s.long }()
			h.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
		}
	})
}

// contains answers for one key.
func (s *server) contains(now *served, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !query.Has("key") {
		http.Error(w, "a key is missing: /contains?key=K", http.StatusBadRequest)
		return
	}
	found, err := s.has(now, []byte(query.Get("key")), new([]byte))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintln(w, found)
}

// has looks a line up. It uses scratch.
func (s *server) has(now *served, line []byte, scratch *[]byte) (bool, error) {
	key, next, err := s.key.Of(line, 0, (*scratch)[:0])
	if err != nil {
		return false, err
	}
	*scratch = next
	return now.filter.ContainsHash(now.sum(key)), nil
}

// send sends the filter.
func (s *server) send(now *served, w http.ResponseWriter, r *http.Request) {
	if now.plain == nil {
		http.Error(w, fmt.Sprintf("a %s has no bytes of Guava's", now.report.Type), http.StatusNotFound)
		return
	}
	f, tag := now.plain()
	h := w.Header()
	h.Set("ETag", "W/"+tag) // a weak one: gzip changes the bytes
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if strings.Contains(strings.Join(r.Header.Values("If-None-Match"), ","), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/octet-stream")
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience(f.SizeBytes())))
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Length", strconv.FormatInt(f.SizeBytes(), 10))
		f.WriteTo(w)
		return
	}
	// Guava's bytes have no checksum, gzip's have. A full filter does not get smaller.
	h.Set("Content-Encoding", "gzip")
	level := gzip.BestSpeed
	if f.FillRatio() > 0.2 {
		level = gzip.NoCompression
	}
	z := bloom.Must(gzip.NewWriterLevel(w, level))
	if _, err := f.WriteTo(z); err == nil {
		z.Close()
	}
}

// check answers for the lines of the body, while it arrives.
func (s *server) check(now *served, w http.ResponseWriter, r *http.Request) {
	http.NewResponseController(w).EnableFullDuplex()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	to := newBacklog(w)
	body := http.MaxBytesReader(nil, r.Body, maxBody) // nil, as w is in use beside it
	began, err := to.end(s.answers(now, to, body, isForm(r), r.URL.Query().Get("v") == "1"))
	switch {
	case err == nil:
	case began:
		// So that no client takes the answer for whole. The rest of the body is not waited for.
		http.NewResponseController(w).SetReadDeadline(time.Now())
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("Connection", "close") // net/http panics where a next request follows an unread body
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// answers writes the answers for the lines of body to w.
func (s *server) answers(now *served, w io.Writer, body io.Reader, form, invert bool) error {
	in := bufio.NewReaderSize(body, maxLine+1)
	out := bufio.NewWriterSize(w, 64<<10)
	var scratch []byte
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return out.Flush()
		}
		if n == 1 && err == io.EOF && form {
			return errStripped
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		found := false
		switch {
		case err == bufio.ErrBufferFull || len(line) > maxLine:
			err = fmt.Errorf("it is longer than %d bytes", maxLine)
		case err == nil || err == io.EOF: // the last line may end so
			found, err = s.has(now, line, &scratch)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if found != invert {
			out.Write(line)
			out.WriteByte('\n')
		}
		if in.Buffered() == 0 { // who sends line by line gets answers so
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

var errStripped = errors.New("the body has no newline: curl -d strips them, curl --data-binary @FILE keeps them")

func isForm(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
}
