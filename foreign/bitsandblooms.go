package foreign

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/digest"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/gunzip"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// BitsAndBlooms is a filter of github.com/bits-and-blooms/bloom/v3, or of its predecessor
// github.com/willf/bloom, which writes the same bytes. A BitsAndBlooms must not be copied.
//
// The original of a type in this package is the type in the other library. Except for WriteTo, the
// encoding methods write the same form as those of the original. If the original has neither a JSON
// form nor a text form, MarshalJSON and MarshalText return an error.
type BitsAndBlooms struct {
	_ nocopy.Locker
	bitsAndBlooms
}

type bitsAndBlooms struct {
	table
	length uint64 // number of bits in the set: m, or more if the original's FromWithM made it
	order  form.Order
	text   *base64.Encoding // the encoding of the set in JSON, or nil for the original's default
	inJSON bool             // WriteTo writes JSON
}

// NewBitsAndBlooms returns the filter in data, which is the output of the original's WriteTo,
// MarshalBinary or MarshalJSON. White space may surround JSON. NewBitsAndBlooms detects whether the
// writer had called LittleEndian of package bitset, unless the bit set is empty. It detects a call
// of Base64StdEncoding only if the text has a + or a /.
func NewBitsAndBlooms(data []byte) (*BitsAndBlooms, error) {
	f := new(BitsAndBlooms)
	decode := f.readBinary
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' {
		decode = f.readJSON
	}
	if err := decode(data); err != nil {
		return nil, err
	}
	return f, nil
}

// UnmarshalJSON replaces f with the filter in data, which is the original's JSON.
func (f *BitsAndBlooms) UnmarshalJSON(data []byte) error {
	if isNull(data) {
		return nil
	}
	return f.readJSON(data)
}

// UnmarshalBinary replaces f with the filter in data, which is the original's binary form.
func (f *BitsAndBlooms) UnmarshalBinary(data []byte) error { return f.readBinary(data) }

// GobDecode is like UnmarshalBinary.
func (f *BitsAndBlooms) GobDecode(data []byte) error { return f.readBinary(data) }

func (f *BitsAndBlooms) readJSON(data []byte) error {
	read, err := parseBitsJSON(data)
	if err == nil {
		f.bitsAndBlooms = read
	}
	return decodeError(err)
}

func (f *BitsAndBlooms) readBinary(data []byte) error {
	read, err := parseBits(data)
	if err == nil {
		f.bitsAndBlooms = read
	}
	return decodeError(err)
}

func parseBits(data []byte) (bitsAndBlooms, error) {
	if gunzip.Begins(data) {
		return bitsAndBlooms{}, errZipped
	}
	if len(data) < 24 {
		return bitsAndBlooms{}, form.ErrTruncated
	}
	m := binary.BigEndian.Uint64(data)
	k := binary.BigEndian.Uint64(data[8:])
	return newBits(m, k, data[16:])
}

func parseBitsJSON(data []byte) (bitsAndBlooms, error) {
	var object struct {
		M, K uint64
		B    string
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return bitsAndBlooms{}, err
	}
	text := base64.URLEncoding
	if strings.ContainsAny(object.B, "+/") {
		text = base64.StdEncoding
	}
	set, err := text.DecodeString(object.B)
	if err != nil {
		return bitsAndBlooms{}, err
	}
	if len(set) < 8 {
		return bitsAndBlooms{}, form.ErrTruncated
	}
	f, err := newBits(object.M, object.K, set)
	f.text = text
	f.inJSON = true
	return f, err
}

// newBits returns the filter with the given m and k. encoded is its bit set: the length in bits,
// followed by the words.
func newBits(m, k uint64, encoded []byte) (bitsAndBlooms, error) {
	if err := checkSizes(m, k); err != nil {
		return bitsAndBlooms{}, err
	}
	order, length, err := orderOf(encoded)
	if err != nil {
		return bitsAndBlooms{}, err
	}
	body := encoded[8:]
	length = max(length, 1) // the original's New(0, k) has m = 1 and a set of no bits
	if m > length {
		return bitsAndBlooms{}, fmt.Errorf("m = %d is more than the %d bits of its set", m, length)
	}
	words := bitwords.Make(int(wordsFor(length)))
	form.GetWords(words[:len(body)/8], body, order)
	t, err := newTable(words, length, m, k, 24+8*int64(len(words)))
	return bitsAndBlooms{table: t, length: length, order: order}, err
}

// orderOf returns the byte order of an encoded bit set, and the set's length in bits. It chooses
// the order in which the length matches the number of words that follow.
func orderOf(encoded []byte) (form.Order, uint64, error) {
	big := binary.BigEndian.Uint64(encoded)
	little := binary.LittleEndian.Uint64(encoded)
	body := uint64(len(encoded) - 8)
	switch {
	case body == 8*wordsFor(big):
		return form.BigEndian, big, nil
	case body == 8*wordsFor(little):
		return form.LittleEndian, little, nil
	}
	// The smaller number is usually the length: in the wrong byte order, the length's low byte
	// becomes the highest.
	length := min(big, little)
	if wordsFor(length) < body/8+1 {
		return false, 0, fmt.Errorf("%d bytes follow the set of %d bits", body-8*wordsFor(length), length)
	}
	return false, 0, form.ErrTruncated
}

// digests returns the Murmur3 digests of key, and of key followed by a byte of 1.
func digests(key []byte) (h [4]uint64) {
	le := binary.LittleEndian
	n := uint64(len(key))
	var h1, h2, k1, k2 uint64
	for rest := key; len(rest) >= 16; rest = rest[16:] {
		h1, h2 = digest.Mix(h1, h2, le.Uint64(rest), le.Uint64(rest[8:]))
	}
	// k1 and k2 are the last block, padded with zeros. [bloom.Sum] has similar steps. A shared
	// function would not be inlined, and hashing a 4-byte key would take a fifth longer.
	switch tail := n & 15; {
	case tail == 0:
	case tail > 8:
		k1 = le.Uint64(key[n-tail:])
		k2 = le.Uint64(key[n-8:]) >> (8 * (16 - tail))
	case n >= 8:
		k1 = le.Uint64(key[n-8:]) >> (8 * (8 - tail))
	case n >= 4: // the two reads overlap
		k1 = uint64(le.Uint32(key)) | uint64(le.Uint32(key[n-4:]))<<(8*(n-4)&63)
	default:
		k1 = uint64(key[0]) | uint64(key[n/2])<<(8*(n/2)&63) | uint64(key[n-1])<<(8*(n-1)&63)
	}
	h[0], h[1] = digest.Finish(digest.Last(h1, h2, k1, k2, n))
	one := uint64(1) << (8 * (n & 7))
	if n&8 == 0 {
		k1 |= one
	} else {
		k2 |= one
	}
	if n&15 == 15 { // the block is complete
		h1, h2 = digest.Mix(h1, h2, k1, k2)
		k1, k2 = 0, 0
	}
	h[2], h[3] = digest.Finish(digest.Last(h1, h2, k1, k2, n+1))
	return h
}

// location returns a number that, modulo m, is the index of the key's i-th bit.
func location(h *[4]uint64, i uint64) uint64 { return h[i&1] + i*h[2+(i+i&1)&3>>1] }

// Contains reports whether key may have been added. The original calls it Test.
func (f *BitsAndBlooms) Contains(key []byte) bool {
	h := digests(key)
	for i := range uint64(f.k) {
		if !f.isSet(location(&h, i)) {
			return false
		}
	}
	return f.k != 0
}

// ContainsString is like Contains. It does not copy key.
func (f *BitsAndBlooms) ContainsString(key string) bool { return f.Contains(bitwords.BytesOf(key)) }

// Add adds key. It returns true if key was certainly new, and false if it was probably added
// before. This is the opposite of the original's TestAndAdd.
func (f *BitsAndBlooms) Add(key []byte) bool {
	f.checkMade()
	isNew := false
	h := digests(key)
	for i := range uint64(f.k) {
		isNew = f.set(location(&h, i)) || isNew
	}
	return isNew
}

// AddString is like Add. It does not copy key.
func (f *BitsAndBlooms) AddString(key string) bool { return f.Add(bitwords.BytesOf(key)) }

// WriteTo writes f in the form in which it was read, binary or JSON. JSON is first built in memory.
// WriteTo returns an error if f is zero.
func (f *BitsAndBlooms) WriteTo(w io.Writer) (int64, error) {
	if f.k == 0 {
		return 0, form.NoForm("foreign")
	}
	if f.inJSON {
		data, err := f.MarshalJSON()
		if err != nil {
			return 0, err
		}
		n, err := form.WriteFull(w, data)
		return int64(n), err
	}
	return form.WriteWords(w, f.head(), f.words, f.order)
}

func (f *bitsAndBlooms) head() []byte {
	head := form.AppendWords(nil, []uint64{f.m, uint64(f.k)}, form.BigEndian)
	return f.appendLength(head)
}

func (f *bitsAndBlooms) appendLength(b []byte) []byte {
	return form.AppendWords(b, []uint64{f.length}, f.order)
}

// MarshalJSON returns the original's JSON of f. It returns an error if f is zero.
func (f bitsAndBlooms) MarshalJSON() ([]byte, error) {
	if f.k == 0 {
		return nil, form.NoForm("foreign")
	}
	text := f.text
	if text == nil {
		text = base64.URLEncoding
	}
	set := form.AppendWords(f.appendLength(nil), f.words, f.order)
	return fmt.Appendf(nil, `{"m":%d,"k":%d,"b":"%s"}`, f.m, f.k, text.EncodeToString(set)), nil
}

// MarshalBinary returns the original's binary form of f. It returns an error if f is zero.
func (f bitsAndBlooms) MarshalBinary() ([]byte, error) {
	if f.k == 0 {
		return nil, form.NoForm("foreign")
	}
	return form.AppendWords(f.head(), f.words, f.order), nil
}

// GobEncode is like MarshalBinary.
func (f bitsAndBlooms) GobEncode() ([]byte, error) { return f.MarshalBinary() }

// String returns the name of f's type and its parameters.
func (f bitsAndBlooms) String() string { return f.describe("foreign.BitsAndBlooms") }

// LogValue implements slog.LogValuer. The value is the result of String.
func (f bitsAndBlooms) LogValue() slog.Value { return slog.StringValue(f.String()) }
