package blocked

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

func TestOperations(t *testing.T) {
	keys := filtertest.Digests(1, 1000)
	for lines := 1; lines <= splitblock.MaxLines; lines++ {
		filled := func(blocks int, hs []bloom.Hash) *Filter {
			f := bloom.Must(NewSize(256*uint64(blocks), lines))
			f.AddBatch(nil, hs)
			return f
		}
		both := filled(240, keys)
		for _, d := range []int{1, 2, 3, 5, 16, 80, 240} {
			require.True(t, bloom.Must(both.Fold(d)).Equal(filled(240/d, keys)), "d = %d", d)
		}
		for _, d := range []int{-1, 0, 7, 480} {
			_, err := both.Fold(d)
			require.EqualError(t, err,
				fmt.Sprintf("blocked: d = %d is not a divisor of the filter's 240 blocks", d))
		}

		ones := 0
		for _, b := range bytesOf(both) {
			for ; b != 0; b &= b - 1 {
				ones++
			}
		}
		require.Equal(t, float64(ones)/(240*256), both.Stats().FillRatio)
	}
}

func TestMismatch(t *testing.T) {
	f, s := bloom.Must(NewSize(512, 1)), NewSyncFrom(bloom.Must(NewSize(512, 1)))
	for want, g := range map[string]*Filter{
		"blocked: filters differ in m: 512 and 256": bloom.Must(NewSize(256, 1)),
		"blocked: filters differ in lines: 1 and 2": bloom.Must(NewSize(512, 2)),
		"blocked: filters differ in m: 512 and 0":   new(Filter),
		"blocked: filters differ: one is nil":       nil,
	} {
		if g != nil && g.Lines() > 0 {
			g.AddString("key")
		}
		for _, err := range []error{f.Merge(g), f.Intersect(g), s.Merge(g)} {
			require.EqualError(t, err, want)
			require.ErrorIs(t, err, bloom.ErrMismatch)
		}
		require.True(t, g == nil || !f.Equal(g))
		require.Zero(t, f.Stats().FillRatio)
	}
	require.False(t, bloom.Must(NewSize(512, 1)).Equal(bloom.Must(NewSize(512, 2))), "other lines")
	_, err := new(Filter).Fold(1)
	require.EqualError(t, err, "blocked: d = 1 is not a divisor of the filter's 0 blocks")
}

// TestEstimatesOfFullFilter: a filter with every bit set still has estimates.
func TestEstimatesOfFullFilter(t *testing.T) {
	f, err := NewBitset(bytes.Repeat([]byte{255}, 64))
	require.NoError(t, err)
	require.Equal(t, 1.0, f.Stats().FPR)
	require.Equal(t, 1.0, f.Stats().FillRatio)
	require.EqualValues(t, 393, f.Stats().ApproxCount) // 2 ln(1/512)/ln(31/32)
}

// TestFoldOfHugeFilters: a filter of more than Narrow blocks picks a key's block from the whole of
// a hash, and smaller ones from half of it. Fold refuses to go from the former to the latter, where
// it would lose keys. It refuses before it reads the words, most of which are not there.
func TestFoldOfHugeFilters(t *testing.T) {
	const each = splitblock.Bits / 64
	if math.MaxInt < 1<<40 {
		t.Skip("such a filter does not fit into the address space")
	}
	var word [each]uint64
	for d, wide := range map[int]int64{2: 2 * splitblock.Narrow, 3: splitblock.Narrow + 2} {
		blocks := int(wide)
		f := new(Filter)
		f.b.Lines = 1
		header := (*struct {
			words    *uint64
			len, cap int
		})(unsafe.Pointer(&f.b.Words))
		header.words, header.len, header.cap = &word[0], blocks*each, blocks*each
		_, err := f.Fold(d)
		require.ErrorContains(t, err, "to 1073741824 or fewer", "%d blocks", blocks)
	}
}
