package bloomredis_test

import (
	"context"
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
