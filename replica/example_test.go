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

// One machine adds and publishes, others answer from their own copies.
func Example() {
	blocked := replica.NewPublisher(bloom.Must(bloom.New(10_000, 0.001)))
	blocked.AddString("203.0.113.7")
	blocked.Publish()
	server := httptest.NewServer(blocked) // or http.Handle("/blocked", blocked)
	defer server.Close()

	ctx := context.Background()
	r := replica.New(&replica.HTTPSource{URL: server.URL}, replica.Config{})
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

// When keys must go, or more came than the filter was made for, build another
// filter and publish it in the old one's place.
func ExamplePublisher_rebuild() {
	var current atomic.Pointer[replica.Publisher]
	current.Store(replica.NewPublisher(bloom.Must(bloom.New(1000, 0.001))))
	current.Load().AddString("gone")
	current.Load().AddString("kept")
	current.Load().Publish()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		current.Load().ServeHTTP(w, req)
	}))
	defer server.Close()

	ctx := context.Background()
	r := replica.New(&replica.HTTPSource{URL: server.URL}, replica.Config{})
	if err := r.Refresh(ctx); err != nil {
		panic(err)
	}
	fmt.Println(r.ContainsString("gone"), r.ContainsString("kept"))

	rebuilt := bloom.Must(bloom.New(5000, 0.001))
	rebuilt.AddString("kept")
	current.Store(replica.NewPublisher(rebuilt))
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
func ExampleNewCountingPublisher() {
	catalogue := map[string]string{"mug": "9 €", "lamp": "30 €", "chair": "85 €"}
	products := replica.NewCountingPublisher(bloom.Must(counting.New(1000, 0.001)))
	for name := range catalogue {
		products.AddString(name)
	}
	products.Publish()
	server := httptest.NewServer(products)
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

	// Remove is for keys that were added, and once for each Add.
	if _, ok := catalogue["lamp"]; ok {
		delete(catalogue, "lamp")
		products.RemoveString("lamp")
		products.Publish()
	}
	show("lamp", "mug")
	// Output:
	// lamp costs 30 €
	// unicorn is not for sale; the database was not asked
	// lamp is not for sale; the database was not asked
	// mug costs 9 €
}

// An alarm for copies that are too old.
func ExampleReplica_Status() {
	published := replica.NewPublisher(bloom.Must(bloom.New(1000, 0.01)))
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

// The server wants a token: a Transport adds it to each request.
func ExampleHTTPSource() {
	published := replica.NewPublisher(bloom.Must(bloom.New(1000, 0.01)))
	published.AddString("a")
	published.Publish()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		published.ServeHTTP(w, req)
	}))
	defer server.Close()

	r := replica.New(&replica.HTTPSource{
		URL:    server.URL,
		Client: &http.Client{Timeout: time.Minute, Transport: withToken("secret")},
	}, replica.Config{})
	fmt.Println(r.Refresh(context.Background()), r.ContainsString("a"), r.ContainsString("b"))
	// Output: <nil> true false
}

type withToken string

func (token withToken) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(req)
}

// Revoked tokens: save, then publish. In the other order a crash between the two would take a
// revocation back from every replica, as the Publisher begins with its file again. So would a
// file that is saved only now and then.
func ExamplePublisher_restart() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "revoked.bloom")
	start := func() *replica.Publisher {
		f, err := bloom.LoadOrNew(path, 10_000, 1e-6)
		if err != nil {
			log.Fatal(err)
		}
		return replica.NewPublisher(f)
	}
	// All tokens that come while one file is written can share the next.
	revoke := func(p *replica.Publisher, tokens ...string) error {
		for _, token := range tokens {
			p.AddString(token)
		}
		if err := p.Snapshot().SaveFile(path); err != nil {
			return err
		}
		p.Publish()
		return nil
	}

	p := start()
	if err := revoke(p, "token-17", "token-99"); err != nil {
		log.Fatal(err)
	}
	p = start() // after a crash; replicas load its first version whole
	gate := replica.New(p, replica.Config{})
	if err := gate.Refresh(context.Background()); err != nil {
		log.Fatal(err)
	}
	// true: ask the issuer, or refuse one good token in a million
	fmt.Println(gate.ContainsString("token-17"), gate.ContainsString("token-18"))
	// Output:
	// true false
}
