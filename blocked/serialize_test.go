package blocked

import (
	"bytes"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestDecodedIsFast: assembly looks keys up in a decoded filter where it did in the encoded one.
func TestDecodedIsFast(t *testing.T) {
	for lines := 1; lines <= maxLines; lines++ {
		f, g := bloom.Must(NewSize(100*256, lines)), new(Filter)
		require.NoError(t, g.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
		require.Equal(t, f.fast, g.fast)
		require.Equal(t, f.fast, f.Clone().fast)
	}
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
		require.Equal(t, data, bloom.Must(b.MarshalBinary()))
		b.Contains(data)
		b.Add(data)
		require.True(t, b.Contains(data))
		b.ApproxCount()
		b.FPR()
	})
}
