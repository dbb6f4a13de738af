package counting_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/internal/promises"
)

func TestPromises(t *testing.T) {
	promises.Test(t, promises.Type{
		Name: "counting.Filter",
		Make: func() promises.Filter { return bloom.Must(counting.New(20_000, 0.01)) },
		Zero: func() promises.Filter { return new(counting.Filter) },
		Load: func(path string) (promises.Filter, error) { return counting.LoadFile(path) },
	})
	promises.TestSets(t, "counting", func() *counting.Filter { return bloom.Must(counting.New(5000, 0.01)) },
		func() *counting.Filter { return bloom.Must(counting.New(5000, 0.001)) })
}
