package bloom

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestViewOfGuavaFilters(t *testing.T) {
	for _, vector := range jsonVectors[filterVector](t, "filters.json") {
		v, err := NewView(vector.Bytes)
		require.NoError(t, err)
		require.Equal(t, vector.Strategy, v.Strategy())
		require.Equal(t, vector.K, v.K())
		require.Equal(t, vector.BitSize, v.M())
		for i, h := range vector.hashAll(t, vector.Probes) {
			require.Equal(t, vector.MightContain[i], v.ContainsHash(h), "%v: %s", vector, vector.Probes[i])
		}
	}
}

func TestViewAcceptsWhatUnmarshalBinaryDoes(t *testing.T) {
	for _, vector := range jsonVectors[struct{ Name, Input string }](t, "hostile.json") {
		input, err := base64.StdEncoding.DecodeString(vector.Input)
		require.NoError(t, err)
		want := new(Filter).UnmarshalBinary(input)
		v, err := NewView(input)
		require.Equal(t, want, err, vector.Name)
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			require.Nil(t, v)
		}
	}
}

// TestViewAnswersAsFilter takes filters about half full, so that about every
// other probed bit tells a wrong index from the right one.
func TestViewAnswersAsFilter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, strategy := range []Strategy{Mitz32, Mitz64} {
		for _, m := range []uint64{64, 128, 640, 4096, 64 * 1021, 1 << 20} {
			for _, k := range []int{1, 2, 7, 30} {
				f, err := newFilter(strategy, m, k)
				require.NoError(t, err)
				for range m / uint64(k) {
					f.AddHash(NewHash(rnd.Uint64(), rnd.Uint64()))
				}
				data, err := f.MarshalBinary()
				require.NoError(t, err)
				v, err := NewView(data)
				require.NoError(t, err)
				for range 1000 {
					h := NewHash(rnd.Uint64(), rnd.Uint64())
					require.Equal(t, f.ContainsHash(h), v.ContainsHash(h), "%v m=%d k=%d %v", strategy, m, k, h)
				}
			}
		}
	}
}

func TestViewKeys(t *testing.T) {
	f := Must(New(1000, 1e-9))
	for i := range 1000 {
		f.AddString(fmt.Sprint("in ", i))
	}
	data, err := f.MarshalBinary()
	require.NoError(t, err)
	v, err := NewView(data)
	require.NoError(t, err)
	for i := range 1000 {
		in, out := fmt.Sprint("in ", i), fmt.Sprint("out ", i)
		require.True(t, v.ContainsString(in) && v.Contains([]byte(in)) && v.ContainsHash(SumString(in)), in)
		require.False(t, v.ContainsString(out) || v.Contains([]byte(out)) || v.ContainsHash(SumString(out)), out)
	}
}

func TestViewAllocates(t *testing.T) {
	f := Must(New(1000, 0.01))
	f.AddString("https://example.org/")
	data, err := f.MarshalBinary()
	require.NoError(t, err)
	v, err := NewView(data)
	require.NoError(t, err)
	key := []byte("https://example.org/")
	assert.Zero(t, testing.AllocsPerRun(100, func() { v.Contains(key) }))
	assert.Zero(t, testing.AllocsPerRun(100, func() { v.ContainsString("https://example.org/") }))
	assert.Zero(t, testing.AllocsPerRun(100, func() { v.ContainsHash(NewHash(1, 2)) }))
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = NewView(data) }), 1.0)
}

func TestZeroView(t *testing.T) {
	var v View
	assert.False(t, v.Contains(nil))
	assert.False(t, v.ContainsString("a"))
	assert.False(t, v.ContainsHash(Hash{}))
	assert.Zero(t, v.M())
	assert.Zero(t, v.K())
	assert.Zero(t, v.SizeBytes())
}

func BenchmarkViewContains(b *testing.B) {
	f := Must(New(1e5, 0.01))
	for i := range uint64(1e5) {
		f.AddHash(SumUint64(i))
	}
	data, err := f.MarshalBinary()
	require.NoError(b, err)
	v, err := NewView(data)
	require.NoError(b, err)
	for _, hit := range []bool{true, false} {
		b.Run(fmt.Sprintf("n=1e5/p=0.01/hit=%v", hit), func(b *testing.B) {
			var i uint64
			for b.Loop() {
				h := SumUint64(i % 1e5)
				if !hit {
					h = SumUint64(i + 1e6)
				}
				v.ContainsHash(h)
				i++
			}
		})
	}
}
