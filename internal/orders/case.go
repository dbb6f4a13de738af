package orders

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Run explores a case with no preemption, then with at most 1, then 2, and prints how many orders
// there were. If one of these explorations takes more than an hour, Run stops there. If the
// environment variable BLOOM_ORDERS is a number, it replaces the 2, and the limit is a minute.
func Run(t *testing.T, name string, setup Setup) {
	bound, limit := 2, time.Hour
	if n, err := strconv.Atoi(os.Getenv("BLOOM_ORDERS")); err == nil {
		bound, limit = n, time.Minute
	}
	t.Run(name, func(t *testing.T) {
		start := time.Now()
		var numbers []int
		more := ""
		for b := 0; b <= bound && more == ""; b++ {
			r := Explore(b, limit, setup)
			if r.Failure != nil {
				t.Fatalf("order %d with up to %d preemptions: %v\n%s",
					r.Orders, b, r.Failure, strings.Join(r.Trace, "\n"))
			}
			numbers = append(numbers, r.Orders)
			if r.Stopped {
				more = " of more"
			}
		}
		fmt.Printf("%s: %d%s orders (by preemptions %d, %.1f s)\n",
			name, numbers[len(numbers)-1], more, numbers, time.Since(start).Seconds())
	})
}
