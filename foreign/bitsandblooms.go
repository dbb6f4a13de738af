package foreign

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/digest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// BitsAndBlooms is a filter of github.com/bits-and-blooms/bloom/v3, or of its predecessor
// github.com/willf/bloom, which writes the same bytes.
//
// Many goroutines may look keys up at once. Adding needs the filter to itself. The zero
// value contains nothing, and panics when a key is added. A BitsAndBlooms must not be copied.
type BitsAndBlooms struct {
	table
	length uint64 // of their bit set: m, or more after their From
	order  form.Order
	text   *base64.Encoding // of a filter in JSON, or nil
}

// NewBitsAndBlooms returns the filter that data holds, and no byte more: what WriteTo,
// MarshalBinary or MarshalJSON wrote. White space may surround JSON. The bytes show whether
// LittleEndian and Base64StdEncoding of package bitset were set.
func NewBitsAndBlooms(data []byte) (*BitsAndBlooms, error) {
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' {
		return decoded(bitsAndBloomsJSON(text))
	}
	if len(data) < 16 {
		return decoded[BitsAndBlooms](nil, form.ErrTruncated)
	}
	return decoded(bitsAndBlooms(binary.BigEndian.Uint64(data), binary.BigEndian.Uint64(data[8:]), data[16:], nil))
}

func bitsAndBloomsJSON(data []byte) (*BitsAndBlooms, error) {
	var object struct {
		M, K uint64
		B    string
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, err
	}
	text := base64.URLEncoding
	if strings.ContainsAny(object.B, "+/") {
		text = base64.StdEncoding
	}
	set, err := text.DecodeString(object.B)
	if err != nil {
		return nil, err
	}
	return bitsAndBlooms(object.M, object.K, set, text)
}

// bitsAndBlooms returns the filter that has a bit set, which is its length in bits, and words.
func bitsAndBlooms(m, k uint64, set []byte, text *base64.Encoding) (*BitsAndBlooms, error) {
	if len(set) < 8 || len(set)%8 != 0 {
		return nil, form.ErrTruncated
	}
	if err := checkSizes(m, k); err != nil {
		return nil, err
	}
	order, length, body := form.BigEndian, binary.BigEndian.Uint64(set), set[8:]
	size := uint64(len(body) / 8)
	if wordsFor(length) != size {
		order, length = form.LittleEndian, binary.LittleEndian.Uint64(set)
	}
	if wordsFor(length) != size {
		return nil, fmt.Errorf("a bit set of %d bits has %d words", binary.BigEndian.Uint64(set), size)
	}
	length = max(length, 1) // their New(0, k) has one bit, in an empty set
	if m > length {
		return nil, fmt.Errorf("m = %d, of %d bits", m, length)
	}
	words := bitwords.Make(int(wordsFor(length)))
	form.GetWords(words[:size], body, order)
	f := &BitsAndBlooms{length: length, order: order, text: text}
	return f, f.init(words, length, m, k, 24+8*int64(len(words)))
}

// digests returns the Murmur3 digests of key, and of key with a byte of 1 behind it.
func digests(key []byte) (h [4]uint64) {
	n := uint64(len(key))
	var h1, h2, k1, k2 uint64
	for rest := key; len(rest) >= 16; rest = rest[16:] {
		h1, h2 = digest.Mix(h1, h2, binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:]))
	}
	// The last block, padded with zeros.
	switch tail := n & 15; {
	case tail == 0:
	case tail > 8:
		k1, k2 = binary.LittleEndian.Uint64(key[n-tail:]), binary.LittleEndian.Uint64(key[n-8:])>>(8*(16-tail))
	case n >= 8:
		k1 = binary.LittleEndian.Uint64(key[n-8:]) >> (8 * (8 - tail))
	case n >= 4: // the two reads overlap
		k1 = uint64(binary.LittleEndian.Uint32(key)) | uint64(binary.LittleEndian.Uint32(key[n-4:]))<<(8*(n-4)&63)
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
	if n&15 == 15 { // the block is whole
		h1, h2 = digest.Mix(h1, h2, k1, k2)
		k1, k2 = 0, 0
	}
	h[2], h[3] = digest.Finish(digest.Last(h1, h2, k1, k2, n+1))
	return h
}

// location returns the i-th of the numbers whose remainders modulo m are a key's bits.
func location(h *[4]uint64, i uint64) uint64 { return h[i&1] + i*h[2+(i+i&1)&3>>1] }

// Contains reports whether key may have been added. It is their Test.
func (f *BitsAndBlooms) Contains(key []byte) bool {
	h := digests(key)
	for i := range uint64(f.k) {
		if !f.has(location(&h, i)) {
			return false
		}
	}
	return f.k != 0
}

// ContainsString is Contains of key's bytes, without copying them.
func (f *BitsAndBlooms) ContainsString(key string) bool { return f.Contains(bitwords.BytesOf(key)) }

// Add adds key. It returns true if the key was certainly new, and false if it was probably
// seen: the opposite of their TestAndAdd.
func (f *BitsAndBlooms) Add(key []byte) (isNew bool) {
	f.takesKeys()
	h := digests(key)
	for i := range uint64(f.k) {
		isNew = f.set(location(&h, i)) || isNew
	}
	return isNew
}

// AddString is Add of key's bytes, without copying them.
func (f *BitsAndBlooms) AddString(key string) bool { return f.Add(bitwords.BytesOf(key)) }

// WriteTo writes f as it was read: in binary, or as JSON, which it makes in memory. It returns an
// error if f is zero.
func (f *BitsAndBlooms) WriteTo(w io.Writer) (int64, error) {
	if f.k == 0 {
		return 0, form.NoForm("foreign")
	}
	length := form.AppendWords(nil, []uint64{f.length}, f.order)
	if f.text != nil {
		set := f.text.EncodeToString(form.AppendWords(length, f.words, f.order))
		n, err := form.WriteFull(w, fmt.Appendf(nil, `{"m":%d,"k":%d,"b":"%s"}`, f.m, f.k, set))
		return int64(n), err
	}
	head := form.AppendWords(nil, []uint64{f.m, uint64(f.k)}, form.BigEndian)
	return form.WriteWords(w, append(head, length...), f.words, f.order)
}
