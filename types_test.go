package bloom_test

import (
	"io"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/promises"
	"github.com/seed79a3ff49/bloom/internal/testkit"
	"github.com/seed79a3ff49/bloom/sieve"
	"github.com/seed79a3ff49/bloom/window"
)

// types are all of them, for some thousand keys at 1 % or less.
var types = []struct {
	name string
	pkg  string
	make func() promises.Filter
	zero func() promises.Filter
	load func(path string) (any, error)
}{
	{"bloom.Filter", "bloom",
		func() promises.Filter { return bloom.Must(bloom.New(5000, 0.01)) },
		func() promises.Filter { return new(bloom.Filter) },
		func(path string) (any, error) { return bloom.LoadFile(path) }},
	{"bloom.SyncFilter", "bloom",
		func() promises.Filter { return bloom.Must(bloom.NewSync(5000, 0.01)) },
		func() promises.Filter { return new(bloom.SyncFilter) },
		func(path string) (any, error) { return bloom.LoadFile(path) }},
	{"blocked.Filter", "blocked",
		func() promises.Filter { return bloom.Must(blocked.New(5000, 0.01)) },
		func() promises.Filter { return new(blocked.Filter) },
		func(path string) (any, error) { return blocked.LoadFile(path) }},
	{"blocked.SyncFilter", "blocked",
		func() promises.Filter { return bloom.Must(blocked.NewSync(5000, 1e-6)) },
		func() promises.Filter { return new(blocked.SyncFilter) },
		func(path string) (any, error) { return blocked.LoadFile(path) }},
	{"counting.Filter", "counting",
		func() promises.Filter { return bloom.Must(counting.New(5000, 0.01)) },
		func() promises.Filter { return new(counting.Filter) },
		func(path string) (any, error) { return counting.LoadFile(path) }},
	{"growing.Filter", "growing",
		func() promises.Filter { return bloom.Must(growing.New(0, 0.01)) },
		func() promises.Filter { return new(growing.Filter) },
		func(path string) (any, error) { return growing.LoadFile(path) }},
	{"window.Filter", "window",
		func() promises.Filter {
			// With a clock of its own it would have a timer, which TestEncodings' copy would race with.
			return bloom.Must(window.New(window.Config{Capacity: 5000, FPR: 0.01, Span: time.Hour, Now: time.Now}))
		},
		func() promises.Filter { return new(window.Filter) },
		func(path string) (any, error) { return window.LoadFile(path) }},
	{"flower.Filter", "flower",
		func() promises.Filter {
			return bloom.Must(flower.New(flower.Config{Slots: 1 << 16, Ways: 4, Bits: 16}))
		},
		func() promises.Filter { return new(flower.Filter) },
		func(path string) (any, error) { return flower.LoadFile(path) }},
}

// TestPromises tests what all types promise on those of package bloom. The other packages do so
// themselves.
func TestPromises(t *testing.T) {
	load := func(path string) (promises.Filter, error) { return bloom.LoadFile(path) }
	f := bloom.Must(bloom.New(10, 0.1))
	bloom.NewSyncFrom(f)
	promises.TestTaken(t, "bloom", "NewSyncFrom", f, bloom.Must(bloom.New(10, 0.1)))
	require.Panics(t, func() { bloom.NewSyncFrom(f) })
	for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		t.Run(s.String(), func(t *testing.T) {
			plain := func() *bloom.Filter { return bloom.Must(bloom.NewWithStrategy(s, 5000, 0.01)) }
			var loadOrNew func(string, float64) (promises.Filter, error)
			if s == bloom.Mitz64 {
				loadOrNew = func(path string, p float64) (promises.Filter, error) { return bloom.LoadOrNew(path, 5000, p) }
			}
			promises.Test(t, promises.Type{
				Name: "bloom.Filter",
				Make: func() promises.Filter { return plain() },
				Zero: func() promises.Filter { return new(bloom.Filter) },
				Load: load, LoadOrNew: loadOrNew,
				Open: func(path string) (io.Closer, error) { return bloom.OpenFile(path) },
			}, promises.Type{
				Name: "bloom.SyncFilter",
				Make: func() promises.Filter { return bloom.NewSyncFrom(plain()) },
				Zero: func() promises.Filter { return new(bloom.SyncFilter) },
				Load: load, LoadOrNew: loadOrNew,
			})
			promises.TestSets(t, "bloom", plain, func() *bloom.Filter { return bloom.Must(bloom.New(5000, 0.001)) })
		})
	}
}

// TestVetSeesCopies: go vet reports copies of a struct that has a sync.Locker in it.
func TestVetSeesCopies(t *testing.T) {
	var locked func(reflect.Type) bool
	locked = func(r reflect.Type) bool {
		if r.Kind() != reflect.Struct {
			return false
		}
		for i := range r.NumField() {
			if locked(r.Field(i).Type) {
				return true
			}
		}
		return reflect.PointerTo(r).Implements(reflect.TypeFor[sync.Locker]())
	}
	for _, test := range types {
		require.True(t, locked(reflect.TypeOf(test.zero()).Elem()), test.name)
	}
	for _, other := range []reflect.Type{reflect.TypeFor[bloom.File](), reflect.TypeFor[bloom.View](),
		reflect.TypeFor[blocked.File](), reflect.TypeFor[sieve.Queue[int]]()} {
		require.True(t, locked(other), other)
	}
}

// TestFoldedInfo: a folded filter is for other numbers, and for the same hash.
func TestFoldedInfo(t *testing.T) {
	f := bloom.Must(bloom.New(100, 0.01))
	f.SetInfo(bloom.Info{N: 100, P: 0.01, Hash: "SumString", Comment: "urls"})
	require.Equal(t, bloom.Info{Hash: "SumString", Comment: "urls"}, bloom.Must(f.Fold(1)).Info())
}

// TestNotEqual: parameters count, also where all bits are clear.
func TestNotEqual(t *testing.T) {
	f, g := bloom.Must(bloom.New(6, 0.01)), bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 6, 0.01))
	require.Equal(t, f.M(), g.M())
	require.False(t, f.Equal(g))
	require.False(t, f.Equal(bloom.Must(bloom.NewSize(64, f.K()-1))))
	c, d := bloom.Must(counting.New(6, 0.01)), bloom.Must(counting.New(1, 0.5))
	require.Equal(t, c.M(), d.M())
	require.False(t, c.Equal(d))
	view := bloom.Must(bloom.NewView(bloom.Must(f.MarshalBinary())))
	require.Equal(t, f.SizeBytes(), view.SizeBytes())
}

// TestResetGrowsAlike: a growing filter that was emptied grows as a new one does.
func TestResetGrowsAlike(t *testing.T) {
	for _, before := range []int{10_000, 14_000, 19_000, 25_000} {
		f, fresh := bloom.Must(growing.New(0, 0.01)), bloom.Must(growing.New(0, 0.01))
		f.AddBatch(nil, testkit.Digests[bloom.Hash](1, before))
		f.Reset()
		for i := range uint64(10) {
			hs := testkit.Digests[bloom.Hash](2+i, 3000)
			f.AddBatch(nil, hs)
			fresh.AddBatch(nil, hs)
			require.Equal(t, fresh.SizeBytes(), f.SizeBytes(), "%d keys before, %d after", before, 3000*(i+1))
		}
	}
}

// TestNil: what takes a filter over says so at once if there is none.
func TestNil(t *testing.T) {
	require.PanicsWithValue(t, "bloom: NewSyncFrom a nil Filter", func() { bloom.NewSyncFrom(nil) })
	require.PanicsWithValue(t, "blocked: NewSyncFrom a nil Filter", func() { blocked.NewSyncFrom(nil) })
}

// TestOtherTypes: another type's file is refused by name.
func TestOtherTypes(t *testing.T) {
	dir := t.TempDir()
	for _, typ := range types {
		f := typ.make()
		f.AddString("key")
		path := filepath.Join(dir, typ.name)
		require.NoError(t, f.SaveFile(path))
	}
	for _, typ := range types {
		for _, other := range types {
			if typ.pkg == other.pkg {
				continue
			}
			_, err := other.load(filepath.Join(dir, typ.name))
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.Regexp(t, "it (is|seems to be) a "+typ.pkg+".Filter", err.Error(), "%s as a %s", typ.name, other.name)
		}
	}
}

// TestPortable does without assembly, and without the better of its two forms.
func TestPortable(t *testing.T) {
	testkit.Without(t, "avx512f", "^Test(Sum|SumBatch|FilterPlain)$")
	testkit.Without(t, "avx2", "^Test(Promises|Indivisible|FilterPlain|Indexes|Sum|SumBatch|SumUTF16|Keys|Sync|SyncWhileWriting|Views?.*|Operations|EmptyKey)$")
}
