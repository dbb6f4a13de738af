// Package readers holds the readers of this library's formats in other languages to the
// library: bloom.py, and bloom.mjs for browsers and Node. docs/format.md describes the formats.
package readers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/window"
)

var folder = flag.String("vectors", "../../testdata/vectors", "where the vectors are")
var update = flag.Bool("update", false, "write the vectors")

// vectors is vectors.json. A string of zeros and ones has one for each of Keys.
type vectors struct {
	Keys    []string `json:"keys"`
	Filters []vector `json:"filters"`
	Refused []string `json:"refused"` // files
}

type vector struct {
	File    string   `json:"file"`
	Type    string   `json:"type"`
	Info    info     `json:"info"`
	Added   string   `json:"added"`             // and not removed, forgotten or overwritten
	Now     int64    `json:"now,omitempty"`     // in nanoseconds since 1970, for a window
	Answers string   `json:"answers,omitempty"` // what a reader answers
	Members [][]int  `json:"members,omitempty"` // of a bank, that a reader reports for each key
	Names   [][]byte `json:"names,omitempty"`   // of a bank's members, in base64
}

type info struct {
	N       uint64  `json:"n"`
	P       float64 `json:"p"`
	Hash    string  `json:"hash"`
	Comment string  `json:"comment"`
}

// filter is any type.
type filter interface {
	ContainsString(string) bool
	Info() bloom.Info
	UnmarshalBinary([]byte) error
	MarshalBinary() ([]byte, error)
}

func decoder(kind string, now int64) filter {
	switch kind {
	case "bloom":
		return new(bloom.Filter)
	case "blocked":
		return new(blocked.Filter)
	case "growing":
		return new(growing.Filter)
	case "counting":
		return new(counting.Filter)
	case "cuckoo":
		return new(cuckoo.Filter)
	case "flower":
		return new(flower.Filter)
	case "window":
		clock := func() time.Time { return time.Unix(0, now) }
		return bloom.Must(window.New(window.Config{N: 1, P: 0.5, Span: time.Hour, Now: clock}))
	}
	panic(kind)
}

// keys are those that the filters are asked.
func keys() (keys []string) {
	for i := range 320 {
		keys = append(keys, fmt.Sprint(i))
	}
	for n := range 20 { // around the length of Murmur3's blocks
		keys = append(keys, strings.Repeat("é", n)+"x")
	}
	return append(keys, "", "ключ", "鍵", "🔑", strings.Repeat("long ", 60))
}

// generate returns the vectors and the content of their files.
func generate(t *testing.T) (v vectors, files map[string][]byte) {
	v.Keys = keys()
	files = map[string][]byte{}
	const epoch = 1_700_000_000_123_456_789

	// add adds the vector of a filter with the keys for which in is true.
	add := func(name, kind string, data []byte, in func(i int) bool, nows ...int64) {
		files[name] = data
		if nows == nil {
			nows = []int64{0}
		}
		for _, now := range nows {
			f := decoder(kind, now)
			require.NoError(t, f.UnmarshalBinary(data), name)
			added, answers := make([]byte, len(v.Keys)), make([]byte, len(v.Keys))
			for i, key := range v.Keys {
				added[i], answers[i] = digit(in(i)), digit(f.ContainsString(key))
			}
			v.Filters = append(v.Filters, vector{name, kind, info(f.Info()), string(added), now, string(answers), nil, nil})
		}
	}
	odd := func(i int) bool { return i%2 == 1 }
	fill := func(s bloom.Set, in func(i int) bool) {
		for i, key := range v.Keys {
			if in(i) {
				s.AddHash(bloom.SumString(key))
			}
		}
	}

	for _, strategy := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		f := bloom.Must(bloom.NewWithStrategy(strategy, 180, 0.1))
		f.SetInfo(bloom.Info{N: 180, P: 0.1, Hash: "SumString", Comment: "wörter"})
		fill(f, odd)
		name := fmt.Sprintf("guava-%d", strategy)
		add(name+".bloom", "bloom", save(t, f), odd)
		add(name+".guava", "bloom", bloom.Must(f.MarshalBinary()), odd)
	}
	f := bloom.Must(bloom.NewWords(make([]uint64, 1), 255))
	fill(f, func(i int) bool { return i == 3 })
	add("guava-k255.bloom", "bloom", save(t, f), func(i int) bool { return i == 3 })
	add("guava-empty.bloom", "bloom", save(t, bloom.Must(bloom.New(1, 0.5))), func(int) bool { return false })

	for lines := 1; lines <= 4; lines++ {
		f := bloom.Must(blocked.NewSize(uint64(256*(3+2*lines)), lines))
		f.SetInfo(bloom.Info{Comment: strings.Repeat("c", lines)})
		fill(f, odd)
		add(fmt.Sprintf("blocked-%d.bloom", lines), "blocked", save(t, f), odd)
	}
	g := bloom.Must(growing.New(0, 0.1))
	for i := range 7000 { // layers begin
		g.AddHash(bloom.SumUint64(uint64(i)))
	}
	fill(g, odd)
	add("growing.bloom", "growing", save(t, g), odd)
	g = bloom.Must(growing.New(200, 0.2))
	fill(g, odd)
	add("growing-200.bloom", "growing", save(t, g), odd)

	c := bloom.Must(counting.New(180, 0.1))
	fill(c, func(i int) bool { return true })
	for i, key := range v.Keys {
		if !odd(i) {
			c.RemoveString(key)
		}
	}
	for range 20 { // full counters
		c.AddString(v.Keys[1])
	}
	add("counting.bloom", "counting", save(t, c), odd)

	for _, bits := range []int{7, 16, 17, 32, 33} { // a bucket in one window of 64 bits, two and four
		k := emptyCuckoo(t, 47, uint64(bits)) // 188 places for 172 keys
		for i := range 10 {
			k.InsertString(v.Keys[2*i])
		}
		for i, key := range v.Keys {
			if odd(i) {
				k.InsertString(key)
			}
		}
		for i := range 10 {
			k.RemoveString(v.Keys[2*i])
		}
		for range 12 { // for the list
			k.InsertString(v.Keys[1])
			k.InsertString(v.Keys[3])
		}
		k.SetInfo(bloom.Info{N: 172, Hash: "SumString"})
		add(fmt.Sprintf("cuckoo-%d.bloom", bits), "cuckoo", save(t, k), odd)
	}

	for _, generations := range []int{1, 7, 31} {
		now := time.Unix(0, epoch)
		w := bloom.Must(window.New(window.Config{N: uint64(len(v.Keys)), P: map[int]float64{1: 1e-3, 7: 1e-3, 31: 0.2}[generations], Span: time.Duration(generations) * time.Second,
			Renew: generations == 31, Generations: generations, Now: func() time.Time { return now }}))
		began := []int{1: 70, 3: 71} // in which a key i is added, by i%4
		for _, second := range []int{70, 71} {
			now = time.Unix(0, epoch).Add(time.Duration(second)*time.Second + 1)
			fill(w, func(i int) bool { return odd(i) && began[i%4] == second })
		}
		if generations == 31 { // in the planes where they are
			now = now.Add(time.Second / 2)
			fill(w, odd)
			began[1] = 71
		}
		data := save(t, w)
		for _, second := range []int{0, 72, 69 + generations, 70 + generations, 71 + generations, 72 + generations, 5000} {
			add(fmt.Sprintf("window-%d.bloom", generations), "window", data, func(i int) bool {
				return odd(i) && began[i%4]+generations > second
			}, epoch+int64(second)*1e9+999_999_999)
		}
	}
	w := bloom.Must(window.New(window.Config{N: 40_000, P: 0.3, Span: time.Hour, Generations: 7,
		Now: func() time.Time { return time.Unix(0, -epoch) }})) // before 1970, of several pages
	fill(w, odd)
	add("window-pages.bloom", "window", save(t, w), odd, -epoch)
	w = bloom.Must(window.New(window.Config{N: 20, P: 0.2})) // by count
	fill(w, odd)
	add("window-count.bloom", "window", save(t, w), func(i int) bool { return odd(i) && i >= len(v.Keys)-20 }, epoch)
	add("window-empty.bloom", "window", save(t, bloom.Must(window.New(window.Config{N: 20, P: 0.2}))), func(int) bool { return false }, epoch)

	for _, bits := range []int{8, 16, 32} {
		slots := map[int]uint64{8: 101, 16: 104, 32: 103}[bits] // those of 16 bits fill whole words
		f := bloom.Must(flower.New(flower.Config{Slots: slots, Ways: 3, Bits: bits}))
		last := len(v.Keys) - 1
		fill(f, odd)
		add(fmt.Sprintf("flower-%d.bloom", bits), "flower", save(t, f), func(i int) bool { return odd(i) && i >= last-1 })
	}

	for _, members := range []int{0, 3, 32, 33, 100} {
		b := bloom.Must(bank.NewSize(64, 2))
		added := make([]byte, len(v.Keys))
		for i := range members {
			b.Append()
			if members == 33 {
				name := strings.Repeat("ñ", i)
				if i < 3 { // what is not UTF-8, and what begins with a byte order mark
					name = []string{"", "\xff\xfe", "\ufeffb"}[i]
				}
				b.SetName(i, name)
			}
		}
		for i, key := range v.Keys {
			added[i] = digit(members > 0)
			if members > 0 {
				b.AddString(i*7%members, key)
			}
		}
		name := fmt.Sprintf("bank-%d.bloom", members)
		files[name] = save(t, b)
		test := vector{File: name, Type: "bank", Info: info(b.Info()), Added: string(added)}
		for i := range b.Len() {
			if members == 33 {
				test.Names = append(test.Names, []byte(bloom.Must(b.Name(i))))
			}
		}
		for _, key := range v.Keys {
			test.Members = append(test.Members, b.Which([]int{}, bloom.SumString(key)))
		}
		v.Filters = append(v.Filters, test)
	}

	// What a later version may add, and this one skips: flags, and bytes behind the texts.
	for _, name := range []string{"guava-1", "blocked-2"} {
		kind, data := "blocked", files[name+".bloom"]
		trailer, end := len(data)-int(binary.BigEndian.Uint16(data[len(data)-12:])), len(data)-16
		data = slices.Concat(data[:end], []byte("laterlaterlater!"), data[end:])
		data[trailer+16] = 0x0f
		size := uint16(len(data) - trailer)
		binary.BigEndian.PutUint16(data[len(data)-12:], size)
		if name == "guava-1" {
			kind = "bloom"
		} else {
			binary.LittleEndian.PutUint16(data[6:], size)
		}
		add(name+"-later.bloom", kind, sealed(data, head(data)), odd)
	}
	damage(t, files, &v)
	return v, files
}

func digit(one bool) byte {
	if one {
		return '1'
	}
	return '0'
}

// emptyCuckoo returns an empty filter of the given number of buckets, with tags of the given number
// of bits.
func emptyCuckoo(t *testing.T, buckets, bits uint64) *cuckoo.Filter {
	words := make([]uint64, (buckets*bits+15)/16+1) // the last one is the number of keys
	f := new(cuckoo.Filter)
	data := bloom.Must(form.Cuckoo.Append(nil, []uint64{buckets, bits, 0}, words, form.Info{}))
	require.NoError(t, f.UnmarshalBinary(data))
	return f
}

// save returns what SaveFile writes.
func save(t *testing.T, f interface{ SaveFile(string) error }) []byte {
	path := filepath.Join(t.TempDir(), "filter")
	require.NoError(t, f.SaveFile(path))
	return bloom.Must(os.ReadFile(path))
}

// head returns the length of the head of data.
func head(data []byte) int {
	if data[0] <= 1 {
		return 6
	}
	return form.KindOf(data).HeadSize()
}

// sealed makes both checksums of data, whose head has h bytes, right.
func sealed(data []byte, h int) []byte {
	castagnoli, end := crc32.MakeTable(crc32.Castagnoli), len(data)
	trailer := end - int(binary.BigEndian.Uint16(data[end-12:]))
	sum := crc32.Update(crc32.Checksum(data[:h], castagnoli), castagnoli, data[trailer:end-16])
	binary.BigEndian.PutUint32(data[end-16:], sum)
	binary.BigEndian.PutUint32(data[end-4:], crc32.Checksum(data[:end-4], castagnoli))
	return data
}

// damage adds files that a reader refuses, each in one way.
func damage(t *testing.T, files map[string][]byte, v *vectors) {
	add := func(name string, data []byte) {
		files["refused-"+name] = data
		v.Refused = append(v.Refused, "refused-"+name)
	}
	// edited returns data with what edit made of it, and both checksums right again.
	edited := func(data []byte, edit func([]byte)) []byte {
		data = bytes.Clone(data)
		h := head(data)
		edit(data)
		return sealed(data, h)
	}
	// sized is edited, with so many words.
	sized := func(data []byte, words int, edit func([]byte)) []byte {
		h, trailer := head(data), data[len(data)-int(binary.BigEndian.Uint16(data[len(data)-12:])):]
		body := append(bytes.Clone(data[h:len(data)-len(trailer)]), make([]byte, 8*words)...)[:8*words]
		return edited(slices.Concat(data[:h], body, trailer), edit)
	}
	set := func(at int, bytes ...byte) func([]byte) {
		return func(data []byte) { copy(data[at:], bytes) }
	}
	param := func(i int, x uint64) func([]byte) {
		return func(data []byte) { binary.LittleEndian.PutUint64(data[8+8*i:], x) }
	}
	flip := func(data []byte, at int) []byte {
		data = bytes.Clone(data)
		data[(at+len(data))%len(data)] ^= 4
		return data
	}

	add("nothing", nil)
	add("one-byte", []byte{1})
	add("text", []byte("https://go.dev/\nhttps://pkg.go.dev/\n"))
	plain := files["guava-1.guava"]
	add("guava-strategy", edited(files["guava-1.bloom"], set(0, 2))[:len(plain)])
	add("guava-k", edited(files["guava-1.bloom"], set(1, 0)))
	add("guava-words-none", []byte{1, 1, 0, 0, 0, 0})
	add("guava-words-negative", append([]byte{1, 1, 0x80, 0, 0, 0}, make([]byte, 64)...))
	add("guava-words-many", append([]byte{1, 1, 0x7f, 0xff, 0xff, 0xff}, make([]byte, 64)...))
	add("guava-cut", plain[:len(plain)-1])
	add("guava-longer", append(bytes.Clone(plain), 0))
	for _, name := range []string{"guava-1", "blocked-2", "counting", "cuckoo-17", "window-7", "flower-16", "bank-33"} {
		good := files[name+".bloom"]
		h, end := head(good), len(good)
		trailer := end - int(binary.BigEndian.Uint16(good[end-12:]))
		add(name+"-header", flip(good, h-1))
		add(name+"-first-word", flip(good, h))
		add(name+"-last-word", flip(good, trailer-1))
		add(name+"-n", flip(good, trailer))
		add(name+"-checksum", flip(good, -1))
		add(name+"-cut", good[:end-1])
		add(name+"-longer", append(bytes.Clone(good), 0))
		if name != "guava-1" {
			add(name+"-cut-trailer", good[:trailer])
			add(name+"-kind", edited(good, set(3, 'Z'))[:end])
			add(name+"-version", edited(good, set(4, 2)))
			add(name+"-reserved", edited(good, set(5, 1)))
		}
	}
	// Info, in a trailer whose checksums are right.
	good := files["guava-1.bloom"] // N, P, 9, 7, SumString, wörter, no zeros
	at := len(good) - int(binary.BigEndian.Uint16(good[len(good)-12:]))
	add("info-p", edited(good, set(at+8, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0)))
	add("info-p-negative", edited(good, set(at+8, 0xbf)))
	add("info-p-nan", edited(good, set(at+8, 0x7f, 0xf8)))
	add("info-hash-length", edited(good, set(at+17, 200)))
	for bit := range 4 {
		add(fmt.Sprint("trailer-flag-", 4+bit), edited(good, set(at+16, 0x10<<bit)))
	}
	add("info-comment-length", edited(good, set(at+18, 0x7f)))
	add("info-utf8", edited(good, set(at+20, 0xff)))
	add("trailer-magic", edited(good, set(len(good)-10, 'B')))
	add("trailer-version", edited(good, set(len(good)-5, 2)))
	add("trailer-version-longer", slices.Concat(good[:at], make([]byte, 8000), []byte("bloom\x02crc.")))
	add("trailer-length", edited(good, func(data []byte) { data[len(data)-11] += 8 }))
	zeros := files["blocked-1.bloom"] // has a comment of one byte
	add("info-zeros", edited(zeros, set(len(zeros)-17, 1)))
	add("frame-trailer-length", edited(zeros, set(6, 0, 0)))

	// Parameters out of range, in frames whose checksums are right.
	f := func(x float64) uint64 { return math.Float64bits(x) }
	for _, test := range []struct {
		name, base string
		at         int
		value      uint64
	}{
		{"blocked-none", "blocked-2", 0, 0}, {"blocked-many", "blocked-2", 0, 1<<35 + 1}, {"blocked-other", "blocked-2", 0, 6},
		{"blocked-wrapping", "blocked-2", 0, 1<<62 + 7},
		{"blocked-lines-0", "blocked-2", 1, 0}, {"blocked-lines-5", "blocked-2", 1, 5}, {"blocked-reserved-parameter", "blocked-2", 2, 1},
		{"counting-none", "counting", 0, 0}, {"counting-many", "counting", 0, 1 << 31}, {"counting-wrapping", "counting", 0, 1 << 62},
		{"counting-k-0", "counting", 1, 0}, {"counting-k-256", "counting", 1, 256},
		{"cuckoo-none", "cuckoo-17", 0, 0}, {"cuckoo-many", "cuckoo-17", 0, 1 << 58}, {"cuckoo-wrapping", "cuckoo-17", 0, 1<<60 + 47},
		{"cuckoo-bits-6", "cuckoo-17", 1, 6}, {"cuckoo-bits-34", "cuckoo-17", 1, 34}, {"cuckoo-list", "cuckoo-17", 2, 1},
		{"cuckoo-list-33", "cuckoo-17", 2, 33},
		{"window-n", "window-7", 0, 0}, {"window-rate-0", "window-7", 1, 0}, {"window-rate-1", "window-7", 1, f(1)},
		{"window-rate-nan", "window-7", 1, f(math.NaN())}, {"window-span", "window-7", 2, 6_999_999}, {"window-span-long", "window-7", 2, 1 << 60},
		{"window-span-negative", "window-7", 2, 1 << 63}, {"window-generations-0", "window-7", 3, 0}, {"window-generations-32", "window-7", 3, 32},
		{"window-renew", "window-7", 4, 2}, {"window-k-0", "window-7", 5, 0}, {"window-k-odd", "window-7", 5, 3}, {"window-k-66", "window-7", 5, 66},
		{"window-pages-0", "window-7", 6, 0}, {"window-pages-many", "window-7", 6, 1 << 61}, {"window-pages-small", "window-7", 6, 2},
		{"window-lanes-0", "window-7", 7, 0}, {"window-lanes-many", "window-7", 7, 1 << 32}, {"window-live-65", "window-7", 8, 65},
		{"window-newest", "window-7", 9, 64},
		{"window-lost", "window-7", 12, 1 << 62}, {"window-stamp", "window-7", 13, 0},
		{"window-stamp-late", "window-7", 13, 1<<62 + 1}, {"window-stamp-counted", "window-count", 13, 1}, {"window-end-late", "window-7", 15, 1 << 62},
		{"window-end-early", "window-7", 16, 0}, {"window-end-first", "window-count", 14 + 1, 1<<62 - 1},
		{"flower-few", "flower-16", 0, 2}, {"flower-many", "flower-16", 0, 1 << 63}, {"flower-ways-0", "flower-16", 1, 0},
		{"flower-ways-65", "flower-16", 1, 65}, {"flower-bits-0", "flower-16", 2, 0}, {"flower-bits-64", "flower-16", 2, 64},
		{"bank-size-0", "bank-3", 0, 0}, {"bank-size-many", "bank-3", 0, 1 << 31}, {"bank-k-0", "bank-3", 1, 0}, {"bank-k-256", "bank-3", 1, 256},
		{"bank-members", "bank-3", 2, 2}, {"bank-members-wrapping", "bank-3", 2, 1 << 58}, {"bank-members-many", "bank-3", 2, 1 << 37},
		{"bank-names", "bank-33", 3, 12*33 - 1}, {"bank-names-many", "bank-33", 3, 1 << 63}, {"bank-names-of-none", "bank-0", 3, 8},
	} {
		add("parameter-"+test.name, edited(files[test.base+".bloom"], param(test.at, test.value)))
	}

	listed := files["cuckoo-17.bloom"] // 50 words of buckets, the number of keys, and two keys of a list
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
		{"never", func(data []byte) { data[word(56)] += data[word(53)]; data[word(53)] = 0 }},
	} {
		add("cuckoo-"+test.name, edited(listed, test.edit))
	}

	// Where the length would be right.
	for _, test := range []struct {
		name, base string
		words, at  int
		value      uint64
	}{
		{"blocked-none", "blocked-2", 0, 0, 0}, {"counting-none", "counting", 0, 0, 0}, {"bank-none", "bank-3", 0, 0, 0},
		{"window-pages-none", "window-7", 0, 6, 0}, {"window-lanes-none", "window-7", 0, 7, 0},
		{"flower-few", "flower-16", 1, 0, 2}, {"bank-names-of-none", "bank-0", 1, 3, 8},
		{"bank-names-few", "bank-33", 1 + 64*2 + 50, 3, 12*33 - 1},
	} {
		add("sized-"+test.name, sized(files[test.base+".bloom"], test.words, param(test.at, test.value)))
	}
	add("sized-window-small-pages", sized(files["window-7.bloom"], 2*4095, func(data []byte) { param(6, 2)(data); param(7, 4095)(data) }))

	grown := files["growing.bloom"]
	frame := grown[:8+24+8*16+int(binary.LittleEndian.Uint16(grown[6:]))]
	tiny := save(t, bloom.Must(blocked.NewSize(256, 1)))
	// with returns a growing filter of so many small layers in shard 0, and one in each other.
	with := func(layers int, edit func([]byte)) []byte {
		return append(edited(frame, func(data []byte) {
			for i := range 16 {
				param(3+i, 1)(data)
			}
			param(3, uint64(layers))(data)
			edit(data)
		}), bytes.Repeat(tiny, layers+15)...)
	}
	require.NoError(t, new(growing.Filter).UnmarshalBinary(with(64, func([]byte) {})))
	add("growing-no-layers", frame)
	add("growing-n", with(1, param(0, 1<<40+1)))
	add("growing-p-1", with(1, param(1, f(1))))
	add("growing-p-0", with(1, param(1, f(1e-10))))
	add("growing-shards-many", with(1, param(2, 17)))
	add("growing-shards-few", with(1, param(2, 15)))
	add("growing-empty-shard", with(0, func([]byte) {}))
	add("growing-many-layers", with(65, func([]byte) {}))
	add("growing-layer-of-another-kind", slices.Concat(frame, files["flower-8.bloom"]))
	layer := grown[len(frame):]
	add("growing-cut-between-layers", grown[:len(frame)+8+24+32*int(binary.LittleEndian.Uint64(layer[8:]))+int(binary.LittleEndian.Uint16(layer[6:]))])

	// Rows and names whose own checksums are wrong, in a frame whose checksums are right.
	b := files["bank-33.bloom"]
	for name, at := range map[string]int{
		"row": 40 + 8, "row-end": 40 + 16 + 8, "padding": 40, "name": 40 + 8 + 64*16 + 12*33, "name-end": 40 + 8 + 64*16, "name-check": 40 + 8 + 64*16 + 8,
	} {
		add("bank-"+name, edited(b, func(data []byte) { data[at] ^= 0x80 }))
	}
	slices.Sort(v.Refused)
}

// TestWrite writes the vectors, with -update.
func TestWrite(t *testing.T) {
	v, files := generate(t)
	var out bytes.Buffer
	out.WriteString("{\"keys\": " + string(bloom.Must(json.Marshal(v.Keys))) + ",\n\"filters\": [\n")
	for i, f := range v.Filters {
		out.Write(bloom.Must(json.Marshal(f)))
		out.WriteString(map[bool]string{true: "\n", false: ",\n"}[i == len(v.Filters)-1])
	}
	out.WriteString("],\n\"refused\": " + string(bloom.Must(json.MarshalIndent(v.Refused, "", " "))) + "}\n")
	files["vectors.json"] = out.Bytes()
	if *update {
		require.NoError(t, os.RemoveAll(*folder))
		require.NoError(t, os.MkdirAll(*folder, 0o777))
		for name, data := range files {
			require.NoError(t, os.WriteFile(filepath.Join(*folder, name), data, 0o666))
		}
	}
	for name, data := range files { // this build writes the same bytes
		require.Equal(t, bloom.Must(os.ReadFile(filepath.Join(*folder, name))), append([]byte{}, data...), "%s: go test ./readers -update", name)
	}
}

func load(t *testing.T) (v vectors) {
	require.NoError(t, json.Unmarshal(bloom.Must(os.ReadFile(filepath.Join(*folder, "vectors.json"))), &v))
	require.NotEmpty(t, v.Filters)
	return v
}

// TestGo reads the vectors with this module.
func TestGo(t *testing.T) {
	v := load(t)
	positives := 0
	for _, test := range v.Filters {
		data := bloom.Must(os.ReadFile(filepath.Join(*folder, test.File)))
		if test.Type == "bank" {
			b := new(bank.Bank)
			require.NoError(t, b.UnmarshalBinary(data), test.File)
			require.Equal(t, test.Info, info(b.Info()), test.File)
			for i, key := range v.Keys {
				require.Equal(t, test.Members[i], b.Which([]int{}, bloom.SumString(key)), "%s: %q", test.File, key)
			}
			continue
		}
		f := decoder(test.Type, test.Now)
		require.NoError(t, f.UnmarshalBinary(data), test.File)
		require.Equal(t, test.Info, info(f.Info()), test.File)
		for i, key := range v.Keys {
			require.Equal(t, test.Answers[i] == '1', f.ContainsString(key), "%s: %q", test.File, key)
			if test.Added[i] == '1' {
				require.Equal(t, byte('1'), test.Answers[i], "%s: %q was added", test.File, key)
			} else if test.Answers[i] == '1' {
				positives++
			}
		}
	}
	require.Greater(t, positives, 500) // a reader that takes wrong bits answers otherwise
	for _, name := range v.Refused {
		data := bloom.Must(os.ReadFile(filepath.Join(*folder, name)))
		for _, kind := range []string{"bloom", "blocked", "growing", "counting", "cuckoo", "window", "flower"} {
			require.ErrorIs(t, decoder(kind, 0).UnmarshalBinary(data), bloom.ErrFormat, "%s as %s", name, kind)
		}
		require.ErrorIs(t, new(bank.Bank).UnmarshalBinary(data), bloom.ErrFormat, "%s as bank", name)
	}
}

// run runs a reader on a file, with lines.
func run(t *testing.T, program []string, file string, input string) (string, error) {
	cmd := exec.Command(program[0], append(program[1:], filepath.Join(*folder, file))...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	return string(out), err
}

// TestReaders holds the readers' programs to the vectors. Their own tests ask all keys and all files.
func TestReaders(t *testing.T) {
	v := load(t)
	for _, reader := range []struct {
		command, file string
		types         []string
	}{
		{"python3", "bloom.py", []string{"bloom", "blocked", "growing", "counting", "cuckoo", "flower"}},
		{"node", "bloom.mjs", []string{"bloom", "blocked"}},
	} {
		t.Run(reader.file, func(t *testing.T) {
			if _, err := exec.LookPath(reader.command); err != nil && os.Getenv("BLOOM_REQUIRE_READERS") == "" {
				t.Skip(err)
			}
			out, err := exec.Command(reader.command, filepath.Join("test", reader.file), *folder).CombinedOutput()
			require.NoError(t, err, "%s", out)
			t.Logf("%s", out)
			asked := map[string]bool{}
			for _, test := range v.Filters {
				if asked[test.Type] || !slices.Contains(reader.types, test.Type) {
					continue
				}
				asked[test.Type] = true
				out, err := run(t, []string{reader.command, reader.file}, test.File, strings.Join(v.Keys, "\n"))
				require.NoError(t, err)
				want := strings.NewReplacer("0", "false\n", "1", "true\n").Replace(test.Answers)
				require.Equal(t, want, out, test.File)
			}
			out2, err := run(t, []string{reader.command, reader.file}, v.Refused[0], "")
			require.Error(t, err)
			require.Empty(t, out2)
		})
	}
}
