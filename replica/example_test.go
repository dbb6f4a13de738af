package replica_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/replica"
)

// One machine adds and publishes, others answer from their own copies.
func Example() {
	blocked := replica.NewPublisher(bloom.Must(bloom.New(10_000, 0.001)))
	blocked.AddString("203.0.113.7")
	blocked.Publish()
	server := httptest.NewServer(blocked) // or http.Handle("/blocked", blocked)
	defer server.Close()

	ctx := context.Background()
	r := replica.New(replica.HTTP(server.URL, nil), replica.Config{})
	fmt.Println(r.ContainsString("198.51.100.1"), "until the first load")
	if err := r.Refresh(ctx); err != nil { // or go r.Run(ctx)
		panic(err)
	}
	fmt.Println(r.ContainsString("203.0.113.7"), r.ContainsString("198.51.100.1"))

	blocked.AddString("198.51.100.1")
	blocked.Publish()
	if err := r.Refresh(ctx); err != nil { // transfers what was added
		panic(err)
	}
	fmt.Println(r.ContainsString("198.51.100.1"))
	// Output:
	// true until the first load
	// true false
	// true
}
