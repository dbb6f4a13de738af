package blocked

import (
	"bytes"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// TestReservedValuesAreRefused refuses what a later version may give a meaning.
func TestReservedValuesAreRefused(t *testing.T) {
	for want, params := range map[string][]uint64{
		"blocked: invalid format: block count 0 is outside [1, 34359738368]":           {0, 1, 0},
		"blocked: invalid format: block count 34359738369 is outside [1, 34359738368]": {1<<35 + 1, 1, 0},
		"blocked: invalid format: lines = 0 is outside [1, 4]":                         {1, 0, 0},
		"blocked: invalid format: lines = 5 is outside [1, 4]":                         {1, 5, 0},
		"blocked: invalid format: reserved parameter 1 is not zero":                    {1, 1, 1},
	} {
		err := new(Filter).UnmarshalBinary(bloom.Must(form.Blocked.Append(nil, params,
			make([]uint64, 4), form.Info{})))
		require.ErrorIs(t, err, bloom.ErrFormat)
		if bits.UintSize == 64 {
			require.EqualError(t, err, want)
		}
	}
	words, err := splitblock.CheckParams([]uint64{splitblock.Max, 1, 0})
	require.NoError(t, err)
	require.EqualValues(t, uint64(splitblock.Max*blockWords), words)
}

func FuzzFilter(f *testing.F) {
	one, three := bloom.Must(NewSize(512, 1)), bloom.Must(NewSize(512, 3))
	one.AddString("key")
	three.AddString("key")
	filtertest.Fuzz(f, filtertest.Type{Zero: func() filtertest.Filter {
		return new(Filter)
	}}, func(*testing.T, *Filter) {},
		bloom.Must(one.MarshalBinary()), bloom.Must(three.MarshalBinary()),
		bloom.Must(form.Blocked.Append(nil, []uint64{splitblock.Max}, filtertest.Words(4), form.Info{})))
}

// FuzzReader: for any bytes that NewReader and NewView accept, the Reader and the View answer. If
// the bytes are also a Filter, they answer as it does.
func FuzzReader(f *testing.F) {
	g := bloom.Must(NewSize(512, 2))
	g.AddString("key")
	f.Add(bloom.Must(g.MarshalBinary()))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = filtertest.Sealed(data)
		err := g.UnmarshalBinary(data)
		r, readerErr := NewReader(bytes.NewReader(data), int64(len(data)))
		v, viewErr := NewView(data)
		for _, err := range []error{readerErr, viewErr} {
			if err != nil {
				require.ErrorIs(t, err, bloom.ErrFormat)
			}
		}
		if readerErr == nil {
			found, readerErr := r.ContainsString("key")
			require.NoError(t, readerErr)
			require.True(t, err != nil || found == g.ContainsString("key"))
		}
		if viewErr == nil {
			require.True(t, v.ContainsString("key") == g.ContainsString("key") || err != nil)
		}
		if err == nil {
			require.NoError(t, readerErr)
			require.NoError(t, viewErr)
		}
	})
}
