// The tests in this file test what all types say about themselves.

package bloom_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

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
func zeroOf(f informed) informed { return reflect.New(reflect.TypeOf(f).Elem()).Interface().(informed) }

// TestZeroInfo: the zero value of every type prints alike, and takes an Info as others do. Decoding
// replaces that.
func TestZeroInfo(t *testing.T) {
	info := bloom.Info{N: 3, P: 0.1, Hash: "h", Comment: "c", Meta: "m=1"}
	for name, make := range informedTypes() {
		zero := zeroOf(make())
		require.Equal(t, name+"(zero)", zero.String())
		zero.SetInfo(bloom.Info{})
		require.Equal(t, zeroOf(zero), zero, name)
		zero.SetInfo(bloom.Info{N: 3, Hash: "h", Meta: "m=1"})
		zero.SetInfo(bloom.Info{P: 0.1, Comment: "c"})
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

// TestInfoBesideOthers: on every type, the zero value included, goroutines may call Info and SetInfo
// while others encode and print the filter.
func TestInfoBesideOthers(t *testing.T) {
	for name, make := range informedTypes() {
		for _, f := range []informed{make(), zeroOf(make())} {
			f.SetInfo(bloom.Info{P: 0.5})
			filtertest.AtOnce(4, func(i int) {
				for n := range uint64(50) {
					switch i {
					case 0:
						f.SetInfo(bloom.Info{N: n + 1, Meta: fmt.Sprint("m=", n+1)})
					case 1:
						f.SetInfo(bloom.Info{Hash: "h"})
					case 2:
						require.Equal(t, 0.5, f.Info().P, name)
					case 3:
						_, _ = f.WriteTo(io.Discard) // the zero value has no form
						_ = f.String()
						f.Stats()
					}
				}
			})
			require.Equal(t, bloom.Info{N: 50, P: 0.5, Hash: "h", Meta: "m=50"}, f.Info(), name)
		}
	}
}

// TestInfoBesideMerge: a SyncFilter that merges and is patched while its Info is set keeps the Hash
// that it took over.
func TestInfoBesideMerge(t *testing.T) {
	hashed := bloom.Must(bloom.New(100, 0.01))
	hashed.SetInfo(bloom.Info{Hash: "h"})
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
				s.SetInfo(bloom.Info{Comment: "c"})
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
			f.SetInfo(info)
			return f
		}
		f := full()
		decoded := func() informed {
			g := zeroOf(f)
			require.NoError(t, g.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
			g.SetInfo(info)
			return g
		}
		switch name {
		case "bank.Bank", "growing.Filter", "window.Filter": // they replace memory while it is read
			continue
		}
		require.Equal(t, full(), f, name)
		require.Equal(t, decoded(), decoded(), name)
		other := full()
		other.SetInfo(bloom.Info{Comment: "d"})
		require.NotEqual(t, other, f, name)
		if name == "counting.Filter" { // it counts keys in stripes while these are added
			continue
		}
		require.Equal(t, f, decoded(), name)
		if clone := reflect.ValueOf(f).MethodByName("Clone"); clone.IsValid() {
			require.Equal(t, f, clone.Call(nil)[0].Interface(), name)
		}
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

// TestMetaInFiles: a file keeps the Meta, and SaveFile refuses one that url.Values.Encode does not
// return.
func TestMetaInFiles(t *testing.T) {
	var out bytes.Buffer
	for name, make := range informedTypes() {
		f := make()
		f.SetInfo(bloom.Info{Meta: "b=1&a=2"})
		err := f.SaveFile(t.TempDir() + "/f")
		pkg, _, _ := strings.Cut(name, ".")
		require.ErrorContains(t, err,
			pkg+`: Info.Meta = "b=1&a=2" is not what url.Values.Encode returns`)
		f.SetInfo(bloom.Info{Meta: "a=2&b=1"})
		require.NoError(t, f.SaveFile(t.TempDir()+"/f"))
		_, err = f.WriteTo(&out)
		require.NoError(t, err)
	}
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
