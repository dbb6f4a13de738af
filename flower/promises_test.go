package flower_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

func TestPromises(t *testing.T) {
	config := flower.Config{Slots: 1 << 15, Ways: 4, Bits: 16}
	other := func(change func(*flower.Config)) func(string) (filtertest.Filter, error) {
		config := config
		change(&config)
		return func(path string) (filtertest.Filter, error) { return flower.LoadOrNew(path, config) }
	}
	filtertest.Test(t, filtertest.Type{
		Name: "flower.Filter",
		AnyN: true,
		Make: func() filtertest.Filter { return bloom.Must(flower.New(config)) },
		Zero: func() filtertest.Filter { return new(flower.Filter) },
		Load: func(path string) (filtertest.Filter, error) { return flower.LoadFile(path) },
		LoadOrNew: func(path string, p float64) (filtertest.Filter, error) {
			c, err := flower.Optimal(1000, 0.9, p)
			if p == 0.01 {
				c, err = config, nil
			}
			if err != nil {
				return nil, err
			}
			return flower.LoadOrNew(path, c)
		},
		Others: map[string]func(string) (filtertest.Filter, error){
			"Slots": other(func(c *flower.Config) { c.Slots++ }),
			"Ways":  other(func(c *flower.Config) { c.Ways++ }),
			"Bits":  other(func(c *flower.Config) { c.Bits = 8 }),
		},
	})
}
