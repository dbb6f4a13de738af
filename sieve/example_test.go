package sieve_test

import (
	"fmt"
	"slices"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/sieve"
)

// A walk over a graph with cycles visits every node once.
func ExampleQueue() {
	links := map[string][]string{
		"/":       {"/about", "/blog"},
		"/about":  {"/", "/team"},
		"/blog":   {"/", "/blog/1", "/blog/2"},
		"/blog/1": {"/blog", "/blog/2"},
		"/blog/2": {"/blog", "/blog/1"},
		"/team":   {"/", "/about"},
	}
	seen := bloom.Must(bloom.New(1000, 1e-6))
	toVisit := sieve.New(seen, bloom.SumString)
	toVisit.Push("/")
	for page, ok := toVisit.Pop(); ok; page, ok = toVisit.Pop() {
		fmt.Println(page)
		for _, link := range links[page] {
			toVisit.Push(link)
		}
	}
	// Output:
	// /
	// /about
	// /blog
	// /team
	// /blog/1
	// /blog/2
}

func ExampleDistinct() {
	clicks := slices.Values([]string{"ann /buy", "bob /buy", "ann /buy", "ann /help", "bob /buy"})
	seen := bloom.Must(bloom.New(1000, 1e-6))
	for click := range sieve.Distinct(clicks, seen, bloom.SumString) {
		fmt.Println(click)
	}
	// Output:
	// ann /buy
	// bob /buy
	// ann /help
}
