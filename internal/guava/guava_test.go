package guava

import (
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/frame"
)

func TestHeader(t *testing.T) {
	for _, h := range []Header{{0, 1, 1}, {1, 255, 0x01020304}, {1, 7, MaxWords}} {
		data := h.Append([]byte("x"))[1:]
		require.Len(t, data, HeaderSize)
		got, err := ParseHeader("bloom", data)
		require.NoError(t, err)
		require.Equal(t, h, got)
	}
	require.Equal(t, []byte{1, 255, 1, 2, 3, 4}, Header{1, 255, 0x01020304}.Append(nil))
	if math.MaxInt > math.MaxInt32 {
		require.EqualValues(t, 1<<31-1, MaxWords)
	}
}

func TestParseHeaderErrors(t *testing.T) {
	for _, test := range []struct{ data, want string }{
		{"", "bloom: invalid format: 0 bytes are too few for a header: unexpected EOF"},
		{"\x01\x03\x00\x00\x00", "bloom: invalid format: 5 bytes are too few for a header: unexpected EOF"},
		{"\x02\x03\x00\x00\x00\x01", "bloom: invalid format: it starts with 02 03 00 00; a bloom.Filter starts with strategy 0 or 1"},
		{"\x01\x00\x00\x00\x00\x01", "bloom: invalid format: k = 0"},
		{"\x01\x03\x00\x00\x00\x00", "bloom: invalid format: word count 0 is outside"},
		{"\x01\x03\x80\x00\x00\x00", "bloom: invalid format: word count 2147483648 is outside"},
		{string(frame.Window.Append(nil, make([]uint64, 8), nil)), "bloom: invalid format: it is a window.Filter, not a bloom.Filter"},
	} {
		_, err := ParseHeader("bloom", []byte(test.data))
		require.ErrorContains(t, err, test.want)
		require.ErrorIs(t, err, format.ErrFormat)
	}
	_, err := ParseHeader("bloom", nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// TestFPR holds the model of double hashing to its derivation, term by term. A fraction
// 2.5 s/(k m) of all keys has indexes that come round after s of them. Such a key finds
// its bits set with probability fill^s. Other keys have as many indexes as m has odd
// parts, or twice as many.
func TestFPR(t *testing.T) {
	for _, test := range []struct {
		m    uint64
		k    int
		odd  float64 // of m
		same float64 // multiples of H2 that bring that about
	}{
		{64, 1, 1, 1}, {1 << 30, 7, 1, 1}, {192, 7, 3, 2}, {320, 30, 5, 2}, {960, 10, 15, 2}, {64 * 1021, 255, 1021, 2},
	} {
		for _, fill := range []float64{0.125, 0.25, 0.5, 0.75, 1} {
			f, series := min(fill, 0.5), 0.0
			for s := 1.0; s < 100; s++ {
				series += 2.5 * s * math.Pow(f, s) / (float64(test.m) * float64(test.k))
			}
			few := test.same * (math.Pow(f, test.odd) + math.Pow(f, 2*test.odd)) / float64(test.m)
			require.InEpsilon(t, series+few, DoubleHashing(fill, test.m, test.k), 1e-12, "%+v, fill = %v", test, fill)
			ones := uint64(fill * float64(test.m))
			require.InEpsilon(t, max(series+few, math.Pow(fill, float64(test.k))), FPR(test.m, test.k, ones), 1e-12, "%+v, fill = %v", test, fill)
		}
		require.Zero(t, FPR(test.m, test.k, 0))
	}
}
