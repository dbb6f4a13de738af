package window_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seed79a3ff49/bloom/window"
)

// A day's clicks, without those that repeat one of the last hour.
func Example() {
	now := time.Date(2024, time.May, 17, 10, 0, 0, 0, time.UTC)
	recent, err := window.New(window.Config{
		Capacity:    1_000_000, // clicks in an hour, each once
		FPR:         0.001,
		Span:        time.Hour,
		Generations: 15,                              // forgotten after 64 minutes at the latest
		Now:         func() time.Time { return now }, // for a live stream, leave it out
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, minutes := range []time.Duration{0, 1, 59, 65} {
		now = now.Add(minutes * time.Minute)
		fmt.Println(now.Format(time.TimeOnly), recent.AddString("10.0.0.1 /index.html"))
	}
	// Output:
	// 10:00:00 true
	// 10:01:00 false
	// 11:00:00 false
	// 12:05:00 true
}

// A program reads logs and drops what was there in the 30 days before, by the time that
// stands in the lines. It is restarted between two files.
func Example_eventTime() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "recent")

	type event struct {
		day int
		id  string
	}
	read := func(events ...event) error {
		var newest time.Time // of the events so far
		recent, err := window.New(window.Config{
			Capacity: 100_000, FPR: 0.001, Span: 30 * 24 * time.Hour,
			Now: func() time.Time { return newest },
		})
		if err != nil {
			return err
		}
		// LoadFile's filter would have the system's time.
		switch saved, err := os.ReadFile(path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		default:
			if err := recent.UnmarshalBinary(saved); err != nil {
				return err
			}
		}
		for _, e := range events {
			if at := time.Date(2024, time.January, e.day, 0, 0, 0, 0, time.UTC); at.After(newest) {
				newest = at
			}
			if recent.AddString(e.id) {
				fmt.Println("day", e.day, e.id)
			}
		}
		return recent.SaveFile(path)
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
