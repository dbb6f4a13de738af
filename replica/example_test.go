package replica_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/replica"
)

// One machine adds keys and publishes. Other machines answer from their own copies.
func Example() {
	blocked := bloom.Must(bloom.NewSync(10_000, 0.001))
	blocked.AddString("203.0.113.7")
	published := replica.NewPublisher(blocked.Snapshot)
	server := httptest.NewServer(published) // or http.Handle("/blocked", published)
	defer server.Close()

	ctx := context.Background()
	r := replica.New(&replica.HTTPSource{URL: server.URL}, replica.Config{})
	fmt.Println(r.ContainsString("198.51.100.1"), "until the first load")
	if err := r.Refresh(ctx); err != nil { // or go r.Run(ctx)
		panic(err)
	}
	fmt.Println(r.ContainsString("203.0.113.7"), r.ContainsString("198.51.100.1"))

	blocked.AddString("198.51.100.1")
	published.Publish()
	if err := r.Refresh(ctx); err != nil { // transfers the bits that changed
		panic(err)
	}
	fmt.Println(r.ContainsString("198.51.100.1"))
	// Output:
	// true until the first load
	// true false
	// true
}

// If a filter has more keys than it was made for, build a new filter and publish that instead.
func ExamplePublisher_rebuild() {
	var current atomic.Pointer[bloom.SyncFilter]
	current.Store(bloom.Must(bloom.NewSync(1000, 0.001)))
	current.Load().AddString("gone")
	current.Load().AddString("kept")
	published := replica.NewPublisher(func() *bloom.Filter { return current.Load().Snapshot() })
	server := httptest.NewServer(published)
	defer server.Close()

	ctx := context.Background()
	r := replica.New(&replica.HTTPSource{URL: server.URL}, replica.Config{})
	if err := r.Refresh(ctx); err != nil {
		panic(err)
	}
	fmt.Println(r.ContainsString("gone"), r.ContainsString("kept"))

	rebuilt := bloom.Must(bloom.NewSync(5000, 0.001))
	rebuilt.AddString("kept")
	current.Store(rebuilt)
	published.Publish()
	if err := r.Refresh(ctx); err != nil { // loads the whole filter
		panic(err)
	}
	fmt.Println(r.ContainsString("gone"), r.ContainsString("kept"))
	// Output:
	// true true
	// false true
}

// A shop's catalogue is in a database on one machine. Front ends on other machines
// ask the database only for products that their replica may contain. A product that
// was deleted no longer passes this check.
func ExampleNewPublisher() {
	catalogue := map[string]string{"mug": "9 €", "lamp": "30 €", "chair": "85 €"}
	products := bloom.Must(counting.New(1000, 0.001))
	for name := range catalogue {
		products.AddString(name)
	}
	published := replica.NewPublisher(products.Bloom)
	server := httptest.NewServer(published)
	defer server.Close()

	ctx := context.Background()
	front := replica.New(&replica.HTTPSource{URL: server.URL}, replica.Config{})
	show := func(names ...string) {
		if err := front.Refresh(ctx); err != nil { // or go front.Run(ctx), once
			panic(err)
		}
		for _, name := range names {
			if !front.ContainsString(name) {
				fmt.Println(name, "is not for sale; the database was not asked")
			} else if price, ok := catalogue[name]; ok {
				fmt.Println(name, "costs", price)
			} else {
				fmt.Println(name, "is not for sale")
			}
		}
	}
	show("lamp", "unicorn")

	// Call Remove only for keys that were added, and once for each Add.
	if _, ok := catalogue["lamp"]; ok {
		delete(catalogue, "lamp")
		products.RemoveString("lamp")
		published.Publish()
	}
	show("lamp", "mug")
	// Output:
	// lamp costs 30 €
	// unicorn is not for sale; the database was not asked
	// lamp is not for sale; the database was not asked
	// mug costs 9 €
}

// A program raises an alarm if its copy is too old.
func ExampleReplica_Status() {
	published := replica.NewPublisher(bloom.Must(bloom.NewSync(1000, 0.01)).Snapshot)
	r := replica.New(published, replica.Config{})
	health := func() string {
		switch s := r.Status(); {
		case s.Refreshed.IsZero():
			return fmt.Sprintf("nothing loaded, last error: %v", s.Err)
		case time.Since(s.Refreshed) > time.Hour:
			return fmt.Sprintf("copy of %v, last error: %v", s.Refreshed, s.Err)
		default:
			return fmt.Sprintf("good, %d bytes", s.SizeBytes)
		}
	}
	fmt.Println(health())
	if err := r.Refresh(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println(health())
	// Output:
	// nothing loaded, last error: <nil>
	// good, 1206 bytes
}

// The server requires a token. A Transport adds it to each request for that server. Another server,
// to which a redirect leads, must not see it.
func ExampleHTTPSource() {
	set := bloom.Must(bloom.NewSync(1000, 0.01))
	set.AddString("a")
	published := replica.NewPublisher(set.Snapshot)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		published.ServeHTTP(w, req)
	}))
	defer server.Close()

	token := withToken{host: server.Listener.Addr().String(), token: "secret"}
	r := replica.New(&replica.HTTPSource{
		URL:    server.URL,
		Client: &http.Client{Timeout: time.Minute, Transport: token},
	}, replica.Config{})
	fmt.Println(r.Refresh(context.Background()), r.ContainsString("a"), r.ContainsString("b"))
	// Output: <nil> true false
}

type withToken struct{ host, token string }

func (t withToken) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == t.host {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+t.token)
	}
	return http.DefaultTransport.RoundTrip(req)
}

// A program revokes tokens, and can allow them again. It adds, saves, and then publishes. If it
// published first, a crash before the file is saved would undo a revocation in every replica.
func ExamplePublisher_restart() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "revoked.bloom")
	start := func() (*counting.Filter, *replica.Publisher) {
		revoked, err := counting.LoadOrNew(path, 10_000, 1e-6)
		if err != nil {
			log.Fatal(err)
		}
		return revoked, replica.NewPublisher(revoked.Bloom)
	}

	revoked, published := start()
	for _, token := range []string{"token-17", "token-99"} { // save once for tokens that come together
		revoked.AddString(token)
	}
	if err := revoked.SaveFile(path); err != nil {
		log.Fatal(err)
	}
	published.Publish()

	_, published = start() // restarts after a crash; replicas load the whole first version
	gate := replica.New(published, replica.Config{})
	if err := gate.Refresh(context.Background()); err != nil {
		log.Fatal(err)
	}
	// true: ask the issuer, or refuse one good token in a million
	fmt.Println(gate.ContainsString("token-17"), gate.ContainsString("token-18"))
	// Output:
	// true false
}
