package alltypes

import (
	"cmp"
	"context"
	"encoding"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
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
	"github.com/seed79a3ff49/bloom/guard"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/replica"
	"github.com/seed79a3ff49/bloom/window"
)

// maker is a function that takes a number of keys and a rate.
type maker struct {
	name  string // as api/bloom.txt has it, without "bloom/"
	n, p  string // the names of the parameters, if not n and p
	rates string // the Bound of a rate outside those that the function takes
	least string // the Bound of the least positive rate, if not rates
	keys  string // the Bound of too many keys, in which # stands for a number
	none  bool   // the function takes an n of 0
	make  func(n uint64, p float64) error
	size  func(n uint64, p float64) error // as make, but without memory; or nil
}

// makers returns the rows for all types. Files are made in dir, if any.
func makers(dir string) []maker {
	const (
		open   = "outside (0, 1)"
		few    = "too low: it needs # hashes, and the limit is 255"
		atRate = "outside [1, #] at a rate of 0.01"
		upTo40 = "outside [0, 1099511627776]"
	)
	path := filepath.Join(dir, "f")
	win := func(n uint64, p float64) window.Config {
		return window.Config{N: n, P: p, Span: time.Hour}
	}
	size := errOf2(bloom.Size)
	return []maker{
		{name: "bloom.New", rates: open, least: few, keys: atRate,
			make: errOf(bloom.New), size: size},
		{name: "bloom.NewSync", rates: open, least: few, keys: atRate, make: errOf(bloom.NewSync)},
		{name: "bloom.NewWithStrategy", rates: open, least: few, keys: atRate,
			make: func(n uint64, p float64) error {
				_, err := bloom.NewWithStrategy(bloom.Mitz32, n, p)
				return err
			}},
		{name: "bloom.LoadOrNew", rates: open, least: few, keys: atRate,
			make: at(path, bloom.LoadOrNew)},
		{name: "bloom.Size", rates: open, least: few, keys: atRate, make: size, size: size},
		{name: "bloom.StrictSize", rates: open, least: few, keys: atRate,
			make: errOf2(bloom.StrictSize)},
		{name: "blocked.New", rates: "outside [1e-12, 1)", keys: atRate, make: errOf(blocked.New)},
		{name: "blocked.NewSync", rates: "outside [1e-12, 1)", keys: atRate,
			make: errOf(blocked.NewSync)},
		{name: "blocked.LoadOrNew", rates: "outside [1e-12, 1)", keys: atRate,
			make: at(path, blocked.LoadOrNew)},
		{name: "blocked.Size", rates: "outside [1e-12, 1)", keys: atRate,
			make: errOf2(blocked.Size), size: errOf2(blocked.Size)},
		{name: "growing.New", rates: "outside [1e-09, 1)", keys: upTo40, none: true,
			make: errOf(growing.New)},
		{name: "growing.LoadOrNew", rates: "outside [1e-09, 1)", keys: upTo40, none: true,
			make: at(path, growing.LoadOrNew)},
		{name: "counting.New", rates: open, least: few, keys: atRate, make: errOf(counting.New)},
		{name: "counting.LoadOrNew", rates: open, least: few, keys: atRate,
			make: at(path, counting.LoadOrNew)},
		{name: "cuckoo.New", rates: "outside [1e-09, 0.1]", keys: atRate, make: errOf(cuckoo.New)},
		{name: "cuckoo.NewSync", rates: "outside [1e-09, 0.1]", keys: atRate,
			make: errOf(cuckoo.NewSync)},
		{name: "cuckoo.LoadOrNew", rates: "outside [1e-09, 0.1]", keys: atRate,
			make: at(path, cuckoo.LoadOrNew)},
		{name: "bank.New", rates: open, least: few, keys: atRate,
			make: errOf(bank.New), size: size},
		{name: "bank.LoadOrNew", rates: open, least: few, keys: atRate,
			make: at(path, bank.LoadOrNew)},
		{name: "window.New", n: "N", p: "P", rates: open, least: "taken", keys: atRate,
			make: func(n uint64, p float64) error {
				_, err := window.New(win(n, p))
				return err
			}},
		{name: "window.LoadOrNew", n: "N", p: "P", rates: open, least: "taken", keys: atRate,
			make: func(n uint64, p float64) error {
				_, err := window.LoadOrNew(path, win(n, p))
				return err
			}},
		{name: "window.SizeBytes", n: "N", p: "P", rates: open, least: "taken", keys: atRate,
			make: sizeOf(win), size: sizeOf(win)},
		{name: "flower.Optimal", n: "t", p: "fpr", rates: open,
			least: "below #, the lowest rate of 32-bit fingerprints",
			keys:  "outside [1, #] at a recall of 0.9 and a rate of 0.01",
			make:  optimal, size: optimal},
		{name: "guard.New", n: "N", p: "P", rates: "outside [1e-09, 1)", keys: upTo40, none: true,
			make: func(n uint64, p float64) error {
				_, err := guard.New(guard.Config{N: n, P: p, Load: nothing})
				return err
			}},
	}
}

func errOf[F any](create func(uint64, float64) (F, error)) func(uint64, float64) error {
	return func(n uint64, p float64) error {
		_, err := create(n, p)
		return err
	}
}

func errOf2(size func(uint64, float64) (uint64, int, error)) func(uint64, float64) error {
	return func(n uint64, p float64) error {
		_, _, err := size(n, p)
		return err
	}
}

func at[F any](path string, load func(string, uint64, float64) (F, error),
) func(uint64, float64) error {
	return func(n uint64, p float64) error {
		_, err := load(path, n, p)
		return err
	}
}

func sizeOf(config func(uint64, float64) window.Config) func(uint64, float64) error {
	return func(n uint64, p float64) error {
		_, err := config(n, p).SizeBytes()
		return err
	}
}

func optimal(n uint64, p float64) error {
	_, err := flower.Optimal(n, 0.9, p)
	return err
}

func nothing(context.Context, *guard.Loader) error { return nil }

// requireParam requires that err is a ParamError with these fields. In bound, # stands for a number.
// requireParam returns that number.
func requireParam(
	t *testing.T, err error, pkg, param string, value any, bound string,
) uint64 {
	t.Helper()
	var bad *bloom.ParamError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, pkg, bad.Package)
	assert.Equal(t, param, bad.Param)
	assert.Equal(t, fmt.Sprintf("%T %[1]v", value), fmt.Sprintf("%T %[1]v", bad.Value)) // also NaN
	pattern := strings.ReplaceAll(regexp.QuoteMeta(bound), "#", `([0-9.e+-]+)`)
	found := regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(bad.Bound)
	require.NotNil(t, found, "%q is not %q", bad.Bound, bound)
	require.NotErrorIs(t, err, bloom.ErrFormat)
	number, _ := strconv.ParseUint(found[len(found)-1], 10, 64)
	return number
}

// TestRatesAndKeysOutOfRange: each function that takes a number of keys and a rate names the one
// that is out of range, with its value and its range, and makes no file.
func TestRatesAndKeysOutOfRange(t *testing.T) {
	dir := t.TempDir()
	for _, m := range makers(dir) {
		t.Run(m.name, func(t *testing.T) {
			pkg, _, _ := strings.Cut(m.name, ".")
			n, p := cmp.Or(m.n, "n"), cmp.Or(m.p, "p")
			for _, rate := range []float64{
				math.NaN(), 0, math.Copysign(0, -1), -0.01, 1, 2, math.Inf(1), math.Inf(-1),
			} {
				requireParam(t, m.make(100, rate), pkg, p, rate, m.rates)
				requireParam(t, m.make(math.MaxUint64, rate), pkg, p, rate, m.rates)
			}
			if m.least != "taken" {
				const least = math.SmallestNonzeroFloat64
				bound := cmp.Or(m.least, m.rates)
				requireParam(t, m.make(100, least), pkg, p, least, bound)
				requireParam(t, m.make(math.MaxUint64, least), pkg, p, least, bound)
			}
			for _, keys := range []uint64{math.MaxUint64, 1 << 62} {
				room := requireParam(t, m.make(keys, 0.01), pkg, n, keys, m.keys)
				if m.size != nil {
					require.NoError(t, m.size(room, 0.01))
					requireParam(t, m.make(room+1, 0.01), pkg, n, room+1, m.keys)
				}
			}
			if m.none {
				require.NoError(t, m.make(0, 0.01))
				require.NoError(t, os.RemoveAll(filepath.Join(dir, "f")))
				return
			}
			requireParam(t, m.make(0, 0.01), pkg, n, uint64(0), m.keys)
		})
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestAdvice: an error advises what a Go program can do instead, and only if that would work.
func TestAdvice(t *testing.T) {
	const growing, blockedIsLarger = "package growing needs no n", "package blocked has larger filters"
	size := func(n uint64, p float64) error { _, _, err := bloom.Size(n, p); return err }
	strict := func(n uint64, p float64) error { _, _, err := bloom.StrictSize(n, p); return err }
	blockedSize := func(n uint64, p float64) error { _, _, err := blocked.Size(n, p); return err }
	largest := form.Largest(func(n uint64) bool { return size(n, 1e-9) == nil })
	larger := ""
	if math.MaxInt > math.MaxInt32 { // the largest blocked filter is larger than a classic one
		larger = blockedIsLarger
	}
	for _, test := range []struct {
		err    error
		advice string
	}{
		{size(0, 0.01), growing},
		{size(1<<36, 0.01), larger},
		{size(1<<36, 1e-13), ""}, // a rate that package blocked refuses
		{size(1<<62, 0.01), ""},
		{size(100, 2), ""},
		{strict(largest, 1e-9), larger}, // only a StrictSize for so many keys is too large
		{blockedSize(0, 0.01), growing},
		{blockedSize(1<<62, 0.01), ""},
		{blockedSize(100, 2), ""},
	} {
		var bad *bloom.ParamError
		require.ErrorAs(t, test.err, &bad)
		require.Equal(t, test.advice, bad.Advice, "%v", test.err)
	}
}

// TestAdviceHolds: where the advice is a larger filter of package blocked, there is one.
func TestAdviceHolds(t *testing.T) {
	advised := 0
	for _, p := range []float64{
		1e-12, 1e-9, 1e-6, 1e-3, 0.01, 0.1, 0.3, 0.4, 0.43, 0.5, 0.7, 0.9, 0.99,
	} {
		largest := form.Largest(func(n uint64) bool {
			_, _, err := bloom.Size(n, p)
			return err == nil
		})
		for n := float64(largest) + 1; n < 200*float64(largest); n *= 1.1 {
			_, _, err := bloom.Size(uint64(n), p)
			var bad *bloom.ParamError
			require.ErrorAs(t, err, &bad)
			if bad.Advice == "" {
				continue
			}
			advised++
			_, _, err = blocked.Size(uint64(n), p)
			require.NoError(t, err, "n = %v, p = %v", n, p)
		}
	}
	require.Equal(t, math.MaxInt > math.MaxInt32, advised > 0)
}

// other is a call with a parameter, which is no rate and no number of keys, out of range.
type other struct {
	name  string
	make  func() error
	param string
	value any
	bound string
}

// paramCalls makes calls that take parameters. The string is the path of a file that does not exist.
type paramCalls string

func (path paramCalls) win(change func(c *window.Config)) func() error {
	return func() error {
		c := window.Config{N: 100, P: 0.01, Span: time.Hour}
		change(&c)
		_, err := window.New(c)
		_, loaded := window.LoadOrNew(string(path), c)
		_, sized := c.SizeBytes()
		return same(err, loaded, sized)
	}
}

func (path paramCalls) flow(c flower.Config) func() error {
	return func() error {
		_, err := flower.New(c)
		_, loaded := flower.LoadOrNew(string(path), c)
		return same(err, loaded)
	}
}

func (paramCalls) guarded(c guard.Config) func() error {
	c.P, c.Load = 0.01, nothing
	return func() error {
		_, err := guard.New(c)
		return err
	}
}

func (path paramCalls) sized(m uint64, k int) func() error {
	return func() error {
		_, err := bloom.NewSize(m, k)
		_, loaded := bloom.LoadOrNewSize(string(path), m, k)
		return same(err, loaded)
	}
}

func (path paramCalls) banked(m uint64, k int) func() error {
	return func() error {
		_, err := bank.NewSize(m, k)
		_, loaded := bank.LoadOrNewSize(string(path), m, k)
		return same(err, loaded)
	}
}

func (paramCalls) lined(m uint64, lines int) func() error {
	return func() error {
		_, err := blocked.NewSize(m, lines)
		return err
	}
}

func (paramCalls) words(words, k int) func() error {
	return func() error {
		_, err := bloom.NewWords(make([]uint64, words), k)
		return err
	}
}

func (paramCalls) recall(recall float64) func() error {
	return func() error {
		_, err := flower.Optimal(100, recall, 0.01)
		return err
	}
}

func (paramCalls) folded(d int) func() error {
	return func() error {
		_, err := bloom.Must(bloom.NewSize(64*6, 1)).Fold(d)
		return err
	}
}

func (paramCalls) foldedBlocks(d int) func() error {
	return func() error {
		_, err := bloom.Must(blocked.NewSize(256*6, 1)).Fold(d)
		return err
	}
}

// info also saves a file, unless i is out of range.
func (path paramCalls) info(i bloom.Info) func() error {
	return func() error {
		f := bloom.Must(bloom.New(100, 0.01))
		f.UpdateInfo(func(about *bloom.Info) { *about = i })
		return same(i.Check(), f.SaveFile(string(path)))
	}
}

func (paramCalls) run(ctx context.Context, interval time.Duration) func() error {
	return func() error {
		f := bloom.Must(bloom.New(100, 0.01))
		publisher := replica.NewPublisher(func() *bloom.Filter { return f })
		return publisher.Run(ctx, interval)
	}
}

func others(dir string) []other {
	call := paramCalls(filepath.Join(dir, "f"))
	const (
		hashes = "outside [1, 255]"
		bits   = "outside [1, #]"
		six    = "not a divisor of the filter's 6 words"
		blocks = "not a divisor of the filter's 6 blocks"
		slots  = "outside [2, #] for 2 ways of 16 bits"
		spans  = "outside [7ms, 36 years)"
	)
	return []other{
		{"bloom.NewWithStrategy", func() error {
			_, err := bloom.NewWithStrategy(2, 100, 0.01)
			return err
		}, "strategy", uint8(2), "neither Mitz32 nor Mitz64"},
		{"bloom.NewSize", call.sized(0, 1), "m", uint64(0), bits},
		{"bloom.NewSize", call.sized(math.MaxUint64, 1), "m", uint64(math.MaxUint64), bits},
		{"bloom.NewSize", call.sized(64, 0), "k", 0, hashes},
		{"bloom.NewSize", call.sized(64, -1), "k", -1, hashes},
		{"bloom.NewSize", call.sized(1024, 256), "k", 256, hashes},
		{"bloom.NewSize", call.sized(1024, math.MinInt), "k", math.MinInt, hashes},
		{"bloom.NewSize", call.sized(7, 64), "k", 64, "more than m = 7"},
		{"bloom.NewWords", call.words(0, 1), "len(words)", 0, bits},
		{"bloom.NewWords", call.words(1, 0), "k", 0, hashes},
		{"bloom.NewWords", call.words(9, 256), "k", 256, hashes},
		{"bloom.Fold", call.folded(0), "d", 0, six},
		{"bloom.Fold", call.folded(-1), "d", -1, six},
		{"bloom.Fold", call.folded(4), "d", 4, six},
		{"bloom.Fold", call.folded(math.MaxInt), "d", math.MaxInt, six},
		{"bloom.Info", call.info(bloom.Info{P: 1}), "Info.P", 1.0, "outside [0, 1)"},
		{"bloom.Info", call.info(bloom.Info{P: math.NaN()}), "Info.P", math.NaN(), "outside [0, 1)"},
		{"bloom.Info", call.info(bloom.Info{P: -1}), "Info.P", -1.0, "outside [0, 1)"},
		{"bloom.Info", call.info(bloom.Info{Hash: strings.Repeat("h", 256)}),
			"len(Info.Hash)", 256, "more than 255"},
		{"bloom.Info", call.info(bloom.Info{Comment: "\xff"}), "Info.Comment", "\xff", "not UTF-8"},
		{"bloom.Info", call.info(bloom.Info{Meta: "b=1&a=1"}),
			"Info.Meta", "b=1&a=1", "not what url.Values.Encode returns"},
		{"blocked.NewSize", call.lined(0, 1), "m", uint64(0), bits},
		{"blocked.NewSize", call.lined(math.MaxUint64, 1), "m", uint64(math.MaxUint64), bits},
		{"blocked.NewSize", call.lined(256, 0), "lines", 0, "outside [1, 4]"},
		{"blocked.NewSize", call.lined(256, -1), "lines", -1, "outside [1, 4]"},
		{"blocked.NewSize", call.lined(256, 5), "lines", 5, "outside [1, 4]"},
		{"blocked.Fold", call.foldedBlocks(0), "d", 0, blocks},
		{"blocked.Fold", call.foldedBlocks(-1), "d", -1, blocks},
		{"blocked.Fold", call.foldedBlocks(math.MaxInt), "d", math.MaxInt, blocks},
		{"bank.NewSize", call.banked(0, 1), "m", uint64(0), bits},
		{"bank.NewSize", call.banked(math.MaxUint64, 1), "m", uint64(math.MaxUint64), bits},
		{"bank.NewSize", call.banked(64, 0), "k", 0, hashes},
		{"bank.NewSize", call.banked(64, -1), "k", -1, hashes},
		{"bank.NewSize", call.banked(1024, 256), "k", 256, hashes},
		{"bank.NewSize", call.banked(7, 64), "k", 64, "more than m = 7"},
		{"window.New", call.win(func(c *window.Config) { c.Span = -1 }),
			"Span", time.Duration(-1), spans},
		{"window.New", call.win(func(c *window.Config) { c.Span = 1 }), "Span", time.Duration(1), spans},
		{"window.New", call.win(func(c *window.Config) { c.Span = math.MaxInt64 }),
			"Span", time.Duration(math.MaxInt64), spans},
		{"window.New", call.win(func(c *window.Config) { c.Generations = -1 }),
			"Generations", -1, "outside [0, 31]"},
		{"window.New", call.win(func(c *window.Config) { c.Generations = 32 }),
			"Generations", 32, "outside [0, 31]"},
		{"flower.New", call.flow(flower.Config{Slots: 64, Ways: 2}), "Bits", 0, "not 8, 16 or 32"},
		{"flower.New", call.flow(flower.Config{Slots: 64, Ways: 2, Bits: -8}),
			"Bits", -8, "not 8, 16 or 32"},
		{"flower.New", call.flow(flower.Config{Slots: 64, Ways: 2, Bits: 64}),
			"Bits", 64, "not 8, 16 or 32"},
		{"flower.New", call.flow(flower.Config{Slots: 64, Bits: 8}), "Ways", 0, "outside [1, 64]"},
		{"flower.New", call.flow(flower.Config{Slots: 64, Ways: -1, Bits: 8}),
			"Ways", -1, "outside [1, 64]"},
		{"flower.New", call.flow(flower.Config{Slots: 99, Ways: 65, Bits: 8}),
			"Ways", 65, "outside [1, 64]"},
		{"flower.New", call.flow(flower.Config{Ways: 2, Bits: 16}), "Slots", uint64(0), slots},
		{"flower.New", call.flow(flower.Config{Slots: math.MaxUint64, Ways: 2, Bits: 16}),
			"Slots", uint64(math.MaxUint64), slots},
		{"flower.Optimal", call.recall(math.NaN()), "recall", math.NaN(), "outside (0, 1)"},
		{"flower.Optimal", call.recall(0), "recall", 0.0, "outside (0, 1)"},
		{"flower.Optimal", call.recall(-1), "recall", -1.0, "outside (0, 1)"},
		{"flower.Optimal", call.recall(1), "recall", 1.0, "outside (0, 1)"},
		{"flower.Optimal", call.recall(math.Inf(1)), "recall", math.Inf(1), "outside (0, 1)"},
		{"guard.New", call.guarded(guard.Config{Every: -1}), "Every", time.Duration(-1), "negative"},
		{"guard.New", call.guarded(guard.Config{Lag: -1}), "Lag", time.Duration(-1), "negative"},
		{"guard.New", call.guarded(guard.Config{Learn: -1}), "Learn", -1, "outside [0, #]"},
		{"guard.New", call.guarded(guard.Config{Learn: math.MaxInt}),
			"Learn", math.MaxInt, "outside [0, #]"},
		{"replica.Run", call.run(context.Background(), 0), "interval", time.Duration(0), "not positive"},
		{"replica.Run", call.run(context.Background(), -1),
			"interval", time.Duration(-1), "not positive"},
	}
}

// same returns the first of errs, or an error if they have different texts.
func same(errs ...error) error {
	for _, err := range errs {
		if fmt.Sprint(err) != fmt.Sprint(errs[0]) {
			return fmt.Errorf("the errors differ: %q", errs)
		}
	}
	return errs[0]
}

// TestParametersOutOfRange: whatever else is out of range has an error with its name, its value and
// its range, and no file is made.
func TestParametersOutOfRange(t *testing.T) {
	dir := t.TempDir()
	for _, o := range others(dir) {
		t.Run(fmt.Sprint(o.name, "/", o.param, "=", o.value), func(t *testing.T) {
			pkg, _, _ := strings.Cut(o.name, ".")
			requireParam(t, o.make(), pkg, o.param, o.value, o.bound)
		})
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestRatesInRange: the bounds of the range that an error names are its bounds.
func TestRatesInRange(t *testing.T) {
	bounds := regexp.MustCompile(`^outside ([[(])(\S+), (\S+)([])])$`)
	for _, m := range makers(t.TempDir()) {
		t.Run(m.name, func(t *testing.T) {
			pkg, _, _ := strings.Cut(m.name, ".")
			p := cmp.Or(m.p, "p")
			found := bounds.FindStringSubmatch(m.rates)
			least, errLeast := strconv.ParseFloat(found[2], 64)
			most, errMost := strconv.ParseFloat(found[3], 64)
			require.NoError(t, errors.Join(errLeast, errMost))
			if found[1] == "[" {
				require.NoError(t, m.make(100, least))
				below := math.Nextafter(least, 0)
				requireParam(t, m.make(100, below), pkg, p, below, m.rates)
			}
			if found[4] == "]" {
				require.NoError(t, m.make(100, most))
				above := math.Nextafter(most, 1)
				requireParam(t, m.make(100, above), pkg, p, above, m.rates)
			} else {
				require.NoError(t, m.make(100, 0.99*most))
			}
		})
	}
}

// TestParametersInRange: the values beside those that are refused are accepted.
func TestParametersInRange(t *testing.T) {
	dir := t.TempDir()
	call := paramCalls(filepath.Join(dir, "f"))
	file := paramCalls(filepath.Join(dir, "info"))
	win := func(span time.Duration, generations int) func() error {
		return call.win(func(c *window.Config) { c.Span, c.Generations = span, generations })
	}
	for name, make := range map[string]func() error{
		"bloom.NewSize m":     call.sized(1, 1),
		"bloom.NewSize k":     call.sized(1024, 255),
		"bloom.NewSize k = m": call.sized(7, 7),
		"bloom.NewWords":      call.words(1, 1),
		"bloom.NewWords k":    call.words(4, 255),
		"bank.NewSize m":      call.banked(1, 1),
		"bank.NewSize k":      call.banked(1024, 255),
		"bank.NewSize k = m":  call.banked(7, 7),
		"blocked.NewSize":     call.lined(1, 1),
		"blocked.NewSize 4":   call.lined(1, 4),
		"bloom Fold(1)":       call.folded(1),
		"bloom Fold(6)":       call.folded(6),
		"blocked Fold(1)":     call.foldedBlocks(1),
		"blocked Fold(6)":     call.foldedBlocks(6),
		"Span of 7 ms":        win(7*time.Millisecond, 0),
		"Span of 36 years":    win(1<<60-1, 0),
		"Span and 31":         win(1<<60-1, 31),
		"no Span":             win(0, 0),
		"1 generation":        win(time.Millisecond, 1),
		"31 generations":      win(31*time.Millisecond, 31),
		"1 way":               call.flow(flower.Config{Slots: 1, Ways: 1, Bits: 8}),
		"64 ways":             call.flow(flower.Config{Slots: 64, Ways: 64, Bits: 32}),
		"low recall":          call.recall(1e-9),
		"high recall":         call.recall(1 - 1e-9),
		"guard":               call.guarded(guard.Config{N: 1, Every: 1, Lag: 1, Learn: 1}),
		"Info.P":              file.info(bloom.Info{P: math.Nextafter(1, 0)}),
		"Info.Hash":           file.info(bloom.Info{Hash: strings.Repeat("h", 255)}),
	} {
		require.NoError(t, make(), name)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	require.Equal(t, context.Canceled, call.run(ended, 1)())
	require.Error(t, win(7*time.Millisecond-1, 0)())
	require.Error(t, win(1<<60, 0)())
	require.Error(t, win(31*time.Millisecond-1, 31)())
}

// TestLargestParametersAreDecoded: what can be made with the largest parameters can be loaded.
func TestLargestParametersAreDecoded(t *testing.T) {
	type form interface {
		encoding.BinaryMarshaler
		encoding.BinaryUnmarshaler
	}
	hashed := bloom.Must(bloom.NewSize(1024, 255))
	members := bloom.Must(bank.NewSize(1024, 255))
	bloom.Must(members.AppendFilter(hashed))
	win := func(renew bool) form {
		w := bloom.Must(window.New(window.Config{
			N: 100, P: 0.01, Span: 1<<60 - 1, Generations: 31, Renew: renew,
		}))
		w.AddString("key")
		return w
	}
	for name, f := range map[string]struct{ made, empty form }{
		"bloom": {hashed, new(bloom.Filter)},
		"bloom, Mitz32": {bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 2, 0x1p-255)),
			new(bloom.Filter)},
		"bank":           {members, new(bank.Bank)},
		"blocked":        {bloom.Must(blocked.NewSize(256, 4)), new(blocked.Filter)},
		"counting":       {bloom.Must(counting.New(2, 0x1p-255)), new(counting.Filter)},
		"cuckoo, lowest": {bloom.Must(cuckoo.New(100, 1e-9)), new(cuckoo.Filter)},
		"cuckoo":         {bloom.Must(cuckoo.New(100, 0.1)), new(cuckoo.Filter)},
		"growing":        {bloom.Must(growing.New(0, 1e-9)), new(growing.Filter)},
		"window":         {win(false), new(window.Filter)},
		"window, Renew":  {win(true), new(window.Filter)},
		"flower": {bloom.Must(flower.New(flower.Config{Slots: 64, Ways: 64, Bits: 32})),
			new(flower.Filter)},
	} {
		data := bloom.Must(f.made.MarshalBinary())
		require.NoError(t, f.empty.UnmarshalBinary(data), name)
		require.Equal(t, data, bloom.Must(f.empty.MarshalBinary()), name)
	}
	after := hashed.Clone()
	after.AddString("key")
	require.NoError(t, hashed.Patch(bloom.Must(bloom.Diff(hashed, after))))
	require.True(t, hashed.Equal(after))
}

// TestEachConstructorIsTried: the two tables above have each exported function that takes a number
// and returns an error.
func TestEachConstructorIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, m := range makers("") {
		tried[m.name] = true
	}
	for _, o := range others("") {
		tried[o.name] = true
		pkg, name, _ := strings.Cut(o.name, ".")
		// The calls of others try these, too.
		tried[pkg+"."+strings.Replace(name, "New", "LoadOrNew", 1)] = true
	}
	text, err := os.ReadFile(filepath.Join(root, "api/bloom.txt"))
	require.NoError(t, err)
	takesNumber := regexp.MustCompile(
		`(?m)^(?:bloom/)?([a-z]+): func (\w+)\(.*(?:uint64|float64|Config|int)\) .*error\)$`)
	found := takesNumber.FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(found), 25)
	for _, f := range found {
		require.True(t, tried[f[1]+"."+f[2]], "no row has %s.%s", f[1], f[2])
	}
}
