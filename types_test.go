package bloom_test

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
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
	"github.com/seed79a3ff49/bloom/internal/testkit"
	"github.com/seed79a3ff49/bloom/sieve"
	"github.com/seed79a3ff49/bloom/window"
)

// anyFilter is what every type that stores keys has.
type anyFilter interface {
	bloom.Set
	Add(key []byte) bool
	AddString(key string) bool
	Contains(key []byte) bool
	ContainsString(key string) bool
	AddBatch(dst []bool, hs []bloom.Hash) []bool
	ContainsBatch(dst []bool, hs []bloom.Hash) []bool
	Reset()
	FPR() float64
	Stats() bloom.Stats
	Info() bloom.Info
	SetInfo(bloom.Info)
	SizeBytes() int64
	String() string
	SaveFile(path string) error
	encoding.BinaryMarshaler
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
	encoding.TextMarshaler
	encoding.TextAppender
	encoding.TextUnmarshaler
	io.WriterTo
	io.ReaderFrom
}

// types are all of them, for some thousand keys at 1 % or less.
var types = []struct {
	name string
	pkg  string
	make func() anyFilter
	zero func() anyFilter
	load func(path string) (any, error)
}{
	{"bloom.Filter", "bloom",
		func() anyFilter { return bloom.Must(bloom.New(5000, 0.01)) },
		func() anyFilter { return new(bloom.Filter) },
		func(path string) (any, error) { return bloom.LoadFile(path) }},
	{"bloom.SyncFilter", "bloom",
		func() anyFilter { return bloom.Must(bloom.NewSync(5000, 0.01)) },
		func() anyFilter { return new(bloom.SyncFilter) },
		func(path string) (any, error) { return bloom.LoadFile(path) }},
	{"blocked.Filter", "blocked",
		func() anyFilter { return bloom.Must(blocked.New(5000, 0.01)) },
		func() anyFilter { return new(blocked.Filter) },
		func(path string) (any, error) { return blocked.LoadFile(path) }},
	{"blocked.SyncFilter", "blocked",
		func() anyFilter { return bloom.Must(blocked.NewSync(5000, 1e-6)) },
		func() anyFilter { return new(blocked.SyncFilter) },
		func(path string) (any, error) { return blocked.LoadFile(path) }},
	{"counting.Filter", "counting",
		func() anyFilter { return bloom.Must(counting.New(5000, 0.01)) },
		func() anyFilter { return new(counting.Filter) },
		func(path string) (any, error) { return counting.LoadFile(path) }},
	{"growing.Filter", "growing",
		func() anyFilter { return bloom.Must(growing.New(0, 0.01)) },
		func() anyFilter { return new(growing.Filter) },
		func(path string) (any, error) { return growing.LoadFile(path) }},
	{"window.Filter", "window",
		func() anyFilter {
			// With a clock of its own it would have a timer, which TestEncodings' copy would race with.
			return bloom.Must(window.New(window.Config{Capacity: 5000, FPR: 0.01, Span: time.Hour, Now: time.Now}))
		},
		func() anyFilter { return new(window.Filter) },
		func(path string) (any, error) { return window.LoadFile(path) }},
	{"flower.Filter", "flower",
		func() anyFilter { return bloom.Must(flower.New(flower.Config{Slots: 1 << 16, Ways: 4, Bits: 16})) },
		func() anyFilter { return new(flower.Filter) },
		func(path string) (any, error) { return flower.LoadFile(path) }},
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

// TestInfoStays: what a filter says of itself goes through every form and file but Guava's
// bare one, and survives a Reset.
func TestInfoStays(t *testing.T) {
	info := bloom.Info{N: 5000, P: 0.01, Hash: "SumString", Comment: "of a test"}
	path := filepath.Join(t.TempDir(), "f")
	for _, typ := range types {
		t.Run(typ.name, func(t *testing.T) {
			f := typ.make()
			f.AddString("a")
			f.SetInfo(info)
			require.NoError(t, f.SaveFile(path))
			g, err := typ.load(path)
			require.NoError(t, err)
			require.Equal(t, info, g.(interface{ Info() bloom.Info }).Info())

			data := bloom.Must(os.ReadFile(path))
			h := typ.zero()
			require.NoError(t, h.UnmarshalBinary(data))
			require.Equal(t, info, h.Info())
			require.True(t, h.ContainsString("a"))
			h.Reset()
			require.Equal(t, info, h.Info())
			require.False(t, h.ContainsString("a"))
			require.True(t, h.AddString("a"))

			require.NoError(t, os.WriteFile(path, append(bytes.Clone(data), 0), 0o666))
			_, err = typ.load(path)
			require.ErrorIs(t, err, bloom.ErrFormat, "a byte more")
			require.NoError(t, os.WriteFile(path, data, 0o666))

			f.SetInfo(bloom.Info{Hash: strings.Repeat("x", 256)})
			require.ErrorContains(t, f.SaveFile(path), typ.pkg+": Info.Hash has 256 bytes")
			require.Equal(t, data, bloom.Must(os.ReadFile(path)), "the old file")
		})
	}
}

// TestBatches: every type's batches answer as single keys do, one after the other.
func TestBatches(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.name, func(t *testing.T) {
			hs := testkit.Digests[bloom.Hash](1, 300)
			hs = append(hs, hs[:150]...) // repeated
			one, batch := typ.make(), typ.make()
			dst := []bool{true, false}
			want := []bool{true, false}
			for _, h := range hs {
				want = append(want, one.AddHash(h))
			}
			require.Equal(t, want, batch.AddBatch(dst, hs))
			want = want[:0]
			probes := append(hs, testkit.Digests[bloom.Hash](2, 300)...)
			for _, h := range probes {
				want = append(want, one.ContainsHash(h))
			}
			require.Equal(t, want, batch.ContainsBatch(nil, probes))
			room := make([]bool, 0, len(probes))
			require.Zero(t, testing.AllocsPerRun(10, func() {
				batch.AddBatch(room, hs)
				batch.ContainsBatch(room, probes)
			}))
			require.Equal(t, one.Stats(), batch.Stats())
		})
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

func TestAllocations(t *testing.T) {
	long := strings.Repeat("a long key, which goes to the murmur3 package ", 100)
	for _, typ := range types {
		t.Run(typ.name, func(t *testing.T) {
			f := typ.make()
			f.AddString("begin a layer")
			for _, key := range []string{"", "key", long} {
				bytes := []byte(key)
				require.Zero(t, testing.AllocsPerRun(100, func() {
					f.Add(bytes)
					f.AddString(key)
					f.AddHash(bloom.SumUTF16(key))
					f.Contains(bytes)
					f.ContainsString(key)
					f.ContainsHash(bloom.SumUint32(7))
				}), "%d bytes", len(key))
			}
		})
	}
}

// TestZero: a zero value contains nothing, says who it is when it is added to, has no
// binary form, is the empty text, and can be decoded into.
func TestZero(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.name, func(t *testing.T) {
			z := typ.zero()
			require.False(t, z.Contains(nil) || z.ContainsString("key") || z.ContainsHash(bloom.Hash{}))
			require.Zero(t, z.FPR())
			require.Zero(t, z.SizeBytes())
			for _, add := range []func(){
				func() { z.Add(nil) }, func() { z.AddString("key") }, func() { z.AddHash(bloom.Hash{}) },
			} {
				require.Regexp(t, "^"+typ.pkg+": ", panicOf(add))
			}
			_, err := z.MarshalBinary()
			require.ErrorContains(t, err, typ.pkg+": ")
			_, err = z.WriteTo(io.Discard)
			require.ErrorContains(t, err, typ.pkg+": ")
			require.ErrorContains(t, z.SaveFile(filepath.Join(t.TempDir(), "f")), typ.pkg+": ")
			data, err := json.Marshal(z) // of a field that was never set
			require.NoError(t, err)
			require.Equal(t, `""`, string(data))
			text, err := z.AppendText([]byte("text"))
			require.NoError(t, err)
			require.Equal(t, "text", string(text))
			again := typ.make()
			require.NoError(t, json.Unmarshal(data, again))
			require.Zero(t, again.SizeBytes())
			require.NoError(t, json.Unmarshal([]byte("null"), again))

			f := typ.make()
			f.AddString("key")
			require.NoError(t, z.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
			require.True(t, z.ContainsString("key"))
			z.AddString("another key")
			require.True(t, z.ContainsString("another key"))
		})
	}
}

func panicOf(do func()) (value any) {
	defer func() { value = recover() }()
	do()
	return nil
}

// TestEncodings: every form has the keys, SizeBytes is the length of the binary one, and
// JSON has text or an error, never {}.
func TestEncodings(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.name, func(t *testing.T) {
			f := typ.make()
			keys := testkit.Digests[bloom.Hash](3, 1000)
			for _, h := range keys {
				f.AddHash(h)
			}
			data := bloom.Must(f.MarshalBinary())
			require.EqualValues(t, len(data), f.SizeBytes())
			text := bloom.Must(json.Marshal(map[string]any{"f": f}))
			require.Greater(t, len(text), len(data))
			require.Less(t, len(fmt.Sprint(f)), 200)
			require.Contains(t, fmt.Sprint(f), typ.pkg+".")

			var form strings.Builder
			n, err := f.WriteTo(&form)
			require.NoError(t, err)
			require.EqualValues(t, len(data), n)
			require.Equal(t, string(data), form.String())

			viaText, viaStream := typ.zero(), typ.zero()
			require.NoError(t, json.Unmarshal(text, &map[string]any{"f": viaText}))
			require.NoError(t, viaText.UnmarshalText(bloom.Must(f.MarshalText())))
			longer := append(bloom.Must(f.MarshalText()), '!')
			require.ErrorIs(t, typ.zero().UnmarshalText(longer), bloom.ErrFormat)
			shorter := base64.StdEncoding.AppendEncode(nil, data[:len(data)-1])
			require.ErrorIs(t, typ.zero().UnmarshalText(shorter), bloom.ErrFormat)
			_, err = viaStream.ReadFrom(strings.NewReader(form.String()))
			require.NoError(t, err)
			for _, g := range []anyFilter{viaText, viaStream} {
				for _, h := range keys[900:] {
					require.True(t, g.ContainsHash(h))
				}
			}

			// Held by value, in a struct that has no address.
			holder := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "F", Type: reflect.TypeOf(f).Elem()}})).Elem()
			holder.Field(0).Set(reflect.ValueOf(f).Elem())
			byValue, err := json.Marshal(holder.Interface())
			require.NoError(t, err)
			require.Greater(t, len(byValue), len(data))
			var stream bytes.Buffer
			require.NoError(t, gob.NewEncoder(&stream).Encode(holder.Interface()))
			got := reflect.New(holder.Type())
			require.NoError(t, gob.NewDecoder(&stream).Decode(got.Interface()))
			require.True(t, got.Elem().Field(0).Addr().Interface().(anyFilter).ContainsHash(keys[999]))
		})
	}
}

// TestStats: one call returns what the methods do, on whatever has several figures.
func TestStats(t *testing.T) {
	type estimates interface {
		FillRatio() float64
		ApproxCount() uint64
	}
	for _, typ := range types {
		t.Run(typ.name, func(t *testing.T) {
			f := typ.make()
			for _, h := range testkit.Digests[bloom.Hash](3, 1000) {
				f.AddHash(h)
			}
			has, ok := f.(interface{ Stats() bloom.Stats })
			require.True(t, ok)
			s := has.Stats()
			require.Equal(t, f.FPR(), s.FPR)
			require.Equal(t, f.SizeBytes(), s.SizeBytes)
			require.InDelta(t, 1000, s.ApproxCount, 50)
			require.InDelta(t, 10_000, s.OnesCount, 7_000) // a key has 4 to 16
			require.Equal(t, float64(s.OnesCount)/float64(s.M), s.FillRatio)
			if f, ok := f.(estimates); ok {
				require.Equal(t, f.ApproxCount(), s.ApproxCount)
				require.Equal(t, f.FillRatio(), s.FillRatio)
			}
			if f, ok := f.(interface{ M() uint64 }); ok {
				require.Equal(t, f.M(), s.M)
			}
			if f, ok := f.(interface{ K() int }); ok {
				require.Equal(t, f.K(), s.K)
			}
			require.Zero(t, typ.zero().(interface{ Stats() bloom.Stats }).Stats())
		})
	}
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
		require.True(t, loaded.(anyFilter).ContainsString("key"), typ.name)

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
