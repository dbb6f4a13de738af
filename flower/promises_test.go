package flower_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/internal/promises"
)

func TestPromises(t *testing.T) {
	config := flower.Config{Slots: 1 << 15, Ways: 4, Bits: 16}
	other := func(change func(*flower.Config)) func(string) (promises.Filter, error) {
		config := config
		change(&config)
		return func(path string) (promises.Filter, error) { return flower.LoadOrNew(path, config) }
	}
	promises.Test(t, promises.Type{
		Name: "flower.Filter",
		Make: func() promises.Filter { return bloom.Must(flower.New(config)) },
		Zero: func() promises.Filter { return new(flower.Filter) },
		Load: func(path string) (promises.Filter, error) { return flower.LoadFile(path) },
		LoadOrNew: func(path string, p float64) (promises.Filter, error) {
			c, err := flower.Optimal(1000, 0.9, p)
			if p == 0.01 {
				c, err = config, nil
			}
			if err != nil {
				return nil, err
			}
			return flower.LoadOrNew(path, c)
		},
		Others: map[string]func(string) (promises.Filter, error){
			"Slots": other(func(c *flower.Config) { c.Slots++ }),
			"Ways":  other(func(c *flower.Config) { c.Ways++ }),
			"Bits":  other(func(c *flower.Config) { c.Bits = 8 }),
		},
	})
}
