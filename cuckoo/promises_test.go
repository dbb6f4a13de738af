package cuckoo

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// set and syncSet have Add, which inserts a key unless it is there. If the filter is full, as one
// from a fuzzer may be, Add first removes all keys.
type (
	set     struct{ Filter }
	syncSet struct{ SyncFilter }
)

func (s *set) Add(key []byte) bool                        { return s.AddHash(bloom.Sum(key)) }
func (s *set) AddString(key string) bool                  { return s.AddHash(bloom.SumString(key)) }
func (s *set) AddHash(h bloom.Hash) bool                  { return addHash(s, h) }
func (s *set) AddBatch(added []bool, hs []bloom.Hash)     { addBatch(s, added, hs) }
func (s *syncSet) Add(key []byte) bool                    { return s.AddHash(bloom.Sum(key)) }
func (s *syncSet) AddString(key string) bool              { return s.AddHash(bloom.SumString(key)) }
func (s *syncSet) AddHash(h bloom.Hash) bool              { return addHash(s, h) }
func (s *syncSet) AddBatch(added []bool, hs []bloom.Hash) { addBatch(s, added, hs) }

func (s *syncSet) Snapshot() *set { return decoded(new(set), s.SyncFilter.Snapshot()) }

func addHash(s interface {
	ContainsHash(bloom.Hash) bool
	InsertHash(bloom.Hash) bool
	Reset()
}, h bloom.Hash) bool {
	if s.ContainsHash(h) {
		return false
	}
	if !s.InsertHash(h) {
		s.Reset()
		return s.InsertHash(h)
	}
	return true
}

func addBatch(s bloom.Set, added []bool, hs []bloom.Hash) {
	if added == nil {
		bitwords.Discard(hs, func(added []bool, hs []bloom.Hash) { addBatch(s, added, hs) })
		return
	}
	added = bitwords.Fill("cuckoo", added, len(hs))
	for i, h := range hs {
		added[i] = s.AddHash(h)
	}
}

// decoded encodes from and decodes it into to, which is zero. It returns to.
func decoded[F filtertest.Filter](to F, from *Filter) F {
	bloom.Must(0, to.UnmarshalBinary(bloom.Must(from.MarshalBinary())))
	return to
}

func TestPromises(t *testing.T) {
	as := func(f *Filter, err error) (filtertest.Filter, error) {
		if err != nil {
			return nil, err
		}
		return decoded(new(set), f), nil
	}
	load := func(path string) (filtertest.Filter, error) { return as(LoadFile(path)) }
	filtertest.Test(t, filtertest.Type{
		Name:      "cuckoo.Filter",
		Make:      func() filtertest.Filter { return decoded(new(set), bloom.Must(New(5000, 0.01))) },
		Zero:      func() filtertest.Filter { return new(set) },
		Load:      load,
		Open:      func(path string) (filtertest.View, error) { return OpenFile(path) },
		LoadOrNew: func(path string, p float64) (filtertest.Filter, error) { return as(LoadOrNew(path, 5000, p)) },
		Others: map[string]func(string) (filtertest.Filter, error){
			"n": func(path string) (filtertest.Filter, error) { return as(LoadOrNew(path, 5004, 0.01)) },
			"p": func(path string) (filtertest.Filter, error) { return as(LoadOrNew(path, 5000, 0.0078)) },
		},
	}, filtertest.Type{
		Name: "cuckoo.SyncFilter",
		Make: func() filtertest.Filter { return decoded(new(syncSet), bloom.Must(New(5000, 0.001))) },
		Zero: func() filtertest.Filter { return new(syncSet) },
		Load: load,

		Snapshot: func(f filtertest.Filter) filtertest.Filter { return f.(*syncSet).Snapshot() },
	})
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
	fresh.SetInfo(bloom.Info{N: 1020, P: 0.01, Hash: "SumString", Comment: "0 to 999, in decimal"})
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
	filtertest.Fuzz(f, func() *set { return new(set) }, func(t *testing.T, s *set) {
		n := s.Len()
		before := s.Clone()
		h := bloom.SumString("a third key")
		if !s.InsertHash(h) {
			require.True(t, before.Equal(&s.Filter))
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
	}, append(seeds, bloom.Must(form.Cuckoo.Append(nil, []uint64{1, 7, 0}, []uint64{1, 1}, form.Info{})))...)
}
