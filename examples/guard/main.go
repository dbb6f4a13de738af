// Guard serves the user names in an SQLite database. A sign-up form mostly asks for names that
// are free, and a filter in front of the database answers most of these requests. The filter is
// rebuilt while it is in use, and is complete even after a crash.
//
//	go run . -addr 127.0.0.1:8080 -db users.db
//
//	curl -X PUT  127.0.0.1:8080/users/ada    # 201: taken now; 409: it was taken
//	curl         127.0.0.1:8080/users/ada    # 200: taken; 404: free
//	curl         127.0.0.1:8080/metrics      # size and rate of the filter, and its look-ups
//
// A program must follow three rules, as this file does: load returns every error, all inserts go
// through Guard.InsertString, and the filter is not saved.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	_ "modernc.org/sqlite"

	"github.com/seed79a3ff49/bloom/contrib/bloomprom"
	"github.com/seed79a3ff49/bloom/guard"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to serve on")
	path := flag.String("db", "users.db", "`file` of the database")
	every := flag.Duration("every", time.Second, "`time` between two loads")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr, *path, *every); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addr, path string, every time.Duration) error {
	s, err := open(path, every)
	if err != nil {
		return err
	}
	defer s.db.Close()
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.guard.Run(ctx) // Run returns ctx's error
	}()
	defer func() { stop(); <-ended }()

	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	unhook := context.AfterFunc(ctx, func() { server.Close() })
	defer unhook()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

type users struct {
	db    *sql.DB
	guard *guard.Guard
}

func open(path string, every time.Duration) (*users, error) {
	// With a write-ahead log, a load reads what was committed when it began, and blocks no writer.
	// A commit is not synchronous: it survives a crash of the process, but a power failure can undo
	// it.
	const pragmas = "_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)" +
		"&_pragma=busy_timeout(10000)"
	db, err := sql.Open("sqlite", "file:"+path+"?"+pragmas)
	if err != nil {
		return nil, err
	}
	s := &users{db: db}
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY) WITHOUT ROWID")
	if err == nil {
		s.guard, err = guard.New(guard.Config{Load: s.load, P: 0.01, Every: every, Learn: 1024})
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return s, nil
}

func (s *users) load(ctx context.Context, keys *guard.Loader) error {
	rows, err := s.db.QueryContext(ctx, "SELECT name FROM users")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name sql.RawBytes
		if err := rows.Scan(&name); err != nil {
			return err
		}
		keys.Add(name)
	}
	return rows.Err() // without this, names in rows that could not be read would look free
}

func (s *users) claim(name string) (free bool, err error) {
	err = s.guard.InsertString(name, func() error {
		// Exec does not get the request's context. With it, the commit could come after
		// InsertString returns, if the client goes away.
		result, err := s.db.Exec("INSERT INTO users (name) VALUES (?) ON CONFLICT DO NOTHING", name)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		free = n > 0
		return err
	})
	return free, err
}

// taken makes no query if name is certainly free, or if the guard remembers that it was free.
func (s *users) taken(ctx context.Context, name string) (bool, error) {
	return s.guard.LookupString(name, func() (bool, error) {
		row := s.db.QueryRowContext(ctx, "SELECT name FROM users WHERE name = ?", name)
		err := row.Scan(new(string))
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	})
}

func (s *users) handler() http.Handler {
	registry := prometheus.NewRegistry()
	options := prometheus.GaugeOpts{Name: "users_load_seconds", Help: "Time of the last load."}
	loadTime := prometheus.NewGaugeFunc(options, func() float64 {
		_, took := s.guard.Loaded()
		return took.Seconds()
	})
	registry.MustRegister(
		bloomprom.NewFilterCollector("users", s.guard.Stats),
		bloomprom.NewGuardCollector("users", s.guard.Counts),
		loadTime,
	)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("PUT /users/{name}", func(w http.ResponseWriter, r *http.Request) {
		free, err := s.claim(r.PathValue("name"))
		reply(w, err, free, http.StatusCreated, http.StatusConflict)
	})
	mux.HandleFunc("GET /users/{name}", func(w http.ResponseWriter, r *http.Request) {
		taken, err := s.taken(r.Context(), r.PathValue("name"))
		reply(w, err, taken, http.StatusOK, http.StatusNotFound)
	})
	return mux
}

func reply(w http.ResponseWriter, err error, answer bool, ifTrue, ifFalse int) {
	status := ifFalse
	switch {
	case err != nil:
		log.Print(err)
		status = http.StatusInternalServerError
	case answer:
		status = ifTrue
	}
	w.WriteHeader(status)
}
