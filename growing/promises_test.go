package growing_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

func TestPromises(t *testing.T) {
	for n, name := range map[uint64]string{0: "", 5000: "known"} {
		t.Run(name, func(t *testing.T) {
			filtertest.Test(t, filtertest.Type{
				Name: "growing.Filter",
				AnyN: true,
				Make: func() filtertest.Filter { return bloom.Must(growing.New(n, 0.01)) },
				Zero: func() filtertest.Filter { return new(growing.Filter) },
				Load: func(path string) (filtertest.Filter, error) { return growing.LoadFile(path) },
				LoadOrNew: func(path string, p float64) (filtertest.Filter, error) {
					return growing.LoadOrNew(path, n, p)
				},
				Others: map[string]func(string) (filtertest.Filter, error){
					"n": func(path string) (filtertest.Filter, error) {
						return growing.LoadOrNew(path, n+1, 0.01)
					},
					"p": func(path string) (filtertest.Filter, error) {
						return growing.LoadOrNew(path, n, 0.0101)
					},
				},
			})
		})
	}
}
