package window_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/window"
)

func TestPromises(t *testing.T) {
	var clock filtertest.Clock
	config := window.Config{N: 20_000, P: 0.01, Span: time.Hour, Now: clock.Now}
	other := func(change func(*window.Config)) func(string) (filtertest.Filter, error) {
		config := config
		change(&config)
		return func(path string) (filtertest.Filter, error) { return window.LoadOrNew(path, config) }
	}
	filtertest.Test(t, filtertest.Type{
		Name: "window.Filter",
		Make: func() filtertest.Filter { return bloom.Must(window.New(config)) },
		Zero: func() filtertest.Filter {
			f := bloom.Must(window.New(config))
			require.NoError(t, f.UnmarshalText(nil)) // keeps Now
			return f
		},
		Load: func(path string) (filtertest.Filter, error) {
			f, err := window.LoadFile(path)
			if err != nil {
				return nil, err
			}
			require.Equal(t, config.Span, f.Config().Span)
			return window.LoadOrNew(path, config)
		},
		LoadOrNew: func(path string, p float64) (filtertest.Filter, error) {
			config := config
			config.P = p
			return window.LoadOrNew(path, config)
		},
		Others: map[string]func(string) (filtertest.Filter, error){
			"N":           other(func(c *window.Config) { c.N++ }),
			"P":           other(func(c *window.Config) { c.P = 0.0101 }),
			"Renew":       other(func(c *window.Config) { c.Renew = true }),
			"Span":        other(func(c *window.Config) { c.Span++ }),
			"Generations": other(func(c *window.Config) { c.Generations = 8 }),
		},
	})
}
