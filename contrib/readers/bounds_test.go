package readers

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// bounds adds filters with the least and the largest values of parameters and of the Info. Beside
// nearly each of these values, refused has one that is out of range.
func (m *maker) bounds() {
	f := math.Float64bits
	some := func(i int) bool { return i%40 == 1 }

	one := bloom.Must(bloom.NewWords(make([]uint64, 1), 1))
	m.fill(one, some)
	one.UpdateInfo(func(i *bloom.Info) {
		i.P = 1 - 1.0/(1<<53)
		i.Comment = strings.Repeat("c", 4096)
		i.Meta = "m=" + strings.Repeat("m", 4096-2)
	})
	m.add("bound-guava.bloom", "bloom", save(m.t, one), some)
	// The names of Meta ascend, and the values of a name need not.
	for i, meta := range []string{"=", "a=2&a=1&a%2B=0"} {
		one.UpdateInfo(func(i *bloom.Info) { *i = bloom.Info{Meta: meta} })
		m.add(fmt.Sprintf("bound-meta-%d.bloom", i), "bloom", save(m.t, one), some)
	}
	for lines := 1; lines <= 4; lines++ {
		b := bloom.Must(blocked.NewSize(256, lines))
		m.fill(b, some)
		m.add(fmt.Sprintf("bound-blocked-%d.bloom", lines), "blocked", save(m.t, b), some)
	}

	// Of 64 layers, those of shard 0 have all bits but the first layer's.
	grown := m.file("growing")
	frame := grown[:8+24+8*16+int(binary.LittleEndian.Uint16(grown[6:]))]
	tiny := save(m.t, bloom.Must(blocked.NewSize(256, 1)))
	full := save(m.t, bloom.Must(blocked.NewBitset([]byte(strings.Repeat("\xff", 32)))))
	growing := edited(frame, func(data []byte) {
		param(0, 1<<40)(data)
		param(1, f(1e-9))(data)
		for i := range 16 {
			param(3+i, 1)(data)
		}
		param(3, 64)(data)
	})
	growing = slices.Concat(growing, slices.Repeat(tiny, 63), full, slices.Repeat(tiny, 15))
	m.add("bound-growing.bloom", "growing", growing, none)

	m.add("bound-counting.bloom", "counting",
		framed(form.Counting, []uint64{1, 1}, []uint64{0x1230456078900abc, 1 << 60, 15, 0}), none)
	m.add("bound-counting-k.bloom", "counting", edited(m.file("counting"), param(1, 255)), none)

	c := emptyCuckoo(m.t, 1, 9)
	places := 0
	for places < len(m.v.Keys) && c.InsertString(m.v.Keys[places]) {
		places++
	}
	require.Equal(m.t, 4+32, places) // of one bucket and of the list
	m.add("bound-cuckoo.bloom", "cuckoo", save(m.t, c), func(i int) bool { return i < places })
	often := m.file("cuckoo-17") // see refusedCuckoos
	m.add("bound-cuckoo-often.bloom", "cuckoo", edited(often, func(data []byte) {
		count, times := data[head(data)+8*50:], data[head(data)+8*53:]
		more := math.MaxUint32 - binary.LittleEndian.Uint64(times)
		binary.LittleEndian.PutUint64(times, math.MaxUint32)
		binary.LittleEndian.PutUint64(count, binary.LittleEndian.Uint64(count)+more)
	}), odd)

	for _, ways := range []uint64{1, 64} { // as many slots as ways, and all of them found or not
		words := make([]uint64, (ways*8+63)/64)
		for i := range words {
			words[i] = 0x0102030405060708 * uint64(1+i)
		}
		m.add(fmt.Sprintf("bound-flower-%d.bloom", ways), "flower",
			framed(form.Flower, []uint64{ways, ways, 8}, words), none)
	}

	m.boundWindows()
	m.addBank("bound-bank.bloom", framed(form.Bank, []uint64{1, 1, 1, 0}, rowsOf(m.t, 1, 1)))
	// Two members with empty names, whose texts take no bytes.
	named := rowsOf(m.t, 2, 1)
	var table []byte
	for i := range uint64(2) {
		numbers, _ := binary.Append(nil, binary.LittleEndian, []uint64{i, 0, 0})
		table = binary.LittleEndian.AppendUint64(table, 0)
		table = binary.LittleEndian.AppendUint32(table, crc32.Checksum(numbers, castagnoli))
	}
	for at := 0; at < len(table); at += 8 {
		named = append(named, binary.LittleEndian.Uint64(table[at:]))
	}
	m.addBank("bound-bank-names.bloom", framed(form.Bank, []uint64{1, 1, 2, 2 * 12}, named))
	m.addBank("bound-bank-k.bloom", edited(m.file("bank-3"), param(1, 255)))
}

// rowsOf returns the words of a bank of the given number of members and size, with some bits.
func rowsOf(t require.TestingT, members int, words uint64) (rows []uint64) {
	b := bloom.Must(bank.NewSize(64*words, 1))
	for i := range members {
		b.Append()
		b.AddString(i, "2")
	}
	data, err := b.MarshalBinary()
	require.NoError(t, err)
	for at := form.Bank.HeadSize(); at < trailerOf(data); at += 8 {
		rows = append(rows, binary.LittleEndian.Uint64(data[at:]))
	}
	return rows
}

// addBank adds the vector of a bank.
func (m *maker) addBank(name string, data []byte) {
	b := new(bank.Bank)
	require.NoError(m.t, b.UnmarshalBinary(data), name)
	m.files[name] = data
	test := vector{File: name, Type: "bank", Info: infoOf(b.Info()),
		Added: strings.Repeat("0", len(m.v.Keys))}
	for _, key := range m.v.Keys {
		test.Members = append(test.Members, b.Which([]int{}, bloom.SumString(key)))
	}
	m.v.Filters = append(m.v.Filters, test)
}

// boundWindows adds windows that are all found, or not, from the planes that live.
func (m *maker) boundWindows() {
	const n, p, span, generations, k, pages, lanes = 0, 1, 2, 3, 5, 6, 7 // parameters
	const live, newest, full, lost, stamp, ends = 8, 9, 11, 12, 13, 14
	const farthest = 1 << 62
	for _, test := range []struct {
		name, base string
		now        int64
		edits      []func([]byte)
	}{
		{"n", "window-empty", epoch, []func([]byte){param(n, 1)}},
		{"rate", "window-empty", epoch, []func([]byte){param(p, math.Float64bits(1-1.0/(1<<53)))}},
		{"generations", "window-empty", epoch, []func([]byte){param(generations, 31)}},
		{"k-2", "window-7", epoch + 71e9, []func([]byte){param(k, 2)}},
		{"k-64", "window-7", epoch + 71e9, []func([]byte){param(k, 64)}},
		{"span", "window-new", epoch, []func([]byte){param(span, 7e6)}},
		{"span-long", "window-new", epoch, []func([]byte){param(span, 1<<60-1)}},
		{"stamp", "window-new", epoch, []func([]byte){param(stamp, farthest)}},
		{"stamp-early", "window-new", epoch,
			[]func([]byte){param(stamp, uint64(1<<64-farthest)), param(lost, 1<<63)}},
		{"lost", "window-empty", epoch, []func([]byte){param(lost, 0)}},
		{"newest", "window-empty", epoch, []func([]byte){param(live, 1), param(newest, 63)}},
		{"live", "window-empty", epoch, []func([]byte){param(live, 64), param(newest, 62)}},
		{"end", "window-empty", epoch, []func([]byte){
			param(live, 1), param(full, 1), param(ends, 1),
		}},
		{"end-early", "window-empty", epoch, []func([]byte){
			param(live, 1), param(ends, uint64(1<<64-farthest)),
		}},
		{"end-open", "window-empty", epoch, []func([]byte){param(live, 1), param(ends, farthest)}},
		{"end-older", "window-empty", epoch, []func([]byte){
			param(live, 2), param(newest, 1), param(ends, 1), param(ends+1, 1),
		}},
		{"end-spanned", "window-new", epoch, []func([]byte){
			param(stamp, epoch), param(live, 1), param(ends, epoch+1e9),
		}},
	} {
		m.add("bound-window-"+test.name+".bloom", "window",
			edited(m.file(test.base), func(data []byte) {
				trailer := trailerOf(data)
				for i := head(data); test.base != "window-7" && i < trailer; i++ {
					data[i] = ^byte(1 << (i % 9))
				}
				for _, edit := range test.edits {
					edit(data)
				}
			}), none, test.now)
	}
	// All keys are in plane 63, which comes before plane 0.
	m.add("bound-window-wrap.bloom", "window", edited(m.file("window-empty"), func(data []byte) {
		param(live, 2)(data)
		param(newest, 0)(data)
		for at := head(data); at < trailerOf(data); at += 8 {
			data[at+7] = 0x80
		}
	}), none, epoch)
	m.add("bound-window-lane.bloom", "window", sized(m.file("window-empty"), 1,
		func(data []byte) {
			param(lanes, 1)(data)
			param(live, 1)(data)
			data[head(data)] = 1
		}), none, epoch)
	m.add("bound-window-pages.bloom", "window", sized(m.file("window-empty"), 2*4096,
		func(data []byte) {
			param(pages, 2)(data)
			param(lanes, 4096)(data)
			param(live, 1)(data)
			for at := head(data); at < trailerOf(data); at += 24 {
				data[at] = 1
			}
		}), none, epoch)
}
