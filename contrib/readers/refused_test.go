package readers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/alltypes"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// A refused vector breaks one condition of docs/format.md, and all others hold: its checksums are
// right, and its lengths fit. So a reader that lacks the condition accepts the vector. Vectors
// whose checksums have to be wrong are made by damaged.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head returns the length of the head of data.
func head(data []byte) int {
	if data[0] <= 1 {
		return 6
	}
	return form.KindOf(data).HeadSize()
}

// trailerOf returns where the trailer of data begins.
func trailerOf(data []byte) int {
	return len(data) - int(binary.BigEndian.Uint16(data[len(data)-12:]))
}

// sums returns both checksums that data, whose head has h bytes and whose trailer begins at
// trailer, should have.
func sums(data []byte, h, trailer int) (first, second uint32) {
	end := len(data)
	first = crc32.Update(crc32.Checksum(data[:h], castagnoli), castagnoli, data[trailer:end-16])
	return first, crc32.Checksum(data[:end-4], castagnoli)
}

// sealed makes both checksums of data, whose head has h bytes, right.
func sealed(data []byte, h int) []byte { return sealedFrom(data, h, max(h, trailerOf(data))) }

// resealed makes both checksums of Guava's form right, where the trailer begins at trailer.
func resealed(data []byte, trailer int) []byte { return sealedFrom(data, 6, trailer) }

func sealedFrom(data []byte, h, trailer int) []byte {
	end := len(data)
	first, _ := sums(data, h, trailer)
	binary.BigEndian.PutUint32(data[end-16:], first)
	_, second := sums(data, h, trailer)
	binary.BigEndian.PutUint32(data[end-4:], second)
	return data
}

// edited returns data with what edit made of it, and both checksums right again.
func edited(data []byte, edit func([]byte)) []byte {
	data = bytes.Clone(data)
	h := head(data)
	edit(data)
	return sealed(data, h)
}

// sized is edited, with the given number of words.
func sized(data []byte, words int, edit func([]byte)) []byte {
	h, trailer := head(data), trailerOf(data)
	body := append(bytes.Clone(data[h:trailer]), make([]byte, 8*words)...)[:8*words]
	return edited(slices.Concat(data[:h], body, data[trailer:]), edit)
}

// set is an edit of bytes.
func set(at int, bytes ...byte) func([]byte) {
	return func(data []byte) { copy(data[at:], bytes) }
}

// param is an edit of a frame's parameter.
func param(i int, x uint64) func([]byte) {
	return func(data []byte) { binary.LittleEndian.PutUint64(data[8+8*i:], x) }
}

// flip returns data with a bit of a byte changed. A negative at counts from the end.
func flip(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[(at+len(data))%len(data)] ^= 4
	return data
}

// framed returns a frame of given parameters and words, which need not fit each other.
func framed(kind *form.Kind, params, words []uint64) []byte {
	return bloom.Must(kind.Append(nil, params, words, form.Info{}))
}

// refuse adds a vector that readers refuse.
func (m *maker) refuse(name string, data []byte) {
	m.files["refused-"+name] = data
	m.v.Refused = append(m.v.Refused, "refused-"+name)
}

// refuseWhole is refuse of data whose checksums are right.
func (m *maker) refuseWhole(name string, data []byte) {
	end := len(data)
	first, second := sums(data, head(data), trailerOf(data))
	assert.Equal(m.t, first, binary.BigEndian.Uint32(data[end-16:]), "the first checksum of %s", name)
	assert.Equal(m.t, second, binary.BigEndian.Uint32(data[end-4:]), "the second checksum of %s", name)
	m.refuse(name, data)
}

// file returns what a vector's file holds.
func (m *maker) file(name string) []byte { return m.files[name+".bloom"] }

// refused adds all vectors that readers refuse.
func (m *maker) refused() {
	m.refusedGuava()
	m.damaged()
	m.refusedTrailers()
	m.refusedFrames()
	m.refusedParameters()
	m.refusedCuckoos()
	m.refusedWindows()
	m.refusedGrowing()
	m.refusedBanks()
	for _, typ := range alltypes.Forms() {
		name := regexp.MustCompile("^refused-(parameter-|sized-)?" + typ.Package() + "-")
		ok := typ.Guava || slices.ContainsFunc(m.v.Refused, name.MatchString)
		assert.True(m.t, ok, "parameters of %s that are out of range", typ.Name)
	}
}

func (m *maker) refusedGuava() {
	plain := m.files["guava-1.guava"]
	m.refuse("nothing", nil)
	m.refuse("one-byte", []byte{1})
	m.refuse("text", []byte("https://go.dev/\nhttps://pkg.go.dev/\n"))
	m.refuse("guava-strategy", edited(m.file("guava-1"), set(0, 2))[:len(plain)])
	m.refuse("guava-strategy-255", edited(m.file("guava-1"), set(0, 255))[:len(plain)])
	m.refuseWhole("guava-k", edited(m.file("guava-1"), set(1, 0)))
	m.refuse("guava-header-cut", []byte{1, 1, 0, 0, 0})
	m.refuse("guava-words-none", []byte{1, 1, 0, 0, 0, 0})
	m.refuse("guava-words-negative", append([]byte{1, 1, 0x80, 0, 0, 0}, make([]byte, 64)...))
	m.refuse("guava-words-many", append([]byte{1, 1, 0x7f, 0xff, 0xff, 0xff}, make([]byte, 64)...))
	m.refuse("guava-cut", plain[:len(plain)-1])
	m.refuse("guava-longer", append(bytes.Clone(plain), 0))
}

// damaged adds vectors whose checksums are wrong, or whose end is missing.
func (m *maker) damaged() {
	for _, name := range []string{
		"guava-1", "blocked-2", "counting", "cuckoo-17", "window-7", "flower-16", "bank-33",
	} {
		good := m.file(name)
		trailer, end := trailerOf(good), len(good)
		m.refuse(name+"-header", flip(good, head(good)-1))
		m.refuse(name+"-first-word", flip(good, head(good)))
		m.refuse(name+"-last-word", flip(good, trailer-1))
		m.refuse(name+"-n", flip(good, trailer))
		m.refuse(name+"-checksum", flip(good, -1))
		first := flip(good, -16)
		_, second := sums(first, head(first), trailer)
		binary.BigEndian.PutUint32(first[end-4:], second)
		m.refuse(name+"-first-checksum", first)
		m.refuse(name+"-cut", good[:end-1])
		m.refuse(name+"-longer", append(bytes.Clone(good), 0))
		if name != "guava-1" {
			m.refuse(name+"-cut-trailer", good[:trailer])
		}
	}
}

func (m *maker) refusedTrailers() {
	good := m.file("guava-1") // N, P, 9, 7, SumString, wörter, 14, a Meta, no zeros
	at, end := trailerOf(good), len(good)
	m.refuseWhole("info-p", edited(good, set(at+8, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0)))
	m.refuseWhole("info-p-negative", edited(good, set(at+8, 0xbf)))
	m.refuseWhole("info-p-nan", edited(good, set(at+8, 0x7f, 0xf8)))
	m.refuseWhole("info-hash-length", edited(good, set(at+17, 200)))
	m.refuseWhole("info-hash-utf8", edited(good, set(at+20, 0xff)))
	m.refuseWhole("info-comment-length", edited(good, set(at+18, 0x7f)))
	m.refuseWhole("info-comment-utf8", edited(good, set(at+20+len("SumString")+1, 'o')))
	for bit := range 4 {
		m.refuseWhole(fmt.Sprint("trailer-flag-", 4+bit), edited(good, set(at+16, 0x10<<bit)))
	}
	m.refuse("trailer-magic", edited(good, set(end-10, 'B')))
	m.refuseWhole("trailer-version-0", edited(good, set(end-5, 0)))
	m.refuseWhole("trailer-version", edited(good, set(end-5, 2)))
	m.refuse("trailer-version-longer",
		slices.Concat(good[:at], make([]byte, 8000), []byte("bloom\x02crc.")))
	longer := bytes.Clone(good)
	longer[end-11] += 8
	resealed(longer, at)
	m.refuse("trailer-length", longer)

	// with returns good with other bytes in place of the texts, of a length that
	// both of its places have.
	with := func(texts []byte, edit func([]byte)) []byte {
		data := slices.Concat(good[:at+20], texts, good[end-16:])
		binary.BigEndian.PutUint16(data[len(data)-12:], uint16(len(data)-at))
		edit(data)
		return resealed(data, at)
	}
	text := good[at+20 : end-16]
	m.refuse("trailer-odd-length", with(append(bytes.Clone(text), 0), func([]byte) {}))
	m.refuse("trailer-short", slices.Concat(good[:at], []byte{0, 12}, []byte("bloom\x01crc.")))
	// A trailer of 20 bytes after a word for which the second checksum is 05000000. Read as an
	// Info, these bytes are a small P, a flag and empty texts.
	tiny := []byte{1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0x09, 0xa0, 0xab, 0x24}
	tiny = append(tiny, make([]byte, 8)...)
	tiny = append(tiny, "\x00\x14bloom\x01crc."...)
	tiny = resealed(tiny, 14)
	require.EqualValues(m.t, 0x05000000, binary.BigEndian.Uint32(tiny[30:]))
	m.refuse("trailer-tiny", tiny)
	m.refuse("info-comment-long", with(bytes.Repeat([]byte("c"), 9+4103), func(data []byte) {
		data[at+16] = 0
		binary.BigEndian.PutUint16(data[at+18:], 4097)
		copy(data[at+20+9+4097:], make([]byte, 6))
	}))
	// withMeta returns good with another Meta.
	withMeta := func(length int, meta string) []byte {
		texts := binary.BigEndian.AppendUint16([]byte("SumStringwörter"), uint16(length))
		texts = append(texts, meta...)
		texts = append(texts, make([]byte, -len(texts)&7)...)
		return with(texts, func([]byte) {})
	}
	for name, meta := range map[string]string{
		"order":     "b=1&a=1",
		"order-raw": "%2A=1&%25=1",
		"name":      "a",
		"equals":    "a=b=c",
		"empty":     "a=1&&b=1",
		"end":       "a=1&",
		"hex":       "a=%fF",
		"letter":    "a=%41",
		"tilde":     "a=%7E",
		"space":     "a=%20",
		"cut":       "a=%2",
		"bare":      "a=b c",
		"semicolon": "a=1;b=1",
		"utf8":      "a=é",
		"line":      "a=1\n",
		"long":      "a=" + strings.Repeat("b", 4095),
	} {
		m.refuse("info-meta-"+name, withMeta(len(meta), meta))
	}
	m.refuse("info-meta-none", withMeta(0, ""))
	m.refuse("info-meta-cut-length", with([]byte("SumStringwörter1234567\x00"), set(at+18, 0, 14)))
	m.refuse("info-meta-cut-text", withMeta(9, "a=1234"))
	m.refuse("info-meta-zeros", withMeta(3, "a=1z"))

	zeros := m.file("blocked-1") // has a comment of one byte
	m.refuseWhole("info-zeros", edited(zeros, set(len(zeros)-17, 1)))
	m.refuse("frame-trailer-none", edited(zeros, set(6, 0, 0)))
	m.refuseWhole("frame-trailer-longer", edited(zeros, func(data []byte) { data[6] += 32 }))
}

func (m *maker) refusedFrames() {
	for _, name := range []string{
		"blocked-2", "counting", "cuckoo-17", "window-7", "flower-16", "bank-33",
	} {
		good := m.file(name)
		m.refuse(name+"-magic", edited(good, set(2, 'N')))
		m.refuse(name+"-kind", edited(good, set(3, 'Z')))
		m.refuse(name+"-kind-small", edited(good, set(3, good[3]|0x20)))
		m.refuseWhole(name+"-version-0", edited(good, set(4, 0)))
		m.refuseWhole(name+"-version", edited(good, set(4, 2)))
		m.refuseWhole(name+"-reserved", edited(good, set(5, 1)))
		m.refuse(name+"-cut-head", good[:head(good)-1])
		m.refuse(name+"-head-alone", good[:head(good)])
	}
	m.refuse("frame-magic-alone", []byte("BLM"))
	m.refuse("frame-start-alone", m.file("blocked-1")[:8])
	m.refuse("frame-start-cut", m.file("blocked-1")[:7])
}

// refusedParameters adds frames with a parameter out of range.
func (m *maker) refusedParameters() {
	f := math.Float64bits
	for _, test := range []struct {
		name, base string
		at         int
		value      uint64
	}{
		{"blocked-none", "blocked-2", 0, 0},
		{"blocked-many", "blocked-2", 0, 1<<35 + 1},
		{"blocked-other", "blocked-2", 0, 6},
		{"blocked-wrapping", "blocked-2", 0, 1<<62 + 7},
		{"blocked-lines-0", "blocked-2", 1, 0},
		{"blocked-lines-5", "blocked-2", 1, 5},
		{"blocked-reserved-parameter", "blocked-2", 2, 1},
		{"counting-none", "counting", 0, 0},
		{"counting-many", "counting", 0, 1 << 31},
		{"counting-wrapping", "counting", 0, 1 << 62},
		{"counting-k-0", "counting", 1, 0},
		{"counting-k-256", "counting", 1, 256},
		{"cuckoo-many", "cuckoo-17", 0, 1 << 58},
		{"cuckoo-wrapping", "cuckoo-17", 0, 1<<60 + 47},
		{"cuckoo-list", "cuckoo-17", 2, 1},
		{"window-n", "window-7", 0, 0},
		{"window-rate-0", "window-7", 1, 0},
		{"window-rate-1", "window-7", 1, f(1)},
		{"window-rate-nan", "window-7", 1, f(math.NaN())},
		{"window-span", "window-new", 2, 6_999_999},
		{"window-span-long", "window-new", 2, 1 << 60},
		{"window-span-negative", "window-new", 2, 1 << 63},
		{"window-generations-0", "window-count", 3, 0},
		{"window-generations-32", "window-count", 3, 32},
		{"window-renew", "window-count", 4, 2},
		{"window-k-0", "window-7", 5, 0},
		{"window-k-odd", "window-7", 5, 3},
		{"window-k-66", "window-7", 5, 66},
		{"window-pages-0", "window-7", 6, 0},
		{"window-pages-many", "window-7", 6, 1 << 61},
		{"window-pages-small", "window-7", 6, 2},
		{"window-lanes-0", "window-7", 7, 0},
		{"window-lanes-many", "window-7", 7, 1 << 32},
		{"flower-few", "flower-16", 0, 2},
		{"flower-many", "flower-16", 0, 1 << 63},
		{"flower-ways-0", "flower-16", 1, 0},
		{"flower-ways-65", "flower-16", 1, 65},
		{"flower-bits-0", "flower-16", 2, 0},
		{"bank-size-0", "bank-3", 0, 0},
		{"bank-size-many", "bank-3", 0, 1 << 31},
		{"bank-k-0", "bank-3", 1, 0},
		{"bank-k-256", "bank-3", 1, 256},
		{"bank-members", "bank-3", 2, 2},
		{"bank-members-wrapping", "bank-3", 2, 1 << 58},
		{"bank-members-many", "bank-3", 2, 1 << 37},
		{"bank-names", "bank-33", 3, 12*33 - 1},
		{"bank-names-many", "bank-33", 3, 1 << 63},
	} {
		m.refuseWhole("parameter-"+test.name, edited(m.file(test.base), param(test.at, test.value)))
	}
	// Where the number of words fits the parameters.
	for _, test := range []struct {
		name, base string
		words, at  int
		value      uint64
	}{
		{"blocked-none", "blocked-2", 0, 0, 0},
		{"counting-none", "counting", 0, 0, 0},
		{"bank-none", "bank-3", 0, 0, 0},
		{"window-pages-none", "window-pages", 0, 6, 0},
		{"window-lanes-none", "window-empty", 0, 7, 0},
		{"flower-few", "flower-16", 1, 0, 2},
		{"bank-names-of-none", "bank-0", 1, 3, 8},
	} {
		m.refuseWhole("sized-"+test.name,
			sized(m.file(test.base), test.words, param(test.at, test.value)))
	}
	for _, bits := range []uint64{64, 24, 4} {
		slots, words := uint64(64), bits
		m.refuseWhole(fmt.Sprint("sized-flower-bits-", bits),
			framed(form.Flower, []uint64{slots, 1, bits}, make([]uint64, words)))
	}
	m.refuseWhole("sized-flower-ways-65",
		framed(form.Flower, []uint64{128, 65, 8}, make([]uint64, 16)))
	m.refuseWhole("sized-window-small-pages", sized(m.file("window-empty"), 2*4095, func(data []byte) {
		param(6, 2)(data)
		param(7, 4095)(data)
	}))
}

func (m *maker) refusedCuckoos() {
	listed := m.file("cuckoo-17") // 50 words of buckets, the number of keys, and two keys of a list
	word := func(i int) int { return head(listed) + 8*i }
	for _, test := range []struct {
		name string
		edit func(data []byte)
	}{
		{"behind", func(data []byte) { data[word(50)-1] |= 0x80 }},
		{"count", func(data []byte) { data[word(50)]++ }},
		{"order", func(data []byte) {
			copy(data[word(51):word(57)], slices.Concat(data[word(54):word(57)], data[word(51):word(54)]))
		}},
		{"twice", func(data []byte) { copy(data[word(54):word(56)], data[word(51):word(53)]) }},
		{"never", func(data []byte) {
			data[word(56)] += data[word(53)]
			data[word(53)] = 0
		}},
		{"often", func(data []byte) { // 2^32 more times, which the number of keys has, too
			data[word(53)+4]++
			data[word(50)+4]++
		}},
	} {
		m.refuseWhole("cuckoo-"+test.name, edited(listed, test.edit))
	}
	empty := func(buckets, bits, entries uint64) []byte {
		words := make([]uint64, (4*buckets*bits+63)/64+1+3*entries)
		list := words[uint64(len(words))-3*entries:]
		for i := range entries {
			list[3*i] = i // H1, and H2 is 0
			list[3*i+2] = 1
		}
		words[uint64(len(words))-3*entries-1] = entries
		return framed(form.Cuckoo, []uint64{buckets, bits, entries}, words)
	}
	require.NoError(m.t, new(cuckoo.Filter).UnmarshalBinary(empty(16, 7, 32)))
	m.refuseWhole("sized-cuckoo-none", empty(0, 7, 0))
	m.refuseWhole("sized-cuckoo-bits-6", empty(16, 6, 0))
	m.refuseWhole("sized-cuckoo-bits-34", empty(16, 34, 0))
	m.refuseWhole("sized-cuckoo-list-33", empty(16, 7, 33))
}

func (m *maker) refusedWindows() {
	const live, newest, full, lost, stamp, ends = 8, 9, 11, 12, 13, 14 // parameters
	negative := func(x int64) uint64 { return uint64(x) }
	for _, test := range []struct {
		name, base string
		edits      []func([]byte)
	}{
		{"live-65", "window-empty", []func([]byte){param(live, 65)}},
		{"newest-64", "window-empty", []func([]byte){param(newest, 64)}},
		{"lost-late", "window-empty", []func([]byte){param(lost, 1)}},
		{"stamp-late", "window-new", []func([]byte){param(stamp, 1<<62+1)}},
		{"stamp-early", "window-new",
			[]func([]byte){param(stamp, negative(-1<<62-1)), param(lost, 1<<63)}},
		{"stamp-counted", "window-empty", []func([]byte){param(stamp, 1)}},
		{"end-early", "window-empty", []func([]byte){param(live, 1), param(ends, negative(-1<<62-1))}},
		{"end-late", "window-empty", []func([]byte){param(live, 1), param(full, 1), param(ends, 2)}},
		{"end-late-open", "window-empty", []func([]byte){param(live, 1), param(ends, 1<<62+1)}},
		{"end-late-older", "window-empty", []func([]byte){
			param(live, 2), param(newest, 1), param(ends, 2), param(ends+1, 2),
		}},
		{"end-order", "window-empty", []func([]byte){
			param(live, 2), param(newest, 1), param(ends, 1), param(ends+1, 0),
		}},
	} {
		m.refuseWhole("window-"+test.name, edited(m.file(test.base), func(data []byte) {
			for _, edit := range test.edits {
				edit(data)
			}
		}))
	}
}

func (m *maker) refusedGrowing() {
	grown := m.file("growing")
	frame := grown[:8+24+8*16+int(binary.LittleEndian.Uint16(grown[6:]))]
	tiny := save(m.t, bloom.Must(blocked.NewSize(256, 1)))
	// with returns a growing filter of the given number of small layers in shard 0, and one in
	// each other.
	with := func(layers int, edit func([]byte)) []byte {
		return append(edited(frame, func(data []byte) {
			for i := range 16 {
				param(3+i, 1)(data)
			}
			param(3, uint64(layers))(data)
			edit(data)
		}), bytes.Repeat(tiny, layers+15)...)
	}
	// of returns a growing filter of the given number of shards, each with a small layer.
	of := func(shards int) []byte {
		counts := slices.Repeat([]uint64{1}, shards)
		params := []uint64{0, math.Float64bits(0.1), uint64(shards)}
		return append(framed(form.Growing, params, counts), bytes.Repeat(tiny, shards)...)
	}
	none := func([]byte) {}
	require.NoError(m.t, new(growing.Filter).UnmarshalBinary(with(64, none)))
	require.NoError(m.t, new(growing.Filter).UnmarshalBinary(of(16)))
	m.refuse("growing-no-layers", frame)
	m.refuse("growing-n", with(1, param(0, 1<<40+1)))
	m.refuse("growing-p-1", with(1, param(1, math.Float64bits(1))))
	m.refuse("growing-p-0", with(1, param(1, math.Float64bits(1e-10))))
	m.refuse("growing-shards-many", with(1, param(2, 17)))
	m.refuse("growing-shards-few", with(1, param(2, 15)))
	m.refuse("sized-growing-shards-many", of(17))
	m.refuse("sized-growing-shards-few", of(15))
	m.refuse("growing-empty-shard", with(0, none))
	m.refuse("growing-many-layers", with(65, none))
	m.refuse("growing-layer-too-many", append(with(1, none), tiny...))
	m.refuse("growing-layer-of-another-kind",
		append(slices.Clip(of(16)[:len(of(16))-len(tiny)]), m.file("flower-8")...))
	layer := grown[len(frame):]
	cut := len(frame) + 8 + 24 + 32*int(binary.LittleEndian.Uint64(layer[8:])) +
		int(binary.LittleEndian.Uint16(layer[6:]))
	m.refuse("growing-cut-between-layers", grown[:cut])
}

// refusedBanks adds banks whose rows or names are wrong in frames whose own checksums are right.
func (m *maker) refusedBanks() {
	padded := m.file("bank-32737")
	m.refuseWhole("bank-padding", edited(padded, func(data []byte) { data[4095] ^= 0x80 }))
	m.refuseWhole("bank-segment", edited(padded, func(data []byte) { data[65*4096+5] ^= 0x80 }))

	b := m.file("bank-33")
	const page = 8 * 65
	const rows = 40
	const names = rows + page
	const texts = names + 12*33
	for name, at := range map[string]int{
		"row":        rows,
		"row-last":   rows + 8*63,
		"page-end":   rows + page - 4,
		"name":       texts,
		"name-end":   names,
		"name-check": names + 8,
	} {
		m.refuseWhole("bank-"+name, edited(b, func(data []byte) { data[at] ^= 0x80 }))
	}
	sum := func(numbers []uint64, bytes []byte) uint32 {
		all, _ := binary.Append(nil, binary.LittleEndian, numbers)
		return crc32.Checksum(append(all, bytes...), castagnoli)
	}
	for name, bit := range map[string]int{
		"bank-row-behind":      33,
		"bank-row-far-behind":  41,
		"bank-row-last-behind": 64*63 + 33,
		"bank-page-behind":     64*64 + 31,
	} {
		m.refuseWhole(name, edited(b, func(data []byte) {
			page := data[rows:names]
			page[bit/8] |= 1 << (bit % 8)
			end := len(page) - 4
			binary.LittleEndian.PutUint32(page[end:], sum([]uint64{0, 0}, page[:end]))
		}))
	}
	m.refuseWhole("bank-names-behind", edited(b, func(data []byte) {
		last := trailerOf(data) - 1
		require.Zero(m.t, data[last], "the names fill their words")
		data[last] = 1
	}))

	// named returns a bank with names of the given ends, which fit no texts perhaps.
	named := func(text []byte, ends ...uint64) []byte {
		b := bloom.Must(bank.NewSize(64, 2))
		for range ends {
			b.Append()
		}
		b.SetName(0, "x")
		plain := save(m.t, b)
		h, n := head(plain), len(ends)
		at := h + 8*int(wordsOfRows(n)) // of the names
		var table []byte
		begin := uint64(0)
		for i, end := range ends {
			var name []byte
			if begin <= end && end <= uint64(len(text)) {
				name = text[begin:end]
			}
			table = binary.LittleEndian.AppendUint64(table, end)
			table = binary.LittleEndian.AppendUint32(table, sum([]uint64{uint64(i), begin, end}, name))
			begin = end
		}
		table = append(table, text...)
		size := len(table)
		table = append(table, make([]byte, -size&7)...)
		data := slices.Concat(plain[:at], table, plain[trailerOf(plain):])
		return edited(data, param(3, uint64(size)))
	}
	require.NoError(m.t, new(bank.Bank).UnmarshalBinary(named([]byte("abcde"), 2, 3, 5)))
	m.refuseWhole("bank-name-backwards", named([]byte("abcde"), 3, 2, 5))
	m.refuseWhole("bank-names-longer", named([]byte("abcde"), 2, 3, 4))
	m.refuseWhole("bank-name-long", named([]byte(strings.Repeat("a", 65536)), 65536))
	m.refuseWhole("bank-names-tiny", sized(m.file("bank-3"), 64+1, param(3, 8)))
	// A table that is a byte too short, whose last byte, of a checksum, would be 0.
	for n := 1; ; n++ {
		data := named(nil, make([]uint64, n)...)
		end := trailerOf(data)
		if n%2 == 0 && data[end-1] == 0 {
			m.refuseWhole("bank-names-few", edited(data, param(3, uint64(12*n-1))))
			break
		}
	}
}

// wordsOfRows returns the number of words of the pages of a bank of n 64-bit members.
func wordsOfRows(n int) uint64 {
	row, rows := (n+63)/64, 64
	for rows > 1 && rows*row > 511 {
		rows /= 2
	}
	page := rows * row
	if n%64 == 0 || n%64 > 32 {
		page++
	}
	return uint64(64 / rows * page)
}
