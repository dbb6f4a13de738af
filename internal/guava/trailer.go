package guava

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/seed79a3ff49/bloom/internal/format"
)

// A file is Guava's binary form, which is all that Java reads, and a trailer. Its
// numbers are big-endian:
//
//	5 bytes  "bloom"
//	1 byte   version, 1
//	4 bytes  CRC-32C of everything before
//
// If the file has an Info, the trailer is longer:
//
//	8 bytes  N
//	8 bytes  P, the bits of a float64
//	2 bytes  length of Hash
//	2 bytes  length of Comment
//	         Hash, Comment, and up to 7 zeros
//	4 bytes  CRC-32C of Guava's header and of the trailer so far
//	2 bytes  length of the trailer
//	5 bytes  "bloom"
//	1 byte   version, 2
//	4 bytes  CRC-32C of everything before
//
// The length modulo 8 of the one trailer is 2, that of the other is 4, by its zeros.
// So a file's length tells which trailer it has, and no damaged word count can make
// words of a trailer or a trailer of words. The first CRC of the long trailer serves
// those who do not read the words.
const (
	trailerMagic  = "bloom\x01"
	infoMagic     = "bloom\x02"
	TrailerSize   = len(trailerMagic) + crc32.Size
	infoStart     = 8 + 8 + 2 + 2
	infoEnd       = crc32.Size + 2 + len(infoMagic) + crc32.Size
	MaxHashLen    = 255
	MaxCommentLen = 4096

	minInfoTrailer = infoStart + infoEnd
	// MaxTrailerSize is the length of the longest trailer.
	MaxTrailerSize = minInfoTrailer + (MaxHashLen+MaxCommentLen+7)/8*8
)

// Info is bloom.Info.
type Info struct {
	N       uint64
	P       float64
	Hash    string
	Comment string
}

// Check returns an error of package pkg, which names the field, unless i can be saved.
func (i Info) Check(pkg string) error {
	switch {
	case !(i.P >= 0 && i.P < 1):
		return fmt.Errorf("%s: P = %v is outside [0, 1)", pkg, i.P)
	case len(i.Hash) > MaxHashLen:
		return fmt.Errorf("%s: Hash has %d bytes, more than %d", pkg, len(i.Hash), MaxHashLen)
	case len(i.Comment) > MaxCommentLen:
		return fmt.Errorf("%s: Comment has %d bytes, more than %d", pkg, len(i.Comment), MaxCommentLen)
	case !utf8.ValidString(i.Hash):
		return fmt.Errorf("%s: Hash = %q is not UTF-8", pkg, i.Hash)
	case !utf8.ValidString(i.Comment):
		return fmt.Errorf("%s: Comment = %q is not UTF-8", pkg, i.Comment)
	}
	return nil
}

// Sum is the checksum of what is written to it.
type Sum uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Write never fails.
func (s *Sum) Write(p []byte) (int, error) {
	*s = Sum(crc32.Update(uint32(*s), castagnoli, p))
	return len(p), nil
}

// Trailer returns the trailer, without an Info, of a binary form that s has seen.
func (s Sum) Trailer() []byte { return s.end([]byte(trailerMagic)) }

// InfoTrailer returns the trailer of the binary form that begins with h and that s has
// seen. i is as Check wants it. A zero Info needs no room.
func (s Sum) InfoTrailer(h Header, i Info) []byte {
	if i == (Info{}) {
		return s.Trailer()
	}
	b := binary.BigEndian.AppendUint64(nil, i.N)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(i.P))
	b = binary.BigEndian.AppendUint16(b, uint16(len(i.Hash)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(i.Comment)))
	b = append(b, i.Hash...)
	b = append(b, i.Comment...)
	for len(b)%8 != infoStart%8 {
		b = append(b, 0)
	}
	b = binary.BigEndian.AppendUint32(b, h.infoSum(b))
	b = binary.BigEndian.AppendUint16(b, uint16(len(b)-crc32.Size+infoEnd))
	return s.end(append(b, infoMagic...))
}

// infoSum is the first CRC of a trailer with an Info.
func (h Header) infoSum(info []byte) uint32 {
	var sum Sum
	sum.Write(h.Append(nil))
	sum.Write(info)
	return uint32(sum)
}

// end appends the sum of what s has seen and of b to b.
func (s Sum) end(b []byte) []byte {
	s.Write(b)
	return binary.BigEndian.AppendUint32(b, uint32(s))
}

// CheckSize returns an error unless size is the length in bytes of h's binary
// form, or of that and a trailer. It returns the length of the trailer, or 0.
func (h Header) CheckSize(pkg string, size int64) (trailer int, err error) {
	rest := size - h.Size()
	switch {
	case rest == 0, rest == int64(TrailerSize):
		return int(rest), nil
	case rest >= int64(minInfoTrailer) && rest <= int64(MaxTrailerSize) && (rest-int64(minInfoTrailer))%8 == 0:
		return int(rest), nil
	}
	return 0, format.Errorf(pkg, "%d words make %d bytes, or %d with a checksum, but there are %d",
		h.Words, h.Size(), h.Size()+int64(TrailerSize), size)
}

// ParseTrailer returns the Info of a trailer that follows the binary form which begins
// with h. It returns an error unless trailer is right, as far as that can be told
// without the words.
func (h Header) ParseTrailer(pkg string, trailer []byte) (i Info, err error) {
	at := len(trailer) - infoEnd
	fail := func() (Info, error) {
		return Info{}, format.Errorf(pkg, "the filter is followed by %.16x", trailer[max(0, len(trailer)-16):])
	}
	switch {
	case len(trailer) == TrailerSize && string(trailer[:len(trailerMagic)]) == trailerMagic:
		return Info{}, nil
	case at < infoStart || string(trailer[at+6:][:len(infoMagic)]) != infoMagic:
		return fail()
	case int(binary.BigEndian.Uint16(trailer[at+4:])) != len(trailer):
		return fail()
	}
	info := trailer[:at]
	if got, want := binary.BigEndian.Uint32(trailer[at:]), h.infoSum(info); got != want {
		return Info{}, format.Errorf(pkg, "checksum of the info is %08x, should be %08x", got, want)
	}
	i.N = binary.BigEndian.Uint64(info)
	i.P = math.Float64frombits(binary.BigEndian.Uint64(info[8:]))
	hash := int(binary.BigEndian.Uint16(info[16:]))
	comment := int(binary.BigEndian.Uint16(info[18:]))
	text := info[infoStart:]
	if (hash+comment+7)/8*8 != len(text) {
		return Info{}, format.Errorf(pkg, "info of %d bytes has a Hash of %d and a Comment of %d", len(info), hash, comment)
	}
	i.Hash, i.Comment = string(text[:hash]), string(text[hash:][:comment])
	for _, zero := range text[hash+comment:] {
		if zero != 0 {
			return Info{}, format.Errorf(pkg, "info ends with % x", text[hash+comment:])
		}
	}
	if err := i.Check(pkg); err != nil {
		return Info{}, format.Errorf(pkg, "%s", strings.TrimPrefix(err.Error(), pkg+": "))
	}
	return i, nil
}

// CheckTrailer is ParseTrailer, and checks the checksum of everything: s has seen the
// binary form.
func (s Sum) CheckTrailer(pkg string, h Header, trailer []byte) (Info, error) {
	i, err := h.ParseTrailer(pkg, trailer)
	if err != nil {
		return Info{}, err
	}
	end := len(trailer) - crc32.Size
	if want := s.end(trailer[:end:end])[end:]; string(trailer[end:]) != string(want) {
		return Info{}, format.Errorf(pkg, "checksum is %x, should be %x", trailer[end:], want)
	}
	return i, nil
}
