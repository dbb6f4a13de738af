package flower

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

func small() *Filter {
	f := bloom.Must(New(Config{Slots: 9, Ways: 2, Bits: 16}))
	f.AddString("old")
	f.AddString("new")
	return f
}

// TestEncoding: filters of many configurations are the same after encoding and decoding.
func TestEncoding(t *testing.T) {
	for _, c := range []Config{
		{Slots: 1, Ways: 1, Bits: 8}, {Slots: 2, Ways: 2, Bits: 8}, {Slots: 9, Ways: 3, Bits: 8},
		{Slots: 100, Ways: 4, Bits: 16}, {Slots: 7, Ways: 2, Bits: 32}, {Slots: 100000, Ways: 3, Bits: 8},
	} {
		f := bloom.Must(New(c))
		for i := range 2 * c.Slots {
			f.AddHash(bloom.SumUint64(i))
		}
		got := new(Filter)
		require.NoError(t, got.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
		require.Equal(t, f, got)
		require.Equal(t, c, got.Config())
	}
}

// TestImpossibleSizesAreRefused: a decoder refuses the configurations that New refuses.
func TestImpossibleSizesAreRefused(t *testing.T) {
	f := small()
	for _, params := range [][]uint64{
		{0, 2, 16}, {math.MaxUint64, 2, 16}, {1 << 40, 2, 16}, {13, 2, 16}, {9, 0, 16}, {9, 65, 16},
		{9, 1<<32 + 1, 16}, {9, math.MaxUint64, 16}, {1, 2, 16}, {9, 2, 0}, {9, 2, 7},
		{9, 2, 1<<32 + 16}, {9, 2, math.MaxUint64},
	} {
		require.ErrorIs(t, f.UnmarshalBinary(bloom.Must(form.Flower.Append(nil, params,
			filtertest.Words(3), form.Info{}))), bloom.ErrFormat, "%d", params)
	}
	require.Equal(t, small(), f, "errors changed the receiver")
}

func FuzzFilter(f *testing.F) {
	filtertest.Fuzz(f, filtertest.Type{Zero: func() filtertest.Filter {
		return new(Filter)
	}}, func(*testing.T, *Filter) {},
		bloom.Must(small().MarshalBinary()),
		bloom.Must(form.Flower.Append(nil, []uint64{2, 64, 32}, filtertest.Words(1), form.Info{})))
}
