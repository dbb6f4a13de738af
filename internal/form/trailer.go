package form

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"strings"
)

// A trailer ends every frame, and may follow Guava's form in a file. Its numbers are big-endian:
//
//	8 bytes  N
//	8 bytes  P, the bits of a float64
//	1 byte   flags: 1 if there is a Meta; decoders ignore 2, 4 and 8, and refuse the others
//	1 byte   length of Hash
//	2 bytes  length of Comment
//	         Hash, Comment; if there is a Meta, 2 bytes for its length, and Meta
//	         up to 7 zeros, which pad these strings to a multiple of 8 bytes
//	         nothing; decoders skip anything here
//	4 bytes  CRC-32C of the head and of the trailer so far
//	2 bytes  length of the trailer
//	5 bytes  "bloom"
//	1 byte   version, 1
//	4 bytes  CRC-32C of everything before
//
// The head is everything before the filter's words. The first CRC serves readers that skip the
// words. The length of a trailer is 4 modulo 8, and that of Guava's form is 6 modulo 8, so the
// length of a file shows whether it has a trailer, even if the word count is damaged. Trailers of
// later versions also have such a length, and also end with "bloom", the version and a checksum.
const (
	trailerMagic   = "bloom"
	trailerVersion = 1
	infoStart      = 8 + 8 + 1 + 1 + 2
	flagsAt        = 8 + 8
	infoEnd        = crc32.Size + 2 + versionEnd
	versionEnd     = len(trailerMagic) + 1 + crc32.Size

	hasMeta = 1 // in the flags

	// MinTrailer is the length of a trailer with the zero Info, which is the shortest.
	MinTrailer = infoStart + infoEnd
	// MaxTrailer is the length of the longest trailer, in this version and later ones.
	MaxTrailer = math.MaxUint16 - 3
)

// Sum is a running CRC-32C. The zero Sum is ready to use.
type Sum uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Write adds p to the checksum. It never returns an error.
func (s *Sum) Write(p []byte) (int, error) {
	*s = Sum(crc32.Update(uint32(*s), castagnoli, p))
	return len(p), nil
}

// TrailerSize returns the length of the trailer for i.
func TrailerSize(i Info) int {
	texts := len(i.Hash) + len(i.Comment)
	if i.Meta != "" {
		texts += 2 + len(i.Meta)
	}
	return MinTrailer + padded(texts)
}

func padded(n int) int { return (n + 7) / 8 * 8 }

// IsTrailerSize reports whether n is a possible length of a trailer.
func IsTrailerSize(n int64) bool {
	return n >= int64(MinTrailer) && n <= int64(MaxTrailer) && (n-int64(MinTrailer))%8 == 0
}

// Trailer returns the trailer of a form with the given head. i must have passed Check. s is the
// checksum of everything before the trailer.
func (s Sum) Trailer(head []byte, i Info) []byte {
	b := make([]byte, 0, TrailerSize(i))
	b = binary.BigEndian.AppendUint64(b, i.N)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(i.P))
	b = append(b, 0, byte(len(i.Hash)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(i.Comment)))
	b = append(b, i.Hash...)
	b = append(b, i.Comment...)
	if i.Meta != "" {
		b[flagsAt] = hasMeta
		b = binary.BigEndian.AppendUint16(b, uint16(len(i.Meta)))
		b = append(b, i.Meta...)
	}
	b = b[:cap(b)-infoEnd] // the added bytes are zero
	b = binary.BigEndian.AppendUint32(b, uint32(infoSum(head, b)))
	b = binary.BigEndian.AppendUint16(b, uint16(cap(b)))
	b = append(append(b, trailerMagic...), trailerVersion)
	return s.seal(b)
}

// infoSum returns the first CRC of a trailer, which covers the head and the Info.
func infoSum(head, info []byte) (sum Sum) {
	sum.Write(head)
	sum.Write(info)
	return sum
}

// seal appends to b a checksum of everything so far. s is the checksum of everything before b.
func (s Sum) seal(b []byte) []byte {
	s.Write(b)
	return binary.BigEndian.AppendUint32(b, uint32(s))
}

// versionOf returns the version of the trailer at the end of data, or 0 if there is no trailer.
func versionOf(data []byte) byte {
	end := len(data) - versionEnd
	if end >= 0 && string(data[end:][:len(trailerMagic)]) == trailerMagic {
		return data[end+len(trailerMagic)]
	}
	return 0
}

// Refused returns err, the error of a decoder. If err wraps ErrFormat but not ErrVersion, and the
// trailer has a newer version, it instead returns an error that says so. data is the form, or
// its last bytes.
func Refused(pkg string, data []byte, err error) error {
	v := versionOf(data)
	if v > trailerVersion && errors.Is(err, ErrFormat) && !errors.Is(err, ErrVersion) {
		return newer(pkg, "the trailer has version %d, not %d", v, trailerVersion)
	}
	return err
}

// RefusedAt is like Refused, but for the form in r, which has size bytes.
func RefusedAt(pkg string, r io.ReaderAt, size int64, err error) error {
	end := make([]byte, versionEnd)
	if n := size - int64(versionEnd); n < 0 {
		return err
	} else if _, failed := r.ReadAt(end, n); failed != nil && failed != io.EOF {
		return err
	}
	return Refused(pkg, end, err)
}

// ParseTrailer returns the Info in the trailer of a form with the given head. It does not
// check the last checksum, which also covers the words.
func ParseTrailer(pkg string, head, trailer []byte) (i Info, err error) {
	version := versionOf(trailer)
	if version > trailerVersion {
		return i, newer(pkg, "the trailer has version %d, not %d", version, trailerVersion)
	}
	pos := len(trailer) - infoEnd
	whole := version == trailerVersion &&
		IsTrailerSize(int64(len(trailer))) &&
		int(binary.BigEndian.Uint16(trailer[pos+4:])) == len(trailer)
	if !whole {
		end := trailer[max(0, len(trailer)-16):]
		return i, Errorf(pkg, "the filter is followed by %x, which is not a trailer", end)
	}
	info := trailer[:pos]
	if got, want := Sum(binary.BigEndian.Uint32(trailer[pos:])), infoSum(head, info); got != want {
		return i, Errorf(pkg, "checksum of header and info is %08x, should be %08x", got, want)
	}
	flags := info[flagsAt]
	if flags > 0x0f {
		return i, newer(pkg, "the trailer has the unknown flags %#02x", flags)
	}
	hash, comment := int(info[17]), int(binary.BigEndian.Uint16(info[18:]))
	texts := texts{rest: info[infoStart:]}
	i = Info{
		N:       binary.BigEndian.Uint64(info),
		P:       math.Float64frombits(binary.BigEndian.Uint64(info[8:])),
		Hash:    texts.read(hash),
		Comment: texts.read(comment),
	}
	if flags&hasMeta != 0 {
		var length [2]byte
		copy(length[:], texts.read(2))
		meta := int(binary.BigEndian.Uint16(length[:]))
		if meta == 0 {
			return Info{}, Errorf(pkg, "info has the flag of a Meta, but no Meta")
		}
		i.Meta = texts.read(meta)
	}
	zeros := texts.read(padded(texts.taken) - texts.taken)
	if texts.cut {
		return Info{}, Errorf(pkg, "info of %d bytes is too short for its texts", len(info))
	}
	if strings.Trim(zeros, "\x00") != "" {
		return Info{}, Errorf(pkg, "info ends with % x, not with zeros", zeros)
	}
	if bad := i.Check(); bad != nil {
		return Info{}, Errorf(pkg, "%v", bad)
	}
	return i, nil
}

type texts struct {
	rest  []byte
	taken int  // number of bytes before rest
	cut   bool // read was asked for more bytes than were left
}

func (t *texts) read(n int) string {
	if n > len(t.rest) {
		t.cut = true
		return ""
	}
	text := string(t.rest[:n])
	t.rest = t.rest[n:]
	t.taken += n
	return text
}

// CheckTrailer is like ParseTrailer, but also checks the last checksum. s is the checksum of
// everything before the trailer.
func (s Sum) CheckTrailer(pkg string, head, trailer []byte) (Info, error) {
	i, err := ParseTrailer(pkg, head, trailer)
	if err != nil {
		return Info{}, err
	}
	end := len(trailer) - crc32.Size
	if want := s.seal(trailer[:end:end])[end:]; string(trailer[end:]) != string(want) {
		return Info{}, Errorf(pkg, "checksum is %x, should be %x", trailer[end:], want)
	}
	return i, nil
}
