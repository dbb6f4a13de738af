package flower_test

import (
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/flower"
)

// Find the errors that recur within the next hundred thousand lines of a log.
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

// How long is an event remembered? The rate of false positives is the floor.
func ExampleFilter_Recall() {
	recent := bloom.Must(flower.New(flower.Config{Slots: 1_000_000, Ways: 4, Bits: 16}))
	for _, age := range []uint64{0, 10_000, 100_000, 300_000, 1_000_000, 10_000_000} {
		fmt.Printf("found after %d others: %.4f\n", age, recent.Recall(age))
	}
	// Output:
	// found after 0 others: 1.0000
	// found after 10000 others: 1.0000
	// found after 100000 others: 0.9882
	// found after 300000 others: 0.7615
	// found after 1000000 others: 0.0713
	// found after 10000000 others: 0.0001
}
