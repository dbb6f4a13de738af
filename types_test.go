package bloom_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/window"
)

// TestPromises tests what all types promise on those of package bloom. The other packages do so
// themselves.
func TestPromises(t *testing.T) {
	load := func(path string) (filtertest.Filter, error) { return bloom.LoadFile(path) }
	f := bloom.Must(bloom.New(10, 0.1))
	sync := bloom.NewSyncFrom(f)
	sync.AddString("of the copy")
	f.AddString("of the original")
	require.False(t, f.ContainsString("of the copy") || sync.ContainsString("of the original"))
	require.PanicsWithValue(t, "bloom: NewSyncFrom a nil Filter", func() { bloom.NewSyncFrom(nil) })
	for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		t.Run(s.String(), func(t *testing.T) {
			plain := func() *bloom.Filter { return bloom.Must(bloom.NewWithStrategy(s, 5000, 0.01)) }
			var loadOrNew func(string, float64) (filtertest.Filter, error)
			if s == bloom.Mitz64 {
				loadOrNew = func(path string, p float64) (filtertest.Filter, error) { return bloom.LoadOrNew(path, 5000, p) }
			}
			others := map[string]func(string) (filtertest.Filter, error){
				"n": func(path string) (filtertest.Filter, error) { return bloom.LoadOrNew(path, 6000, 0.01) },
				"p": func(path string) (filtertest.Filter, error) { return bloom.LoadOrNew(path, 5000, 0.0099) },
				"m": func(path string) (filtertest.Filter, error) { return bloom.LoadOrNewSize(path, 48000, 7) },
				"k": func(path string) (filtertest.Filter, error) { return bloom.LoadOrNewSize(path, 47936, 8) },
			}
			filtertest.Test(t, filtertest.Type{
				Name: "bloom.Filter",
				Make: func() filtertest.Filter { return plain() },
				Zero: func() filtertest.Filter { return new(bloom.Filter) },
				Load: load, LoadOrNew: loadOrNew, Others: others,
				Open: func(path string) (filtertest.View, error) { return bloom.OpenFile(path) },
			}, filtertest.Type{
				Name: "bloom.SyncFilter",
				Make: func() filtertest.Filter { return bloom.NewSyncFrom(plain()) },
				Zero: func() filtertest.Filter { return new(bloom.SyncFilter) },
				Load: load, LoadOrNew: loadOrNew, Others: others,
				Snapshot: func(f filtertest.Filter) filtertest.Filter { return f.(*bloom.SyncFilter).Snapshot() },
			})
		})
	}
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
}

// TestOtherTypes: another type's file is refused by name.
func TestOtherTypes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for pkg, f := range map[string]interface{ SaveFile(path string) error }{
		"bloom": bloom.Must(bloom.New(10, 0.1)), "blocked": bloom.Must(blocked.New(10, 0.1)),
		"counting": bloom.Must(counting.New(10, 0.1)), "growing": bloom.Must(growing.New(0, 0.1)),
		"cuckoo": bloom.Must(cuckoo.New(10, 0.1)),
		"window": bloom.Must(window.New(window.Config{N: 10, P: 0.1, Span: time.Hour})),
		"flower": bloom.Must(flower.New(flower.Config{Slots: 10, Ways: 2, Bits: 8})), "bank": bloom.Must(bank.New(10, 0.1)),
	} {
		require.NoError(t, f.SaveFile(path))
		for other, load := range map[string]func() error{
			"bloom":    func() error { _, err := bloom.LoadFile(path); return err },
			"blocked":  func() error { _, err := blocked.LoadFile(path); return err },
			"counting": func() error { _, err := counting.LoadFile(path); return err },
			"cuckoo":   func() error { _, err := cuckoo.LoadFile(path); return err },
			"growing":  func() error { _, err := growing.LoadFile(path); return err },
			"window":   func() error { _, err := window.LoadFile(path); return err },
			"flower":   func() error { _, err := flower.LoadFile(path); return err },
			"bank":     func() error { _, err := bank.LoadFile(path); return err },
		} {
			if err := load(); other != pkg {
				require.ErrorIs(t, err, bloom.ErrFormat)
				require.Regexp(t, "^"+other+": .*it (is|seems to be) a "+pkg+`\.(Filter|Bank)`, err.Error())
			}
		}
	}
}

// TestPortable does without assembly, and without the better of its forms.
func TestPortable(t *testing.T) {
	filtertest.Without(t, "avx512vbmi2", "^Test(Sum|SumBatch|FilterPlain)$")
	filtertest.Without(t, "avx512f", "^Test(Sum|SumBatch|FilterPlain)$")
	filtertest.Without(t, "avx2", "^Test(Promises|Indivisible|FilterPlain|Sum|SumBatch|SumUTF16|Views?.*|Operations)$")
}
