package form_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

var (
	head  = []byte{1, 3, 0, 0, 0, 2}
	infos = []form.Info{
		{N: 1e6, P: 0.01, Hash: "SumString", Comment: "words of 2026"},
		{},
		{N: 1},
		{Meta: "blank=1&field=2&out=a+b%2F%FF&out=c"},
		{P: math.SmallestNonzeroFloat64},
		{Comment: strings.Repeat("é", 4096/2)},
		{
			N:       math.MaxUint64,
			P:       1 - 1e-16,
			Hash:    strings.Repeat("h", 255),
			Comment: strings.Repeat("c", 4096),
			Meta:    "x=" + strings.Repeat("m", 4094),
		},
	}
)

func TestTrailer(t *testing.T) {
	for extra := range 9 { // makes every number of zeros
		for _, i := range infos {
			i.Hash += strings.Repeat("x", min(extra, 255-len(i.Hash)))
			sum := form.Sum(extra)
			trailer := sum.Trailer(head, i)
			require.Equal(t, 4, len(trailer)%8)
			require.Len(t, trailer, form.TrailerSize(i))
			for _, trailer := range [][]byte{
				trailer,
				later(sum, trailer, 0x0e, 8),
				later(sum, trailer, 0, form.MaxTrailer-len(trailer)),
			} {
				require.True(t, form.IsTrailerSize(int64(len(trailer))))
				got, err := sum.CheckTrailer("bloom", head, trailer)
				require.NoError(t, err)
				require.Equal(t, i, got)
				again, err := form.ParseTrailer("bloom", head, trailer)
				require.NoError(t, err)
				require.Equal(t, i, again)
			}
		}
	}
	require.Equal(t, form.MinTrailer, form.TrailerSize(form.Info{}))
}

// later returns a trailer that a later version may write. It has flags and bytes that this version
// does not know.
func later(sum form.Sum, trailer []byte, flags byte, more int) []byte {
	end := len(trailer) - 16
	trailer = slices.Concat(trailer[:end], bytes.Repeat([]byte{0xee}, more), trailer[end:])
	trailer[16] |= flags
	return sealed(sum, trailer)
}

// sealed returns a trailer with the checksums and the length that it must have.
func sealed(all form.Sum, trailer []byte) []byte {
	at := len(trailer) - 16
	var sum form.Sum
	sum.Write(head)
	sum.Write(trailer[:at])
	binary.BigEndian.PutUint32(trailer[at:], uint32(sum))
	binary.BigEndian.PutUint16(trailer[at+4:], uint16(len(trailer)))
	all.Write(trailer[:at+12])
	binary.BigEndian.PutUint32(trailer[at+12:], uint32(all))
	return trailer
}

// TestLaterTrailer: the error for a trailer of a later version says that a newer version wrote it.
// So does the error for a flag that must not be ignored.
func TestLaterTrailer(t *testing.T) {
	trailer := form.Sum(7).Trailer(head, infos[0])
	newer := func(trailer []byte, says string) {
		t.Helper()
		_, err := form.Sum(7).CheckTrailer("bloom", head, trailer)
		require.ErrorIs(t, err, form.ErrVersion)
		require.ErrorIs(t, err, form.ErrFormat)
		require.EqualError(t, err,
			"bloom: invalid format: the trailer has "+says+": a newer version may have written it")
	}
	for bit := 4; bit < 8; bit++ {
		newer(later(7, trailer, 1<<bit, 0), fmt.Sprintf("the unknown flags %#x", 1<<bit))
	}
	trailer[len(trailer)-5] = 2
	for n := range len(trailer) - 9 { // whatever the other bytes are
		newer(trailer[n:], "version 2, not 1")
	}
	trailer[len(trailer)-5] = 0
	_, err := form.ParseTrailer("bloom", head, trailer)
	require.NotErrorIs(t, err, form.ErrVersion)

	damaged := form.Errorf("bloom", "damaged")
	trailer[len(trailer)-5] = 3
	require.ErrorIs(t, form.Refused("bloom", trailer, damaged), form.ErrVersion)
	refusedAt := func(data []byte) error {
		return form.RefusedAt("bloom", bytes.NewReader(data), int64(len(data)), damaged)
	}
	require.ErrorIs(t, refusedAt(trailer), form.ErrVersion)
	down := errors.New("down")
	require.Equal(t, down, form.Refused("bloom", trailer, down))
	require.NoError(t, form.Refused("bloom", trailer, nil))
	for _, data := range [][]byte{nil, trailer[:9], trailer[:20], trailer[len(trailer)-9:]} {
		require.Equal(t, damaged, form.Refused("bloom", data, damaged))
		require.Equal(t, damaged, refusedAt(data))
	}
}

// TestTrailerBytes freezes the bytes of trailers. A program in Python computed the sums, bit by
// bit.
func TestTrailerBytes(t *testing.T) {
	var sum form.Sum
	sum.Write(head)
	sum.Write(make([]byte, 16))
	const want = "0000000000000064" + "3f847ae147ae147b" +
		"0103" + "0004" +
		"53756d" + "77c3b672" + "000b" + "613d25464626623d632b64" + "00000000" +
		"e5d03d20" + "003c" + "626c6f6f6d01" + "79cf3c0f"
	info := form.Info{N: 100, P: 0.01, Hash: "Sum", Comment: "wör", Meta: "a=%FF&b=c+d"}
	require.Equal(t, want, hex.EncodeToString(sum.Trailer(head, info)))
}

// TestTrailerDamage: ParseTrailer notices any damage to the head and to the trailer, except to the
// last checksum. CheckTrailer notices that, too.
func TestTrailerDamage(t *testing.T) {
	trailer := form.Sum(7).Trailer(head, infos[0])
	end := len(trailer) - 4
	filtertest.Damage(t, trailer[:end:end], func(data []byte) error {
		_, err := form.ParseTrailer("bloom", head, slices.Concat(data, trailer[end:]))
		return err
	})
	filtertest.Damage(t, trailer, func(data []byte) error {
		_, err := form.Sum(7).CheckTrailer("bloom", head, data)
		return err
	})
	filtertest.Damage(t, head, func(data []byte) error {
		_, err := form.ParseTrailer("bloom", data, trailer)
		return err
	})
}

// TestTrailerLayout: a trailer whose texts do not fit is refused, though its checksums are right.
func TestTrailerLayout(t *testing.T) {
	// Hash takes one byte of eight, Comment three, and zeros the rest.
	info := form.Info{Hash: "h", Comment: "123"}
	for _, test := range []struct {
		at    int
		value byte
		want  string
	}{
		{16, 1, "info has the flag of a Meta, but no Meta"},
		{17, 9, "info of 28 bytes is too short for its texts"},
		{19, 8, "info of 28 bytes is too short for its texts"},
		{24, 1, "info ends with 01 00 00 00, not with zeros"},
		{27, 1, "info ends with 00 00 00 01, not with zeros"},
	} {
		trailer := form.Sum(7).Trailer(head, info)
		trailer[test.at] = test.value
		_, err := form.Sum(7).CheckTrailer("bloom", head, sealed(7, trailer))
		require.EqualError(t, err, "bloom: invalid format: "+test.want)
	}
}

func TestInfoErrors(t *testing.T) {
	require.EqualError(t, form.Info{Hash: strings.Repeat("x", 256)}.Check().In("bloom"),
		"bloom: len(Info.Hash) = 256 is more than 255")
	for _, test := range []struct {
		i    form.Info
		want string
	}{
		{form.Info{P: 1}, "Info.P = 1 is outside [0, 1)"},
		{form.Info{P: -0.5}, "Info.P = -0.5 is outside"},
		{form.Info{P: math.NaN()}, "Info.P = NaN is outside"},
		{form.Info{P: math.Inf(1)}, "Info.P = +Inf is outside"},
		{form.Info{Comment: strings.Repeat("x", 4097)}, "len(Info.Comment) = 4097 is more than 4096"},
		{form.Info{Hash: "\xff"}, "Info.Hash = \"\\xff\" is not UTF-8"},
		{form.Info{Comment: "a\xc3"}, "Info.Comment = \"a\\xc3\" is not UTF-8"},
		{form.Info{Meta: "a=" + strings.Repeat("x", 4095)}, "len(Info.Meta) = 4097 is more than 4096"},
		{form.Info{Meta: "a=\xff"}, "Info.Meta = \"a=\\xff\" is not UTF-8"},
		{form.Info{Meta: "b=1&a=1"}, "Info.Meta = \"b=1&a=1\" is not what url.Values.Encode returns"},
		{form.Info{Meta: "a"}, "Info.Meta = \"a\" is not"},
		{form.Info{Meta: "a=1;b=1"}, "Info.Meta = \"a=1;b=1\" is not"},
		{form.Info{Meta: "a=%ff"}, "Info.Meta = \"a=%ff\" is not"},
		{form.Info{Meta: "a=é"}, "Info.Meta = \"a=é\" is not"},
	} {
		require.Contains(t, test.i.Check().String(), test.want)
		// A reader refuses such an Info, too.
		trailer := form.Sum(0).Trailer(head, test.i)
		_, err := form.Sum(0).CheckTrailer("bloom", head, trailer)
		require.ErrorIs(t, err, form.ErrFormat)
		require.ErrorContains(t, err, test.want)
	}
}

// FuzzTrailer gives bytes the right checksums. If they are a trailer, a trailer of its Info has the
// same Info.
func FuzzTrailer(f *testing.F) {
	for _, i := range infos {
		f.Add(form.Sum(0).Trailer(head, i))
	}
	f.Add(make([]byte, form.MinTrailer))
	for at := range 28 { // one byte is wrong
		data := form.Sum(0).Trailer(head, form.Info{Comment: "123"})
		data[at] = 0xff
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if at := len(data) - 16; at >= 0 {
			data = bytes.Clone(data)
			copy(data[at+6:], "bloom\x01")
			sealed(0, data)
		}
		i, err := form.Sum(0).CheckTrailer("bloom", head, data)
		if err != nil {
			require.ErrorIs(t, err, form.ErrFormat)
			return
		}
		require.Nil(t, i.Check())
		again, err := form.Sum(0).CheckTrailer("bloom", head, form.Sum(0).Trailer(head, i))
		require.NoError(t, err)
		require.Equal(t, i, again)
	})
}
