package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/replica"
)

func serveCommand() *cobra.Command {
	var addr string
	var input inputFlags
	c := &cobra.Command{
		Use:   "serve [-addr A] FILE",
		Short: "answer look-ups over HTTP",
		Long: `serve answers over HTTP:

  GET  /contains?key=K   true if K may be in the filter, else false
  POST /contains         the body's lines that may be in the filter, of up to 64 MiB; with
                         ?v=1 those that certainly are not
  GET  /filter           the filter in Guava's bytes, by version, for Go's package replica
  GET  /info             what bloom info -json tells

/filter is there for the types bloom.Filter and counting.Filter. When FILE is replaced, as
by bloom add, the answers are the new filter's within a second. While it cannot be read
they are the old one's. Ctrl-C and SIGTERM let requests end.`,
		Example: `  bloom serve -addr :8080 fruit.bloom & sleep 1; curl 'localhost:8080/contains?key=apple'`,
		Args:    need(1, 1, "the filter's FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			s := &server{path: args[0], key: input.key}
			if err := s.load(); err != nil {
				return err
			}
			warnKeys(c.Name(), s.path, s.now.Load().filter, s.key)
			return s.run(c.Context(), addr)
		},
	}
	c.Flags().StringVar(&addr, "addr", "localhost:8080", "`address` to listen on")
	c.Flags().BoolVar(&input.key.FoldCase, "fold-case", false, "do not tell capital letters from small ones")
	c.Flags().BoolVar(&input.key.Hex, "hex", false, "keys are given in hexadecimal")
	return c
}

// server serves a file's filter.
type server struct {
	path string
	key  lines.Key
	info fs.FileInfo // of the file that was loaded
	now  atomic.Pointer[served]
}

// served is one content of the file. It is never changed.
type served struct {
	filter  filter
	sum     func([]byte) bloom.Hash
	report  *report
	version http.Handler
}

// load loads the file.
func (s *server) load() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	f, err := load(s.path)
	if err != nil {
		return err
	}
	next := &served{filter: f.filter, sum: sum(f), version: http.NotFoundHandler()}
	if next.sum == nil {
		next.sum = bloom.Sum
	}
	next.report = describe(f.filter)
	next.report.File, next.report.Type, next.report.Size = s.path, f.kind.name, info.Size()
	if next.report.Checksum, err = checksum(s.path, f); err != nil {
		return err
	}
	switch f := f.filter.(type) {
	case *guavaFile:
		next.version = replica.NewPublisher(f.Clone())
	case *counting.Filter:
		next.version = replica.NewPublisher(f.Filter())
	}
	s.info = info
	s.now.Store(next)
	return nil
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
		info, err := os.Stat(s.path)
		if err == nil && os.SameFile(info, s.info) && info.ModTime().Equal(s.info.ModTime()) && info.Size() == s.info.Size() {
			continue
		}
		if err == nil {
			err = s.load()
		}
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
	mux := http.NewServeMux()
	mux.HandleFunc("GET /contains", s.contains)
	mux.HandleFunc("POST /contains", s.check)
	mux.HandleFunc("GET /filter", func(w http.ResponseWriter, r *http.Request) { s.now.Load().version.ServeHTTP(w, r) })
	mux.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(s.now.Load().report)
	})
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
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

// contains answers for one key.
func (s *server) contains(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !query.Has("key") {
		http.Error(w, "a key is missing: /contains?key=K", http.StatusBadRequest)
		return
	}
	key, _, err := s.key.Of([]byte(query.Get("key")), 0, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	now := s.now.Load()
	fmt.Fprintln(w, now.filter.ContainsHash(now.sum(key)))
}

// check answers for the lines of the body.
func (s *server) check(w http.ResponseWriter, r *http.Request) {
	now := s.now.Load()
	invert := r.URL.Query().Get("v") == "1"
	// All of it is read before any is written, as HTTP/1 wants it.
	in := bufio.NewScanner(http.MaxBytesReader(w, r.Body, maxBody))
	in.Buffer(nil, maxLine)
	var out bytes.Buffer
	var scratch []byte
	for in.Scan() {
		key, next, err := s.key.Of(in.Bytes(), 0, scratch[:0])
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		scratch = next
		if now.filter.ContainsHash(now.sum(key)) != invert {
			out.Write(in.Bytes())
			out.WriteByte('\n')
		}
	}
	if err := in.Err(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out.WriteTo(w)
}

// The largest request, and the longest line in it, in bytes.
const (
	maxBody = 64 << 20
	maxLine = 1 << 20
)
