package flower_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/internal/promises"
)

func TestPromises(t *testing.T) {
	promises.Test(t, promises.Type{
		Name: "flower.Filter",
		Make: func() promises.Filter {
			return bloom.Must(flower.New(flower.Config{Slots: 1 << 17, Ways: 4, Bits: 16}))
		},
		Zero: func() promises.Filter { return new(flower.Filter) },
		Load: func(path string) (promises.Filter, error) { return flower.LoadFile(path) },
	})
}
