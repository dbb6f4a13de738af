package form

import (
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeader(t *testing.T) {
	for _, h := range []Header{{0, 1, 1}, {1, 255, 0x01020304}, {1, 7, 'B' << 16}, {1, 7, MaxWords}} {
		data := h.Append([]byte("x"))[1:]
		require.Len(t, data, HeaderSize)
		got, err := parseHeader("bloom", data)
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
		{"", "bloom: invalid format: it is empty: EOF"},
		{
			"\x01\x03\x00\x00\x00",
			"bloom: invalid format: 5 bytes are too few for a header: unexpected EOF",
		},
		{
			"\x22\x03\x00\x00\x00\x01",
			"bloom: invalid format: it starts with 22 03 00 00; " +
				"a bloom.Filter starts with strategy 0 or 1",
		},
		{
			"\x02\x03\x00\x00\x00\x01",
			"bloom: invalid format: strategy = 2 is unknown: a newer version may have written it",
		},
		{"\x01\x00\x00\x00\x00\x01", "bloom: invalid format: k = 0"},
		{"\x00\x00\x00\x00\x00\x00\x03\xc0", "foreign.NewBitsAndBlooms and foreign.NewHoliman"},
		{"\x01\x00\x00\x00\x00\x00\x00\x00", "foreign.NewDCSO"},
		{"\x1f\x8b\x08\x00\x00\x00", "foreign.NewHoliman"},
		{"\xac\xed\x00\x05sr\x00-",
			"an ObjectOutputStream wrote; BloomFilter.writeTo writes a bloom.Filter"},
		{`{"m":9593,"k":7,"b":"AAAA"}`, "it is JSON, as filters of bits-and-blooms/bloom"},
		{"\x01\x03\x00\x00\x00\x00", "bloom: invalid format: word count 0 is outside"},
		{"\x01\x03\x80\x00\x00\x00", "bloom: invalid format: word count 2147483648 is outside"},
		{"BLMW\x01\x00\x00\x00", "bloom: invalid format: it is a window.Filter, not a bloom.Filter"},
	} {
		_, err := parseHeader("bloom", []byte(test.data))
		require.ErrorContains(t, err, test.want)
		require.ErrorIs(t, err, ErrFormat)
	}
	_, err := parseHeader("bloom", nil)
	require.ErrorIs(t, err, io.EOF)
}

// TestCheckSizeOfANewline: a byte more is hardly anything else.
func TestCheckSizeOfANewline(t *testing.T) {
	h := Header{1, 3, 2}
	_, err := h.checkSize("bloom", h.Size()+1)
	require.ErrorContains(t, err, "2 words make 22 bytes, and one more follows: perhaps the newline")
}

// TestCheckSize: a file has the length of a binary form, with or without a trailer.
func TestCheckSize(t *testing.T) {
	h := Header{1, 3, 2}
	allowed := map[int64]bool{0: true}
	for n := int64(36); n <= 65532; n += 8 {
		allowed[n] = true
	}
	for size := range h.Size() + 70_000 {
		n, err := h.checkSize("bloom", size)
		if allowed[size-h.Size()] {
			require.NoError(t, err)
			require.Equal(t, size-h.Size(), int64(n))
		} else {
			require.ErrorIs(t, err, ErrFormat, size)
		}
	}
	_, err := h.checkSize("bloom", math.MaxInt64)
	require.ErrorIs(t, err, ErrFormat)
}

// TestOtherWordCounts reads a file whose header has another word count. So words lie where the
// trailer should be, or the trailer where words should be. All such files are refused.
func TestOtherWordCounts(t *testing.T) {
	h := Header{1, 3, 200}
	file := append(h.Append(nil), make([]byte, 8*200)...)
	file = append(file, Sum(7).Trailer(h.Append(nil), Info{N: 1e6, P: 0.01, Hash: "SumString"})...)
	for words := 1; words <= 400; words++ {
		other := Header{1, 3, words}
		n, err := other.checkSize("bloom", int64(len(file)))
		if words == 200 {
			require.NoError(t, err)
			continue
		}
		if err == nil {
			require.NotZero(t, n, "a bare form of %d words", words)
			_, err = ParseTrailer("bloom", other.Append(nil), file[other.Size():])
		}
		require.ErrorIs(t, err, ErrFormat)
	}
}

// TestFileShrinks: a file loses its trailer while ReadFile reads the words.
func TestFileShrinks(t *testing.T) {
	var file bytes.Buffer
	h := Header{1, 3, 200}
	require.NoError(t, Guava("bloom").WriteFile(&file, h, make([]uint64, 200), Info{}))
	for _, size := range []int64{h.Size(), h.Size() + 1, int64(file.Len()) - 1} {
		r := &FileReader{File: io.LimitReader(bytes.NewReader(file.Bytes()), size),
			Left: int64(file.Len())}
		_, _, _, err := Guava("bloom").ReadFile(r)
		require.ErrorIs(t, err, ErrFormat)
	}
}
