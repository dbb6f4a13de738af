package growing_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/promises"
)

func TestPromises(t *testing.T) {
	for n, name := range map[uint64]string{0: "", 5000: "known"} {
		t.Run(name, func(t *testing.T) {
			promises.Test(t, promises.Type{
				Name:      "growing.Filter",
				Make:      func() promises.Filter { return bloom.Must(growing.New(n, 0.01)) },
				Zero:      func() promises.Filter { return new(growing.Filter) },
				Load:      func(path string) (promises.Filter, error) { return growing.LoadFile(path) },
				LoadOrNew: func(path string, p float64) (promises.Filter, error) { return growing.LoadOrNew(path, n, p) },
				Others: map[string]func(string) (promises.Filter, error){
					"n": func(path string) (promises.Filter, error) { return growing.LoadOrNew(path, n+1, 0.01) },
					"p": func(path string) (promises.Filter, error) { return growing.LoadOrNew(path, n, 0.0101) },
				},
			})
		})
	}
}
