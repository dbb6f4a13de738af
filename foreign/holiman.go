package foreign

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/seed79a3ff49/bloom/internal/form"
)

// Holiman is a filter of github.com/holiman/bloomfilter/v2. Its keys are hashes of 64
// bits, which the caller makes, as there.
//
// It has no lock, unlike the original. Many goroutines may look keys up at once. Adding needs
// the filter to itself. The zero value contains nothing, and panics when a key is added.
// A Holiman must not be copied.
type Holiman struct {
	table
	keys   []uint64
	n      uint64 // keys added, repeated ones too
	zipped bool
}

// holimanMagic has zeros where the library's predecessor has k.
const holimanMagic = "\x00\x00\x00\x00\x00\x00\x00\x00v02\n"

// NewHoliman returns the filter that data holds, and no byte more: what WriteTo or WriteFile
// wrote, with gzip, or MarshalBinary, without. It takes no JSON.
//
// The filter takes up to 64 MiB, or 100 times the length of data, where that is more. Only a
// filter that is nearly empty is larger once gzip is undone. NewHoliman refuses it, against
// gzip bombs: undo the gzip first.
func NewHoliman(data []byte) (*Holiman, error) {
	f := &Holiman{zipped: bytes.HasPrefix(data, []byte{0x1f, 0x8b})}
	return decoded(f, f.unmarshal(data))
}

func (f *Holiman) unmarshal(data []byte) error {
	if !f.zipped {
		return f.read(bytes.NewReader(data), uint64(len(data)), form.ErrTruncated)
	}
	in, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	limit := min(max(64<<20, 100*uint64(len(data))), math.MaxInt)
	return f.read(in, limit, errors.New("gzip has made it less than a hundredth: undo the gzip first"))
}

// read reads a filter from in, to its end. It returns tooLong if it has more bytes than limit.
func (f *Holiman) read(in io.Reader, limit uint64, tooLong error) error {
	sum := sha512.New384()
	magic := make([]byte, len(holimanMagic))
	if _, err := form.ReadFull(in, magic); err != nil {
		return err
	}
	if string(magic) != holimanMagic {
		return fmt.Errorf("it starts with % x", magic)
	}
	sum.Write(magic)
	head, _, err := form.ReadWords(in, sum, 3, form.LittleEndian)
	if err != nil {
		return err
	}
	k, n, m := head[0], head[1], head[2]
	if err := checkSizes(m, k); err != nil {
		return err
	}
	size := uint64(len(magic)) + 8*(3+k+wordsFor(m)) + sha512.Size384
	if size > limit {
		return tooLong
	}
	keys, _, err := form.ReadWords(in, sum, int(k), form.LittleEndian)
	if err != nil {
		return err
	}
	words, _, err := form.ReadWords(in, sum, int(wordsFor(m)), form.LittleEndian)
	if err != nil {
		return err
	}
	end := make([]byte, sha512.Size384+1)
	switch got, err := form.ReadFull(in, end); {
	case err == nil:
		return errors.New("there are bytes behind it")
	case err != form.ErrTruncated:
		return err
	case !bytes.Equal(sum.Sum(nil), end[:got]):
		return errors.New("its checksum is wrong")
	}
	f.keys, f.n = keys, n
	return f.init(words, m, m, k, int64(size))
}

// ContainsHash64 reports whether the key with this hash may have been added. It is their
// ContainsHash.
func (f *Holiman) ContainsHash64(hash uint64) bool {
	for _, key := range f.keys {
		hash = bits.RotateLeft64(hash, 17) ^ key
		if !f.has(hash) {
			return false
		}
	}
	return f.k != 0
}

// AddHash64 adds the key with this hash. It returns true if the key was certainly new, and
// false if it was probably seen. It is their AddHash.
func (f *Holiman) AddHash64(hash uint64) (isNew bool) {
	f.takesKeys()
	for _, key := range f.keys {
		hash = bits.RotateLeft64(hash, 17) ^ key
		isNew = f.set(hash) || isNew
	}
	f.n++
	return isNew
}

// WriteTo writes f as it was read, with gzip or without. It returns an error if f is zero.
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

func (f *Holiman) write(w io.Writer) (int64, error) {
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

// counter counts the bytes that w has taken.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := form.WriteFull(c.w, p)
	c.n += int64(n)
	return n, err
}
