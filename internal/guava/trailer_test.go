package guava

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

func TestTrailer(t *testing.T) {
	var sum Sum
	sum.Write([]byte("12345"))
	sum.Write([]byte("6789"))
	h := Header{1, 3, 2}
	trailer := sum.InfoTrailer(h, Info{})
	require.Equal(t, sum.Trailer(), trailer)
	// CRC-32C of "123456789bloom\x01".
	require.Equal(t, "bloom\x01", string(trailer[:6]))
	require.Len(t, trailer, TrailerSize)
	testkit.Damage(t, trailer, func(data []byte) error { _, err := sum.CheckTrailer("bloom", h, data); return err })
}

var infos = []Info{
	{N: 1e6, P: 0.01, Hash: "SumString", Comment: "words of 2026"},
	{N: 1},
	{P: math.SmallestNonzeroFloat64},
	{Comment: strings.Repeat("é", MaxCommentLen/2)},
	{N: math.MaxUint64, P: 1 - 1e-16, Hash: strings.Repeat("h", MaxHashLen), Comment: strings.Repeat("c", MaxCommentLen)},
}

func TestInfoTrailer(t *testing.T) {
	for _, h := range []Header{{1, 3, 2}, {0, 255, MaxWords}} {
		for extra := range 9 { // every number of zeros
			for _, i := range infos {
				i.Hash += strings.Repeat("x", min(extra, MaxHashLen-len(i.Hash)))
				sum := Sum(extra)
				trailer := sum.InfoTrailer(h, i)
				require.Equal(t, 4, len(trailer)%8)
				require.LessOrEqual(t, len(trailer), MaxTrailerSize)
				got, err := sum.CheckTrailer("bloom", h, trailer)
				require.NoError(t, err)
				require.Equal(t, i, got)
				length, err := h.CheckSize("bloom", h.Size()+int64(len(trailer)))
				require.NoError(t, err)
				require.Len(t, trailer, length)
				again, err := h.ParseTrailer("bloom", trailer)
				require.NoError(t, err)
				require.Equal(t, i, again)
			}
		}
	}
	require.Len(t, Sum(0).InfoTrailer(Header{1, 3, 2}, infos[4]), MaxTrailerSize)
}

// TestInfoTrailerBytes freezes them. A program in Python computed the sums, bit by bit.
func TestInfoTrailerBytes(t *testing.T) {
	h := Header{1, 3, 2}
	var sum Sum
	sum.Write(h.Append(nil))
	sum.Write(make([]byte, 16))
	const want = "0000000000000064" + "3f847ae147ae147b" + "0003" + "0004" + "53756d" + "77c3b672" + "00" +
		"da1026af" + "002c" + "626c6f6f6d02" + "4656822f"
	require.Equal(t, want, hex.EncodeToString(sum.InfoTrailer(h, Info{N: 100, P: 0.01, Hash: "Sum", Comment: "wör"})))
}

// TestInfoTrailerDamage: without the words, any damage to the trailer but to its last
// checksum is noticed, and another word count is.
func TestInfoTrailerDamage(t *testing.T) {
	h := Header{1, 3, 200}
	trailer := Sum(7).InfoTrailer(h, infos[0])
	end := len(trailer) - 4
	testkit.Damage(t, trailer[:end:end], func(data []byte) error {
		_, err := h.ParseTrailer("bloom", slices.Concat(data, trailer[end:]))
		return err
	})
	testkit.Damage(t, trailer, func(data []byte) error {
		_, err := Sum(7).CheckTrailer("bloom", h, data)
		return err
	})
	// The file with other headers: the words that come first or last are taken for
	// trailer, or the trailer's for words.
	file := append(h.Append(nil), make([]byte, 8*200)...)
	file = append(file, trailer...)
	for words := 1; words <= 400; words++ {
		other := Header{1, 3, words}
		n, err := other.CheckSize("bloom", int64(len(file)))
		if words == 200 {
			require.NoError(t, err)
			continue
		}
		if err == nil {
			require.NotZero(t, n, "a bare form of %d words", words)
			_, err = other.ParseTrailer("bloom", file[other.Size():])
		}
		require.ErrorIs(t, err, format.ErrFormat)
	}
}

func TestInfoErrors(t *testing.T) {
	h := Header{1, 3, 2}
	for _, test := range []struct {
		i    Info
		want string
	}{
		{Info{P: 1}, "P = 1 is outside [0, 1)"},
		{Info{P: -0.5}, "P = -0.5 is outside"},
		{Info{P: math.NaN()}, "P = NaN is outside"},
		{Info{P: math.Inf(1)}, "P = +Inf is outside"},
		{Info{Hash: strings.Repeat("x", 256)}, "Hash has 256 bytes, more than 255"},
		{Info{Comment: strings.Repeat("x", 4097)}, "Comment has 4097 bytes, more than 4096"},
		{Info{Hash: "\xff"}, "Hash = \"\\xff\" is not UTF-8"},
		{Info{Comment: "a\xc3"}, "Comment = \"a\\xc3\" is not UTF-8"},
	} {
		require.ErrorContains(t, test.i.Check("bloom"), test.want)
		// Whoever writes it all the same.
		trailer := Sum(0).InfoTrailer(h, test.i)
		_, err := Sum(0).CheckTrailer("bloom", h, trailer)
		require.ErrorIs(t, err, format.ErrFormat)
		if len(trailer) < MaxTrailerSize-8 {
			require.ErrorContains(t, err, test.want)
		}
	}
}

func TestCheckSize(t *testing.T) {
	h := Header{1, 3, 2}
	allowed := map[int64]bool{0: true, 10: true}
	for n := int64(36); n <= 36+4352; n += 8 {
		allowed[n] = true
	}
	for size := range h.Size() + 5000 {
		n, err := h.CheckSize("bloom", size)
		if allowed[size-h.Size()] {
			require.NoError(t, err)
			require.Equal(t, size-h.Size(), int64(n))
		} else {
			require.ErrorIs(t, err, format.ErrFormat, size)
		}
	}
	_, err := h.CheckSize("bloom", math.MaxInt64)
	require.ErrorIs(t, err, format.ErrFormat)
}

// FuzzTrailer: bytes that are a trailer, once their checksums are right, say one Info,
// which makes the same bytes.
func FuzzTrailer(f *testing.F) {
	h := Header{1, 3, 2}
	for _, i := range infos {
		f.Add(Sum(0).InfoTrailer(h, i))
	}
	f.Add(make([]byte, minInfoTrailer))
	for at := range infoStart + 8 { // one byte wrong
		data := Sum(0).InfoTrailer(h, Info{Comment: "123"})
		data[at] = 0xff
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= infoEnd {
			data = bytes.Clone(data)
			at := len(data) - infoEnd
			binary.BigEndian.PutUint32(data[at:], h.infoSum(data[:at]))
			binary.BigEndian.PutUint16(data[at+4:], uint16(len(data)))
			copy(data[at+6:], infoMagic)
			data = Sum(0).end(data[:len(data)-4])
		}
		i, err := Sum(0).CheckTrailer("bloom", h, data)
		if err != nil {
			require.ErrorIs(t, err, format.ErrFormat)
			return
		}
		require.NoError(t, i.Check("bloom"))
		if i != (Info{}) && !math.Signbit(i.P) {
			require.Equal(t, data, Sum(0).InfoTrailer(h, i), fmt.Sprint(i))
		}
	})
}
