package bloom_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
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

// TestPromises holds the types of package bloom to what all promise. The other packages do so
// themselves.
func TestPromises(t *testing.T) {
	load := func(path string) (promises.Filter, error) { return bloom.LoadFile(path) }
	for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		t.Run(s.String(), func(t *testing.T) {
			plain := func() *bloom.Filter { return bloom.Must(bloom.NewWithStrategy(s, 5000, 0.01)) }
			promises.Test(t, promises.Type{
				Name: "bloom.Filter",
				Make: func() promises.Filter { return plain() },
				Zero: func() promises.Filter { return new(bloom.Filter) },
				Load: load,
				Open: func(path string) (io.Closer, error) { return bloom.OpenFile(path) },
			}, promises.Type{
				Name: "bloom.SyncFilter",
				Make: func() promises.Filter { return bloom.NewSyncFrom(plain()) },
				Zero: func() promises.Filter { return new(bloom.SyncFilter) },
				Load: load,
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

// TestMergeOfOtherHashes: filters that name different ways to hash keys do not merge.
func TestMergeOfOtherHashes(t *testing.T) {
	info := bloom.Info{Hash: "SumString"}
	f, g := bloom.Must(bloom.New(100, 0.01)), bloom.Must(bloom.New(100, 0.01))
	f.SetInfo(info)
	g.AddString("a")
	require.NoError(t, f.Merge(g), "only one says it")
	g.SetInfo(bloom.Info{Hash: "SumUint64"})
	s := bloom.NewSyncFrom(f.Clone())
	for _, err := range []error{f.Merge(g), f.Intersect(g), s.Merge(g)} {
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.EqualError(t, err, "bloom: filters differ in hash: SumString and SumUint64")
	}
	require.True(t, f.ContainsString("a"))
	g.SetInfo(info)
	require.NoError(t, f.Merge(g))
	require.Equal(t, info, bloom.Must(f.Fold(1)).Info())
	require.Equal(t, info, f.Clone().Info())
	f.SetInfo(bloom.Info{N: 100, P: 0.01, Hash: "SumString"})
	require.Equal(t, info, bloom.Must(f.Fold(1)).Info(), "N and P are those of the large filter")
	b := bloom.Must(blocked.New(100, 0.01))
	b.SetInfo(bloom.Info{N: 100, P: 0.01, Hash: "SumString"})
	require.Equal(t, "SumString", bloom.Must(b.Fold(1)).Info().Hash)

	// Guava's form has no Info, so what is read from it has none.
	_, err := g.ReadFrom(bytes.NewReader(bloom.Must(f.MarshalBinary())))
	require.NoError(t, err)
	require.Zero(t, g.Info())
	require.NotZero(t, bloom.Must(flower.New(flower.Config{Slots: 1000, Ways: 4, Bits: 16})).Info().P)
	require.Equal(t, bloom.Info{N: 100, P: 0.5}, bloom.Must(bloom.New(100, 0.5)).Info())
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

// TestFiles: a saved file has the keys, any damage to it is noticed, and another type's
// file is refused by name.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, typ := range types {
		f := typ.make()
		f.AddString("key")
		path := filepath.Join(dir, typ.name)
		require.NoError(t, f.SaveFile(path))
		loaded, err := typ.load(path)
		require.NoError(t, err)
		require.True(t, loaded.(promises.Filter).ContainsString("key"), typ.name)

		_, err = typ.load(dir)
		require.Regexp(t, "^"+typ.pkg+": ", fmt.Sprint(err))
		require.Equal(t, 1, strings.Count(err.Error(), dir), "%v", err)
		err = f.SaveFile(filepath.Join(dir, "missing", "f"))
		require.ErrorIs(t, err, os.ErrNotExist)
		require.Regexp(t, "^"+typ.pkg+": saving: ", err.Error())

		data := bloom.Must(os.ReadFile(path))
		require.NoError(t, typ.zero().UnmarshalBinary(data), "what SaveFile wrote, read by hand")
		for _, i := range []int{0, 4, len(data) / 2, len(data) - 11, len(data) - 1, len(data)} {
			bad := append([]byte(nil), data...)
			if i == len(data) {
				bad = append(bad, 0)
			} else {
				bad[i] ^= 0x10
			}
			damaged := filepath.Join(dir, "damaged")
			require.NoError(t, os.WriteFile(damaged, bad, 0o666))
			_, err = typ.load(damaged)
			require.ErrorIs(t, err, bloom.ErrFormat, "%s: byte %d", typ.name, i)
			require.ErrorContains(t, err, damaged)
			require.Regexp(t, "^"+typ.pkg+": ", err.Error())
		}
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

// TestPortable does without assembly.
func TestPortable(t *testing.T) {
	testkit.Portable(t, "^Test(Promises|FilterPlain|Indexes|Sum|SumBatch|SumUTF16|Keys|Sync|SyncWhileWriting|Views?.*|Operations|EmptyKey)$")
}
