package window_test

import (
	"fmt"
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
