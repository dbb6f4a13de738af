package bloomredis_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom/bloomredis"
	"github.com/seed79a3ff49/bloom/replica"
)

// Many processes add to one filter in Redis, and each looks up keys in a copy of
// its own that follows.
func Example() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	seen, err := bloomredis.Open(ctx, client, "seen", 1_000_000, 0.01)
	if err != nil {
		log.Fatal(err)
	}
	if keeps, err := seen.Persistence(ctx); err == nil {
		log.Print(keeps) // "a crash loses everything after the last snapshot"
	}

	near := replica.New(seen.Source(), replica.Config{
		Interval:  10 * time.Millisecond,
		FullEvery: time.Hour,
		OnError:   func(err error) { log.Print(err) },
	})
	go near.Run(ctx)

	isNew, err := seen.AddString(ctx, "https://example.com/") // a round trip
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(isNew, near.ContainsString("https://example.com/")) // no round trip
}

// A visit counts once a day for each visitor and page, whichever machine serves it.
func ExampleWindow() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	visits, err := bloomredis.OpenWindow(ctx, client, "visits", bloomredis.WindowConfig{
		Capacity: 5_000_000, // a day
		FPR:      0.001,
		Span:     24 * time.Hour,
	})
	if err != nil {
		log.Fatal(err)
	}
	first, err := visits.AddString(ctx, "visitor-17 /index.html")
	switch {
	case errors.Is(err, bloomredis.ErrLost):
		log.Fatal("Redis has forgotten today's visits: ", err)
	case err != nil:
		log.Fatal(err)
	case first:
		fmt.Println("count it")
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
