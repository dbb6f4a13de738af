package blocked

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/bits"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestForms passes a filter through every form.
func TestForms(t *testing.T) {
	for lines := 1; lines <= maxLines; lines++ {
		f := bloom.Must(NewSize(100*256, lines))
		f.AddBatch(nil, testkit.Digests[bloom.Hash](1, 500))
		same := func(g *Filter) {
			t.Helper()
			require.True(t, f.Equal(g))
			require.Equal(t, f.fast, g.fast)
		}
		data, err := f.MarshalBinary()
		require.NoError(t, err)
		require.EqualValues(t, len(data), f.SizeBytes())
		var out bytes.Buffer
		n, err := f.WriteTo(&out)
		require.NoError(t, err)
		require.EqualValues(t, len(data), n)
		require.Equal(t, data, out.Bytes())

		out.WriteString("rest")
		var g, i Filter
		n, err = g.ReadFrom(&out)
		require.NoError(t, err)
		require.EqualValues(t, len(data), n)
		require.Equal(t, "rest", out.String())
		same(&g)

		path := filepath.Join(t.TempDir(), "filter")
		require.NoError(t, f.SaveFile(path))
		loaded, err := LoadFile(path)
		require.NoError(t, err)
		same(loaded)

		require.NoError(t, i.UnmarshalBinary(data))
		same(&i)
		same(f.Clone())
	}
	require.Equal(t, "blocked.Filter(m=512, lines=2)", fmt.Sprint(bloom.Must(NewSize(512, 2))))
}

// TestLoadOrNew: a file that is there is loaded, unless its parameters are others. Its Info
// stays.
func TestLoadOrNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := LoadOrNew(path, 1000, 1e-5)
	require.NoError(t, err)
	require.Equal(t, bloom.Info{N: 1000, P: 1e-5}, f.Info())
	m, lines, err := Size(1000, 1e-5)
	require.NoError(t, err)
	require.NoError(t, f.fits(m, lines))
	f.AddString("key")
	f.SetInfo(bloom.Info{Hash: "SumString"})
	require.NoError(t, f.SaveFile(path))
	f, err = LoadOrNew(path, 1000, 1e-5)
	require.NoError(t, err)
	require.True(t, f.ContainsString("key"))
	require.Equal(t, bloom.Info{Hash: "SumString"}, f.Info())
	require.Equal(t, f.Info(), f.Clone().Info())

	g := bloom.Must(New(1000, 1e-5))
	g.SetInfo(bloom.Info{Hash: "HashFrom"})
	for _, err := range []error{f.Merge(g), f.Intersect(g), NewSyncFrom(f).Merge(g)} {
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.EqualError(t, err, "blocked: filters differ in hash: SumString and HashFrom")
	}

	_, err = LoadOrNew(path, 1000, 1e-2)
	require.ErrorIs(t, err, bloom.ErrMismatch)
	require.Regexp(t, "^blocked: filters differ in m: .*"+path, err.Error())
	_, err = LoadOrNew(filepath.Join(path+"-missing", "f"), 1000, 1e-5)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = LoadOrNew(path, 1000, 2)
	require.EqualError(t, err, "blocked: p = 2 is outside (0, 1)")
	_, _, err = Size(1000, 1e-13)
	require.EqualError(t, err, "blocked: p = 1e-13 is below 1e-12: use bloom.New")
}

// TestReserved refuses what a later version may give a meaning.
func TestReserved(t *testing.T) {
	for want, params := range map[string][]uint64{
		"blocked: invalid format: block count 0 is outside [1, 34359738368]":           {0, 1, 0},
		"blocked: invalid format: block count 34359738369 is outside [1, 34359738368]": {1<<35 + 1, 1, 0},
		"blocked: invalid format: lines = 0 is outside [1, 4]":                         {1, 0, 0},
		"blocked: invalid format: lines = 5 is outside [1, 4]":                         {1, 5, 0},
		"blocked: invalid format: reserved parameter 1 is not zero":                    {1, 1, 1},
	} {
		err := new(Filter).UnmarshalBinary(bloom.Must(form.Blocked.Append(nil, params, make([]uint64, 4), form.Info{})))
		require.ErrorIs(t, err, bloom.ErrFormat)
		if bits.UintSize == 64 {
			require.EqualError(t, err, want)
		}
	}
	words, err := checkParams([]uint64{maxBlocks, 1, 0})
	require.NoError(t, err)
	require.EqualValues(t, uint64(maxBlocks*blockWords), words)
}

func FuzzFilter(f *testing.F) {
	for _, lines := range []int{1, 3} {
		b := bloom.Must(NewSize(512, lines))
		b.AddString("key")
		f.Add(bloom.Must(b.MarshalBinary()))
	}
	f.Add([]byte{})
	f.Add(bloom.Must(form.Blocked.Append(nil, []uint64{maxBlocks}, testkit.Words(4), form.Info{})))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := new(Filter).UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
		}
		data = testkit.Sealed(data)
		var b, c Filter
		err := b.UnmarshalBinary(data)
		n, errFrom := c.ReadFrom(bytes.NewReader(data))
		if err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.Empty(t, b.words)
			require.True(t, errFrom != nil || n < int64(len(data)))
			return
		}
		require.NoError(t, errFrom)
		require.True(t, b.Equal(&c))
		if data[4] == 2 { // version 1 is not written any more
			require.Equal(t, data, bloom.Must(b.MarshalBinary()))
		}
		b.Contains(data)
		b.Add(data)
		require.True(t, b.Contains(data))
		b.ApproxCount()
		b.FPR()
	})
}
