package bloomredis_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/contrib/bloomredis"
	"github.com/seed79a3ff49/bloom/replica"
)

// Many processes add to one filter in Redis, and each looks up keys in a copy of its own that
// follows. If Redis comes back without the filter, one of them makes it again.
func Example() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	seen, err := bloomredis.Open(ctx, client, "seen", 1_000_000, 0.01)
	if err != nil {
		log.Fatal(err)
	}
	near := replica.New(seen.Source(), replica.Config{
		Interval:  10 * time.Millisecond,
		FullEvery: time.Hour,
		OnError:   func(err error) { log.Print(err) }, // while Redis is away, or the filter lost
	})
	go near.Run(ctx)

	isNew, err := seen.AddString(ctx, "https://example.com/") // a round trip
	if errors.Is(err, bloomredis.ErrLost) {
		// All calls fail until Reopen. A new filter has no keys: add those that you know from
		// elsewhere again, here the pages that are stored. Copies follow by themselves.
		stored := []string{"https://example.com/about"}
		hs := make([]bloom.Hash, len(stored))
		bloom.SumStringBatch(hs, stored)
		if err = seen.Reopen(ctx); err == nil {
			err = seen.AddBatch(ctx, nil, hs)
		}
		if err == nil {
			isNew, err = seen.AddString(ctx, "https://example.com/")
		}
	}
	if err != nil {
		isNew = true // nobody knows: fetch it, perhaps twice
	}
	fmt.Println(isNew, near.ContainsString("https://example.com/")) // no round trip
}

// A visit counts once a day for each visitor and page, whichever machine serves it.
func ExampleWindow() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	visits, err := bloomredis.OpenWindow(ctx, client, "visits", bloomredis.WindowConfig{
		N:      5_000_000, // new ones within a day, at most
		P:      0.001,
		Span:   24 * time.Hour,
		OnLost: func(err error) { log.Print("Redis has forgotten today's visits: ", err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	first, err := visits.AddString(ctx, "visitor-17 /index.html")
	if err != nil {
		// The visit may have been added or not. Adding it again would return false if it
		// was, and nobody would count it. So it is counted now, perhaps twice. Where once
		// matters, see AddOnce.
		log.Print(err)
		first = true
	}
	if first {
		fmt.Println("count it")
	}
	if reach, err := visits.Reach(ctx); err == nil && reach < 24*time.Hour {
		log.Printf("more than N visits came: those of the last %v are remembered", reach)
	}
}

// Of several workers that get the same job, one does it, also if Redis restarts while
// they ask. If Redis loses the window, they end, and somebody looks which jobs are done.
func ExampleWindow_AddOnce() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	jobs, err := bloomredis.OpenWindow(ctx, client, "jobs", bloomredis.WindowConfig{
		N:      100_000,
		P:      1e-9, // a false positive is a job that is done by nobody
		Span:   time.Hour,
		OnLost: func(err error) { log.Fatal(err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	job := "job-1234"
	token := "worker-7 " + job // no other worker has it, and each repetition has the same
	for ctx.Err() == nil {
		mine, err := jobs.AddOnce(ctx, token, bloom.SumString(job))
		if err != nil {
			time.Sleep(time.Second) // and ask the same again, within five minutes
			continue
		}
		if mine[0] {
			fmt.Println("do it")
		}
		return
	}
}

// A service that only reads a filter, which others filled, Java programs perhaps.
func ExampleOpenExisting() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	revoked, err := bloomredis.OpenExisting(ctx, client, "revoked")
	if errors.Is(err, redis.Nil) {
		log.Fatal("nobody has made the filter yet")
	}
	if err != nil {
		log.Fatal(err)
	}
	stats, err := revoked.Stats(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("about %d keys, %.2g of others look revoked\n", stats.ApproxCount, stats.FPR)
}

// A filter is too small, or has keys that are no longer wanted. Another one is made
// under another key. The key "seen" has the name of the one to ask. Readers follow it,
// and at each moment ask a filter that is there.
func Example_rebuild() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})

	// A reader: at the start, and then every few seconds.
	var current atomic.Pointer[bloomredis.Filter]
	follow := func() error {
		name, err := client.Get(ctx, "seen").Result()
		if err != nil {
			return err
		}
		f, err := bloomredis.OpenExisting(ctx, client, name)
		if err != nil {
			return err // the one before goes on answering
		}
		current.Store(f)
		return nil
	}

	// The one that rebuilds it. Writers add to both filters from step 1 on.
	rebuild := func(keys []string) error {
		next, err := bloomredis.Open(ctx, client, "seen:2", 10_000_000, 0.01) // 1
		if err != nil {
			return err
		}
		hs := make([]bloom.Hash, len(keys))
		bloom.SumStringBatch(hs, keys)
		if err := next.AddBatch(ctx, nil, hs); err != nil { // 2
			return err
		}
		return client.Set(ctx, "seen", "seen:2", 0).Err() // 3
		// 4: when all readers have followed, Delete the filter "seen:1".
	}
	if err := errors.Join(rebuild([]string{"https://example.com/"}), follow()); err != nil {
		log.Fatal(err)
	}
	found, err := current.Load().ContainsString(ctx, "https://example.com/")
	fmt.Println(found, err)
}

// What replaces the commands of RedisBloom.
func Example_redisBloom() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})

	seen, err := bloomredis.Open(ctx, client, "seen", 1_000_000, 0.01) // BF.RESERVE seen 0.01 1000000
	if err != nil {
		log.Fatal(err)
	}
	isNew, err := seen.AddString(ctx, "a") // BF.ADD seen a
	fmt.Println(isNew, err)

	hs := []bloom.Hash{bloom.SumString("b"), bloom.SumString("c")}
	answers := make([]bool, len(hs))
	err = seen.AddBatch(ctx, answers, hs) // BF.MADD seen b c
	fmt.Println(answers, err)

	found, err := seen.ContainsString(ctx, "a") // BF.EXISTS seen a
	fmt.Println(found, err)
	err = seen.ContainsBatch(ctx, answers, hs) // BF.MEXISTS seen b c
	fmt.Println(answers, err)

	stats, err := seen.Stats(ctx) // BF.INFO seen, BF.CARD seen
	fmt.Println(stats.ApproxCount, stats.FPR, err)

	backup, err := seen.Snapshot(ctx) // BF.SCANDUMP seen 0
	if err != nil {
		log.Fatal(err)
	}
	err = seen.Merge(ctx, backup) // BF.LOADCHUNK seen
	fmt.Println(err)
}

// From a file to Redis, for many processes, and back.
func Example_file() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	f, err := bloom.LoadFile("seen.bloom")
	if err != nil {
		log.Fatal(err)
	}
	seen, err := bloomredis.Open(ctx, client, "seen", f.Info().N, f.Info().P)
	if err != nil {
		log.Fatal(err)
	}
	if err := seen.Merge(ctx, f); err != nil {
		log.Fatal(err)
	}

	back, err := seen.Snapshot(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := back.SaveFile("seen.bloom"); err != nil {
		log.Fatal(err)
	}
}
