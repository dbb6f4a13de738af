package guard_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seed79a3ff49/bloom/guard"
)

// users is a table. A query for a name that the table does not have takes time.
type users map[string]bool

func (u users) has(name string) (bool, error) { return u[name], nil }

func (u users) insert(name string) error { u[name] = true; return nil }

func (u users) load(_ context.Context, keys *guard.Loader) error {
	for name := range u {
		keys.AddString(name)
	}
	return nil // and rows.Err() of a real table
}

func Example() {
	table := users{"ada": true}
	g, err := guard.New(guard.Config{Load: table.load, P: 0.01})
	if err != nil {
		panic(err)
	}
	queries := 0
	lookup := func(name string) bool {
		found, err := g.LookupString(name, func() (bool, error) {
			queries++
			return table.has(name)
		})
		if err != nil {
			panic(err)
		}
		return found
	}
	fmt.Println(lookup("bob"), queries) // nothing is loaded yet

	if err := g.Rebuild(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println(lookup("ada"), queries)
	fmt.Println(lookup("bob"), queries) // certainly not: no query
	// Output:
	// false 1
	// true 2
	// false 2
}

// A Guard that learns asks for an absent key once a load, even if its filter reports that key as
// present.
func ExampleGuard_LookupString() {
	table := users{"ada": true}
	g, err := guard.New(guard.Config{Load: table.load, P: 0.01, Learn: 1024})
	if err != nil {
		panic(err)
	}
	if err := g.Rebuild(context.Background()); err != nil {
		panic(err)
	}
	delete(table, "ada") // the filter still has the key
	for range 3 {
		found, err := g.LookupString("ada", func() (bool, error) {
			fmt.Println("a query")
			return table.has("ada")
		})
		fmt.Println(found, err)
	}
	// Output:
	// a query
	// false <nil>
	// false <nil>
	// false <nil>
}

// InsertString gets a function that inserts a row and returns after the commit. From then on the
// key is found.
func ExampleGuard_InsertString() {
	table := users{"ada": true}
	g, err := guard.New(guard.Config{Load: table.load, P: 0.01})
	if err != nil {
		panic(err)
	}
	if err := g.Rebuild(context.Background()); err != nil {
		panic(err)
	}
	err = g.InsertString("bob", func() error {
		return table.insert("bob")
	})
	fmt.Println(g.ContainsString("bob"), err)
	// Output: true <nil>
}

// A server rebuilds every ten minutes, until it ends.
func ExampleGuard_Run() {
	table := users{"ada": true}
	g, err := guard.New(guard.Config{Load: table.load, P: 0.01, Every: 10 * time.Minute})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- g.Run(ctx) }()

	for !g.Ready() { // a server need not wait: until then, each look-up returns true
		time.Sleep(time.Millisecond)
	}
	fmt.Println(g.ContainsString("bob"))
	stop()
	fmt.Println(<-ended)
	// Output:
	// false
	// context canceled
}
