package window_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/window"
)

// A program counts a day's clicks, without clicks that repeat one of the last hour.
func Example() {
	now := time.Date(2024, time.May, 17, 10, 0, 0, 0, time.UTC)
	recent, err := window.New(window.Config{
		N:    1_000_000, // different clicks in an hour
		P:    0.001,
		Span: time.Hour,
		Now:  func() time.Time { return now }, // leave this out for a live stream
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, minutes := range []time.Duration{0, 1, 59, 10} {
		now = now.Add(minutes * time.Minute)
		fmt.Println(now.Format(time.TimeOnly), recent.AddString("10.0.0.1 /index.html"))
	}
	// Output:
	// 10:00:00 true
	// 10:01:00 false
	// 11:00:00 false
	// 11:10:00 true
}

// A webhook. Its sender repeats an event until the answer is 200, and may send it twice at
// once. The first attempt to handle this one fails.
func ExampleFilter_Do() {
	handled := bloom.Must(window.New(window.Config{N: 100_000, P: 1e-9, Span: 24 * time.Hour}))
	attempts := 0
	handle := func(event string) error {
		if attempts++; attempts == 1 {
			return errors.New("the database is away")
		}
		fmt.Println("handled:", event)
		return nil
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		id := bloom.SumString(r.Header.Get("Webhook-Id"))
		_, err = handled.Do(r.Context(), id, func(context.Context) error { return handle(string(event)) })
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	for range 3 {
		r, err := http.NewRequest("POST", server.URL, strings.NewReader("paid"))
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Header.Set("Webhook-Id", "evt_1")
		answer, err := server.Client().Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		answer.Body.Close()
		fmt.Println(answer.Status)
	}
	// Output:
	// 500 Internal Server Error
	// handled: paid
	// 200 OK
	// 200 OK
}

// A program reads logs and drops what was there in the 30 days before, by the time that
// is written in the lines. It is restarted between two files.
func ExampleLoadOrNew() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	type event struct {
		day int
		id  string
	}
	read := func(events ...event) error {
		var newest time.Time // the time of the newest event so far
		recent, err := window.LoadOrNew(filepath.Join(dir, "recent"), window.Config{
			N: 100_000, P: 0.001, Span: 30 * 24 * time.Hour, Renew: true,
			Now: func() time.Time { return newest },
		})
		if err != nil {
			return err
		}
		for _, e := range events {
			if at := time.Date(2024, time.January, e.day, 0, 0, 0, 0, time.UTC); at.After(newest) {
				newest = at
			}
			if recent.AddString(e.id) {
				fmt.Println("day", e.day, e.id)
			}
		}
		return recent.SaveFile(filepath.Join(dir, "recent"))
	}
	fmt.Println(read(event{1, "a"}, event{5, "b"}, event{20, "a"}))
	fmt.Println(read(event{21, "c"}, event{40, "a"}, event{41, "b"}))
	// Output:
	// day 1 a
	// day 5 b
	// <nil>
	// day 21 c
	// day 41 b
	// <nil>
}

// Traffic has grown: a new window for a million ids, in a file of its own, replaces a window for a
// thousand. For one Span, the program asks both. Then the old one has forgotten all its ids.
func ExampleLoadOrNew_larger() {
	now := time.Date(2024, time.May, 17, 10, 0, 0, 0, time.UTC)
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	config := window.Config{
		N: 1000, P: 0.001, Span: time.Hour, Now: func() time.Time { return now },
	}
	before := bloom.Must(window.LoadOrNew(filepath.Join(dir, "thousand"), config))
	before.AddString("a")
	if err := before.SaveFile(filepath.Join(dir, "thousand")); err != nil {
		fmt.Println(err)
		return
	}

	// The next version of the program.
	before = bloom.Must(window.LoadOrNew(filepath.Join(dir, "thousand"), config))
	config.N = 1_000_000
	recent := bloom.Must(window.LoadOrNew(filepath.Join(dir, "million"), config))
	isNew := func(id string) bool {
		// If two equal ids come together, one of them is new to recent. before gets no ids.
		return recent.AddString(id) && !before.ContainsString(id)
	}
	now = now.Add(30 * time.Minute)
	fmt.Println(isNew("a"), isNew("b"))
	now = now.Add(40 * time.Minute)
	fmt.Println(isNew("a"), isNew("b"), before.Stats().ApproxCount)
	// Output:
	// false true
	// false false 0
}

// Ten times as many keys come as planned. The newest N are found, and Reach tells how far back that
// is.
func ExampleFilter_Reach() {
	now := time.Date(2024, time.May, 17, 10, 0, 0, 0, time.UTC)
	recent := bloom.Must(window.New(window.Config{
		N: 10_000, P: 1e-6, Span: 24 * time.Hour, Now: func() time.Time { return now },
	}))
	for i := range uint64(100_000) {
		now = now.Add(864 * time.Millisecond)
		recent.AddHash(bloom.SumUint64(i))
	}
	fmt.Println(recent.Reach().Round(10*time.Minute), recent.Config().Span)
	fmt.Println(recent.ContainsHash(bloom.SumUint64(90_000)),
		recent.ContainsHash(bloom.SumUint64(80_000)))
	// Output:
	// 2h40m0s 24h0m0s
	// true false
}
