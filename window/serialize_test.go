package window

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// small returns a filter of two live generations with a key in each.
func small(hand *testkit.Clock) *Filter {
	f := bloom.Must(New(Config{Capacity: 4, FPR: 0.01, Span: time.Hour, Generations: 2, Now: hand.Now}))
	hand.Advance(5 * time.Hour)
	f.AddString("old")
	hand.Advance(30 * time.Minute)
	f.AddString("new")
	return f
}

// TestEncoding has decoded copies age with the original.
func TestEncoding(t *testing.T) {
	for _, n := range []uint64{100, 60_000} {
		var hand testkit.Clock
		c := Config{Capacity: n, FPR: 0.01, Span: 24 * time.Hour, Generations: 24, Now: hand.Now}
		f := bloom.Must(New(c))
		unused := fill(f, &hand, c)
		for i := range n / 4 {
			f.AddHash(bloom.SumUint64(unused + i))
		}
		data := bloom.Must(f.MarshalBinary())
		path := filepath.Join(t.TempDir(), "window")
		require.NoError(t, f.SaveFile(path))
		copies := map[string]*Filter{}
		for _, name := range []string{"binary", "file"} {
			copies[name] = bloom.Must(New(Config{Capacity: 7, FPR: 0.5, Span: time.Second, Generations: 1, Now: hand.Now}))
		}
		require.NoError(t, copies["binary"].UnmarshalBinary(data))
		bloom.Must(form.LoadFile(form.Window, path, copies["file"]))

		for name, copied := range copies {
			want, got := f.Config(), copied.Config()
			want.Now, got.Now = nil, nil
			require.Equal(t, want, got, name)
		}
		for range 27 {
			want := bloom.Must(f.MarshalBinary())
			for name, copied := range copies {
				require.True(t, bytes.Equal(want, bloom.Must(copied.MarshalBinary())), name)
			}
			for i := uint64(0); i < unused+n; i += n / 100 {
				h := bloom.SumUint64(i)
				require.Equal(t, f.ContainsHash(h), copies["binary"].ContainsHash(h))
			}
			hand.Advance(time.Hour)
		}
		require.Zero(t, copies["binary"].FPR())
	}
}

// TestEncodingMoves encodes while keys are added in later generations. The older
// generation's form must not show them in its own columns.
func TestEncodingMoves(t *testing.T) {
	for _, test := range []struct {
		generations int
		step        time.Duration // of time, at each piece written
	}{{15, 24 * time.Hour / 15}, {24, time.Hour}, {15, 7 * 24 * time.Hour}, {24, 25*time.Hour + 1}} {
		t.Run(fmt.Sprintf("generations=%d/step=%v", test.generations, test.step), func(t *testing.T) {
			var hand testkit.Clock
			c := Config{Capacity: 100000, FPR: 0.01, Span: 24 * time.Hour, Generations: test.generations, Now: hand.Now}
			f := bloom.Must(New(c))
			unused := fill(f, &hand, c)
			before := bloom.Must(f.MarshalBinary())
			var out bytes.Buffer
			pieces := 0
			_, err := f.WriteTo(writerFunc(func(p []byte) (int, error) {
				pieces++
				hand.Advance(test.step)
				for range 2000 {
					f.AddHash(bloom.SumUint64(unused))
					unused++
				}
				return out.Write(p)
			}))
			require.NoError(t, err)
			require.Greater(t, pieces, 3)
			require.NoError(t, new(Filter).UnmarshalBinary(out.Bytes()))
			const start = 8 + 8*10
			require.Equal(t, before[:start], out.Bytes()[:start])
			kept := 0
			for i := start; i < len(before)-form.MinTrailer; i++ {
				if out.Bytes()[i]&^before[i] != 0 {
					t.Fatalf("byte %d has bits of a later generation", i)
				}
				kept += bits.OnesCount8(out.Bytes()[i])
			}
			require.NotZero(t, kept)
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestRestored restores on the system's time what was encoded an hour ago.
func TestRestored(t *testing.T) {
	start := time.Now().Add(-3 * time.Hour)
	now := start
	f := bloom.Must(New(Config{Capacity: 1000, FPR: 1e-9, Span: 90 * time.Minute,
		Now: func() time.Time { return now }}))
	now = start.Add(time.Hour)
	f.AddString("two hours ago")
	now = start.Add(2 * time.Hour)
	f.AddString("an hour ago")
	require.True(t, f.ContainsString("two hours ago"))
	data := bloom.Must(f.MarshalBinary())

	var restored Filter
	require.NoError(t, restored.UnmarshalBinary(data))
	require.False(t, restored.ContainsString("two hours ago"))
	require.True(t, restored.ContainsString("an hour ago"))
	require.True(t, restored.AddString("now"))
	require.Nil(t, restored.Config().Now)

	// A receiver keeps its own Now.
	now = start.Add(4 * time.Hour)
	require.NoError(t, f.UnmarshalBinary(data))
	require.False(t, f.ContainsString("an hour ago"))
}

// TestLoadOrNew finds a window with the same Config only. Its keys are as old as the Now of the
// Config says.
func TestLoadOrNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "window")
	var hand testkit.Clock
	c := Config{Capacity: 1000, FPR: 0.01, Span: time.Hour, Now: hand.Now}
	f := bloom.Must(New(c))
	f.AddString("key")
	require.NoError(t, f.SaveFile(path))
	c.Generations = defaultGenerations
	f = bloom.Must(LoadOrNew(path, c))
	require.True(t, f.ContainsString("key"))
	hand.Advance(2 * time.Hour)
	require.False(t, f.ContainsString("key"))

	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Capacity = 2000 }, "Capacity = 1000, not 2000:"},
		{func(c *Config) { c.FPR = 0.001 }, "FPR = 0.01, not 0.001:"},
		{func(c *Config) { c.Span = 24 * time.Hour }, "Span = 1h0m0s, not 24h0m0s:"},
		{func(c *Config) { c.Generations = 7 }, "Generations = 15, not 7:"},
		{func(c *Config) { c.Capacity, c.Span = 1, time.Minute }, "Capacity = 1000, not 1, Span = 1h0m0s, not 1m0s:"},
	} {
		other := c
		test.change(&other)
		_, err := LoadOrNew(path, other)
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.ErrorContains(t, err, "window: the filter has "+test.want)
	}
	_, err := LoadOrNew(path, Config{})
	require.ErrorContains(t, err, "window: Capacity = 0 ")
}

// TestParams changes one parameter at a time, under a valid checksum.
func TestParams(t *testing.T) {
	good := [10]uint64{uint64(time.Hour), 24, 8, 2, 8192, 1e9, 5, 7, 1000, math.Float64bits(0.01)}
	words, err := checkParams(good[:])
	require.NoError(t, err)
	require.EqualValues(t, 8192, words)
	for i, values := range [10][]uint64{
		paramSpan:      {0, uint64(24*time.Millisecond) - 1, 1 << 63, math.MaxUint64},
		paramGens:      {0, 64, 1 << 63, math.MaxUint64},
		paramK:         {0, 1, 9, 256, 1 << 63},
		paramBlocks:    {0, form.MaxFrameWords/4096 + 1, 1 << 63, math.MaxUint64},
		paramLanes:     {0, 1, 8190, 8193, 16386, 1 << 32, math.MaxUint64},
		paramEpochNano: {1e9, math.MaxUint64},
		paramGen:       {1 << 63, math.MaxUint64},
		paramCapacity:  {0},
		paramFPR:       {0, math.Float64bits(1), math.Float64bits(math.NaN()), math.MaxUint64},
	} {
		for _, value := range values {
			bad := good
			bad[i] = value
			var f Filter
			for _, n := range []int{0, 8192, 16386} {
				err := f.UnmarshalBinary(bloom.Must(form.Window.Append(nil, bad[:], testkit.Words(n), form.Info{})))
				require.ErrorIs(t, err, bloom.ErrFormat, "parameter %d = %d", i, value)
				require.False(t, f.ContainsString("key"))
			}
		}
	}
	good[paramBlocks] = form.MaxFrameWords / 4096
	words, err = checkParams(good[:])
	require.NoError(t, err)
	require.EqualValues(t, form.MaxFrameWords/4096*4096, words)
}

func FuzzFilter(f *testing.F) {
	var hand testkit.Clock
	good := bloom.Must(small(&hand).MarshalBinary())
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{})
	f.Add(bloom.Must(form.Window.Append(nil, []uint64{1, 1, 2, 1, 8, math.MaxUint64, 0, math.MaxInt64, 1000, math.Float64bits(0.01)}, testkit.Words(1), form.Info{})))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := new(Filter).UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
		}
		data = testkit.Sealed(data)
		var w Filter
		if err := w.UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.True(t, w.zero())
			return
		}
		w.clock.now, w.clock.coarse = hand.Now, false
		w.AddString("key")
		require.True(t, w.ContainsString("key"))
		require.NoError(t, new(Filter).UnmarshalBinary(bloom.Must(w.MarshalBinary())))
	})
}
