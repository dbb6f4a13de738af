package alltypes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// TestMismatchTells: an error of LoadOrNew says first what the file holds, and then what was asked
// for, whichever of the two is larger.
func TestMismatchTells(t *testing.T) {
	// ask is a call of LoadOrNew, and what an error says of the filter that it makes. If it says one
	// thing of a filter that is there and another of one that was asked for, | stands between the two.
	type ask struct {
		load func(path string) (Filter, error)
		text string
	}
	asks := func(load func(string) (Filter, error), text string) ask { return ask{load, text} }
	for _, test := range []struct {
		name          string
		before, after string // what stands before the first text, and between the two
		a, b          ask
	}{
		{"growing n", "growing: filters differ in n: ", " and ",
			asks(func(p string) (Filter, error) { return growing.LoadOrNew(p, 500, 0.01) }, "500"),
			asks(func(p string) (Filter, error) { return growing.LoadOrNew(p, 0, 0.01) }, "0")},
		{"growing p", "growing: filters differ in p: ", " and ",
			asks(func(p string) (Filter, error) { return growing.LoadOrNew(p, 500, 0.01) }, "0.01"),
			asks(func(p string) (Filter, error) { return growing.LoadOrNew(p, 500, 0.25) }, "0.25")},
		{"blocked m", "blocked: filters differ in m: ", " and ",
			asks(func(p string) (Filter, error) { return blocked.LoadOrNew(p, 500, 0.01) }, "5376"),
			asks(func(p string) (Filter, error) { return blocked.LoadOrNew(p, 1000, 0.01) }, "10752")},
		{"counting m", "counting: filters differ in m: ", " and ",
			asks(func(p string) (Filter, error) { return counting.LoadOrNew(p, 10, 0.01) }, "128"),
			asks(func(p string) (Filter, error) { return counting.LoadOrNew(p, 1000, 0.01) }, "9600")},
		{"counting k", "counting: filters differ in k: ", " and ",
			asks(func(p string) (Filter, error) { return counting.LoadOrNew(p, 10, 0.01) }, "7"),
			asks(func(p string) (Filter, error) { return counting.LoadOrNew(p, 10, 0.02) }, "6")},
		{"cuckoo buckets", "cuckoo: filters differ in buckets: ", " and ",
			asks(func(p string) (Filter, error) { return cuckoo.LoadOrNew(p, 96, 0.01) }, "29"),
			asks(func(p string) (Filter, error) { return cuckoo.LoadOrNew(p, 960, 0.01) }, "254")},
		{"cuckoo bits", "cuckoo: filters differ in bits: ", " and ",
			asks(func(p string) (Filter, error) { return cuckoo.LoadOrNew(p, 96, 0.01) }, "10"),
			asks(func(p string) (Filter, error) { return cuckoo.LoadOrNew(p, 96, 0.1) }, "7")},
		{"bank k", "bank: filters differ in k: ", " and ",
			asks(func(p string) (Filter, error) { return bank.LoadOrNewSize(p, 128, 7) }, "7"),
			asks(func(p string) (Filter, error) { return bank.LoadOrNewSize(p, 128, 6) }, "6")},
		{"bloom", "bloom: filters differ: it is bloom.Filter(", ", not what NewSize makes for ",
			asks(func(p string) (Filter, error) { return bloom.LoadOrNewSize(p, 128, 7) },
				"m=128, k=7, Mitz64)|m = 128, k = 7"),
			asks(func(p string) (Filter, error) { return bloom.LoadOrNewSize(p, 100, 6) },
				"m=128, k=6, Mitz64)|m = 100, k = 6")},
		{"window", "window: the filter has ", ", not ",
			asks(func(p string) (Filter, error) { return window.LoadOrNew(p, window.Config{N: 9, P: 0.1}) },
				"N = 9, P = 0.1, Span = 0s, Renew = false, Generations = 7"),
			asks(func(p string) (Filter, error) {
				return window.LoadOrNew(p, window.Config{N: 9, P: 0.1, Generations: 3})
			}, "N = 9, P = 0.1, Span = 0s, Renew = false, Generations = 3")},
		{"flower", "flower: the filter has ", ", not ",
			asks(func(p string) (Filter, error) {
				return flower.LoadOrNew(p, flower.Config{Slots: 64, Ways: 2, Bits: 8})
			}, "Slots = 64, Ways = 2, Bits = 8"),
			asks(func(p string) (Filter, error) {
				return flower.LoadOrNew(p, flower.Config{Slots: 64, Ways: 2, Bits: 16})
			}, "Slots = 64, Ways = 2, Bits = 16")},
	} {
		for _, pair := range [][2]ask{{test.a, test.b}, {test.b, test.a}} {
			path := filepath.Join(t.TempDir(), "f")
			require.NoError(t, bloom.Must(pair[0].load(path)).SaveFile(path))
			_, err := pair[0].load(path)
			require.NoError(t, err, test.name)
			_, err = pair[1].load(path)
			require.ErrorIs(t, err, bloom.ErrMismatch, test.name)
			there, _, _ := strings.Cut(pair[0].text, "|")
			asked := pair[1].text[strings.IndexByte(pair[1].text, '|')+1:]
			require.ErrorContains(t, err, test.before+there+test.after+asked, test.name)
		}
	}
}

// TestLoadOrNewOfNothing: LoadOrNew refuses parameters of which no filter can be made, although
// there is a file.
func TestLoadOrNewOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for name, load := range map[string]struct{ good, bad func() (Filter, error) }{
		"bloom": {func() (Filter, error) { return bloom.LoadOrNew(path, 9, 0.1) },
			func() (Filter, error) { return bloom.LoadOrNew(path, 9, 2) }},
		"bloom size": {func() (Filter, error) { return bloom.LoadOrNewSize(path, 128, 7) },
			func() (Filter, error) { return bloom.LoadOrNewSize(path, 128, 0) }},
		"blocked": {func() (Filter, error) { return blocked.LoadOrNew(path, 9, 0.1) },
			func() (Filter, error) { return blocked.LoadOrNew(path, 9, 2) }},
		"growing": {func() (Filter, error) { return growing.LoadOrNew(path, 9, 0.1) },
			func() (Filter, error) { return growing.LoadOrNew(path, 9, 2) }},
		"counting": {func() (Filter, error) { return counting.LoadOrNew(path, 9, 0.1) },
			func() (Filter, error) { return counting.LoadOrNew(path, 9, 2) }},
		"cuckoo": {func() (Filter, error) { return cuckoo.LoadOrNew(path, 9, 0.1) },
			func() (Filter, error) { return cuckoo.LoadOrNew(path, 9, 2) }},
		"bank": {func() (Filter, error) { return bank.LoadOrNew(path, 9, 0.1) },
			func() (Filter, error) { return bank.LoadOrNew(path, 9, 2) }},
		"bank size": {func() (Filter, error) { return bank.LoadOrNewSize(path, 128, 7) },
			func() (Filter, error) { return bank.LoadOrNewSize(path, 128, 0) }},
		"window": {
			func() (Filter, error) { return window.LoadOrNew(path, window.Config{N: 9, P: 0.1}) },
			func() (Filter, error) { return window.LoadOrNew(path, window.Config{N: 9, P: 2}) }},
		"flower": {
			func() (Filter, error) {
				return flower.LoadOrNew(path, flower.Config{Slots: 64, Ways: 2, Bits: 8})
			},
			func() (Filter, error) {
				return flower.LoadOrNew(path, flower.Config{Slots: 64, Ways: 2, Bits: 9})
			}},
	} {
		require.NoError(t, bloom.Must(load.good()).SaveFile(path), name)
		_, err := load.bad()
		var param *bloom.ParamError
		require.ErrorAs(t, err, &param, name)
		require.NoError(t, os.Remove(path))
	}
}
