package counting_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

func TestPromises(t *testing.T) {
	filtertest.Test(t, filtertest.Type{
		Name:          "counting.Filter",
		GuavasIndexes: true,
		Make:          func() filtertest.Filter { return bloom.Must(counting.New(14_000, 0.01)) },
		Zero:          func() filtertest.Filter { return new(counting.Filter) },
		Load:          func(path string) (filtertest.Filter, error) { return counting.LoadFile(path) },
		LoadOrNew: func(path string, p float64) (filtertest.Filter, error) {
			return counting.LoadOrNew(path, 14_000, p)
		},
		Others: map[string]func(string) (filtertest.Filter, error){
			"n": func(path string) (filtertest.Filter, error) {
				return counting.LoadOrNew(path, 15_000, 0.01)
			},
			"p": func(path string) (filtertest.Filter, error) {
				return counting.LoadOrNew(path, 14_000, 0.0099)
			},
		},
		Snapshot: func(f filtertest.Filter) filtertest.Filter { return f.(*counting.Filter).Bloom() },
	})
}
