// Guard looks up keys in a database (bbolt, in a file). Most of the keys do not exist. All machines
// share a filter in Redis, and each has a copy in memory, so most absent keys cost neither a query
// nor a round trip. If Redis comes back without the filter, the next Put fills a new one from the
// database.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/contrib/bloomredis"
	"github.com/seed79a3ff49/bloom/replica"
)

var items = []byte("items") // the table

// Table is a table of a database, and a filter of its keys.
type Table struct {
	db      *bbolt.DB
	shared  *bloomredis.Filter
	near    *replica.Replica // this machine's copy of the filter
	n       uint64           // the number of keys that the filter has room for
	queries int
}

// Open returns the table in db, with a filter for n keys that contains the keys of all rows.
func Open(
	ctx context.Context, db *bbolt.DB, client redis.UniversalClient, name string, n uint64,
) (*Table, error) {
	shared, err := bloomredis.Open(ctx, client, name, n, 0.01)
	if err != nil {
		return nil, err
	}
	t := &Table{db: db, shared: shared, n: n}
	t.near = replica.New(shared.Source(), replica.Config{
		Interval: 5 * time.Millisecond,
		OnError:  func(err error) { log.Print(err) },
	})
	if err := t.fill(ctx); err != nil {
		return nil, err
	}
	return t, t.near.Refresh(ctx)
}

// fill adds the keys of all rows to the filter in one step.
func (t *Table) fill(ctx context.Context) error {
	local, err := bloom.New(t.n, 0.01)
	if err != nil {
		return err
	}
	err = t.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(items).ForEach(func(key, _ []byte) error {
			local.Add(key)
			return nil
		})
	})
	if err != nil {
		return err
	}
	return t.shared.Merge(ctx, local)
}

// Get returns the value of key, or nil if it finds none.
func (t *Table) Get(key string) (value []byte, err error) {
	if !t.near.ContainsString(key) {
		return nil, nil
	}
	t.queries++
	err = t.db.View(func(tx *bbolt.Tx) error {
		value = append(value, tx.Bucket(items).Get([]byte(key))...)
		return nil
	})
	return value, err
}

// Put adds the key to the filter before it adds the row: a key without a row costs a query, but a
// row without its key would not be found.
func (t *Table) Put(ctx context.Context, key, value string) error {
	_, err := t.shared.AddString(ctx, key)
	if errors.Is(err, bloomredis.ErrLost) {
		// Redis came back without the filter. Reopen makes an empty filter, which the copies may
		// fetch before fill has ended: then rows look missing for a while. If that must not happen,
		// use package guard, where each process has its own filter.
		if err = t.shared.Reopen(ctx); err == nil {
			err = t.fill(ctx)
		}
		if err == nil {
			_, err = t.shared.AddString(ctx, key)
		}
	}
	if err != nil {
		return err
	}
	return t.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(items).Put([]byte(key), []byte(value))
	})
}

func main() {
	addr := flag.String("redis", "localhost:6379",
		"address of a Redis server; the example deletes its keys there at the end")
	rows := flag.Int("rows", 50_000,
		"rows in the database, and keys to look up; four of five keys do not exist")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *addr, *rows); err != nil {
		log.Fatal("guard: ", err)
	}
}

func run(ctx context.Context, w io.Writer, addr string, rows int) (err error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := bbolt.Open(filepath.Join(dir, "items.db"), 0o600, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		table, err := tx.CreateBucket(items)
		for i := 0; i < rows && err == nil; i++ {
			err = table.Put([]byte(key(i)), fmt.Appendf(nil, "value of %d", i))
		}
		return err
	})
	if err != nil {
		return err
	}

	t, err := Open(ctx, db, client, fmt.Sprintf("guard:%x", rand.Uint64()), uint64(rows)+1000)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.shared.Delete(context.WithoutCancel(ctx))) }()
	running, stop := context.WithCancel(ctx)
	defer stop()
	go t.near.Run(running)

	absent, began := 0, time.Now()
	for range rows {
		i := rand.IntN(5 * rows)
		value, err := t.Get(key(i))
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if value == nil {
			absent++
		}
		if (value == nil) != (i >= rows) {
			return fmt.Errorf("%s: %q", key(i), value)
		}
	}
	fmt.Fprintf(w, "%d requests, %d of them for keys that do not exist: %d queries in %v\n",
		rows, absent, t.queries, time.Since(began).Round(time.Millisecond))

	if err := t.Put(ctx, "new", "value"); err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		value, err := t.Get("new")
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if value != nil {
			fmt.Fprintf(w, "a new row is found after %v\n",
				time.Since(began).Round(100*time.Microsecond))
			return nil
		}
	}
}

func key(i int) string { return fmt.Sprintf("item-%08d", i) }
