// Guard looks up keys, most of which do not exist, in a database (SQLite) behind
// Redis, a local cache and a filter, once without the filter and once with it,
// and prints what each layer answered and how long that took.
//
// The filter is in Redis and is answered from a replica in this process: keys that
// do not exist cost no round trip. Without -redis it starts a redis-server of its
// own and stops it at the end.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bloomredis"
	"github.com/seed79a3ff49/bloom/replica"
)

type config struct {
	redis    string // address; "" to start a server
	rows     int
	requests int
	absent   float64 // fraction of requests for keys that do not exist
}

func main() {
	var cfg config
	flag.StringVar(&cfg.redis, "redis", "", "address of a Redis server; none starts one")
	flag.IntVar(&cfg.rows, "rows", 50_000, "rows in the database")
	flag.IntVar(&cfg.requests, "requests", 50_000, "keys to look up")
	flag.Float64Var(&cfg.absent, "absent", 0.8, "fraction of requests for keys that do not exist")
	flag.Parse()
	if _, err := run(context.Background(), os.Stdout, cfg); err != nil {
		log.Fatal(err)
	}
}

// run returns both stores after their requests, the one without a filter first.
func run(ctx context.Context, w io.Writer, cfg config) (stores [2]*Store, err error) {
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		return stores, err
	}
	defer os.RemoveAll(dir)
	options := &redis.Options{Addr: cfg.redis}
	if cfg.redis == "" {
		stop, err := startRedis(dir, options)
		if err != nil {
			return stores, err
		}
		defer stop()
	}
	client := redis.NewClient(options)
	defer client.Close()
	if err := ready(ctx, client); err != nil {
		return stores, err
	}
	db, err := fill(ctx, filepath.Join(dir, "items.db"), cfg.rows)
	if err != nil {
		return stores, err
	}
	defer db.Close()

	// A new filter, filled here and merged in one go; a running service would
	// find it there.
	name := fmt.Sprintf("guard:%x", rand.Uint64())
	shared, err := bloomredis.Open(ctx, client, name, uint64(cfg.rows)+1000, 0.01)
	if err != nil {
		return stores, err
	}
	local, err := bloom.New(uint64(cfg.rows)+1000, 0.01)
	if err != nil {
		return stores, err
	}
	for i := range cfg.rows {
		local.AddString(key(i))
	}
	if err := shared.Merge(ctx, local); err != nil {
		return stores, err
	}
	seen := replica.New(shared.Source(), replica.Config{
		Interval: 5 * time.Millisecond,
		OnError:  func(err error) { log.Print(err) },
	})
	if err := seen.Refresh(ctx); err != nil {
		return stores, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	go func() { _ = seen.Run(running) }()

	var total [2]time.Duration
	for i, filter := range []*replica.Replica{nil, seen} {
		s := &Store{seen: filter, shared: shared, local: newLRU(cfg.rows / 50), redis: client, db: db,
			prefix: fmt.Sprintf("%s:%d:", name, i)}
		stores[i] = s
		if err := s.serve(ctx, cfg); err != nil {
			return stores, err
		}
		total[i] = s.print(w, []string{"without a filter", "with a filter"}[i])
	}
	fmt.Fprintf(w, "saved: %v of %v (%.0f %%)\n\n", (total[0] - total[1]).Round(time.Millisecond),
		total[0].Round(time.Millisecond), 100*float64(total[0]-total[1])/float64(total[0]))

	// A row that somebody else adds.
	if err := stores[1].Put(ctx, "new", "value"); err != nil {
		return stores, err
	}
	for start := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		if _, err := stores[1].Get(ctx, "new"); err == nil {
			fmt.Fprintf(w, "a new row is found after %v\n", time.Since(start).Round(100*time.Microsecond))
			return stores, nil
		} else if err != errNotFound || time.Since(start) > 10*time.Second {
			return stores, fmt.Errorf("the new row: %w", err)
		}
	}
}

// startRedis starts a server that listens on a socket in dir alone.
func startRedis(dir string, options *redis.Options) (stop func(), err error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("%w: name a server with -redis, or install one (Debian: redis-server)", err)
	}
	options.Network, options.Addr = "unix", filepath.Join(dir, "socket")
	cmd := exec.Command(program, "--port", "0", "--unixsocket", options.Addr, "--save", "", "--dir", dir)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}, nil
}

func ready(ctx context.Context, client *redis.Client) (err error) {
	for range 100 {
		if err = client.Ping(ctx).Err(); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

func key(i int) string { return fmt.Sprintf("item-%08d", i) }

// fill makes the database.
func fill(ctx context.Context, path string, rows int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, "CREATE TABLE items (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID"); err != nil {
		return nil, err
	}
	insert, err := tx.PrepareContext(ctx, "INSERT INTO items VALUES (?, ?)")
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if _, err := insert.ExecContext(ctx, key(i), fmt.Sprintf("value of %d", i)); err != nil {
			return nil, err
		}
	}
	return db, tx.Commit()
}

// serve looks up keys that exist, a few of them often, among ones that do not.
func (s *Store) serve(ctx context.Context, cfg config) error {
	rng := rand.New(rand.NewPCG(1, 2))
	popular := rand.NewZipf(rng, 1.1, 10, uint64(cfg.rows-1))
	for range cfg.requests {
		i := int(popular.Uint64())
		if rng.Float64() < cfg.absent {
			i = cfg.rows + rng.IntN(1<<30)
		}
		_, err := s.Get(ctx, key(i))
		if err != nil && err != errNotFound {
			return err
		}
		if (err == nil) != (i < cfg.rows) {
			return fmt.Errorf("%s: %v", key(i), err)
		}
	}
	return nil
}

func (s *Store) print(w io.Writer, title string) (total time.Duration) {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "%s\tanswered\ton average\tin all\t\n", title)
	for i, n := range s.answered {
		total += s.spent[i]
		if n > 0 {
			mean := s.spent[i] / time.Duration(n)
			fmt.Fprintf(table, "%s\t%d\t%.1f µs\t%v\t\n", layerNames[i], n, float64(mean)/1e3, s.spent[i].Round(time.Millisecond))
		}
	}
	table.Flush()
	fmt.Fprintln(w)
	return total
}
