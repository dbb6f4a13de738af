// The tests in this file test the types of all packages of this module.

package bloom_test

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/alltypes"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/window"
)

// TestPromises tests the promises of all types with the types of package bloom. The other packages
// do the same with their types.
func TestPromises(t *testing.T) {
	load := func(path string) (filtertest.Filter, error) { return bloom.LoadFile(path) }
	f := bloom.Must(bloom.New(10, 0.1))
	sync := bloom.NewSyncFrom(f)
	sync.AddString("of the copy")
	f.AddString("of the original")
	require.False(t, f.ContainsString("of the copy"))
	require.False(t, sync.ContainsString("of the original"))
	require.PanicsWithValue(t, "bloom: NewSyncFrom a nil Filter", func() { bloom.NewSyncFrom(nil) })
	for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		t.Run(s.String(), func(t *testing.T) {
			plain := func() *bloom.Filter { return bloom.Must(bloom.NewWithStrategy(s, 5000, 0.01)) }
			var loadOrNew func(string, float64) (filtertest.Filter, error)
			if s == bloom.Mitz64 {
				loadOrNew = func(path string, p float64) (filtertest.Filter, error) {
					return bloom.LoadOrNew(path, 5000, p)
				}
			}
			others := map[string]func(string) (filtertest.Filter, error){
				"n": func(path string) (filtertest.Filter, error) { return bloom.LoadOrNew(path, 6000, 0.01) },
				"p": func(path string) (filtertest.Filter, error) {
					return bloom.LoadOrNew(path, 5000, 0.0099)
				},
				"m": func(path string) (filtertest.Filter, error) {
					return bloom.LoadOrNewSize(path, 48000, 7)
				},
				"k": func(path string) (filtertest.Filter, error) {
					return bloom.LoadOrNewSize(path, 47936, 8)
				},
			}
			filtertest.Test(t, filtertest.Type{
				Name:  "bloom.Filter",
				Guava: true, GuavasIndexes: true,
				Make: func() filtertest.Filter { return plain() },
				Zero: func() filtertest.Filter { return new(bloom.Filter) },
				Load: load, LoadOrNew: loadOrNew, Others: others,
				Open: func(path string) (filtertest.View, error) { return bloom.OpenFile(path) },
			}, filtertest.Type{
				Name:  "bloom.SyncFilter",
				Guava: true, GuavasIndexes: true,
				Make: func() filtertest.Filter { return bloom.NewSyncFrom(plain()) },
				Zero: func() filtertest.Filter { return new(bloom.SyncFilter) },
				Load: load, LoadOrNew: loadOrNew, Others: others,
				Snapshot: func(f filtertest.Filter) filtertest.Filter {
					return f.(*bloom.SyncFilter).Snapshot()
				},
			})
		})
	}
}

// TestParametersCountInEqual: filters with other parameters are not equal, also if all bits are
// clear.
func TestParametersCountInEqual(t *testing.T) {
	f, g := bloom.Must(bloom.New(6, 0.01)), bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 6, 0.01))
	require.Equal(t, f.M(), g.M())
	require.False(t, f.Equal(g))
	require.False(t, f.Equal(bloom.Must(bloom.NewSize(64, f.K()-1))))
	c, d := bloom.Must(counting.New(6, 0.01)), bloom.Must(counting.New(1, 0.5))
	require.Equal(t, c.M(), d.M())
	require.False(t, c.Equal(d))
}

// TestFilesOfOtherTypes: a file of another type is refused, and the error names that type.
func TestFilesOfOtherTypes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, typ := range alltypes.Forms() {
		require.NoError(t, typ.New(10).SaveFile(path))
		for _, other := range alltypes.Forms() {
			_, err := other.Load(path)
			if other.Name == typ.Name {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.Regexp(t, "^"+other.Package()+": .*it (is|seems to be) a "+
				regexp.QuoteMeta(typ.Name), err.Error())
		}
	}
}

// TestCloneEqualMerge: filters can be copied, compared and merged.
func TestCloneEqualMerge(t *testing.T) {
	larger := func() *bloom.Filter { return bloom.Must(bloom.New(5000, 0.001)) }
	t.Run("Mitz64", func(t *testing.T) {
		testCloneEqualMerge(t, "bloom", func() *bloom.Filter {
			return bloom.Must(bloom.New(5000, 0.01))
		}, larger)
	})
	t.Run("Mitz32", func(t *testing.T) {
		testCloneEqualMerge(t, "bloom", func() *bloom.Filter {
			return bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 5000, 0.01))
		}, larger)
	})
	t.Run("blocked", func(t *testing.T) {
		testCloneEqualMerge(t, "blocked", func() *blocked.Filter {
			return bloom.Must(blocked.New(5000, 0.01))
		},
			func() *blocked.Filter { return bloom.Must(blocked.New(5000, 0.001)) })
	})
	t.Run("counting", func(t *testing.T) {
		testCloneEqualMerge(t, "counting", func() *counting.Filter {
			return bloom.Must(counting.New(5000, 0.01))
		},
			func() *counting.Filter { return bloom.Must(counting.New(5000, 0.001)) })
	})
}

// set is a Filter that can be copied, compared and merged.
type set[F any] interface {
	filtertest.Set
	Clone() F
	Equal(F) bool
	Merge(F) error
}

// testCloneEqualMerge takes two functions. Filters that make returns are equal, and filters that
// other returns have another size.
func testCloneEqualMerge[F set[F]](t *testing.T, pkg string, make, other func() F) {
	keys, others := filtertest.Digests(3, 1000), filtertest.Digests(4, 1000)
	info := bloom.Info{N: 5000, P: 0.01, Hash: "SumString", Comment: "of a test"}
	f := make()
	f.AddBatch(nil, keys)
	f.UpdateInfo(func(i *bloom.Info) { *i = info })
	g := f.Clone()
	require.Equal(t, info, g.Info())
	require.Equal(t, f.Stats(), g.Stats())
	require.True(t, f.Equal(g))
	require.True(t, g.Equal(f))
	require.True(t, f.Equal(f))
	g.UpdateInfo(func(i *bloom.Info) { i.Comment = "another" })
	require.True(t, f.Equal(g), "Infos do not count")
	require.Equal(t, info, f.Info())
	require.True(t, g.AddHash(others[0]))
	require.False(t, f.Equal(g))
	require.False(t, g.Equal(f))
	require.False(t, f.ContainsHash(others[0]))
	require.True(t, f.AddHash(others[1]))
	require.False(t, g.ContainsHash(others[1]))
	require.False(t, f.Equal(other()))
	require.False(t, other().Equal(f))
	require.False(t, make().Equal(other()))
	zero := reflect.New(reflect.TypeFor[F]().Elem()).Interface().(F)
	require.True(t, zero.Equal(zero))
	require.True(t, zero.Equal(zero.Clone()))
	require.False(t, zero.Equal(f))
	require.False(t, f.Equal(zero))
	require.NoError(t, zero.Merge(zero.Clone()))
	require.ErrorIs(t, zero.Merge(f), bloom.ErrMismatch)
	require.ErrorIs(t, f.Merge(zero), bloom.ErrMismatch)
	zero.UpdateInfo(func(i *bloom.Info) { *i = info })
	require.Equal(t, info, zero.Clone().Info())
	var none F
	require.PanicsWithValue(t, pkg+": Equal to a nil Filter", func() { f.Equal(none) })
	require.ErrorIs(t, f.Merge(none), bloom.ErrMismatch)
	require.EqualError(t, f.Merge(none), pkg+": filters differ: one is nil")

	if f, ok := any(f).(interface{ Fold(int) (F, error) }); ok {
		require.Equal(t, bloom.Info{Hash: info.Hash, Comment: info.Comment},
			bloom.Must(f.Fold(1)).Info(), "N and P are of the larger filter")
	}
	a, b, both := make(), make(), make()
	a.AddBatch(nil, keys)
	b.AddBatch(nil, others)
	both.AddBatch(nil, keys)
	both.AddBatch(nil, others)
	before := b.Clone()
	require.NoError(t, a.Merge(b))
	require.True(t, a.Equal(both))
	require.Equal(t, both.Stats(), a.Stats())
	require.True(t, b.Equal(before), "what is merged stays as it is")
	require.NoError(t, b.Merge(make()))
	require.True(t, b.Equal(before))

	require.ErrorIs(t, b.Merge(other()), bloom.ErrMismatch)
	require.Regexp(t, "^"+pkg+": filters differ in ", b.Merge(other()).Error())
	first, second := make(), make()
	first.AddBatch(nil, keys[:600])
	second.AddBatch(nil, keys[400:])
	common := first.Clone()
	if f, ok := any(common).(interface{ Intersect(F) error }); ok {
		require.NoError(t, f.Intersect(second))
		for _, h := range slices.Concat(keys, others) {
			require.Equal(t, first.ContainsHash(h) && second.ContainsHash(h), common.ContainsHash(h))
		}
		require.NoError(t, zero.UnmarshalBinary(bloom.Must(common.MarshalBinary())))
		require.True(t, zero.Equal(common), "with the count of its bits")
	}
	a.UpdateInfo(func(i *bloom.Info) { i.Hash = "one" })
	require.NoError(t, a.Merge(b), "only one names a hash")
	require.Equal(t, "one", a.Info().Hash)
	require.NoError(t, b.Merge(a))
	require.Equal(t, "one", b.Info().Hash, "it travels")
	require.Empty(t, before.Info().Hash, "a copy has an Info of its own")
	b = before.Clone()
	b.UpdateInfo(func(i *bloom.Info) { i.Hash = "another" })
	b.UpdateInfo(func(i *bloom.Info) { i.Comment = "a later UpdateInfo keeps the Hash" })
	err := b.Merge(a)
	require.ErrorIs(t, err, bloom.ErrMismatch)
	require.EqualError(t, err, pkg+": filters differ in hash: another and one")
	require.True(t, b.Equal(before), "after an error")
}

// decoded decodes the bytes of f into into, and returns that.
func decoded(f, into filtertest.Set) bloom.Set {
	if err := into.UnmarshalBinary(bloom.Must(f.MarshalBinary())); err != nil {
		panic(err)
	}
	return into
}

// streamed is decoded, with WriteTo and ReadFrom.
func streamed(f, into filtertest.Set) bloom.Set {
	var out bytes.Buffer
	bloom.Must(f.WriteTo(&out))
	bloom.Must(into.ReadFrom(&out))
	return into
}

// TestRaces runs writers, readers, encoders, estimators and rotations on one set in parallel; go
// test
// -race watches them. A key whose Add has returned is always found.
func TestRaces(t *testing.T) {
	const writers, perWriter = 4, 1000
	var tried []string
	for _, test := range []struct {
		name string
		// start returns a set, and a function that returns an empty set to decode a copy into.
		// copies return a copy with every key that was added before the call. calls are other
		// calls that run at the same time.
		start func() (set filtertest.Set, empty func() filtertest.Set, copies []func() bloom.Set, calls []func())
	}{
		{"bloom.SyncFilter", func() (filtertest.Set, func() filtertest.Set, []func() bloom.Set, []func()) {
			s := bloom.Must(bloom.NewSync(writers*perWriter, 1e-4))
			other := bloom.Must(bloom.New(writers*perWriter, 1e-4))
			other.AddBatch(nil, filtertest.Digests(10, perWriter))
			return s, func() filtertest.Set { return new(bloom.SyncFilter) }, []func() bloom.Set{
					func() bloom.Set { return s.Snapshot() },
				}, []func(){
					func() { assert.NoError(t, s.Merge(other)) },
					func() { s.AddBatch(nil, filtertest.Digests(9, 100)) },
				}
		}},
		{"blocked.SyncFilter", func() (filtertest.Set, func() filtertest.Set, []func() bloom.Set, []func()) {
			s := bloom.Must(blocked.NewSync(writers*perWriter, 1e-4))
			other := bloom.Must(blocked.New(writers*perWriter, 1e-4))
			other.AddBatch(nil, filtertest.Digests(10, perWriter))
			return s, func() filtertest.Set { return new(blocked.SyncFilter) }, []func() bloom.Set{
					func() bloom.Set { return s.Snapshot() },
				}, []func(){
					func() { assert.NoError(t, s.Merge(other)) },
					func() { s.AddBatch(nil, filtertest.Digests(9, 100)) },
				}
		}},
		{"growing.Filter", func() (filtertest.Set, func() filtertest.Set, []func() bloom.Set, []func()) {
			f := bloom.Must(growing.New(0, 1e-6))
			f.AddBatch(nil, filtertest.Digests(8, 10_000)) // nearly fills the first layers
			return f, func() filtertest.Set { return new(growing.Filter) }, nil, nil
		}},
		{"counting.Filter", func() (filtertest.Set, func() filtertest.Set, []func() bloom.Set, []func()) {
			f := bloom.Must(counting.New(writers*perWriter, 0.1))
			other := bloom.Must(counting.New(writers*perWriter, 0.1))
			other.AddString("other")
			churn := func() { // two goroutines add and remove the same keys
				for _, h := range filtertest.Digests(9, 100) {
					f.AddHash(h)
					if !f.RemoveHash(h) {
						panic("an added key is not there to be removed")
					}
				}
			}
			return f, func() filtertest.Set { return new(counting.Filter) }, []func() bloom.Set{
					func() bloom.Set { return f.Bloom() },
					func() bloom.Set { return f.Clone() },
				}, []func(){
					func() { assert.NoError(t, f.Merge(other)); f.Equal(other) },
					churn, churn,
				}
		}},
		{"window.Filter", func() (filtertest.Set, func() filtertest.Set, []func() bloom.Set, []func()) {
			const span = 63 * time.Hour
			var clock filtertest.Clock
			config := window.Config{N: writers * perWriter, P: 1e-4, Span: span, Generations: 31,
				Now: clock.Now}
			w := bloom.Must(window.New(config))
			return w, func() filtertest.Set { return bloom.Must(window.New(config)) }, nil, []func(){
				func() { // moves the clock as keys come, so slowly that no key is forgotten
					keys := time.Duration(w.Stats().ApproxCount)
					if clock.Elapsed() < min(span-time.Hour, keys*span/(writers*perWriter)) {
						clock.Advance(time.Hour)
					}
				},
			}
		}},
		{"flower.Filter", func() (filtertest.Set, func() filtertest.Set, []func() bloom.Set, []func()) {
			// A key loses all its slots to others with a probability of 5e-10.
			f := bloom.Must(flower.New(flower.Config{Slots: 1 << 20, Ways: 16, Bits: 16}))
			return f, func() filtertest.Set { return new(flower.Filter) }, nil, nil
		}},
	} {
		tried = append(tried, test.name)
		t.Run(test.name, func(t *testing.T) {
			set, empty, copies, calls := test.start()
			require.True(t, strings.HasPrefix(fmt.Sprintf("%T", set), "*"+test.name))
			copies = append(copies,
				func() bloom.Set {
					return decoded(set, empty())
				}, func() bloom.Set { return streamed(set, empty()) })
			calls = append(calls, func() { set.Stats() },
				func() { set.ContainsBatch(make([]bool, 100), filtertest.Digests(9, 100)) })
			keys := filtertest.Digests(7, writers*perWriter)
			var added [writers]atomic.Int64 // how many keys each writer has added
			found := func(set bloom.Set, n [writers]int64) bool {
				for w, n := range n {
					for _, h := range keys[w*perWriter:][:n] {
						if !set.ContainsHash(h) {
							return false
						}
					}
				}
				return true
			}
			soFar := func() (n [writers]int64) {
				for w := range added {
					n[w] = added[w].Load()
				}
				return n
			}

			var loops sync.WaitGroup
			var done atomic.Bool
			loop := func(do func()) {
				loops.Add(1)
				go func() {
					defer loops.Done()
					for {
						last := done.Load()
						do()
						if last {
							return
						}
						runtime.Gosched() // WebAssembly has one thread, and a loop keeps it
					}
				}()
			}
			for range 2 {
				loop(func() {
					if !found(set, soFar()) {
						t.Error("a key is missing")
					}
				})
			}
			for _, copied := range copies {
				loop(func() {
					n := soFar()
					if !found(copied(), n) {
						t.Error("a key is missing from a copy")
					}
				})
			}
			for _, call := range calls {
				loop(call)
			}
			filtertest.AtOnce(writers, func(w int) {
				for _, h := range keys[w*perWriter:][:perWriter] {
					set.AddHash(h)
					added[w].Add(1)
				}
			})
			done.Store(true)
			loops.Wait()

			all := soFar()
			require.True(t, found(set, all), "a key is missing at the end")
			for _, copied := range copies {
				require.True(t, found(copied(), all), "a key is missing from a copy at the end")
			}
		})
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(sharedSets())), tried)
}

// sharedSets returns an empty filter for 2,000 keys of each type whose AddHash many goroutines may
// call, by the names of the types.
func sharedSets() map[string]filtertest.Set {
	sets := map[string]filtertest.Set{}
	for _, typ := range alltypes.All {
		s, isSet := typ.New(2000).(filtertest.Set)
		if isSet && typ.SyncOf == nil {
			sets[typ.Name] = s
		}
	}
	return sets
}

// TestRacesOfReset adds and looks up while other goroutines reset.
func TestRacesOfReset(t *testing.T) {
	keys := filtertest.Digests(7, 2000)
	for name, s := range sharedSets() {
		filtertest.AtOnce(3, func(int) {
			for _, h := range keys {
				s.AddHash(h)
				s.ContainsHash(h)
			}
			s.Reset()
		})
		s.Reset()
		require.Zero(t, s.Stats().FillRatio, name)
	}
}

// TestRacesOfReaders reads from many goroutines in parallel. The types here promise no more than
// that.
func TestRacesOfReaders(t *testing.T) {
	keys := filtertest.Digests(7, 2000)
	f := bloom.Must(bloom.New(uint64(len(keys)), 0.01))
	b := bloom.Must(blocked.New(uint64(len(keys)), 0.01))
	f.AddBatch(nil, keys)
	b.AddBatch(nil, keys)
	v := bloom.Must(bloom.NewView(bloom.Must(f.MarshalBinary())))
	filtertest.AtOnce(4, func(int) {
		for _, h := range keys {
			if !f.ContainsHash(h) || !b.ContainsHash(h) || !v.ContainsHash(h) {
				t.Error("a key is missing")
			}
		}
		for _, set := range []bloom.Set{
			f.Clone(), b.Clone(), decoded(f, new(bloom.Filter)), decoded(b, new(blocked.Filter)),
		} {
			if !set.ContainsHash(keys[0]) {
				t.Error("a key is missing from a copy")
			}
		}
		found := make([]bool, len(keys))
		f.ContainsBatch(found, keys)
		b.ContainsBatch(found, keys)
		_, _, _ = f.FPR(), f.ApproxCount(), f.Equal(f.Clone())
		_, _ = b.Stats(), b.Equal(b.Clone())
	})
}

// decoder is implemented by every type that has a binary form.
type decoder interface {
	encoding.BinaryUnmarshaler
	io.ReaderFrom
}

// boundedMemory tests that a decoder allocates no more memory than a small multiple of the length
// of its input. It decodes good, good without its end, and good with wrong parameters. The
// parameters are the size bytes at offset at.
func boundedMemory(t *testing.T, good []byte, at, size int, d decoder) {
	t.Helper()
	bounded := func(data []byte, msg string, args ...any) {
		t.Helper()
		bound := uint64(6*len(data) + 4*form.ChunkBytes)
		require.LessOrEqual(t, filtertest.Allocated(func() {
			_ = d.UnmarshalBinary(data)
		}), bound, msg, args)
		require.LessOrEqual(t, filtertest.Allocated(func() {
			_, _ = d.ReadFrom(bytes.NewReader(data))
		}), bound, msg, args)
		require.LessOrEqual(t, filtertest.Allocated(func() {
			_, _ = d.ReadFrom(iotest.HalfReader(bytes.NewReader(data)))
		}), bound, msg, args)
	}
	require.NoError(t, d.UnmarshalBinary(good))
	bounded(good, "whole")
	for n := 1; n < len(good); n = n*3/2 + 1 {
		bounded(good[:n], "%d bytes", n)
	}
	for i := range size {
		for _, b := range []byte{1, 0x10, 0x7f, 0xff} {
			for _, n := range []int{1000, len(good) - 1} {
				data := bytes.Clone(good[:min(n, len(good))])
				data[at+i] = b
				bounded(data, "byte %d of the parameters is %#x", i, b)
			}
		}
	}
}

// TestDecodersBoundMemory: memory is bounded if a form of any type has no end, or if its header
// promises more words than follow.
func TestDecodersBoundMemory(t *testing.T) {
	hs := filtertest.Digests(5, 20_000)
	encoded := func(f filtertest.Set) []byte {
		f.AddBatch(nil, hs)
		return bloom.Must(f.MarshalBinary())
	}
	many := bloom.Must(bank.New(1000, 0.01))
	for i, h := range hs {
		if i%1000 == 0 {
			many.Append()
		}
		many.AddHash(i/1000, h)
	}
	const frameStart = 8
	tried := map[string]bool{} // packages
	for _, test := range []struct {
		decoder decoder
		data    []byte
		at      int // offset of the parameters
		size    int // length of the parameters
	}{
		{new(bloom.Filter), encoded(bloom.Must(bloom.New(2e5, 0.01))), 2, 4},
		{new(bloom.SyncFilter), encoded(bloom.Must(bloom.NewSync(2e5, 0.01))), 2, 4},
		{new(blocked.Filter), encoded(bloom.Must(blocked.New(2e5, 0.01))), frameStart, 8 * 3},
		{new(blocked.SyncFilter), encoded(bloom.Must(blocked.NewSync(1e5, 1e-4))), frameStart, 8 * 3},
		{new(growing.Filter), encoded(bloom.Must(growing.New(0, 0.01))), frameStart, 8 * (2 + 16)},
		{new(counting.Filter), encoded(bloom.Must(counting.New(5e4, 0.01))), frameStart, 8 * 2},
		{new(window.Filter), encoded(
			bloom.Must(window.New(window.Config{N: 2e4, P: 0.01, Span: time.Hour,
				Generations: 7}))), frameStart, 8 * 79},
		{new(bank.Bank), bloom.Must(many.MarshalBinary()), frameStart, 8 * 4},
		{new(cuckoo.SyncFilter), bloom.Must(bloom.Must(cuckoo.NewSync(4e5, 0.01)).MarshalBinary()),
			frameStart, 8 * 3},
		{new(flower.Filter), encoded(
			bloom.Must(flower.New(flower.Config{Slots: 2.5e5, Ways: 4, Bits: 8}))), frameStart, 8 * 3},
	} {
		t.Run(fmt.Sprintf("%T", test.decoder), func(t *testing.T) {
			boundedMemory(t, test.data, test.at, test.size, test.decoder)
		})
		name, _, _ := strings.Cut(fmt.Sprintf("%T", test.decoder)[1:], ".")
		tried[name] = true
	}
	for _, typ := range alltypes.Forms() {
		require.True(t, tried[typ.Package()], typ.Name)
	}
}

var freeze = flag.Bool("freeze", false, "write the samples and the sizes")

// TestFrozen reads samples of every binary form, with the keys 0 to 999 in decimal. From the first
// release on the samples never change: a later form gets its own samples.
func TestFrozen(t *testing.T) {
	info := bloom.Info{N: 1000, P: 0.01, Hash: "SumString", Comment: "0 to 999, in decimal"}
	now := time.Unix(1_700_000_000, 0)
	windowNow := func() *window.Filter {
		return bloom.Must(window.New(window.Config{N: 1000, P: 0.01, Span: 24 * time.Hour,
			Now: func() time.Time { return now }}))
	}
	for _, test := range []struct {
		path  string
		fresh filtertest.Set // a filter with the parameters of the sample
		empty filtertest.Set
		first int // this key and all later ones must be found
	}{
		{"testdata/v1.bloom", bloom.Must(bloom.New(1000, 0.01)), new(bloom.Filter), 0},
		{"blocked/testdata/v1.frame", bloom.Must(blocked.New(1000, 1e-5)), new(blocked.Filter), 0},
		{"counting/testdata/v1.frame", bloom.Must(counting.New(1000, 0.01)), new(counting.Filter), 0},
		{"flower/testdata/v1.frame",
			bloom.Must(flower.New(flower.Config{Slots: 1000, Ways: 4, Bits: 16})), new(flower.Filter), 999},
		{"growing/testdata/v1.frame", bloom.Must(growing.New(1000, 0.01)), new(growing.Filter), 0},
		{"window/testdata/v1.frame", windowNow(), windowNow(), 0},
	} {
		if *freeze {
			start := now
			for i := range 1000 { // spread over a window's generations
				now = start.Add(time.Duration(i) * 80 * time.Second)
				test.fresh.AddHash(bloom.SumString(fmt.Sprint(i)))
			}
			test.fresh.UpdateInfo(func(i *bloom.Info) { *i = info })
			require.NoError(t, test.fresh.SaveFile(test.path))
			now = start
		}
		data := bloom.Must(os.ReadFile(test.path))
		require.NoError(t, test.empty.UnmarshalBinary(data), test.path)
		require.Equal(t, info, test.empty.Info(), test.path)
		if filepath.Ext(test.path) != ".bloom" { // Guava's form has no Info
			require.Equal(t, data, bloom.Must(test.empty.MarshalBinary()), test.path)
		}
		found := 0
		for i := range 2000 {
			key := bloom.SumString(fmt.Sprint(i))
			if i >= test.first && i < 1000 {
				require.True(t, test.empty.ContainsHash(key), "%s: key %d", test.path, i)
			}
			if i >= 1000 && test.empty.ContainsHash(key) {
				found++
			}
		}
		require.LessOrEqual(t, found, 30, "%s: false positives of 1000", test.path)
	}
}

// TestSizesEverywhere compares the sizes and the Infos of new filters with those that amd64
// computes. If they differed, LoadOrNew and Merge would refuse filters from another machine.
func TestSizesEverywhere(t *testing.T) {
	var out bytes.Buffer
	add := func(what string, values ...any) { fmt.Fprintln(&out, append([]any{what}, values...)...) }
	for _, n := range []uint64{1, 3, 10, 77, 1000, 4096, 123_456, 5e6} { // 32 bits refuse larger ones
		for _, p := range []float64{0.9, 0.3, 0.1, 0.01, 1e-3, 3e-5, 1e-7, 1e-9, 1e-12} {
			add("# n, p =", n, p)
			m, k, err := bloom.StrictSize(n, p)
			add("bloom", bloom.OptimalM(n, p), m, k, err,
				bloom.Must(bloom.NewSize(64*min(n, 100), 7)).Capacity(p))
			m, k, err = blocked.Size(n, p)
			add("blocked", m, k, err)
			for _, generations := range []int{1, 7, 31} {
				size, err := window.Config{N: n, P: p, Span: time.Hour, Generations: generations}.SizeBytes()
				add("window", generations, size, err)
			}
			for _, recall := range []float64{0.5, 0.99} {
				c, err := flower.Optimal(n, recall, p)
				add("flower", recall, fmt.Sprintf("{%d %d %d}", c.Slots, c.Ways, c.Bits), err)
			}
			if f, err := growing.New(min(n, 1000), p); err == nil {
				add("growing", f.SizeBytes())
			}
		}
	}
	// Every small n, because the terms for few keys matter only there.
	for _, p := range []float64{0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9} {
		all := sha256.New()
		for n := range uint64(200) {
			m, k, err := bloom.StrictSize(n+1, p)
			fmt.Fprintln(all, n+1, m, k, err)
			m, lines, err := blocked.Size(n+1, p)
			fmt.Fprintln(all, m, lines, err, bloom.OptimalM(n+1, p))
			if m, k, err = bloom.Size(n+1, p); err == nil {
				fmt.Fprintln(all, m, k, bloom.StatsOf(m, k, m/4).FPR, bloom.StatsOf(m, k, m/2).FPR)
			}
		}
		add("n from 1 to 200", p, hex.EncodeToString(all.Sum(nil)))
	}
	for _, bits := range []int{8, 16, 32} {
		for ways := 1; ways <= 64; ways++ {
			add("flower", bits, ways,
				bloom.Must(flower.New(flower.Config{Slots: 64, Ways: ways, Bits: bits})).Info().P)
		}
	}
	const golden = "testdata/sizes.txt"
	if *freeze {
		require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o666))
	}
	require.Equal(t, string(bloom.Must(os.ReadFile(golden))), out.String(),
		"go test -run TestSizesEverywhere -freeze")
}
