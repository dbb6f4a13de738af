// The tests in this file test what all types say about themselves.

package bloom_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/internal/alltypes"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

type informed = alltypes.Filter

// informedTypes returns functions that make an empty filter of each type.
func informedTypes() map[string]func() informed {
	types := map[string]func() informed{}
	for _, typ := range alltypes.All {
		types[typ.Name] = func() informed { return typ.New(100) }
	}
	return types
}

// zeroOf returns a zero value of f's type.
func zeroOf(f informed) informed {
	return reflect.New(reflect.TypeOf(f).Elem()).Interface().(informed)
}

// TestZeroInfo: the zero value of every type prints alike, and takes an Info as others do. Decoding
// replaces that.
func TestZeroInfo(t *testing.T) {
	info := bloom.Info{N: 3, P: 0.1, Hash: "h", Comment: "c", Meta: "m=1"}
	for name, make := range informedTypes() {
		zero := zeroOf(make())
		require.Equal(t, name+"(zero)", zero.String())
		zero.UpdateInfo(func(i *bloom.Info) { *i = info })
		require.Equal(t, info, zero.Info(), name)
		require.Equal(t, name+"(zero)", zero.String())
		_, err := zero.MarshalBinary()
		require.ErrorContains(t, err, "the zero value has no binary form", name)
		f := make()
		require.NoError(t, zero.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
		if !strings.HasPrefix(name, "bloom.") { // Guava's form has no Info
			require.Equal(t, f.Info(), zero.Info(), name)
		}
	}
	for _, typ := range alltypes.All {
		if typ.ZeroReader != nil {
			require.Equal(t, typ.Package()+".Reader(zero)", typ.ZeroReader().String())
		}
	}
}

// testEachInfo tests every type with an Info, and the zero value of each.
func testEachInfo(t *testing.T, test func(t *testing.T, f informed)) {
	for name, make := range informedTypes() {
		t.Run(name, func(t *testing.T) { test(t, make()) })
		t.Run(name+" zero", func(t *testing.T) { test(t, zeroOf(make())) })
	}
}

// TestUpdateInfo: update gets the present Info, and what it leaves is the Info, each field alone,
// set or cleared.
func TestUpdateInfo(t *testing.T) {
	full := bloom.Info{N: 3, P: 0.1, Hash: "h", Comment: "c", Meta: "m=1"}
	other := bloom.Info{N: 4, P: 0.2, Hash: "i", Comment: "d", Meta: "m=2"}
	testEachInfo(t, func(t *testing.T, f informed) {
		for n := range reflect.TypeFor[bloom.Info]().NumField() {
			for _, source := range []bloom.Info{other, {}} {
				f.UpdateInfo(func(i *bloom.Info) { *i = full })
				want := full
				value := reflect.ValueOf(source).Field(n)
				reflect.ValueOf(&want).Elem().Field(n).Set(value)
				f.UpdateInfo(func(i *bloom.Info) {
					assert.Equal(t, full, *i)
					reflect.ValueOf(i).Elem().Field(n).Set(value)
				})
				require.Equal(t, want, f.Info())
			}
		}
		var retained *bloom.Info
		f.UpdateInfo(func(i *bloom.Info) { retained = i })
		before := f.Info()
		*retained = other
		require.Equal(t, before, f.Info(), "the update is over")
	})
}

// TestUpdateInfoPanics: if update panics or ends its goroutine, the Info stays as it was, and f
// goes on.
func TestUpdateInfoPanics(t *testing.T) {
	testEachInfo(t, func(t *testing.T, f informed) {
		f.UpdateInfo(func(i *bloom.Info) { i.Comment = "before" })
		info := f.Info()
		half := func(end func()) func() {
			return func() {
				f.UpdateInfo(func(i *bloom.Info) {
					i.Comment = "half"
					end()
				})
			}
		}
		require.PanicsWithValue(t, "by update", half(func() { panic("by update") }))
		var ended atomic.Bool
		go func() {
			defer ended.Store(true)
			half(runtime.Goexit)()
		}()
		require.True(t, filtertest.Becomes(t, "an update after one that panicked ends", ended.Load))
		require.Panics(t, func() { f.UpdateInfo(nil) })
		require.Equal(t, info, f.Info())
		f.UpdateInfo(func(i *bloom.Info) { i.Comment = "after" })
		require.Equal(t, "after", f.Info().Comment)
	})
}

// TestUpdatesOfInfo: concurrent updates are one after the other, so that none is lost. Info beside
// one does not wait, and returns the Info before it.
func TestUpdatesOfInfo(t *testing.T) {
	testEachInfo(t, func(t *testing.T, f informed) {
		f.UpdateInfo(func(i *bloom.Info) { *i = bloom.Info{} })
		filtertest.AtOnce(4, func(int) {
			for range 25 {
				f.UpdateInfo(func(i *bloom.Info) {
					n := i.N
					runtime.Gosched()
					i.N = n + 1
				})
			}
		})
		require.Equal(t, bloom.Info{N: 100}, f.Info())
		f.UpdateInfo(func(i *bloom.Info) {
			i.N = 7
			seen := make(chan bloom.Info)
			go func() { seen <- f.Info() }()
			assert.Equal(t, bloom.Info{N: 100}, <-seen)
			i.Comment = "c"
		})
		require.Equal(t, bloom.Info{N: 7, Comment: "c"}, f.Info())
	})
}

// TestInfoBesideOthers: on every type, the zero value included, goroutines may call Info and
// UpdateInfo while others encode and print the filter.
func TestInfoBesideOthers(t *testing.T) {
	testEachInfo(t, func(t *testing.T, f informed) {
		f.UpdateInfo(func(i *bloom.Info) { *i = bloom.Info{P: 0.5, Meta: "n=0"} })
		filtertest.AtOnce(4, func(i int) {
			for n := range uint64(50) {
				switch i {
				case 0:
					f.UpdateInfo(func(i *bloom.Info) {
						i.N = n + 1
						i.Meta = fmt.Sprint("n=", n+1)
					})
				case 1:
					f.UpdateInfo(func(i *bloom.Info) { i.Hash = "h" })
				case 2:
					info := f.Info()
					assert.Equal(t, 0.5, info.P)
					assert.Equal(t, fmt.Sprint("n=", info.N), info.Meta, "a mixture")
				case 3:
					_, _ = f.WriteTo(io.Discard) // the zero value has no form
					_ = f.String()
					f.Stats()
				}
			}
		})
		require.Equal(t, bloom.Info{N: 50, P: 0.5, Hash: "h", Meta: "n=50"}, f.Info())
	})
}

// TestInfoCheck: Check returns an error for each Info that no file can have, and for no other.
func TestInfoCheck(t *testing.T) {
	type row struct {
		info bloom.Info
		says string
	}
	hash, long := strings.Repeat("h", 255), strings.Repeat("c", 4096)
	rows := []row{
		{bloom.Info{}, ""},
		{bloom.Info{N: math.MaxUint64, P: math.Nextafter(1, 0), Hash: hash, Comment: long}, ""},
		{bloom.Info{Meta: "m=" + long[2:]}, ""},
		{bloom.Info{P: 1}, "bloom: Info.P = 1 is outside [0, 1)"},
		{bloom.Info{P: -1e-9}, "bloom: Info.P = -1e-09 is outside [0, 1)"},
		{bloom.Info{P: math.NaN()}, "bloom: Info.P = NaN is outside [0, 1)"},
		{bloom.Info{Hash: hash + "h"}, "bloom: len(Info.Hash) = 256 is more than 255"},
		{bloom.Info{Hash: "\xff"}, `bloom: Info.Hash = "\xff" is not UTF-8`},
		{bloom.Info{Comment: long + "c"}, "bloom: len(Info.Comment) = 4097 is more than 4096"},
		{bloom.Info{Comment: "\xff"}, `bloom: Info.Comment = "\xff" is not UTF-8`},
		{bloom.Info{Meta: "m=" + long}, "bloom: len(Info.Meta) = 4098 is more than 4096"},
		{bloom.Info{Meta: "b=&a="}, `bloom: Info.Meta = "b=&a=" is not what url.Values.Encode returns`},
	}
	for name, make := range informedTypes() {
		pkg, _, _ := strings.Cut(name, ".")
		for _, r := range rows {
			f := make()
			f.UpdateInfo(func(i *bloom.Info) { *i = r.info })
			err := f.SaveFile(t.TempDir() + "/f")
			if r.says == "" {
				require.NoError(t, r.info.Check())
				require.NoError(t, err, name)
				continue
			}
			require.EqualError(t, r.info.Check(), r.says)
			require.ErrorContains(t, err, strings.Replace(r.says, "bloom", pkg, 1), name)
		}
	}
}

// TestInfoBesideMerge: a SyncFilter that merges and is patched while its Info is set keeps the Hash
// that it took over.
func TestInfoBesideMerge(t *testing.T) {
	hashed := bloom.Must(bloom.New(100, 0.01))
	hashed.UpdateInfo(func(i *bloom.Info) { i.Hash = "h" })
	bare := bloom.Must(bloom.New(100, 0.01))
	patch := bloom.Must(bloom.Diff(bare, bare))
	for range 50 {
		s := bloom.Must(bloom.NewSync(100, 0.01))
		filtertest.AtOnce(3, func(i int) {
			switch i {
			case 0:
				require.NoError(t, s.Merge(hashed))
			case 1:
				require.NoError(t, s.Patch(patch))
			case 2:
				s.UpdateInfo(func(i *bloom.Info) { i.Comment = "c" })
				s.Info()
			}
		})
		require.Equal(t, "h", s.Info().Hash)
	}
	for _, f := range []interface {
		informed
		Patch([]byte) error
	}{bloom.NewSyncFrom(hashed), hashed.Clone()} {
		require.NoError(t, f.Patch(patch))
		require.Equal(t, bloom.Info{N: 100, P: 0.01, Hash: "h"}, f.Info(), "the patch has no Hash")
	}
}

// TestDeepEqual: reflect.DeepEqual, and so testify's Equal, is true for filters with the same bits
// and the same Info, however they were made. Types are left out that keep more than this.
func TestDeepEqual(t *testing.T) {
	info := bloom.Info{N: 3, P: 0.1, Hash: "h", Comment: "c", Meta: "m=1"}
	for name, make := range informedTypes() {
		full := func() informed {
			f := make()
			for i := range 50 {
				alltypes.Add(f, fmt.Sprint(i))
			}
			f.UpdateInfo(func(i *bloom.Info) { *i = info })
			return f
		}
		f := full()
		decoded := func() informed {
			g := zeroOf(f)
			require.NoError(t, g.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
			g.UpdateInfo(func(i *bloom.Info) { *i = info })
			return g
		}
		switch name {
		case "bank.Bank", "growing.Filter", "window.Filter": // they replace memory while it is read
			continue
		}
		require.Equal(t, full(), f, name)
		require.Equal(t, decoded(), decoded(), name)
		other := full()
		other.UpdateInfo(func(i *bloom.Info) { i.Comment = "d" })
		require.NotEqual(t, other, f, name)
		if name == "counting.Filter" { // it counts keys in stripes while these are added
			continue
		}
		require.Equal(t, f, decoded(), name)
		fromText, fromStream := zeroOf(f), zeroOf(f)
		require.NoError(t, fromText.UnmarshalText(bloom.Must(f.MarshalText())))
		_, err := fromStream.ReadFrom(bytes.NewReader(bloom.Must(f.MarshalBinary())))
		require.NoError(t, err)
		for _, g := range []informed{fromText, fromStream} {
			g.UpdateInfo(func(i *bloom.Info) { *i = info })
			require.Equal(t, f, g, name)
		}
		if clone := reflect.ValueOf(f).MethodByName("Clone"); clone.IsValid() {
			require.Equal(t, f, clone.Call(nil)[0].Interface(), name)
		}
	}
}

// TestDeepEqualShared: a SyncFilter is deeply equal whether it was made from a Filter or decoded.
func TestDeepEqualShared(t *testing.T) {
	for _, typ := range alltypes.All {
		if typ.SyncOf == nil {
			continue
		}
		f := typ.New(100)
		alltypes.Add(f, "key")
		shared := typ.SyncOf(f)
		decoded := zeroOf(shared)
		require.NoError(t, decoded.UnmarshalBinary(bloom.Must(shared.MarshalBinary())))
		decoded.UpdateInfo(func(i *bloom.Info) { *i = f.Info() })
		require.Equal(t, decoded, shared, typ.Name)
	}
}

// TestInfoComparable: Infos can be compared with ==, and are keys of maps.
func TestInfoComparable(t *testing.T) {
	a, b := bloom.Info{N: 1, Meta: "m=1"}, bloom.Info{N: 1, Meta: "m=1"}
	require.True(t, a == b)
	require.Equal(t, 1, map[bloom.Info]int{a: 1}[b])
	b.Meta = "m=2"
	require.False(t, a == b)
}

// TestLogTakesNoPass: package log/slog writes the String of a filter, and reads no bits for that.
func TestLogTakesNoPass(t *testing.T) {
	many := bloom.Must(bank.NewSize(1<<20, 4))
	for range 64 {
		many.Append()
	}
	s := bloom.Must(bloom.NewSize(1<<26, 4))
	for _, f := range []interface {
		fmt.Stringer
		slog.LogValuer
		Stats() bloom.Stats
	}{
		bloom.NewSyncFrom(s),
		bloom.Must(blocked.NewSize(1<<26, 1)),
		bloom.Must(flower.New(flower.Config{Slots: 1 << 23, Ways: 2, Bits: 8})),
		many,
	} {
		var out bytes.Buffer
		slog.New(slog.NewTextHandler(&out, nil)).Info("loaded", "filter", f)
		require.Contains(t, out.String(), strconv.Quote(f.String()))
		// A busy machine may interrupt some rounds. The clock may be coarser than one Stats.
		logs, pass := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
		for round := 0; round < 5 || logs > pass && round < 100; round++ {
			began := time.Now()
			for range 20 {
				f.LogValue()
			}
			between := time.Now()
			f.Stats()
			logs, pass = min(logs, between.Sub(began)), min(pass, time.Since(between))
		}
		require.LessOrEqual(t, logs, pass, "%T: 20 calls of LogValue and one of Stats", f)
	}
}
