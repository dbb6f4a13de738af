package blocked

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// bytesOf returns the bits of f as Bitset does, for any number of lines.
func bytesOf(f *Filter) []byte {
	data := bloom.Must(f.MarshalBinary())
	return data[32 : len(data)-form.MinTrailer]
}

func TestBitset(t *testing.T) {
	f := bloom.Must(NewSize(300*256, 1))
	f.AddBatch(nil, filtertest.Digests(1, 1000))
	require.Equal(t, bytesOf(f), f.Bitset())
	g, err := NewBitset(f.Bitset())
	require.NoError(t, err)
	require.True(t, f.Equal(g))
	for _, size := range []int{0, 1, 31, 33, 100} {
		_, err := NewBitset(make([]byte, size))
		require.ErrorIs(t, err, bloom.ErrFormat)
	}
	require.Panics(t, func() { bloom.Must(NewSize(256, 2)).Bitset() })
	require.Empty(t, new(Filter).Bitset())
}

// TestEmptyKey: at every rate, the empty key, whose digest is 0, 0, is a false positive as often as
// any other key. The filters hold five times as many keys as they were made for. Their rate is then
// so high that few filters suffice to measure it.
func TestEmptyKey(t *testing.T) {
	const (
		filters = 1000
		keys    = 100
	)
	for p := 1e-2; p > 0.9e-12; p /= 10 {
		found, want := 0, 0.0
		for seed := range uint64(filters) {
			f := bloom.Must(New(keys, p))
			f.AddBatch(nil, filtertest.Digests(seed, 5*keys))
			if f.ContainsString("") {
				found++
			}
			want += f.Stats().FPR / filters
		}
		require.InDelta(t, filters*want, found, filtertest.RateBound(filters, want)-filters*want,
			"p = %g", p)
	}
}
