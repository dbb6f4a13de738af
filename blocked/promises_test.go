package blocked_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

func TestPromises(t *testing.T) {
	load := func(path string) (filtertest.Filter, error) { return blocked.LoadFile(path) }
	filtertest.Test(t, filtertest.Type{
		Name: "blocked.Filter",
		Make: func() filtertest.Filter { return bloom.Must(blocked.New(5000, 0.01)) },
		Zero: func() filtertest.Filter { return new(blocked.Filter) },
		Load: load,
		Open: func(path string) (filtertest.View, error) { return blocked.OpenFile(path) },
		LoadOrNew: func(path string, p float64) (filtertest.Filter, error) {
			return blocked.LoadOrNew(path, 5000, p)
		},
		Others: map[string]func(string) (filtertest.Filter, error){
			"n": func(path string) (filtertest.Filter, error) { return blocked.LoadOrNew(path, 6000, 0.01) },
			"p": func(path string) (filtertest.Filter, error) {
				return blocked.LoadOrNew(path, 5000, 0.005)
			},
		},
	}, filtertest.Type{
		Name: "blocked.SyncFilter",
		Make: func() filtertest.Filter { return bloom.Must(blocked.NewSync(5000, 1e-6)) },
		Zero: func() filtertest.Filter { return new(blocked.SyncFilter) },
		Load: load,

		Snapshot: func(f filtertest.Filter) filtertest.Filter {
			return f.(*blocked.SyncFilter).Snapshot()
		},
	})
	f := bloom.Must(blocked.New(10, 0.1))
	blocked.NewSyncFrom(f).AddString("key")
	require.False(t, f.ContainsString("key"), "NewSyncFrom copies")
	require.PanicsWithValue(t, "blocked: NewSyncFrom a nil Filter", func() {
		blocked.NewSyncFrom(nil)
	})
}
