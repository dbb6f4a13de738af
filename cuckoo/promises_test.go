package cuckoo

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// multiset is a filter of this package. Inserting a key takes the place of adding it.
var multiset = filtertest.Type{
	Zero: func() filtertest.Filter { return new(Filter) },
	Adds: func(f filtertest.Filter) filtertest.Adds {
		own := f.(interface {
			Insert(key []byte) bool
			InsertString(key string) bool
			InsertHash(bloom.Hash) bool
			InsertBatch(inserted []bool, hs []bloom.Hash)
		})
		return filtertest.Adds{
			Add: own.Insert, AddString: own.InsertString, AddHash: own.InsertHash, AddBatch: own.InsertBatch,
		}
	},
	Multiset: true,
}

func TestPromises(t *testing.T) {
	load := func(path string) (filtertest.Filter, error) { return LoadFile(path) }
	loadOrNew := func(n uint64, p float64) func(string) (filtertest.Filter, error) {
		return func(path string) (filtertest.Filter, error) { return LoadOrNew(path, n, p) }
	}
	plain, sync := multiset, multiset
	plain.Name = "cuckoo.Filter"
	plain.Make = func() filtertest.Filter { return bloom.Must(New(5000, 0.01)) }
	plain.Load = load
	plain.Open = func(path string) (filtertest.View, error) { return OpenFile(path) }
	plain.LoadOrNew = func(path string, p float64) (filtertest.Filter, error) {
		return LoadOrNew(path, 5000, p)
	}
	plain.Others = map[string]func(string) (filtertest.Filter, error){
		"n": loadOrNew(5004, 0.01),
		"p": loadOrNew(5000, 0.0078),
	}
	sync.Name = "cuckoo.SyncFilter"
	sync.Make = func() filtertest.Filter { return bloom.Must(NewSync(5000, 0.001)) }
	sync.Zero = func() filtertest.Filter { return new(SyncFilter) }
	sync.Load = load
	sync.Snapshot = func(f filtertest.Filter) filtertest.Filter { return f.(*SyncFilter).Snapshot() }
	filtertest.Test(t, plain, sync)
	require.Zero(t, new(Filter).Cap())
	require.PanicsWithValue(t, "cuckoo: NewSyncFrom a nil Filter", func() { NewSyncFrom(nil) })
}

var freeze = flag.Bool("freeze", false, "write the sample that TestFrozen reads")

// TestFrozen reads a sample of the binary form. The sample has the keys 0 to 999 in decimal, and 0
// twelve times. It never changes after the first release.
func TestFrozen(t *testing.T) {
	const path = "testdata/v1.frame"
	fresh := bloom.Must(New(1020, 0.01))
	for i := range 1000 {
		fresh.InsertString(fmt.Sprint(i))
	}
	for range 11 {
		fresh.InsertString("0")
	}
	fresh.UpdateInfo(func(i *bloom.Info) {
		i.N = 1020
		i.P = 0.01
		i.Hash = "SumString"
		i.Comment = "0 to 999, in decimal"
	})
	if *freeze {
		require.NoError(t, fresh.SaveFile(path))
	}
	f := bloom.Must(LoadFile(path))
	require.True(t, f.Equal(fresh))
	require.Equal(t, fresh.Info(), f.Info())
	require.Equal(t, bloom.Must(os.ReadFile(path)), bloom.Must(f.MarshalBinary()))
}

// FuzzFilter also inserts keys into a decoded filter, removes them, and decodes the result again.
func FuzzFilter(f *testing.F) {
	var seeds [][]byte
	for _, bits := range []int{7, 16, 23, 33} {
		g := sized(3, bits)
		for range 10 {
			g.InsertString("key")
		}
		g.InsertString("another key")
		seeds = append(seeds, bloom.Must(g.MarshalBinary()))
	}
	filtertest.Fuzz(f, multiset, func(t *testing.T, s *Filter) {
		n := s.Len()
		before := s.Clone()
		h := bloom.SumString("a third key")
		if !s.InsertHash(h) {
			require.True(t, before.Equal(s))
			return
		}
		again := new(Filter)
		require.NoError(t, again.UnmarshalBinary(bloom.Must(s.MarshalBinary())))
		require.True(t, again.ContainsHash(h))
		require.True(t, again.RemoveHash(h))
		require.Equal(t, n, again.Len())
		require.NoError(t, again.table.check())
		view := bloom.Must(NewView(bloom.Must(s.MarshalBinary())))
		require.NoError(t, view.Verify())
		require.Equal(t, s.Stats(), view.Stats())
	}, append(seeds, bloom.Must(form.Cuckoo.Append(nil, []uint64{1, 7, 0}, []uint64{1, 1},
		form.Info{})))...)
}
