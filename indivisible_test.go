package bloom_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/promises"
)

func TestIndivisible(t *testing.T) {
	for name, make := range map[string]func() *bloom.Filter{
		"Mitz64": func() *bloom.Filter { return bloom.Must(bloom.NewSize(1<<15, 1)) },
		"Mitz32": func() *bloom.Filter { return bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 10_000, 0.1)) },
	} {
		t.Run(name, func(t *testing.T) { promises.TestIndivisible(t, make, bloom.NewSyncFrom) })
	}
}
