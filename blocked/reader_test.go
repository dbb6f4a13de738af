package blocked_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestReader: a Reader answers as the filter does, in one request for nearly every absent key,
// and in one for each line of a present key.
func TestReader(t *testing.T) {
	const n = 200_000
	hs := filtertest.Digests(1, 2*n)
	for lines := 1; lines <= 4; lines++ {
		f := bloom.Must(blocked.NewSize(12*n*uint64(lines), lines))
		f.UpdateInfo(func(i *bloom.Info) {
			i.N = n
			i.P = 0.01
			i.Hash = "h"
			i.Comment = string(make([]byte, 4096))
		})
		f.AddBatch(nil, hs[:n])
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, f.SaveFile(path))
		s := &filtertest.Store{Data: bloom.Must(os.ReadFile(path))}
		r, err := blocked.NewReader(s, int64(len(s.Data)))
		require.NoError(t, err)
		require.Len(t, s.Asked(), 2)
		require.Equal(t, f.Info(), r.Info())

		want, got := make([]bool, 2*n), make([]bool, 2*n)
		f.ContainsBatch(want, hs)
		for i := n - 500; i < n+500; i++ {
			found, err := r.ContainsHash(hs[i])
			require.NoError(t, err)
			require.Equal(t, want[i], found)
			if i == n-1 {
				require.InDelta(t, 0.95*500*float64(lines), len(s.Asked()), 0.05*500*float64(lines),
					"for 500 present keys, some with near lines")
			}
		}
		asked := s.Asked()
		require.Equal(t, 32, asked[0])
		require.Less(t, len(asked), 550, "for 500 absent keys")
		require.NoError(t, r.ContainsBatch(got[n-10_000:], hs[n-10_000:][:20_000]))
		require.True(t, slices.Equal(want[n-10_000:][:20_000], got[n-10_000:][:20_000]))
		require.LessOrEqual(t, len(s.Asked()), min(lines, 3)*(len(s.Data)>>18+1),
			"all ranges are near, in at most three rounds")

		found, err := r.ContainsString("a")
		require.NoError(t, err)
		require.Equal(t, f.ContainsString("a"), found)
		found, err = r.Contains([]byte("a"))
		require.NoError(t, err)
		require.Equal(t, f.ContainsString("a"), found)
	}
}

// TestReaderErrors: a failure is an error, and not the answer that a key is absent.
func TestReaderErrors(t *testing.T) {
	f := bloom.Must(blocked.New(100, 1e-6))
	f.AddString("a")
	down := errors.New("down")
	data := bloom.Must(f.MarshalBinary())
	for fails := 1; fails <= 2; fails++ {
		_, err := blocked.NewReader(&filtertest.Store{Data: data, Err: down, Fails: fails},
			int64(len(data)))
		require.ErrorIs(t, err, down)
		require.NotErrorIs(t, err, bloom.ErrFormat)
	}
	r := bloom.Must(blocked.NewReader(&filtertest.Store{Data: data, Err: down, Fails: 3},
		int64(len(data))))
	found := []bool{false, false}
	require.ErrorIs(t, r.ContainsBatch(found,
		[]bloom.Hash{bloom.SumString("b"), bloom.SumString("a")}), down)
	require.Equal(t, []bool{true, true}, found, "a key that could not be looked up may be there")
	answer, err := r.ContainsString("b")
	require.Error(t, err)
	require.True(t, answer)
	require.Panics(t, func() { r.ContainsBatch(nil, make([]bloom.Hash, 1)) })
	for size := range data {
		_, err := blocked.NewReader(&filtertest.Store{Data: data}, int64(size))
		require.ErrorIs(t, err, bloom.ErrFormat)
	}
}

// On error, a Reader says that the key may be there.
func TestReaderWithoutAnswer(t *testing.T) {
	f := bloom.Must(blocked.New(1000, 1e-6))
	file := bloom.Must(f.MarshalBinary())
	store := &cutReader{bytes.NewReader(file)}
	cut := bloom.Must(blocked.NewReader(store, int64(len(file))))
	store.ReaderAt = bytes.NewReader(file[:10])
	for name, r := range map[string]*blocked.Reader{"zero": {}, "file is cut": cut} {
		t.Run(name, func(t *testing.T) {
			for method, call := range map[string]func() (bool, error){
				"Contains":       func() (bool, error) { return r.Contains([]byte("a")) },
				"ContainsString": func() (bool, error) { return r.ContainsString("a") },
				"ContainsHash":   func() (bool, error) { return r.ContainsHash(bloom.SumString("a")) },
			} {
				found, err := call()
				require.True(t, found, method)
				require.Error(t, err, method)
			}
			found := make([]bool, 3)
			require.Error(t, r.ContainsBatch(found, make([]bloom.Hash, 2)))
			require.Equal(t, []bool{true, true, false}, found, "ContainsBatch")
		})
	}
}

// A Reader and a View describe themselves without a look at the bits.
func TestReaderFigures(t *testing.T) {
	f := bloom.Must(blocked.NewSize(256*100, 2))
	f.AddString("a")
	file := bloom.Must(f.MarshalBinary())
	r := bloom.Must(blocked.NewReader(bytes.NewReader(file), int64(len(file))))
	require.Equal(t, "blocked.Reader(m=25600, lines=2)", r.String())
	require.Equal(t, r.String(), r.LogValue().String())
	v := bloom.Must(blocked.NewView(file))
	require.Equal(t, v.String(), v.LogValue().String())
}

// cutReader is a file that may change.
type cutReader struct{ io.ReaderAt }
