package guard_test

import (
	"context"
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/guard"
)

// users is a table. Each query of a name that it does not have takes time.
type users map[string]bool

func (u users) insert(name string) error { u[name] = true; return nil }

func (u users) load(_ context.Context, add func(bloom.Hash)) error {
	for name := range u {
		add(bloom.SumString(name))
	}
	return nil // and rows.Err() of a real table
}

func Example() {
	table := users{"ada": true}
	g, err := guard.New(guard.Config{Load: table.load, P: 0.01})
	if err != nil {
		panic(err)
	}
	fmt.Println(g.ContainsString("bob")) // nobody knows yet: ask the table

	// With an Every, `go g.Run(ctx)` loads again and again.
	if err := g.Run(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println(g.ContainsString("bob")) // certainly not: no query

	err = g.Insert(bloom.SumString("bob"), func() error { return table.insert("bob") })
	fmt.Println(g.ContainsString("bob"), err)
	// Output:
	// true
	// false
	// true <nil>
}
