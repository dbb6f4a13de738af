package counting_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/internal/promises"
)

func TestPromises(t *testing.T) {
	promises.Test(t, promises.Type{
		Name:      "counting.Filter",
		Make:      func() promises.Filter { return bloom.Must(counting.New(14_000, 0.01)) },
		Zero:      func() promises.Filter { return new(counting.Filter) },
		Load:      func(path string) (promises.Filter, error) { return counting.LoadFile(path) },
		LoadOrNew: func(path string, p float64) (promises.Filter, error) { return counting.LoadOrNew(path, 14_000, p) },
		Others: map[string]func(string) (promises.Filter, error){
			"n": func(path string) (promises.Filter, error) { return counting.LoadOrNew(path, 15_000, 0.01) },
			"p": func(path string) (promises.Filter, error) { return counting.LoadOrNew(path, 14_000, 0.0099) },
		},
		Snapshot: func(f promises.Filter) promises.Filter { return f.(*counting.Filter).Snapshot() },
	})
}
