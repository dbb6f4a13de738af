package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/publish"
)

// These limit the memory that clients can take.
const (
	maxBody      = 8 << 20   // largest body of a request, in bytes
	maxPasted    = 256 << 10 // largest body of the page's form, in bytes
	bodyPiece    = 64 << 10  // size of a piece of a body, in bytes
	maxPieces    = 1024      // largest number of whole pieces in memory, of all bodies together
	maxDownloads = 32        // largest number of concurrent downloads of /filter
	maxClients   = 1024      // largest number of open connections
)

// Time limits. See also patience.
const (
	headerTime = 10 * time.Second
	idleTime   = 30 * time.Second
	graceTime  = 10 * time.Second
)

// patience returns how long a client may take to send or to receive size bytes.
func patience(size int64) time.Duration {
	return time.Minute + time.Duration(size>>17)*time.Second
}

func serveCommand() *cobra.Command {
	var addr string
	var hosts []string
	var key lines.Key
	var blank bool
	c := &cobra.Command{
		Use:  "serve [--addr A] [--host NAME] FILE",
		Args: need(1, 1, "the filter's FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, _, err := net.SplitHostPort(addr); err != nil {
				return usageError{fmt.Errorf(
					"--addr %q is not an address, such as :8080 or localhost:8080", addr)}
			}
			s := newServer(args[0], key, c.Flags())
			s.hosts = hosts
			s.blank = blank
			if err := s.load(); err != nil {
				return err
			}
			if err := s.run(c.Context(), addr); err != nil {
				return err
			}
			return silent(0) // a signal ended the server, which is not an error
		},
	}
	flags := c.Flags()
	flags.StringVar(&addr, "addr", "localhost:8080", "`address` to listen on")
	flags.StringArrayVar(&hosts, "host", nil,
		"host `NAME` to accept on a loopback address")
	addKey(flags, &key)
	flags.BoolVar(&blank, "blank", false, "look up blank lines, too")
	return c
}

type server struct {
	path  string
	key   lines.Key
	flags *pflag.FlagSet // tells which fields of key the user set
	blank bool           // also look up the empty key
	hosts []string       // hosts to answer for on a loopback address, in addition to localhost
	local bool           // the server listens on a loopback address
	open  func(path string) (*loaded, error)

	pieces    chan struct{} // holds an element for each whole piece of a body in memory
	downloads chan struct{} // holds an element for each download of /filter

	now  atomic.Pointer[version]
	file files.Identity // the file of the current version

	publishing sync.Mutex
	publisher  *publish.Publisher // publishes the current version; see follow
}

func newServer(path string, key lines.Key, flags *pflag.FlagSet) *server {
	return &server{
		path:      path,
		key:       key,
		flags:     flags,
		open:      loadKeys,
		pieces:    make(chan struct{}, maxPieces),
		downloads: make(chan struct{}, maxDownloads),
	}
}

// version is the filter that the file held at some time. A version is never changed.
type version struct {
	filter *loaded
	key    lines.Key
	doubt  *doubt // shared by requests; those that count lines use a copy
	report *report
	made   time.Time // when the file was written
	loaded time.Time
	guava  func() *bloom.Filter // for /filter; nil if the type has no Guava form
}

// load loads the file. After an error the server keeps its current version.
func (s *server) load() error {
	id, err := s.identify()
	if err != nil {
		return err
	}
	f, err := s.open(s.path)
	if err != nil {
		return err
	}
	if part := shardIn(f); part.n > 1 {
		return fmt.Errorf("%s is one of %d shards, and lacks the lines of the others",
			s.path, part.n)
	}
	key := s.key
	if err := f.keyFromInfo(&key, s.flags); err != nil {
		return err
	}
	warnAll(foreignKeys(s.path, f.Info().Hash))
	d := newDoubt(s.path, f, key)
	if d.mixed {
		warn(mixedKeys, s.path, placeFlag(d.asked))
	}
	next := &version{
		filter: f,
		key:    key,
		doubt:  d,
		report: f.report(s.path),
		made:   id.Modified(),
		loaded: time.Now(),
	}
	if guava := f.kind.guava; guava != nil {
		next.guava = sync.OnceValue(func() *bloom.Filter { return guava(f.filter) })
	}
	s.file = id
	s.now.Store(next)
	s.publishing.Lock()
	defer s.publishing.Unlock()
	switch {
	case s.publisher == nil: // follow will make it if a client asks for /filter
	case next.guava == nil:
		s.publisher = nil
	default:
		s.publisher.Publish(next.guava(), true, next.made)
	}
	return nil
}

// identify returns the identity of the file. Call it before loading, so that a file that is
// replaced during the load is loaded again.
func (s *server) identify() (files.Identity, error) {
	id, err := files.Identify(s.path, s.file)
	if err != nil {
		return id, fmt.Errorf("%s: %w", s.path, cause(err))
	}
	return id, nil
}

// reload loads the file if its bytes have changed, and reports whether it did.
func (s *server) reload() (bool, error) {
	id, err := s.identify()
	if err != nil {
		return false, err
	}
	if id.Same(s.file) {
		s.file = id // speed
		return false, nil
	}
	runtime.GC() // frees the version that the last load replaced
	err = s.load()
	return err == nil, err
}

// watch reloads the file at each tick until ctx ends. It logs when loading begins to fail, when it
// fails for a different reason, and when it succeeds again.
func (s *server) watch(ctx context.Context, ticks <-chan time.Time) {
	failing := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		_, err := s.reload()
		reason := reasonOf(err)
		switch {
		case reason == failing:
		case err != nil:
			logf("continuing with the old filter: %v", err)
		default:
			logf("%s can be loaded again, and is served", s.path)
		}
		failing = reason
	}
}

// reasonOf returns the same text for errors of the same kind, and "" for nil. While a file is being
// written in place, attempts to load it can fail with different errors.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	kinds := []error{fs.ErrNotExist, fs.ErrPermission, bloom.ErrVersion, bloom.ErrFormat}
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}

func (s *server) run(ctx context.Context, addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok {
		s.local = tcp.IP.IsLoopback()
	}
	logf("serving %s at http://%s", s.path, listener.Addr())
	ticker := time.NewTicker(time.Second / 2)
	defer ticker.Stop()
	go s.watch(ctx, ticker.C)
	web := s.httpServer()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.Background(), graceTime)
		defer cancel()
		if web.Shutdown(grace) != nil {
			web.Close()
		}
	}()
	err = web.Serve(&limitListener{listener, make(chan struct{}, maxClients)})
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return nil
}

func (s *server) httpServer() *http.Server {
	return &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       patience(maxBody),
		WriteTimeout:      patience(maxBody),
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    64 << 10,
	}
}

// limitListener accepts a connection only while fewer than cap(places) others are open.
type limitListener struct {
	net.Listener
	places chan struct{} // holds an element for each open connection
}

func (l *limitListener) Accept() (net.Conn, error) {
	l.places <- struct{}{}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	release := sync.OnceFunc(func() { <-l.places })
	return &limitedConn{TCPConn: conn.(*net.TCPConn), release: release}, nil
}

// limitedConn gives its place back when it is closed. It embeds a TCPConn, because net/http needs
// the CloseWrite method: without it, a client that is still sending a body might not receive the
// answer that refuses it.
type limitedConn struct {
	*net.TCPConn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}
