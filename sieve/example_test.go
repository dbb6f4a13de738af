package sieve_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/sieve"
	"github.com/seed79a3ff49/bloom/window"
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

// A walk stops and is saved. Another process continues it.
func ExampleQueue_Requeue() {
	seen := bloom.Must(bloom.New(1000, 1e-6))
	toVisit := sieve.New(seen, bloom.SumString)
	for _, page := range []string{"/", "/about", "/blog"} {
		toVisit.Push(page)
	}
	toVisit.Pop()
	queued, _ := json.Marshal(slices.Collect(toVisit.All())) // a program writes this to a file first,
	set, _ := seen.MarshalBinary()                           // and then writes this

	seen = new(bloom.Filter)
	if err := seen.UnmarshalBinary(set); err != nil {
		fmt.Println(err)
		return
	}
	toVisit = sieve.New(seen, bloom.SumString)
	var pages []string
	if err := json.Unmarshal(queued, &pages); err != nil {
		fmt.Println(err)
		return
	}
	for _, page := range pages {
		toVisit.Requeue(page)
	}
	fmt.Println(toVisit.Push("/"), toVisit.Push("/blog"), toVisit.Push("/team"))
	fmt.Println(slices.Collect(toVisit.All()))
	// Output:
	// false false true
	// [/about /blog /team]
}

// A crawler waits until it may ask the host of the oldest link again.
func ExampleQueue_Peek() {
	toVisit := sieve.New(bloom.Must(bloom.New(1000, 1e-6)), bloom.SumString)
	toVisit.Push("https://example.com/")
	mayAsk := func(link string) bool { return link != "https://example.com/" }
	if link, ok := toVisit.Peek(); ok && !mayAsk(link) {
		fmt.Println("later:", link)
	}
	fmt.Println(toVisit.Len())
	// Output:
	// later: https://example.com/
	// 1
}

// A click passes again if the visitor's last click on the same page was more than an hour ago.
func ExampleDistinct_window() {
	now := time.Date(2024, time.May, 17, 10, 0, 0, 0, time.UTC)
	seen := bloom.Must(window.New(window.Config{
		N: 1000, P: 1e-6, Span: time.Hour, Renew: true, Now: func() time.Time { return now },
	}))
	clicks := func(yield func(string) bool) {
		for range 3 {
			if !yield("ann /buy") {
				return
			}
			now = now.Add(50 * time.Minute)
		}
		now = now.Add(time.Hour)
		yield("ann /buy")
	}
	for click := range sieve.Distinct(clicks, seen, bloom.SumString) {
		fmt.Println(now.Format(time.TimeOnly), click)
	}
	// Output:
	// 10:00:00 ann /buy
	// 13:30:00 ann /buy
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
