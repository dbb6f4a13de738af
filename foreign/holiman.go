package foreign

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/bits"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/gunzip"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Holiman is a filter of github.com/holiman/bloomfilter/v2. As in the original, its keys are 64-bit
// hashes that the caller computes. Unlike the original, it has no lock. A Holiman must not be
// copied.
type Holiman struct {
	_ nocopy.Locker
	holiman
}

type holiman struct {
	table
	keys   []uint64 // a constant for each hash function
	n      uint64   // number of additions, including repeats
	zipped bool     // WriteTo compresses with gzip
}

// holimanMagic is the beginning of the binary form. The library's predecessor has k in place of the
// zeros.
const holimanMagic = "\x00\x00\x00\x00\x00\x00\x00\x00v02\n"

const holimanVersion = "v02\n"

// NewHoliman returns the filter in data. data is either the output of the original's WriteTo or
// WriteFile, which is compressed with gzip, or that of its MarshalBinary, which is not. For JSON,
// use [Holiman.UnmarshalJSON].
//
// To protect against crafted files, NewHoliman refuses compressed data if the filter is larger than
// 1 MiB and more than 100 times as long as data. A filter that compresses so well is usually nearly
// empty. To read it, decompress data, and pass the result to NewHoliman.
func NewHoliman(data []byte) (*Holiman, error) {
	read, err := parseHoliman(data)
	if err != nil {
		return nil, decodeError(err)
	}
	return &Holiman{holiman: read}, nil
}

func parseHoliman(data []byte) (holiman, error) {
	if !gunzip.Begins(data) {
		return readHoliman(bytes.NewReader(data), uint64(len(data)), form.ErrTruncated)
	}
	in, err := gunzip.NewReader(bytes.NewReader(data), gzip.NewReader)
	if err != nil {
		return holiman{}, err
	}
	limit := uint64(min(form.MaxUnzipped(int64(len(data))), math.MaxInt))
	f, err := readHoliman(in, limit, errBomb)
	f.zipped = true
	if err == io.ErrUnexpectedEOF {
		err = form.ErrTruncated
	}
	return f, err
}

var errBomb = fmt.Errorf("%w: unpack it first", form.ErrUnzipped)

// UnmarshalBinary replaces f with the filter in data, which is the original's binary form without
// gzip. Afterwards WriteTo compresses with gzip, as in the original.
func (f *Holiman) UnmarshalBinary(data []byte) error {
	read, err := readHoliman(bytes.NewReader(data), uint64(len(data)), form.ErrTruncated)
	return f.replace(read, err)
}

// GobDecode is like UnmarshalBinary.
func (f *Holiman) GobDecode(data []byte) error { return f.UnmarshalBinary(data) }

// UnmarshalJSON replaces f with the filter in data, which is the original's JSON. Afterwards
// WriteTo writes the binary form and compresses it with gzip, as in the original.
func (f *Holiman) UnmarshalJSON(data []byte) error {
	if isNull(data) {
		return nil
	}
	read, err := parseHolimanJSON(data)
	return f.replace(read, err)
}

func (f *Holiman) replace(read holiman, err error) error {
	if err != nil {
		return decodeError(err)
	}
	f.holiman = read
	f.zipped = true
	return nil
}

// holimanJSON has the fields of the original's JSON in the same order.
type holimanJSON struct {
	Version string   `json:"version"`
	Bits    []uint64 `json:"bits"`
	Keys    []uint64 `json:"keys"`
	M       uint64   `json:"m"`
	N       uint64   `json:"n"`
}

func parseHolimanJSON(data []byte) (holiman, error) {
	var object holimanJSON
	if err := json.Unmarshal(data, &object); err != nil {
		return holiman{}, err
	}
	if object.Version != holimanVersion {
		return holiman{}, fmt.Errorf("its version is %q, not %q", object.Version, holimanVersion)
	}
	k := uint64(len(object.Keys))
	if err := checkSizes(object.M, k); err != nil {
		return holiman{}, err
	}
	words := uint64(len(object.Bits))
	if words != wordsFor(object.M) {
		return holiman{}, fmt.Errorf("m = %d does not fit %d words", object.M, words)
	}
	t, err := newTable(object.Bits, object.M, object.M, k, holimanSize(object.M, k))
	return holiman{table: t, keys: object.Keys, n: object.N}, err
}

func holimanSize(m, k uint64) int64 {
	return int64(uint64(len(holimanMagic)) + 8*(3+k+wordsFor(m)) + sha512.Size384)
}

// readHoliman reads all of r, which must be exactly one filter. If the filter has more than limit
// bytes, it returns tooLong.
func readHoliman(r io.Reader, limit uint64, tooLong error) (f holiman, err error) {
	sum := sha512.New384()
	magic := make([]byte, len(holimanMagic))
	if _, err := form.ReadFull(r, magic); err != nil {
		return f, err
	}
	if string(magic) != holimanMagic {
		return f, fmt.Errorf("it starts with % x", magic)
	}
	sum.Write(magic)
	head, _, err := form.ReadWords(r, sum, 3, form.LittleEndian)
	if err != nil {
		return f, err
	}
	k, n, m := head[0], head[1], head[2]
	if err := checkSizes(m, k); err != nil {
		return f, err
	}
	size := holimanSize(m, k)
	if uint64(size) > limit {
		return f, tooLong
	}
	keys, _, err := form.ReadWords(r, sum, int(k), form.LittleEndian)
	if err != nil {
		return f, err
	}
	words, _, err := form.ReadWords(r, sum, int(wordsFor(m)), form.LittleEndian)
	if err != nil {
		return f, err
	}
	if err := checkEnd(r, sum.Sum(nil)); err != nil {
		return f, err
	}
	t, err := newTable(words, m, m, k, size)
	return holiman{table: t, keys: keys, n: n}, err
}

// checkEnd returns an error unless the rest of r is sum.
func checkEnd(r io.Reader, sum []byte) error {
	end := make([]byte, len(sum)+1)
	got, err := form.ReadFull(r, end)
	if err == nil {
		return errors.New("more bytes follow the filter")
	}
	if err != form.ErrTruncated {
		return err
	}
	if got < len(sum) {
		return form.ErrTruncated
	}
	if !bytes.Equal(sum, end[:got]) {
		return errors.New("its checksum is wrong")
	}
	return nil
}

// ContainsHash64 reports whether the key with this hash may have been added. The original calls it
// ContainsHash.
func (f *Holiman) ContainsHash64(hash uint64) bool {
	for _, key := range f.keys {
		hash = bits.RotateLeft64(hash, 17) ^ key
		if !f.isSet(hash) {
			return false
		}
	}
	return f.k != 0
}

// AddHash64 adds the key with this hash. It returns true if the key was certainly new, and false if
// it was probably added before. The original calls it AddHash.
func (f *Holiman) AddHash64(hash uint64) bool {
	f.checkMade()
	isNew := false
	for _, key := range f.keys {
		hash = bits.RotateLeft64(hash, 17) ^ key
		isNew = f.set(hash) || isNew
	}
	f.n++
	return isNew
}

// WriteTo writes the binary form of f. It compresses with gzip unless [NewHoliman] read f from data
// without gzip. It returns an error if f is zero.
func (f *Holiman) WriteTo(w io.Writer) (int64, error) {
	if f.k == 0 {
		return 0, form.NoForm("foreign")
	}
	if !f.zipped {
		return f.write(w)
	}
	c := &counter{w: w}
	zip := gzip.NewWriter(c)
	_, err := f.write(zip)
	err = errors.Join(err, zip.Close())
	return c.n, err
}

func (f *holiman) write(w io.Writer) (int64, error) {
	sum := sha512.New384()
	head := form.AppendWords([]byte(holimanMagic), []uint64{uint64(f.k), f.n, f.m}, form.LittleEndian)
	head = form.AppendWords(head, f.keys, form.LittleEndian)
	n, err := form.WriteWords(io.MultiWriter(w, sum), head, f.words, form.LittleEndian)
	if err != nil {
		return n, err
	}
	more, err := form.WriteFull(w, sum.Sum(nil))
	return n + int64(more), err
}

// MarshalBinary returns the original's binary form of f, without gzip. It returns an error if f is
// zero.
func (f holiman) MarshalBinary() ([]byte, error) {
	if f.k == 0 {
		return nil, form.NoForm("foreign")
	}
	var out bytes.Buffer
	out.Grow(int(f.size))
	_, err := f.write(&out)
	return out.Bytes(), err
}

// GobEncode is like MarshalBinary.
func (f holiman) GobEncode() ([]byte, error) { return f.MarshalBinary() }

// MarshalJSON returns the original's JSON of f. It returns an error if f is zero.
func (f holiman) MarshalJSON() ([]byte, error) {
	if f.k == 0 {
		return nil, form.NoForm("foreign")
	}
	return json.Marshal(holimanJSON{holimanVersion, f.words, f.keys, f.m, f.n})
}

// String returns the name of f's type and its parameters.
func (f holiman) String() string { return f.describe("foreign.Holiman") }

// LogValue implements slog.LogValuer. The value is the result of String.
func (f holiman) LogValue() slog.Value { return slog.StringValue(f.String()) }

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := form.WriteFull(c.w, p)
	c.n += int64(n)
	return n, err
}
