package form

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// A trailer ends a file in Guava's form and every frame. Its numbers are big-endian:
//
//	8 bytes  N
//	8 bytes  P, the bits of a float64
//	1 byte   flags, 0; this version refuses the upper four and ignores the lower four
//	1 byte   length of Hash
//	2 bytes  length of Comment
//	         Hash, Comment, and up to 7 zeros, to a multiple of 8 bytes
//	         nothing; this version skips what is here
//	4 bytes  CRC-32C of the head and of the trailer so far
//	2 bytes  length of the trailer
//	5 bytes  "bloom"
//	1 byte   version, 1
//	4 bytes  CRC-32C of everything before
//
// The head is all bytes before the filter's words. Its CRC serves readers that do not read the
// words. A trailer's length is 4 modulo 8, and the length of Guava's form is 6 modulo 8. So a
// file's length alone shows whether it has a trailer. Even if the word count is damaged, no decoder
// reads words as a trailer or a trailer as words. That holds for later versions, too: their
// trailers have such lengths, and end with the version and a checksum.
const (
	trailerMagic   = "bloom"
	trailerVersion = 1
	infoStart      = 8 + 8 + 1 + 1 + 2
	infoEnd        = crc32.Size + 2 + versionEnd
	versionEnd     = len(trailerMagic) + 1 + crc32.Size
	maxHashLen     = 255
	maxCommentLen  = 4096

	// MinTrailer is the length of the shortest trailer, which has the zero Info.
	MinTrailer = infoStart + infoEnd
	// MaxTrailer is the length of the longest trailer that a later version may write.
	MaxTrailer = math.MaxUint16 - 3
)

// Info is bloom.Info.
type Info struct {
	N       uint64
	P       float64
	Hash    string
	Comment string
}

// Check returns an error of package pkg unless i can be saved. The error names the field.
func (i Info) Check(pkg string) error {
	switch {
	case !(i.P >= 0 && i.P < 1):
		return fmt.Errorf("%s: Info.P = %v is outside [0, 1)", pkg, i.P)
	case len(i.Hash) > maxHashLen:
		return fmt.Errorf("%s: Info.Hash has %d bytes, more than %d", pkg, len(i.Hash), maxHashLen)
	case len(i.Comment) > maxCommentLen:
		return fmt.Errorf("%s: Info.Comment has %d bytes, more than %d",
			pkg, len(i.Comment), maxCommentLen)
	case !utf8.ValidString(i.Hash):
		return fmt.Errorf("%s: Info.Hash = %q is not UTF-8", pkg, i.Hash)
	case !utf8.ValidString(i.Comment):
		return fmt.Errorf("%s: Info.Comment = %q is not UTF-8", pkg, i.Comment)
	}
	return nil
}

// Fits returns an error if i and j both have a Hash and these differ. The error is of package pkg
// and wraps ErrMismatch.
func (i Info) Fits(pkg string, j Info) error {
	if i.Hash != "" && j.Hash != "" && i.Hash != j.Hash {
		return Mismatch(pkg, "hash", i.Hash, j.Hash)
	}
	return nil
}

// With returns j with its zero fields replaced by i's.
func (i Info) With(j Info) Info {
	return Info{
		N:       cmp.Or(j.N, i.N),
		P:       cmp.Or(j.P, i.P),
		Hash:    cmp.Or(j.Hash, i.Hash),
		Comment: cmp.Or(j.Comment, i.Comment),
	}
}

// SharedInfo is an Info that many goroutines may read and join at once. A SyncFilter needs that,
// because its Merge may take over a Hash while other goroutines use it. A nil SharedInfo has the
// zero Info.
type SharedInfo struct{ now atomic.Pointer[Info] }

// Share returns a SharedInfo with the Info i.
func Share(i Info) *SharedInfo {
	s := new(SharedInfo)
	s.Set(i)
	return s
}

// Info returns the present Info of s.
func (s *SharedInfo) Info() Info {
	if s == nil {
		return Info{}
	}
	return *s.now.Load()
}

// Set replaces the Info of s by i.
func (s *SharedInfo) Set(i Info) { s.now.Store(&i) }

// Join returns an error as Info.Fits does. If s has no Hash, Join gives it the Hash of j.
func (s *SharedInfo) Join(pkg string, j Info) error {
	if s == nil {
		return nil
	}
	for {
		done, err := s.joinFrom(s.now.Load(), pkg, j)
		if done {
			return err
		}
	}
}

// joinFrom is Join if the Info of s is still old. If s has changed, joinFrom changes nothing and
// returns false.
func (s *SharedInfo) joinFrom(old *Info, pkg string, j Info) (done bool, err error) {
	err = old.Fits(pkg, j)
	if err != nil || old.Hash != "" || j.Hash == "" {
		return true, err
	}
	joined := *old
	joined.Hash = j.Hash
	return s.now.CompareAndSwap(old, &joined), nil
}

// Sum is the CRC-32C of the bytes that were written to it.
type Sum uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Write adds p to the checksum. It never fails.
func (s *Sum) Write(p []byte) (int, error) {
	*s = Sum(crc32.Update(uint32(*s), castagnoli, p))
	return len(p), nil
}

// TrailerSize returns the length of a trailer that has the Info i.
func TrailerSize(i Info) int { return MinTrailer + (len(i.Hash)+len(i.Comment)+7)/8*8 }

// IsTrailerSize reports whether a trailer can have n bytes.
func IsTrailerSize(n int64) bool {
	return n >= int64(MinTrailer) && n <= int64(MaxTrailer) && (n-int64(MinTrailer))%8 == 0
}

// Trailer returns the trailer of a form with the given head and the Info i. All bytes of the form
// before the trailer were written to s. i has passed Check.
func (s Sum) Trailer(head []byte, i Info) []byte {
	b := make([]byte, 0, TrailerSize(i))
	b = binary.BigEndian.AppendUint64(b, i.N)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(i.P))
	b = append(b, 0, byte(len(i.Hash)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(i.Comment)))
	b = append(b, i.Hash...)
	b = append(b, i.Comment...)
	b = b[:cap(b)-infoEnd] // appends zeros
	b = binary.BigEndian.AppendUint32(b, uint32(infoSum(head, b)))
	b = binary.BigEndian.AppendUint16(b, uint16(cap(b)))
	b = append(append(b, trailerMagic...), trailerVersion)
	return s.end(b)
}

// infoSum returns the first CRC of a trailer, which covers the head and the Info.
func infoSum(head, info []byte) (sum Sum) {
	sum.Write(head)
	sum.Write(info)
	return sum
}

// end appends a checksum to b. It covers the bytes that were written to s, and b.
func (s Sum) end(b []byte) []byte {
	s.Write(b)
	return binary.BigEndian.AppendUint32(b, uint32(s))
}

// versionOf returns the version of the trailer that data ends with, or 0 if there is none.
func versionOf(data []byte) byte {
	end := len(data) - versionEnd
	if end >= 0 && string(data[end:][:len(trailerMagic)]) == trailerMagic {
		return data[end+len(trailerMagic)]
	}
	return 0
}

// Refused returns the error for a form that was refused with err. data has its last bytes. If err
// wraps ErrFormat, and a newer version wrote the trailer, Refused returns an error that says so.
func Refused(pkg string, data []byte, err error) error {
	v := versionOf(data)
	if v > trailerVersion && errors.Is(err, ErrFormat) && !errors.Is(err, ErrVersion) {
		return newer(pkg, "the trailer has version %d, not %d", v, trailerVersion)
	}
	return err
}

// RefusedAt is Refused for a form that is the size bytes of r.
func RefusedAt(pkg string, r io.ReaderAt, size int64, err error) error {
	end := make([]byte, versionEnd)
	if n := size - int64(versionEnd); n < 0 {
		return err
	} else if _, failed := r.ReadAt(end, n); failed != nil && failed != io.EOF {
		return err
	}
	return Refused(pkg, end, err)
}

// ParseTrailer returns the Info of the trailer of a form with the given head. It checks everything
// in the trailer but the last checksum, which covers the words, too.
func ParseTrailer(pkg string, head, trailer []byte) (i Info, err error) {
	version := versionOf(trailer)
	if version > trailerVersion {
		return i, newer(pkg, "the trailer has version %d, not %d", version, trailerVersion)
	}
	at := len(trailer) - infoEnd
	whole := version == trailerVersion &&
		IsTrailerSize(int64(len(trailer))) &&
		int(binary.BigEndian.Uint16(trailer[at+4:])) == len(trailer)
	if !whole {
		end := trailer[max(0, len(trailer)-16):]
		return i, Errorf(pkg, "the filter is followed by %x, which is no trailer", end)
	}
	info := trailer[:at]
	if got, want := Sum(binary.BigEndian.Uint32(trailer[at:])), infoSum(head, info); got != want {
		return i, Errorf(pkg, "checksum of header and info is %08x, should be %08x", got, want)
	}
	if flags := info[16]; flags > 0x0f {
		return i, newer(pkg, "the trailer has the flags %#02x", flags)
	}
	hash, comment := int(info[17]), int(binary.BigEndian.Uint16(info[18:]))
	text, end := info[infoStart:], (hash+comment+7)/8*8
	if end > len(text) {
		return i, Errorf(pkg, "info of %d bytes has a Hash of %d and a Comment of %d",
			len(info), hash, comment)
	}
	if zeros := text[hash+comment : end]; strings.Trim(string(zeros), "\x00") != "" {
		return i, Errorf(pkg, "info ends with % x", zeros)
	}
	i = Info{
		N:       binary.BigEndian.Uint64(info),
		P:       math.Float64frombits(binary.BigEndian.Uint64(info[8:])),
		Hash:    string(text[:hash]),
		Comment: string(text[hash:][:comment]),
	}
	if err := i.Check(pkg); err != nil {
		return Info{}, Errorf(pkg, "%w", err)
	}
	return i, nil
}

// CheckTrailer is ParseTrailer, and also checks the last checksum. All bytes of the form before the
// trailer were written to s.
func (s Sum) CheckTrailer(pkg string, head, trailer []byte) (Info, error) {
	i, err := ParseTrailer(pkg, head, trailer)
	if err != nil {
		return Info{}, err
	}
	end := len(trailer) - crc32.Size
	if want := s.end(trailer[:end:end])[end:]; string(trailer[end:]) != string(want) {
		return Info{}, Errorf(pkg, "checksum is %x, should be %x", trailer[end:], want)
	}
	return i, nil
}
