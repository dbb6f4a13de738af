// Guard looks up keys, most of which do not exist, in a database (bbolt, a file) behind
// Redis, a local cache and a filter, once without the filter and once with it,
// and prints what each layer answered and how long that took.
//
// The filter is in Redis and is answered from a replica in this process: keys that
// do not exist cost no round trip. Without -redis it starts a redis-server of its
// own and stops it at the end. With -redis it deletes what it wrote there. Both also
// happen after Ctrl-C and SIGTERM.
//
// With -metrics it serves how full and how right the filter is, for Prometheus at /metrics
// and with expvar at /debug/vars, until Ctrl-C.
package main

import (
	"context"
	"errors"
	"expvar"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bloomprom"
	"github.com/seed79a3ff49/bloom/bloomredis"
	"github.com/seed79a3ff49/bloom/replica"
)

type config struct {
	redis    string // address; "" to start a server
	rows     int
	requests int
	absent   float64 // fraction of requests for keys that do not exist
	metrics  string  // address to serve metrics at; "" for none
}

func main() {
	var cfg config
	flag.StringVar(&cfg.redis, "redis", "", "address of a Redis server; none starts one")
	flag.IntVar(&cfg.rows, "rows", 50_000, "rows in the database")
	flag.IntVar(&cfg.requests, "requests", 50_000, "keys to look up")
	flag.Float64Var(&cfg.absent, "absent", 0.8, "fraction of requests for keys that do not exist")
	flag.StringVar(&cfg.metrics, "metrics", "", "address to serve metrics at until Ctrl-C, such as localhost:8080")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("guard: ")

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if _, err := run(ctx, os.Stdout, cfg); ctx.Err() != nil && err != nil {
		log.Fatal("stopped by a signal")
	} else if err != nil {
		log.Fatal(err)
	}
}

// run returns both stores after their requests, the one without a filter first.
func run(ctx context.Context, w io.Writer, cfg config) (stores [2]*Store, err error) {
	redis.SetLogger(silent{}) // what it logs is returned as well
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		return stores, err
	}
	defer os.RemoveAll(dir)
	options := &redis.Options{Addr: cfg.redis}
	attempts := 1
	if cfg.redis == "" {
		stop, err := startRedis(dir, options)
		if err != nil {
			return stores, err
		}
		defer stop()
		attempts = 250
	}
	if err := ready(ctx, *options, attempts); err != nil {
		return stores, err
	}
	client := redis.NewClient(options)
	defer client.Close()
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
	if cfg.redis != "" {
		defer func() { err = errors.Join(err, clean(context.WithoutCancel(ctx), shared, stores, cfg.rows)) }()
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

	for i, filter := range []*replica.Replica{nil, seen} {
		stores[i] = &Store{seen: filter, shared: shared, local: newLRU(cfg.rows / 50), redis: client, db: db,
			prefix: fmt.Sprintf("%s:%d:", name, i), lookups: bloomprom.NewLookups("items")}
	}
	lookups := stores[1].lookups
	if cfg.metrics != "" {
		stop, err := serveMetrics(w, cfg.metrics, seen, lookups)
		if err != nil {
			return stores, err
		}
		defer stop()
	}

	var total [2]time.Duration
	for i, s := range stores {
		if err := s.serve(ctx, cfg); err != nil {
			return stores, err
		}
		total[i] = s.print(w, []string{"without a filter", "with a filter"}[i])
	}
	fmt.Fprintf(w, "saved: %v of %v (%.0f %%)\n\n", (total[0] - total[1]).Round(time.Millisecond),
		total[0].Round(time.Millisecond), 100*float64(total[0]-total[1])/float64(total[0]))

	hits, misses, wrong := lookups.Counts()
	fmt.Fprintf(w, "the filter: %d hits, %d certain misses, %d false positives; rate %.2f %%, expected %.2f %%\n\n",
		hits, misses, wrong, 100*float64(wrong)/float64(wrong+misses), 100*seen.Snapshot().FPR())

	// A row that somebody else adds.
	if err := stores[1].Put(ctx, "new", "value"); err != nil {
		return stores, err
	}
	for start := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		if _, err := stores[1].Get(ctx, "new"); err == nil {
			fmt.Fprintf(w, "a new row is found after %v\n", time.Since(start).Round(100*time.Microsecond))
			break
		} else if err != errNotFound || ctx.Err() != nil || time.Since(start) > 10*time.Second {
			return stores, fmt.Errorf("the new row: %w", err)
		}
	}
	if cfg.metrics != "" {
		fmt.Fprintln(w, "Ctrl-C ends this.")
		<-ctx.Done()
	}
	return stores, nil
}

// serveMetrics serves metrics at addr until stop is called.
func serveMetrics(w io.Writer, addr string, seen *replica.Replica, lookups *bloomprom.Lookups) (stop func(), err error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		bloomprom.NewFilterCollector("items", seen.Stats),
		lookups,
	)
	expvar.Publish("items", lookups)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/debug/vars", expvar.Handler())
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "metrics: http://%s/metrics\n\n", l.Addr())
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(l) }()
	return func() { _ = server.Close() }, nil
}

// clean deletes the filter and the cached rows from somebody's Redis.
func clean(ctx context.Context, shared *bloomredis.Filter, stores [2]*Store, rows int) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	err := shared.Delete(ctx)
	for _, s := range stores {
		if s == nil {
			continue
		}
		names := []string{s.prefix + "new"}
		for i := range rows {
			names = append(names, s.prefix+key(i))
			if len(names) == 1000 || i == rows-1 {
				err = errors.Join(err, s.redis.Unlink(ctx, names...).Err())
				names = names[:0]
			}
		}
	}
	return err
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

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

// ready returns nil once a server answers, and an error after so many attempts without
// an answer.
func ready(ctx context.Context, options redis.Options, attempts int) (err error) {
	options.MaxRetries, options.DialerRetries, options.DialTimeout = -1, 1, 2*time.Second
	client := redis.NewClient(&options)
	defer client.Close()
	for range attempts {
		if err = client.Ping(ctx).Err(); err == nil || ctx.Err() != nil {
			return err
		}
		if attempts > 1 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	return fmt.Errorf("no Redis at %s: %w", options.Addr, err)
}

func key(i int) string { return fmt.Sprintf("item-%08d", i) }

// fill makes the database.
func fill(ctx context.Context, path string, rows int) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		table, err := tx.CreateBucket(items)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := errors.Join(ctx.Err(), table.Put([]byte(key(i)), fmt.Appendf(nil, "value of %d", i))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// serve looks up keys that exist, a few of them often, among ones that do not.
func (s *Store) serve(ctx context.Context, cfg config) error {
	rng := rand.New(rand.NewPCG(1, 2))
	popular := rand.NewZipf(rng, 1.1, 10, uint64(cfg.rows-1))
	for range cfg.requests {
		if err := ctx.Err(); err != nil {
			return err
		}
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
