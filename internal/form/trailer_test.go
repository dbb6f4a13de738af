package form_test

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

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

var (
	head  = []byte{1, 3, 0, 0, 0, 2}
	infos = []form.Info{
		{N: 1e6, P: 0.01, Hash: "SumString", Comment: "words of 2026"},
		{},
		{N: 1},
		{P: math.SmallestNonzeroFloat64},
		{Comment: strings.Repeat("é", 4096/2)},
		{N: math.MaxUint64, P: 1 - 1e-16, Hash: strings.Repeat("h", 255), Comment: strings.Repeat("c", 4096)},
	}
)

func TestTrailer(t *testing.T) {
	for extra := range 9 { // every number of zeros
		for _, i := range infos {
			i.Hash += strings.Repeat("x", min(extra, 255-len(i.Hash)))
			sum := form.Sum(extra)
			trailer := sum.Trailer(head, i)
			require.Equal(t, 4, len(trailer)%8)
			require.Len(t, trailer, form.TrailerSize(i))
			require.True(t, form.IsTrailerSize(int64(len(trailer))))
			got, err := sum.CheckTrailer("bloom", head, trailer)
			require.NoError(t, err)
			require.Equal(t, i, got)
			again, err := form.ParseTrailer("bloom", head, trailer)
			require.NoError(t, err)
			require.Equal(t, i, again)
		}
	}
	require.Equal(t, form.MinTrailer, form.TrailerSize(form.Info{}))
	require.Equal(t, form.MaxTrailer, form.TrailerSize(infos[5]))
}

// TestTrailerBytes freezes them. A program in Python computed the sums, bit by bit.
func TestTrailerBytes(t *testing.T) {
	var sum form.Sum
	sum.Write(head)
	sum.Write(make([]byte, 16))
	const want = "0000000000000064" + "3f847ae147ae147b" + "0003" + "0004" + "53756d" + "77c3b672" + "00" +
		"da1026af" + "002c" + "626c6f6f6d01" + "550671db"
	require.Equal(t, want, hex.EncodeToString(sum.Trailer(head, form.Info{N: 100, P: 0.01, Hash: "Sum", Comment: "wör"})))
}

// TestTrailerDamage: without the words, any damage to the head and to the trailer but to
// its last checksum is noticed.
func TestTrailerDamage(t *testing.T) {
	trailer := form.Sum(7).Trailer(head, infos[0])
	end := len(trailer) - 4
	testkit.Damage(t, trailer[:end:end], func(data []byte) error {
		_, err := form.ParseTrailer("bloom", head, slices.Concat(data, trailer[end:]))
		return err
	})
	testkit.Damage(t, trailer, func(data []byte) error {
		_, err := form.Sum(7).CheckTrailer("bloom", head, data)
		return err
	})
	testkit.Damage(t, head, func(data []byte) error {
		_, err := form.ParseTrailer("bloom", data, trailer)
		return err
	})
}

func TestInfoErrors(t *testing.T) {
	for _, test := range []struct {
		i    form.Info
		want string
	}{
		{form.Info{P: 1}, "Info.P = 1 is outside [0, 1)"},
		{form.Info{P: -0.5}, "Info.P = -0.5 is outside"},
		{form.Info{P: math.NaN()}, "Info.P = NaN is outside"},
		{form.Info{P: math.Inf(1)}, "Info.P = +Inf is outside"},
		{form.Info{Hash: strings.Repeat("x", 257)}, "Info.Hash has 257 bytes, more than 255"},
		{form.Info{Comment: strings.Repeat("x", 4097)}, "Info.Comment has 4097 bytes, more than 4096"},
		{form.Info{Hash: "\xff"}, "Info.Hash = \"\\xff\" is not UTF-8"},
		{form.Info{Comment: "a\xc3"}, "Info.Comment = \"a\\xc3\" is not UTF-8"},
	} {
		require.ErrorContains(t, test.i.Check("bloom"), test.want)
		// Whoever writes it all the same.
		trailer := form.Sum(0).Trailer(head, test.i)
		_, err := form.Sum(0).CheckTrailer("bloom", head, trailer)
		require.ErrorIs(t, err, form.ErrFormat)
		require.ErrorContains(t, err, test.want)
	}
}

// FuzzTrailer: bytes that are a trailer, once their checksums are right, say one Info,
// which makes the same bytes.
func FuzzTrailer(f *testing.F) {
	for _, i := range infos {
		f.Add(form.Sum(0).Trailer(head, i))
	}
	f.Add(make([]byte, form.MinTrailer))
	for at := range 28 { // one byte wrong
		data := form.Sum(0).Trailer(head, form.Info{Comment: "123"})
		data[at] = 0xff
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if at := len(data) - 16; at >= 0 {
			data = bytes.Clone(data)
			var sum form.Sum
			sum.Write(head)
			sum.Write(data[:at])
			binary.BigEndian.PutUint32(data[at:], uint32(sum))
			binary.BigEndian.PutUint16(data[at+4:], uint16(len(data)))
			copy(data[at+6:], "bloom\x01")
			sum = 0
			sum.Write(data[:at+12])
			binary.BigEndian.PutUint32(data[at+12:], uint32(sum))
		}
		i, err := form.Sum(0).CheckTrailer("bloom", head, data)
		if err != nil {
			require.ErrorIs(t, err, form.ErrFormat)
			return
		}
		require.NoError(t, i.Check("bloom"))
		if !math.Signbit(i.P) {
			require.Equal(t, data, form.Sum(0).Trailer(head, i), fmt.Sprint(i))
		}
	})
}

func TestFits(t *testing.T) {
	for _, test := range []struct{ f, g, err string }{
		{"", "", ""}, {"a", "", ""}, {"", "a", ""}, {"a", "a", ""}, {"a", "b", "test: filters differ in hash: a and b"},
	} {
		err := form.Info{N: 1, P: 0.1, Hash: test.f, Comment: "x"}.Fits("test", form.Info{N: 2, P: 0.2, Hash: test.g, Comment: "y"})
		if test.err == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, test.err)
		require.ErrorIs(t, err, form.ErrMismatch)
	}
	require.EqualError(t, form.MismatchNil("test"), "test: filters differ: one is nil")
	require.ErrorIs(t, form.MismatchNil("test"), form.ErrMismatch)
}
