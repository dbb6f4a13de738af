package cuckoo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// sized returns an empty filter of the given number of buckets, with tags of the given number of bits.
func sized(buckets uint64, bits int) *Filter {
	return &Filter{filter: filter{lookups{table: newTable(buckets, bits)}}}
}

// operations returns how many operations a soak has. More are asked for like this:
//
//	BLOOM_CUCKOO=1e9 go test ./cuckoo -run 'Model|LookUps|Writers' -timeout 0
func operations(t *testing.T, ordinary int) int {
	if n, err := strconv.ParseFloat(os.Getenv("BLOOM_CUCKOO"), 64); err == nil {
		return int(n)
	}
	if testing.Short() {
		ordinary /= 10
	}
	if filtertest.Race {
		ordinary /= 10
	}
	return ordinary
}

// model is a Filter beside the multiset that it should be.
type model struct {
	*Filter
	rnd   *rand.Rand
	keys  []bloom.Hash
	times []int
	in    []int // indexes of keys, as often as they are in
}

func newModel(buckets uint64, bits int, rnd *rand.Rand) *model {
	m := &model{Filter: sized(buckets, bits), rnd: rnd}
	m.keys = filtertest.Digests(buckets, int(8*buckets)+4)
	m.times = make([]int, len(m.keys))
	return m
}

// insert inserts key k. What is refused must leave all bytes as they were.
func (m *model) insert(t *testing.T, k int) bool {
	var before *Filter
	if m.buckets < 300 && m.Len() > m.Cap()*9/10 {
		before = m.Clone()
	}
	if !m.InsertHash(m.keys[k]) {
		if before == nil { // and refused again
			before = m.Clone()
			require.False(t, m.InsertHash(m.keys[k]))
		}
		require.True(t, slices.Equal(before.words, m.words) && slices.Equal(before.list, m.list))
		return false
	}
	m.times[k]++
	m.in = append(m.in, k)
	return true
}

func (m *model) remove(t *testing.T, i int) {
	k, last := m.in[i], len(m.in)-1
	if !m.RemoveHash(m.keys[k]) {
		t.Fatalf("key %d is missing", k)
	}
	m.times[k]--
	m.in[i] = m.in[last]
	m.in = m.in[:last]
}

// check requires that the filter holds what it should, in one place each.
func (m *model) check(t *testing.T) {
	require.EqualValues(t, len(m.in), m.Len())
	require.NoError(t, m.table.check())
	for _, k := range m.in {
		if !m.ContainsHash(m.keys[k]) {
			t.Fatalf("key %d is missing", k)
		}
	}
}

// TestModel inserts, removes and looks up at loads from a half to the first refusal, and beyond.
func TestModel(t *testing.T) {
	sizes := []uint64{1, 2, 3, 7, 64, 257, 5000, 30_011}
	for n, bits := range []int{7, 10, 16, 17, 23, 32, 33} {
		t.Run(fmt.Sprint("bits=", bits), func(t *testing.T) {
			t.Parallel()
			for round, left := 0, operations(t, 5_000_000)/7; left > 0; round++ {
				rnd := rand.New(rand.NewPCG(uint64(n), uint64(round)))
				m := newModel(sizes[round%len(sizes)], bits, rnd)
				repeated := 1 + rnd.IntN(20)
				for _, load := range []float64{0.5, 0.9, 2, 0.95, 0.3, 2} {
					full := uint64(load * float64(m.Cap()))
					ops := min(left, 4*int(m.Cap())+100)
					left -= ops
					for refused := 0; ops > 0 && refused < 50; ops-- {
						k := rnd.IntN(len(m.keys))
						if rnd.IntN(8) == 0 {
							k = rnd.IntN(min(repeated, len(m.keys)))
						}
						if grow := rnd.IntN(10) < 7; grow == (m.Len() < full) {
							if !m.insert(t, k) {
								refused++
							}
						} else if len(m.in) > 0 {
							m.remove(t, rnd.IntN(len(m.in)))
						}
						if m.times[k] > 0 && !m.ContainsHash(m.keys[k]) {
							t.Fatalf("key %d is missing", k)
						}
						if m.times[k] == 0 && !m.ContainsHash(m.keys[k]) {
							before := m.Len()
							require.False(t, m.RemoveHash(m.keys[k]))
							filtertest.Equal(t, before, m.Len())
						}
					}
					left += ops
					m.check(t)
					again := new(Filter)
					require.NoError(t, again.UnmarshalBinary(bloom.Must(m.MarshalBinary())))
					require.True(t, again.Equal(m.Filter))
					*m.Filter = Filter{filter: again.filter} // go on with what was decoded
				}
				for len(m.in) > 0 {
					m.remove(t, len(m.in)-1)
				}
				require.True(t, m.Equal(sized(m.buckets, bits)), "nothing is left")
			}
		})
	}
}

// TestMultiset: a key counts as often as it is inserted, 8 times in its buckets and at least 247 times in the
// list, whose 32 keys keep out a 33rd, and no other key.
func TestMultiset(t *testing.T) {
	for _, bits := range []int{7, 10, 23, 33} {
		f := sized(100_000, bits)
		hs := filtertest.Digests(1, 33)
		for i, h := range hs[:32] {
			for range 255 {
				require.True(t, f.InsertHash(h))
			}
			require.EqualValues(t, 255*(i+1), f.Len())
			require.EqualValues(t, 8*(i+1)*bits, f.Stats().OnesCount)
			require.Len(t, f.entries(), i+1)
		}
		for range 8 {
			require.True(t, f.InsertHash(hs[32]))
		}
		before := f.Clone()
		require.False(t, f.InsertHash(hs[32]))
		require.True(t, f.Equal(before))
		require.True(t, f.Insert([]byte("a")) && f.RemoveString("a") && f.InsertString("a") && f.Remove([]byte("a")))
		f = decoded(new(set), f).Clone()
		for i, h := range hs[:32] {
			for range 255 {
				require.True(t, f.ContainsHash(h))
				require.True(t, f.RemoveHash(h))
			}
			require.Len(t, f.entries(), 31-i)
			require.False(t, f.ContainsHash(h) || f.RemoveHash(h))
		}
		require.EqualValues(t, 8, f.Len())
	}
	f := sized(1, 7)
	h := bloom.SumString("key")
	for range 5 {
		require.True(t, f.InsertHash(h))
	}
	f.entry(0)[2] = maxTimes
	require.False(t, f.InsertHash(h))
}

// TestRoom: New's filter takes n keys, and each key that comes while fewer are in. Memory and rate are what
// was asked for.
func TestRoom(t *testing.T) {
	for _, test := range []struct {
		p    float64
		most float64 // bits a key
	}{{0.1, 7.5}, {0.01, 10.5}, {1e-3, 13.6}, {1e-6, 24.0}, {1e-9, 34.5}} {
		for _, n := range []int{1, 2, 3, 10, 13, 40, 100, 333, 1000, 20_000, 100_000} {
			f := bloom.Must(New(uint64(n), test.p))
			require.LessOrEqual(t, 8/float64(f.mask), test.p)
			require.True(t, f.bits == minBits || 8/float64(f.mask/2) > test.p, "the fewest bits")
			require.Equal(t, bloom.Info{N: uint64(n), P: test.p}, f.Info())
			if filtertest.Race && n > 1000 {
				continue
			}
			rounds := min(200, 1+operations(t, 200_000)/n)
			for round := range rounds {
				f.Reset()
				hs := filtertest.Digests(uint64(round), 2*n)
				for _, h := range hs[:n] {
					require.True(t, f.InsertHash(h))
				}
				for i, h := range hs[n:] {
					require.True(t, f.RemoveHash(hs[i]) && f.InsertHash(h))
				}
			}
			found := filtertest.Count(filtertest.Found(f, filtertest.Digests(1<<40, 100_000)))
			require.LessOrEqual(t, float64(found), filtertest.RateBound(100_000, test.p)*100_000+1e-9)
			require.InDelta(t, float64(found)/100_000, f.FPR(), filtertest.RateBound(100_000, f.FPR())-f.FPR()+1e-5)
			if n == 100_000 {
				require.LessOrEqual(t, 8*float64(f.SizeBytes())/float64(n), test.most)
			}
		}
	}
}

// TestWork: the last of New's n keys take bounded work.
func TestWork(t *testing.T) {
	const n = 200_000
	f := bloom.Must(New(n, 0.01))
	var sum, most int
	for i, h := range filtertest.Digests(9, n) {
		at := f.place(h)
		if _, ok := f.find(at.p, at.q, 0); i >= n*99/100 && !ok {
			slot, looked, ok := f.makeRoom(at)
			require.True(t, ok)
			sum, most = sum+looked, max(most, looked)
			f.set(slot, at.tag)
			continue
		}
		require.True(t, f.InsertHash(h))
	}
	t.Logf("the last hundredth looked at %.1f buckets each, and at most at %d", float64(sum)/(n/100), most)
	require.Less(t, sum, 40*n/100)
	require.LessOrEqual(t, most, 4*expanded)
}

// TestLayout freezes where tags lie: docs/format.md says it, too.
func TestLayout(t *testing.T) {
	f := sized(1000, 10)
	h := bloom.NewHash(1<<63, 1<<62)
	at := f.place(h)
	require.EqualValues(t, 1023/4+1, at.tag)
	require.EqualValues(t, 500*40, at.p)
	x := at.tag * 0x9e3779b97f4a7c15
	d, _ := bits.Mul64((x^x>>32)*0xd6e8feb86659fd93, 1000)
	require.Equal(t, (d+500)%1000*40, at.q)
	for _, buckets := range []uint64{1, 2, 3, 1000, 1<<38 + 7} {
		f.shape(buckets, 33)
		for i := range uint64(5000) {
			i = i * (buckets/5000 + 1) % buckets
			j := f.other(i, 1+i%1023)
			require.Less(t, j, buckets)
			require.Equal(t, i, f.other(j, 1+i%1023))
		}
	}
}

func TestParameters(t *testing.T) {
	for _, test := range []struct {
		n    uint64
		p    float64
		want string
	}{
		{0, 0.01, "cuckoo: n = 0 is outside [1, "}, {1 << 60, 0.01, "cuckoo: n = 1152921504606846976 is outside [1, "},
		{math.MaxUint64, 1e-9, "cuckoo: n = 18446744073709551615 is outside [1, "},
		{1, 0, "cuckoo: p = 0 is outside [1e-09, 0.1]"}, {1, 0.11, "cuckoo: p = 0.11 is outside "},
		{1, 9e-10, "cuckoo: p = 9e-10 is outside "}, {1, math.NaN(), "cuckoo: p = NaN is outside "},
	} {
		f, err := New(test.n, test.p)
		require.ErrorContains(t, err, test.want)
		require.Nil(t, f)
		s, err := NewSync(test.n, test.p)
		require.ErrorContains(t, err, test.want)
		require.Nil(t, s)
	}
	for _, test := range []struct {
		buckets uint64
		bits    int
		want    string
	}{
		{1, 6, "cuckoo: bits = 6 is outside [7, 33]"}, {1, 34, "cuckoo: bits = 34 is"}, {1, -1, "cuckoo: bits = -1 is"},
		{0, 7, "cuckoo: buckets = 0 is outside [1, "}, {math.MaxUint64, 7, "cuckoo: buckets = 18446744073709551615 is"},
	} {
		require.ErrorContains(t, checkSize(test.buckets, uint64(test.bits)), test.want)
	}
	for bits := minBits; bits <= maxBits; bits++ {
		require.LessOrEqual(t, wordsFor(maxBuckets(bits), uint64(bits)), uint64(maxWords))
	}
	f := sized(7, 33)
	require.Zero(t, f.Info())
	require.EqualValues(t, 28, f.Cap())
	require.EqualValues(t, 28*33, f.Stats().M)
	require.Equal(t, 2, f.Stats().K)
	require.Equal(t, "cuckoo.Filter(buckets=7, bits=33)", f.String())
}

// hostile returns the form of a filter of three buckets and four keys more than these have places, with what edit made of its words.
func hostile(t *testing.T, params []uint64, edit func(words []uint64)) []byte {
	f := sized(3, 10) // 120 bits
	for _, h := range filtertest.Digests(3, 16) {
		require.True(t, f.InsertHash(h))
	}
	require.Len(t, f.entries(), 4)
	words := append(slices.Clone(f.words), f.flat()...)
	edit(words)
	return bloom.Must(form.Cuckoo.Append(nil, params, words, form.Info{}))
}

// TestHostile: what no filter writes is refused, though its checksums are right.
func TestHostile(t *testing.T) {
	good := []uint64{3, 10, 4}
	require.NoError(t, new(Filter).UnmarshalBinary(hostile(t, good, func([]uint64) {})))
	for want, edit := range map[string]func(words []uint64){
		"bits behind the last bucket":           func(w []uint64) { w[1] |= 1 << 63 },
		"the number of keys is 17, but 16 are":  func(w []uint64) { w[2]++ },
		"the number of keys is 16, but 15 are":  func(w []uint64) { w[0] &^= 1<<10 - 1 },
		"the number of keys is 16, but 17 are":  func(w []uint64) { w[5]++ },
		"out of order, or has a key that is in": func(w []uint64) { w[5] = 0 },
		"is out of order":                       func(w []uint64) { w[3], w[6] = w[6], w[3] },
		"has a key twice":                       func(w []uint64) { copy(w[6:8], w[3:5]); w[8] = 2 },
		"more than 4294967295 times":            func(w []uint64) { w[5] = 1 << 32 },
	} {
		data := hostile(t, good, edit)
		f := sized(1, 7)
		before := f.Clone()
		require.ErrorContains(t, f.UnmarshalBinary(data), want)
		require.ErrorIs(t, f.UnmarshalBinary(data), bloom.ErrFormat)
		n, err := f.ReadFrom(bytes.NewReader(data))
		require.ErrorContains(t, err, want)
		require.EqualValues(t, len(data), n)
		require.True(t, f.Equal(before))
		view, err := NewView(data)
		if err == nil { // which reads the list only
			err = view.Verify()
		}
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, bloom.ErrFormat)
	}
	for _, params := range [][]uint64{{0, 10, 4}, {math.MaxUint64, 10, 4}, {1 << 61, 10, 4}, {3, 6, 4}, {3, 34, 4}, {3, 10, 33}, {3, 10, 3}, {3, 10, math.MaxUint64}, {3, 1<<32 + 10, 4}} {
		data := hostile(t, params, func([]uint64) {})
		require.ErrorIs(t, new(Filter).UnmarshalBinary(data), bloom.ErrFormat, "%v", params)
		_, err := NewView(data)
		require.ErrorIs(t, err, bloom.ErrFormat, "%v", params)
	}
	filtertest.Damage(t, hostile(t, good, func([]uint64) {}), func(data []byte) error { return new(Filter).UnmarshalBinary(data) })
}

// TestView: bytes answer alike wherever they lie, whole and in a file.
func TestView(t *testing.T) {
	for bits := minBits; bits <= maxBits; bits++ {
		f := sized(301, bits)
		hs := filtertest.Digests(uint64(bits), 3000)
		for i := range hs[:1150] {
			f.InsertHash(hs[i%1100+i/1100*7])
		}
		want := filtertest.Found(f, hs)
		data := bloom.Must(f.MarshalBinary())
		for shift := range 9 {
			lies := append(make([]byte, shift, shift+len(data)), data...)[shift:]
			v := bloom.Must(NewView(lies))
			require.Equal(t, want, filtertest.Found(v, hs))
			for i, h := range hs {
				filtertest.Equal(t, want[i], v.ContainsHash(h))
			}
			require.Equal(t, f.Stats(), v.Stats())
			require.Equal(t, []uint64{f.Len(), f.Cap()}, []uint64{v.Len(), v.Cap()})
			require.NoError(t, v.Verify())
			binary.LittleEndian.PutUint64(lies[len(lies)/2:], 0)
			require.ErrorIs(t, v.Verify(), bloom.ErrFormat)
		}
	}
}

// TestZeroView: neither a zero View nor one that has been closed says that a key is absent.
func TestZeroView(t *testing.T) {
	const refusal = "cuckoo: use of a View that is closed or zero"
	f := bloom.Must(New(10, 0.01))
	f.InsertString("a")
	closed := bloom.Must(NewView(bloom.Must(f.MarshalBinary())))
	require.True(t, closed.ContainsString("a"), "before Close")
	require.NoError(t, closed.Close())
	for _, v := range []*View{closed, new(View)} {
		require.PanicsWithValue(t, refusal, func() { v.Contains(nil) })
		require.PanicsWithValue(t, refusal, func() { v.ContainsString("a") })
		require.PanicsWithValue(t, refusal, func() { v.ContainsHash(bloom.Hash{}) })
		require.PanicsWithValue(t, refusal, func() { v.ContainsBatch(nil, nil) })
		require.PanicsWithValue(t, refusal, func() { v.Len() })
		require.PanicsWithValue(t, refusal, func() { v.Stats() })
		require.PanicsWithValue(t, refusal, func() { v.Info() })
		require.PanicsWithValue(t, refusal, func() { _ = v.Verify() })
		require.Equal(t, "cuckoo.View(closed)", v.String())
		require.NoError(t, v.Close(), "closing again")
	}
}

// TestBatches: batches do what single calls do, one after the other, also where keys are refused or absent.
func TestBatches(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 700} {
		one := sized(100, 10)
		batch := NewSyncFrom(one)
		hs := filtertest.Digests(uint64(n), n)
		for _, change := range []struct {
			one   func(bloom.Hash) bool
			batch func([]bool, []bloom.Hash)
		}{{one.InsertHash, batch.InsertBatch}, {one.ContainsHash, batch.ContainsBatch}, {one.RemoveHash, batch.RemoveBatch}} {
			want := make([]bool, n)
			for i, h := range hs {
				want[i] = change.one(h)
			}
			got := append(make([]bool, n), true)
			change.batch(got, hs)
			require.Equal(t, append(want, true), got)
			require.True(t, one.Equal(batch.Snapshot()))
			if n > 0 {
				require.PanicsWithValue(t, fmt.Sprintf("cuckoo: batch of %d with room for 0 results", n), func() { change.batch(nil, hs) })
			}
		}
	}
	var zero Filter
	removed := []bool{true}
	zero.RemoveBatch(removed, make([]bloom.Hash, 1))
	require.False(t, removed[0])
	require.PanicsWithValue(t, errZero, func() { zero.InsertBatch(removed, make([]bloom.Hash, 1)) })
	require.PanicsWithValue(t, errZero, func() { zero.InsertHash(bloom.Hash{}) })
	zero.InsertBatch(nil, nil)
}

func TestAllocations(t *testing.T) {
	f := bloom.Must(New(1000, 0.01))
	s := NewSyncFrom(f)
	hs, done := filtertest.Digests(1, 500), make([]bool, 500)
	if filtertest.Race {
		t.Skip("a sync.Pool forgets now and then")
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for range 10 { // into the list, and out of it
			f.InsertString("key")
			s.InsertString("key")
		}
		for range 10 {
			f.RemoveString("key")
			s.RemoveString("key")
		}
		s.InsertBatch(done, hs)
		s.ContainsBatch(done, hs)
		s.RemoveBatch(done, hs)
	}))
}

func TestEqual(t *testing.T) {
	f := sized(100, 10)
	f.InsertString("key")
	f.SetInfo(bloom.Info{N: 7})
	g := f.Clone()
	require.Equal(t, f.Info(), g.Info())
	require.True(t, f.Equal(g))
	g.SetInfo(bloom.Info{})
	require.True(t, f.Equal(g))
	require.True(t, g.RemoveString("key"))
	require.False(t, f.Equal(g))
	require.True(t, f.ContainsString("key"))
	for range 9 {
		f.InsertString("key")
		g.InsertString("key")
	}
	g.InsertString("key")
	require.True(t, f.Equal(g))
	g.list[3]++
	require.False(t, f.Equal(g))
	require.False(t, sized(100, 10).Equal(sized(100, 11)))
	require.False(t, sized(32, 7).Equal(sized(33, 7)))
	require.True(t, new(Filter).Equal(new(Filter).Clone()))
	require.False(t, f.Equal(new(Filter)) || new(Filter).Equal(f))
	require.PanicsWithValue(t, "cuckoo: Equal to a nil Filter", func() { f.Equal(nil) })
}

// TestWriters: eight goroutines insert and remove keys of their own, and look them up. At the end the filter
// has what they left in.
func TestWriters(t *testing.T) {
	const writers, own = 8, 500
	s := bloom.Must(NewSync(writers*own, 0.01))
	ops := operations(t, 800_000) / writers
	var left [writers][]bloom.Hash
	filtertest.AtOnce(writers, func(w int) {
		hs := filtertest.Digests(uint64(w), own)
		rnd := rand.New(rand.NewPCG(uint64(w), 1))
		in := 0
		for range ops {
			i := rnd.IntN(own)
			switch {
			case i < in:
				if !s.ContainsHash(hs[i]) || !s.RemoveHash(hs[i]) {
					t.Error("a key is missing")
					return
				}
				in--
				hs[i], hs[in] = hs[in], hs[i]
			default:
				if !s.InsertHash(hs[i]) {
					t.Error("refused below n")
					return
				}
				hs[i], hs[in] = hs[in], hs[i]
				in++
			}
		}
		left[w] = hs[:in]
	})
	f := s.Snapshot()
	require.NoError(t, f.check())
	for _, hs := range left {
		for _, h := range hs {
			require.True(t, s.ContainsHash(h))
			require.True(t, f.RemoveHash(h))
		}
	}
	require.Zero(t, f.Len())
}

// TestTurns: those who write to a SyncFilter, or read all of it, take turns. Look-ups wait for nobody.
func TestTurns(t *testing.T) {
	s := bloom.Must(NewSync(100, 0.01))
	hs, done := make([]bloom.Hash, 1), make([]bool, 1)
	for waits, calls := range map[bool]map[string]func(){
		true: {
			"InsertHash": func() { s.InsertHash(hs[0]) }, "RemoveHash": func() { s.RemoveHash(hs[0]) },
			"InsertBatch": func() { s.InsertBatch(done, hs) }, "RemoveBatch": func() { s.RemoveBatch(done, hs) },
			"Reset": s.Reset, "Snapshot": func() { s.Snapshot() }, "Stats": func() { s.Stats() },
			"WriteTo": func() { _, _ = s.WriteTo(io.Discard) },
		},
		false: {
			"ContainsHash": func() { s.ContainsHash(hs[0]) }, "ContainsBatch": func() { s.ContainsBatch(done, hs) },
		},
	} {
		for name, call := range calls {
			require.Equal(t, waits, filtertest.Waits(s.shared, waits, call), name)
		}
	}
}

// TestDecodedTogether: however a SyncFilter came by its keys, those who write to it take turns.
func TestDecodedTogether(t *testing.T) {
	data := bloom.Must(sized(100, 16).MarshalBinary())
	text := bloom.Must(sized(100, 16).MarshalText())
	for name, decode := range map[string]func(*SyncFilter) error{
		"UnmarshalBinary": func(s *SyncFilter) error { return s.UnmarshalBinary(data) },
		"UnmarshalText":   func(s *SyncFilter) error { return s.UnmarshalText(text) },
		"ReadFrom":        func(s *SyncFilter) error { _, err := s.ReadFrom(bytes.NewReader(data)); return err },
	} {
		for _, s := range []*SyncFilter{new(SyncFilter), bloom.Must(NewSync(10, 0.01))} {
			require.NoError(t, decode(s))
			require.True(t, filtertest.Waits(s.shared, true, func() { s.InsertString("key") }), name)
		}
	}
}

// TestCounters: whenever a tag leaves a slot of a SyncFilter, or a key the list, the tag's counter goes up.
func TestCounters(t *testing.T) {
	s := NewSyncFrom(sized(20, 17))
	hs := filtertest.Digests(1, 180)
	rnd := rand.New(rand.NewPCG(1, 1))
	in := map[int]bool{}
	var left, delisted int
	for range 5_000 {
		before := s.Snapshot()
		var moves [256]uint32
		for i := range moves {
			moves[i] = s.shared.moves[i].Load()
		}
		if i := rnd.IntN(len(hs)); in[i] {
			require.True(t, s.RemoveHash(hs[i]))
			delete(in, i)
		} else if s.InsertHash(hs[i]) {
			in[i] = true
		}
		for at := uint64(0); at < s.buckets*s.width; at += s.bits {
			if tag := before.get(at); tag != 0 && tag != s.get(at) {
				left++
				require.Greater(t, s.shared.moves[tag%256].Load(), moves[tag%256])
			}
		}
		for i := range room {
			if e := before.entry(i); e[2] > s.entry(i)[2] {
				delisted++
				tag := s.place(bloom.NewHash(e[0], e[1])).tag
				require.Greater(t, s.shared.moves[tag%256].Load(), moves[tag%256])
			}
		}
	}
	require.Greater(t, left, 2_000)
	require.Greater(t, delisted, 100)
}

// TestLookUpsMeanwhile: keys that are in are found in a full filter whose tags are moved all the time.
func TestLookUpsMeanwhile(t *testing.T) {
	if runtime.GOARCH == "wasm" {
		t.Skip("one thread: nothing happens at the same time")
	}
	for _, n := range []uint64{200, 3000} {
		for _, bits := range []int{7, 10, 17, 33} { // tags that lie in one word, and in two
			lookUpsMeanwhile(t, n, bits, operations(t, 40_000_000)/8)
		}
	}
}

func lookUpsMeanwhile(t *testing.T, n uint64, bits, ops int) {
	s := NewSyncFrom(sized(n/4, bits))
	hs := filtertest.Digests(n, int(2*n))
	var in []bloom.Hash
	for _, h := range hs {
		if len(s.entries()) == 0 { // until there is one that finds no place
			s.InsertHash(h)
			in = append(in, h)
		}
	}
	for range 5 {
		require.True(t, s.RemoveHash(in[len(in)-1]))
		in = in[:len(in)-1]
	}
	var stop atomic.Bool
	var inserted atomic.Int64
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for hs := filtertest.Digests(uint64(w)+7, 1<<12); !stop.Load(); {
				for i := 0; i+1 < len(hs); i += 2 {
					a, b := s.InsertHash(hs[i]), s.InsertHash(hs[i+1])
					if a {
						inserted.Add(1)
						s.RemoveHash(hs[i])
					}
					if b {
						s.RemoveHash(hs[i+1])
					}
				}
			}
		}()
	}
	missed := 0
	rnd := rand.New(rand.NewPCG(n, 3))
	for i := 0; i < ops || inserted.Load() == 0 && i < 1000*ops; i++ { // the writers may be late
		if !s.ContainsHash(in[rnd.IntN(len(in))]) {
			missed++
		}
	}
	stop.Store(true)
	writers.Wait()
	require.Zero(t, missed, "of %d look-ups in %d places for %d bits", ops, 4*(n/4), bits)
	require.Positive(t, inserted.Load())
	require.EqualValues(t, len(in), s.Len())
}
