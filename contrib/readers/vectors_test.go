package readers

import (
	"encoding/binary"
	"fmt"
	"os"
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
	"github.com/seed79a3ff49/bloom/internal/alltypes"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/window"
)

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

// epoch is a time in nanoseconds since 1970.
const epoch = 1_700_000_000_123_456_789

// maker makes the vectors and the content of their files.
type maker struct {
	t     *testing.T
	v     vectors
	files map[string][]byte
}

// generate returns the vectors and the content of their files.
func generate(t *testing.T) (vectors, map[string][]byte) {
	m := &maker{t, vectors{Keys: keys()}, map[string][]byte{}}
	m.guava()
	m.blocked()
	m.growing()
	m.counting()
	m.cuckoo()
	m.window()
	m.flower()
	m.bank()
	m.later()
	m.bounds()
	m.refused()
	m.patches()
	slices.Sort(m.v.Refused)
	return m.v, m.files
}

// add adds the vector of a filter with the keys for which in is true.
func (m *maker) add(name, kind string, data []byte, in func(i int) bool, nows ...int64) {
	m.files[name] = data
	if nows == nil {
		nows = []int64{0}
	}
	for _, now := range nows {
		f := typeOf(kind).Decoder(now)
		require.NoError(m.t, f.UnmarshalBinary(data), name)
		added := make([]byte, len(m.v.Keys))
		answers := make([]byte, len(m.v.Keys))
		for i, answer := range alltypes.Answers(f, m.v.Keys) {
			added[i] = digit(in(i))
			answers[i] = digit(answer == 1)
		}
		m.v.Filters = append(m.v.Filters, vector{
			File: name, Type: kind, Info: infoOf(f.Info()), Added: string(added), Now: now,
			Answers: string(answers),
		})
	}
}

// fill adds the keys for which in is true.
func (m *maker) fill(s bloom.Set, in func(i int) bool) {
	for i, key := range m.v.Keys {
		if in(i) {
			s.AddHash(bloom.SumString(key))
		}
	}
}

func odd(i int) bool  { return i%2 == 1 }
func none(i int) bool { return false }

func (m *maker) guava() {
	for _, strategy := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		f := bloom.Must(bloom.NewWithStrategy(strategy, 180, 0.1))
		f.UpdateInfo(func(i *bloom.Info) {
			i.N = 180
			i.P = 0.1
			i.Hash = "SumString"
			i.Comment = "wörter"
			i.Meta = "a=%FF&b=1+2&c="
		})
		m.fill(f, odd)
		name := fmt.Sprintf("guava-%d", strategy)
		m.add(name+".bloom", "bloom", save(m.t, f), odd)
		m.add(name+".guava", "bloom", bloom.Must(f.MarshalBinary()), odd)
	}
	f := bloom.Must(bloom.NewWords(make([]uint64, 1), 255))
	m.fill(f, func(i int) bool { return i == 3 })
	m.add("guava-k255.bloom", "bloom", save(m.t, f), func(i int) bool { return i == 3 })
	m.add("guava-empty.bloom", "bloom", save(m.t, bloom.Must(bloom.New(1, 0.5))), none)
}

func (m *maker) blocked() {
	for lines := 1; lines <= 4; lines++ {
		f := bloom.Must(blocked.NewSize(uint64(256*(3+2*lines)), lines))
		f.UpdateInfo(func(i *bloom.Info) { i.Comment = strings.Repeat("c", lines) })
		m.fill(f, odd)
		m.add(fmt.Sprintf("blocked-%d.bloom", lines), "blocked", save(m.t, f), odd)
	}
}

func (m *maker) growing() {
	g := bloom.Must(growing.New(0, 0.1))
	for i := range 7000 {
		g.AddHash(bloom.SumUint64(uint64(i)))
	}
	m.fill(g, odd)
	m.add("growing.bloom", "growing", save(m.t, g), odd)
	g = bloom.Must(growing.New(200, 0.1))
	m.fill(g, func(i int) bool { return i%4 == 1 }) // in the first layers
	for i := range 2000 {
		g.AddHash(bloom.SumUint64(uint64(i)))
	}
	m.fill(g, odd) // i%4 == 3 in the last ones
	m.add("growing-layers.bloom", "growing", save(m.t, g), odd)
	g = bloom.Must(growing.New(200, 0.2))
	m.fill(g, odd)
	m.add("growing-200.bloom", "growing", save(m.t, g), odd)
}

func (m *maker) counting() {
	c := bloom.Must(counting.New(180, 0.1))
	m.fill(c, func(i int) bool { return true })
	for i, key := range m.v.Keys {
		if !odd(i) {
			c.RemoveString(key)
		}
	}
	for range 20 { // full counters
		c.AddString(m.v.Keys[1])
	}
	m.add("counting.bloom", "counting", save(m.t, c), odd)
}

func (m *maker) cuckoo() {
	for _, bits := range []int{7, 16, 17, 32, 33} { // a bucket in one 64-bit window, two and four
		k := emptyCuckoo(m.t, 47, uint64(bits)) // 188 places for 172 keys
		for i := range 10 {
			k.InsertString(m.v.Keys[2*i])
		}
		for i, key := range m.v.Keys {
			if odd(i) {
				k.InsertString(key)
			}
		}
		for i := range 10 {
			k.RemoveString(m.v.Keys[2*i])
		}
		for range 12 { // for the list
			k.InsertString(m.v.Keys[1])
			k.InsertString(m.v.Keys[3])
		}
		k.UpdateInfo(func(i *bloom.Info) {
			i.N = 172
			i.Hash = "SumString"
		})
		m.add(fmt.Sprintf("cuckoo-%d.bloom", bits), "cuckoo", save(m.t, k), odd)
	}
	k := emptyCuckoo(m.t, 42, 17) // 168 places for 172 keys: the list alone has the others
	for i, key := range m.v.Keys {
		if odd(i) {
			require.True(m.t, k.InsertString(key))
		}
	}
	m.add("cuckoo-full.bloom", "cuckoo", save(m.t, k), odd)
}

func (m *maker) window() {
	for _, generations := range []int{1, 7, 31} {
		now := time.Unix(0, epoch)
		w := bloom.Must(window.New(window.Config{N: uint64(len(m.v.Keys)),
			P:     map[int]float64{1: 1e-3, 7: 1e-3, 31: 0.2}[generations],
			Span:  time.Duration(generations) * time.Second,
			Renew: generations == 31, Generations: generations, Now: func() time.Time { return now }}))
		began := []int{1: 70, 3: 71} // in which a key i is added, by i%4
		for _, second := range []int{70, 71} {
			now = time.Unix(0, epoch).Add(time.Duration(second)*time.Second + 1)
			m.fill(w, func(i int) bool { return odd(i) && began[i%4] == second })
		}
		if generations == 31 { // in the planes where they are
			now = now.Add(time.Second / 2)
			m.fill(w, odd)
			began[1] = 71
		}
		data := save(m.t, w)
		for _, second := range []int{
			0, 72, 69 + generations, 70 + generations, 71 + generations, 72 + generations, 5000,
		} {
			m.add(fmt.Sprintf("window-%d.bloom", generations), "window", data, func(i int) bool {
				return odd(i) && began[i%4]+generations > second
			}, epoch+int64(second)*1e9+999_999_999)
		}
		death := m.death(data, epoch+72e9, epoch+5000e9)
		m.add(fmt.Sprintf("window-%d.bloom", generations), "window", data, none, death-1, death)
	}
	w := bloom.Must(window.New(window.Config{N: 50_000, P: 0.3, Span: time.Hour, Generations: 7,
		Now: func() time.Time { return time.Unix(0, -epoch) }})) // before 1970, of several pages
	m.fill(w, odd)
	m.add("window-pages.bloom", "window", save(m.t, w), odd, -epoch)
	w = bloom.Must(window.New(window.Config{N: 20, P: 0.2})) // by count
	m.fill(w, odd)
	m.add("window-count.bloom", "window", save(m.t, w), func(i int) bool {
		return odd(i) && i >= len(m.v.Keys)-20
	}, epoch)
	w = bloom.Must(window.New(window.Config{N: 20, P: 0.2, Span: 7 * time.Second})) // without keys
	m.add("window-new.bloom", "window", save(m.t, w), none, epoch)
	m.add("window-empty.bloom", "window",
		save(m.t, bloom.Must(window.New(window.Config{N: 20, P: 0.2}))), none, epoch)
}

// death returns the first time at which fewer keys are found in a window than just before it.
func (m *maker) death(data []byte, first, last int64) int64 {
	found := func(now int64) (n int) {
		f := typeOf("window").Decoder(now)
		require.NoError(m.t, f.UnmarshalBinary(data))
		for _, answer := range alltypes.Answers(f, m.v.Keys) {
			n += answer.(int)
		}
		return n
	}
	most := found(first)
	require.Less(m.t, found(last), most)
	for last-first > 1 {
		if middle := first + (last-first)/2; found(middle) == most {
			first = middle
		} else {
			last = middle
		}
	}
	return last
}

func (m *maker) flower() {
	for _, bits := range []int{8, 16, 32} {
		slots := map[int]uint64{8: 101, 16: 104, 32: 103}[bits] // 16-bit slots fill whole words
		f := bloom.Must(flower.New(flower.Config{Slots: slots, Ways: 3, Bits: bits}))
		last := len(m.v.Keys) - 1
		m.fill(f, odd)
		m.add(fmt.Sprintf("flower-%d.bloom", bits), "flower", save(m.t, f), func(i int) bool {
			return odd(i) && i >= last-1
		})
	}
}

func (m *maker) bank() {
	for _, members := range []int{0, 3, 32, 33, 100, 1000, 32737} {
		b := bloom.Must(bank.NewSize(64, 2))
		added := make([]byte, len(m.v.Keys))
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
		for i, key := range m.v.Keys {
			added[i] = digit(members > 0)
			if members > 0 {
				b.AddString(i*7%members, key)
				if members > 32736 && odd(i) { // in the second segment
					b.AddString(members-1, key)
				}
			}
		}
		name := fmt.Sprintf("bank-%d.bloom", members)
		m.files[name] = save(m.t, b)
		test := vector{File: name, Type: "bank", Info: infoOf(b.Info()), Added: string(added)}
		for i := range b.Len() {
			if members == 33 {
				test.Names = append(test.Names, []byte(b.Name(i)))
			}
		}
		for _, key := range m.v.Keys {
			test.Members = append(test.Members, b.Which([]int{}, bloom.SumString(key)))
		}
		m.v.Filters = append(m.v.Filters, test)
	}
}

// later adds what a later version may add, and this one skips: flags, and bytes after the texts.
func (m *maker) later() {
	for _, name := range []string{"guava-1", "blocked-2"} {
		kind, data := "blocked", m.files[name+".bloom"]
		trailer, end := len(data)-int(binary.BigEndian.Uint16(data[len(data)-12:])), len(data)-16
		data = slices.Concat(data[:end], []byte("laterlaterlater!"), data[end:])
		data[trailer+16] |= 0x0e
		size := uint16(len(data) - trailer)
		binary.BigEndian.PutUint16(data[len(data)-12:], size)
		if name == "guava-1" {
			kind = "bloom"
		} else {
			binary.LittleEndian.PutUint16(data[6:], size)
		}
		m.add(name+"-later.bloom", kind, sealed(data, head(data)), odd)
	}
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
