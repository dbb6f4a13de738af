package flower_test

import (
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/flower"
)

// Errors that recur within the next hundred thousand lines of a log.
func Example() {
	config, err := flower.Optimal(100_000, 0.99, 0.001)
	if err != nil {
		fmt.Println(err)
		return
	}
	recent := bloom.Must(flower.New(config))
	fmt.Printf("%.1f MB\n", float64(config.Slots)*float64(config.Bits)/8e6)
	for _, line := range []string{"disk full", "no route to host", "disk full"} {
		if !recent.AddString(line) {
			fmt.Println("again:", line)
		}
	}
	fmt.Printf("found after 10,000 other lines: %.3f\n", recent.Recall(10_000))
	fmt.Printf("found after 300,000: %.3f\n", recent.Recall(300_000))
	// Output:
	// 1.9 MB
	// again: disk full
	// found after 10,000 other lines: 1.000
	// found after 300,000: 0.565
}
