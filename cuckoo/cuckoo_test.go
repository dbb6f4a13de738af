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

// sized returns an empty filter of the given number of buckets, with tags of the given number of
// bits.
func sized(buckets uint64, bits int) *Filter {
	return &Filter{filter: filter{table: newTable(buckets, bits)}}
}

// operations returns the number of operations of a long test. This command asks for more:
//
//	BLOOM_CUCKOO=1e9 go test ./cuckoo -run 'Model|LookUps|Writers' -timeout 0
func operations(t *testing.T, ordinary int) int {
	if n, err := strconv.ParseFloat(os.Getenv("BLOOM_CUCKOO"), 64); err == nil {
		return int(n)
	}
	if testing.Short() {
		ordinary /= 5
	}
	if filtertest.Race {
		ordinary /= 10
	}
	return ordinary
}

// model has a Filter, and the multiset that it should be.
type model struct {
	*Filter
	rnd   *rand.Rand
	keys  []bloom.Hash
	times []int
	in    []int // has the index of each key as often as the key is in
}

func newModel(buckets uint64, bits int, rnd *rand.Rand) *model {
	m := &model{Filter: sized(buckets, bits), rnd: rnd}
	m.keys = filtertest.Digests(buckets, int(8*buckets)+4)
	m.times = make([]int, len(m.keys))
	return m
}

// insert inserts key k. If the filter refuses it, no byte may change.
func (m *model) insert(t *testing.T, k int) bool {
	var before *Filter
	if m.table.buckets < 300 && m.Len() > m.Cap()*9/10 {
		before = m.Clone()
	}
	if !m.InsertHash(m.keys[k]) {
		if before == nil { // the key is refused again
			before = m.Clone()
			require.False(t, m.InsertHash(m.keys[k]))
		}
		require.True(t, slices.Equal(before.table.words, m.table.words), "a refused key moved a tag")
		require.True(t, slices.Equal(before.table.list, m.table.list), "a refused key is in the list")
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

// check requires that the filter holds each key that it should, once.
func (m *model) check(t *testing.T) {
	require.EqualValues(t, len(m.in), m.Len())
	require.NoError(t, m.table.check())
	for _, k := range m.in {
		if !m.ContainsHash(m.keys[k]) {
			t.Fatalf("key %d is missing", k)
		}
	}
}

// TestModel inserts, removes and looks up keys. The load goes from a half to the first refusal and
// beyond.
func TestModel(t *testing.T) {
	sizes := []uint64{1, 2, 3, 7, 64, 257, 5000, 30_011}
	for n, bits := range []int{7, 10, 16, 17, 23, 32, 33} {
		t.Run(fmt.Sprint("bits=", bits), func(t *testing.T) {
			t.Parallel()
			for round, left := 0, operations(t, 2_000_000)/7; left > 0; round++ {
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
					require.True(t, again.Equal(m.Filter), "decoded")
					*m.Filter = Filter{filter: again.filter} // continue with the decoded filter
				}
				for len(m.in) > 0 {
					m.remove(t, len(m.in)-1)
				}
				require.True(t, m.Equal(sized(m.table.buckets, bits)), "nothing is left")
			}
		})
	}
}

// TestMultiset: a key counts as often as it is inserted: 8 times in its buckets, and at least 247
// times in the list. If the list has 32 keys, it has no room for another key. The buckets still
// have.
func TestMultiset(t *testing.T) {
	for _, bits := range []int{7, 10, 23, 33} {
		t.Run(fmt.Sprint("bits=", bits), func(t *testing.T) {
			f := sized(100_000, bits)
			hs := filtertest.Digests(1, 33)
			for i, h := range hs[:32] {
				for range 255 {
					require.True(t, f.InsertHash(h), "key %d", i)
				}
				require.EqualValues(t, 255*(i+1), f.Len())
				require.EqualValues(t, 8*(i+1)*bits, f.Stats().OnesCount)
				require.Len(t, f.table.entries(), i+1)
			}
			for range 8 {
				require.True(t, f.InsertHash(hs[32]), "the list is full, and places are not")
			}
			before := f.Clone()
			require.False(t, f.InsertHash(hs[32]), "the list is full")
			require.True(t, f.Equal(before), "a refused key changed something")
			require.True(t, f.Insert([]byte("a")), "another key finds a place")
			require.True(t, f.RemoveString("a"))
			require.True(t, f.InsertString("a"))
			require.True(t, f.Remove([]byte("a")))
			decoded := new(Filter)
			require.NoError(t, decoded.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
			f = decoded
			for i, h := range hs[:32] {
				for range 255 {
					require.True(t, f.ContainsHash(h), "key %d", i)
					require.True(t, f.RemoveHash(h), "key %d", i)
				}
				require.Len(t, f.table.entries(), 31-i)
				require.False(t, f.ContainsHash(h), "key %d after its last removal", i)
				require.False(t, f.RemoveHash(h), "key %d after its last removal", i)
			}
			require.EqualValues(t, 8, f.Len())
		})
	}
}

// TestMostTimes: an entry of the list counts to 2^32-1, and no further.
func TestMostTimes(t *testing.T) {
	f := sized(1, 7)
	for range 5 {
		require.True(t, f.InsertString("key"))
	}
	*f.table.count() += maxTimes - f.table.entry(0)[times]
	f.table.entry(0)[times] = maxTimes
	require.False(t, f.InsertString("key"))
	data := bloom.Must(f.MarshalBinary())
	require.NoError(t, new(Filter).UnmarshalBinary(data))
	*f.table.count()++
	f.table.entry(0)[times]++
	require.ErrorIs(t, new(Filter).UnmarshalBinary(bloom.Must(f.MarshalBinary())), bloom.ErrFormat)
}

// TestListedHash: an entry of the list counts keys with both words of its Hash.
func TestListedHash(t *testing.T) {
	f := sized(1, 7)
	for range 5 {
		require.True(t, f.InsertHash(bloom.NewHash(1, 2)))
	}
	require.GreaterOrEqual(t, f.table.index(bloom.NewHash(1, 2)), 0)
	require.Equal(t, -1, f.table.index(bloom.NewHash(1, 3)))
	require.Equal(t, -1, f.table.index(bloom.NewHash(3, 2)))
}

// TestFewestBits: the rate of New's filter is at most p, with the fewest bits that keep it.
func TestFewestBits(t *testing.T) {
	for bits := minBits; bits <= maxBits; bits++ {
		rate := 8 / (math.Pow(2, float64(bits)) - 1) // the rate of a full filter
		for _, test := range []struct {
			p    float64
			bits int
		}{{rate * 0.999999, bits + 1}, {rate, bits}, {rate * 1.000001, bits}} {
			if test.p < minP || test.p > maxP {
				continue
			}
			f, err := New(1000, test.p)
			require.NoError(t, err)
			want := fmt.Sprintf("cuckoo.Filter(buckets=265, bits=%d)", test.bits)
			require.Equal(t, want, f.String(), "p = %v", test.p)
		}
	}
}

// TestRoomForN: New's filter accepts n keys. It also accepts every key while fewer than n are in.
// It keeps the rate p and the promised memory.
func TestRoomForN(t *testing.T) {
	for _, test := range []struct {
		p    float64
		most float64 // the most bits for each key
	}{{0.1, 7.5}, {0.01, 10.5}, {1e-3, 13.6}, {1e-6, 24.0}, {1e-9, 34.5}} {
		for _, n := range []int{1, 2, 3, 10, 13, 40, 100, 333, 1000, 20_000, 100_000} {
			t.Run(fmt.Sprintf("p=%v/n=%d", test.p, n), func(t *testing.T) {
				f := bloom.Must(New(uint64(n), test.p))
				require.Equal(t, bloom.Info{N: uint64(n), P: test.p}, f.Info())
				if n == 100_000 {
					require.LessOrEqual(t, 8*float64(f.SizeBytes())/float64(n), test.most)
				}
				if filtertest.Race && n > 1000 {
					t.Skip("takes long")
				}
				for round := range min(200, 1+operations(t, 50_000)/n) {
					f.Reset()
					hs := filtertest.Digests(uint64(round), 2*n)
					for i, h := range hs[:n] {
						require.True(t, f.InsertHash(h), "key %d is refused", i)
					}
					for i, h := range hs[n:] {
						require.True(t, f.RemoveHash(hs[i]), "key %d is missing", i)
						require.True(t, f.InsertHash(h), "key %d is refused after a removal", n+i)
					}
				}
				const absent = 100_000
				const few = 5 // more hits than the bound, which is too low if few hits are expected
				found := filtertest.Count(filtertest.Found(f, filtertest.Digests(1<<40, absent)))
				require.LessOrEqual(t, float64(found), filtertest.RateBound(absent, test.p)+few)
				if n < 1000 { // with few buckets, equal tags may make the rate lower than that of Stats
					return
				}
				rate := f.Stats().FPR
				delta := filtertest.RateBound(absent, rate) - absent*rate + few
				require.InDelta(t, absent*rate, found, delta)
			})
		}
	}
}

// TestLastKeysAreCheap: the work for the last of New's n keys is bounded.
func TestLastKeysAreCheap(t *testing.T) {
	const n = 200_000
	f := bloom.Must(New(n, 0.01))
	var sum, most int
	for i, h := range filtertest.Digests(9, n) {
		at := f.table.place(h)
		_, ok := f.table.find(at.p, at.q, 0)
		if ok || i < n*99/100 {
			require.True(t, f.InsertHash(h), "key %d", i)
			continue
		}
		slot, looked, ok := f.table.makeRoom(at)
		require.True(t, ok, "key %d", i)
		sum += looked
		most = max(most, looked)
		f.table.put(slot, at.tag)
	}
	mean := float64(sum) / (n / 100)
	t.Logf("the last hundredth looked at %.1f buckets each, and at most at %d", mean, most)
	require.Less(t, mean, 40.0)
	require.LessOrEqual(t, most, 4*expanded)
}

// TestRefusalsAreCheap: a full filter soon refuses without a long search, and searches again after
// a removal.
func TestRefusalsAreCheap(t *testing.T) {
	const n = 200_000
	for name, again := range map[string]func(f *Filter, h bloom.Hash){
		"Remove": func(f *Filter, h bloom.Hash) { require.True(t, f.RemoveHash(h)) },
		"Reset":  func(f *Filter, h bloom.Hash) { f.Reset() },
	} {
		f := bloom.Must(New(n, 0.01))
		hs := filtertest.Digests(11, 2*n)
		var full uint64 // the number of keys at the first refusal
		refused := 0
		for _, h := range hs {
			if refused == 0 {
				require.Equal(t, expanded, f.table.limit(), "nothing was refused yet")
			}
			if !f.InsertHash(h) {
				refused++
			}
			if refused == 1 && full == 0 {
				full = f.Len()
			}
		}
		require.Equal(t, 8, f.table.limit())
		require.GreaterOrEqual(t, f.Len(), full)
		g := f.Clone()
		looked, searches := 0, 0
		for _, h := range filtertest.Digests(12, 1000) {
			at := g.table.place(h)
			if _, ok := g.table.find(at.p, at.q, 0); !ok {
				_, n, _ := g.table.makeRoom(at)
				looked += n
				searches++
			}
		}
		require.LessOrEqual(t, looked, 4*8*searches)
		again(f, hs[0])
		require.Equal(t, expanded, f.table.limit(), name)
	}
}

// TestRefusalOfRepeatedKeys: keys that were inserted too often are refused, and the filter still
// searches as long for others, whether it is nearly empty or nearly full.
func TestRefusalOfRepeatedKeys(t *testing.T) {
	const n = 20_000
	f := bloom.Must(New(n, 0.01))
	hs := filtertest.Digests(13, n)
	for _, h := range hs[:32] {
		for range 9 {
			require.True(t, f.InsertHash(h))
		}
	}
	for range 8 {
		require.True(t, f.InsertHash(hs[32]))
	}
	refuse := func() {
		for range 20 {
			require.False(t, f.InsertHash(hs[32]))
			require.Equal(t, expanded, f.table.limit())
		}
	}
	refuse()
	for _, h := range hs[33:] {
		if 25*f.table.placed() > 24*f.Cap() {
			break
		}
		f.InsertHash(h) // false if both buckets have only copies of one key
	}
	require.Greater(t, float64(f.table.placed()), 0.96*float64(f.Cap()))
	refuse()
}

// TestRefusalBelowThePlan: a search that fails in a filter with room elsewhere cuts no other short.
func TestRefusalBelowThePlan(t *testing.T) {
	f := sized(100, 23)
	for _, h := range filtertest.Digests(14, room) {
		require.True(t, f.table.enlist(h, f.table.place(h).tag))
		*f.table.count()++
	}
	// Two keys of the same buckets can take turns for as long as a search goes.
	a := bloom.NewHash(0, 0)
	at := f.table.place(a)
	b, other := a, at
	for i := uint64(1); other.tag == at.tag || other.q != at.q; i++ {
		b = bloom.NewHash(0, i<<41)
		other = f.table.place(b)
	}
	for range 4 {
		require.True(t, f.InsertHash(a))
		require.True(t, f.InsertHash(b))
	}
	_, looked, ok := f.table.makeRoom(at)
	require.False(t, ok)
	require.GreaterOrEqual(t, looked, expanded)
	require.False(t, f.InsertHash(a))
	require.Equal(t, expanded, f.table.limit())
}

// TestRepeatedKeys: New's comment says how many insertions fit if each key comes several times.
func TestRepeatedKeys(t *testing.T) {
	const n = 100_000
	for times, least := range map[int]float64{2: 0.87, 3: 0.62, 4: 0.36} {
		f := bloom.Must(New(n, 0.01))
		for i, h := range filtertest.Digests(uint64(times), int(least*n)/times) {
			for range times {
				require.True(t, f.InsertHash(h), "key %d, %d times", i, times)
			}
		}
	}
}

// TestLayout: tags always lie where docs/format.md says.
func TestLayout(t *testing.T) {
	f := newTable(1000, 10)
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

// TestParameters: parameters out of range are errors that name the parameter and its value.
func TestParameters(t *testing.T) {
	for _, test := range []struct {
		n    uint64
		p    float64
		want string
	}{
		{0, 0.01, "cuckoo: n = 0 is outside [1, "},
		{1 << 60, 0.01, "cuckoo: n = 1152921504606846976 is outside [1, "},
		{math.MaxUint64, 1e-9, "cuckoo: n = 18446744073709551615 is outside [1, "},
		{1, 0, "cuckoo: p = 0 is outside [1e-09, 0.1]"},
		{1, 0.11, "cuckoo: p = 0.11 is outside "},
		{1, 9e-10, "cuckoo: p = 9e-10 is outside "},
		{1, math.NaN(), "cuckoo: p = NaN is outside "},
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
		{1, 6, "bits = 6 is outside [7, 33]"},
		{1, 34, "bits = 34 is"},
		{1, -1, "bits = -1 is"},
		{0, 7, "buckets = 0 is outside [1, "},
		{math.MaxUint64, 7, "buckets = 18446744073709551615 is"},
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

// hostile returns the binary form of a filter of three buckets and sixteen keys, four of them in
// the list. edit may change its words before the checksums are made.
func hostile(t *testing.T, params []uint64, edit func(words []uint64)) []byte {
	f := newTable(3, 10) // 120 bits
	for _, h := range filtertest.Digests(3, 16) {
		require.True(t, f.insert(h))
	}
	require.Len(t, f.entries(), 4)
	words := append(slices.Clone(f.words), f.flat()...)
	edit(words)
	return bloom.Must(form.Cuckoo.Append(nil, params, words, form.Info{}))
}

// TestWrongContentIsRefused: if no filter can write some bytes, every decoder refuses them, even if
// their checksums are right.
func TestWrongContentIsRefused(t *testing.T) {
	good := []uint64{3, 10, 4}
	require.NoError(t, new(Filter).UnmarshalBinary(hostile(t, good, func([]uint64) {})))
	for want, edit := range map[string]func(words []uint64){
		"bits after the last bucket":                   func(w []uint64) { w[1] |= 1 << 63 },
		"the number of keys is given as 17, but is 16": func(w []uint64) { w[2]++ },
		"the number of keys is given as 16, but is 15": func(w []uint64) { w[0] &^= 1<<10 - 1 },
		"the number of keys is given as 16, but is 17": func(w []uint64) { w[5]++ },
		"out of order, or a key in it has the count 0": func(w []uint64) { w[5] = 0 },
		"is out of order":                              func(w []uint64) { w[3], w[6] = w[6], w[3] },
		"has a key twice":                              func(w []uint64) { copy(w[6:8], w[3:5]); w[8] = 2 },
		"with a count above 4294967295":                func(w []uint64) { w[5] = 1 << 32 },
	} {
		t.Run(want, func(t *testing.T) {
			data := hostile(t, good, edit)
			f := sized(1, 7)
			before := f.Clone()
			err := f.UnmarshalBinary(data)
			require.ErrorContains(t, err, want)
			require.ErrorIs(t, err, bloom.ErrFormat)
			n, err := f.ReadFrom(bytes.NewReader(data))
			require.ErrorContains(t, err, want)
			require.EqualValues(t, len(data), n)
			require.True(t, f.Equal(before), "the receiver has changed")
			view, err := NewView(data)
			if err == nil { // NewView reads only the list
				err = view.Verify()
			}
			require.ErrorContains(t, err, want)
			require.ErrorIs(t, err, bloom.ErrFormat)
		})
	}
	for _, params := range [][]uint64{
		{0, 10, 4}, {math.MaxUint64, 10, 4}, {1 << 61, 10, 4},
		{3, 6, 4}, {3, 34, 4}, {3, 1<<32 + 10, 4},
		{3, 10, 33}, {3, 10, 3}, {3, 10, math.MaxUint64},
	} {
		data := hostile(t, params, func([]uint64) {})
		require.ErrorIs(t, new(Filter).UnmarshalBinary(data), bloom.ErrFormat, "%v", params)
		_, err := NewView(data)
		require.ErrorIs(t, err, bloom.ErrFormat, "%v", params)
	}
	whole := hostile(t, good, func([]uint64) {})
	filtertest.Damage(t, whole, func(data []byte) error { return new(Filter).UnmarshalBinary(data) })
}

// TestView: a View gives the same answers for any alignment of the bytes and any length of tags.
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
			require.Equal(t, f.Len(), v.Len())
			require.NoError(t, v.Verify())
			binary.LittleEndian.PutUint64(lies[len(lies)/2:], 0)
			require.ErrorIs(t, v.Verify(), bloom.ErrFormat)
		}
	}
}

// TestBatches: a batch does what single calls do, one after the other, even if keys are refused or
// absent.
func TestBatches(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 700} {
		one := sized(100, 10)
		batch := NewSyncFrom(one)
		hs := filtertest.Digests(uint64(n), n)
		for _, change := range []struct {
			one   func(bloom.Hash) bool
			batch func([]bool, []bloom.Hash)
		}{
			{one.InsertHash, batch.InsertBatch},
			{one.ContainsHash, batch.ContainsBatch},
			{one.RemoveHash, batch.RemoveBatch},
		} {
			want := make([]bool, n)
			for i, h := range hs {
				want[i] = change.one(h)
			}
			got := append(make([]bool, n), true)
			change.batch(got, hs)
			require.Equal(t, append(want, true), got)
			require.True(t, one.Equal(batch.Snapshot()), "%d keys", n)
			if n > 0 {
				refusal := fmt.Sprintf("cuckoo: batch of %d keys with room for 0 results", n)
				require.PanicsWithValue(t, refusal, func() { change.batch(nil, hs) })
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

// TestAllocations: no call for a key allocates, even if the key goes into the list or out of it.
func TestAllocations(t *testing.T) {
	f := bloom.Must(New(1000, 0.01))
	s := NewSyncFrom(f)
	hs, done := filtertest.Digests(1, 500), make([]bool, 500)
	if filtertest.Race {
		t.Skip("a sync.Pool forgets now and then")
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for range 10 { // the last times go into the list
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

// TestEqual: filters are equal if they have the same tags and the same list. Infos do not count.
func TestEqual(t *testing.T) {
	f := sized(100, 10)
	f.InsertString("key")
	f.UpdateInfo(func(i *bloom.Info) { i.N = 7 })
	g := f.Clone()
	require.Equal(t, f.Info(), g.Info())
	require.True(t, f.Equal(g), "a clone")
	g.UpdateInfo(func(i *bloom.Info) { i.N = 8 })
	require.True(t, f.Equal(g), "another Info")
	require.True(t, g.RemoveString("key"))
	require.False(t, f.Equal(g), "without the key")
	require.True(t, f.ContainsString("key"), "a clone shares nothing")
	for range 9 {
		f.InsertString("key")
		g.InsertString("key")
	}
	g.InsertString("key")
	require.True(t, f.Equal(g), "with the key again")
	g.table.entry(0)[times]++
	require.False(t, f.Equal(g), "another list")
	require.False(t, sized(100, 10).Equal(sized(100, 11)), "other bits")
	require.False(t, sized(32, 7).Equal(sized(33, 7)), "other buckets")
	require.True(t, new(Filter).Equal(new(Filter).Clone()), "zero and zero")
	require.False(t, f.Equal(new(Filter)), "a filter and zero")
	require.False(t, new(Filter).Equal(f), "zero and a filter")
	require.PanicsWithValue(t, "cuckoo: Equal to a nil Filter", func() { f.Equal(nil) })
}

// TestWriters: eight goroutines insert, remove and look up keys of their own. At the end the filter
// has the keys that are left.
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
	require.NoError(t, f.table.check())
	for w, hs := range left {
		for _, h := range hs {
			require.True(t, s.ContainsHash(h), "a key of writer %d", w)
			require.True(t, f.RemoveHash(h), "a key of writer %d", w)
		}
	}
	require.Zero(t, f.Len())
}

// TestTurns: methods that write to a SyncFilter, or read all of it, take turns. Look-ups do not
// wait.
func TestTurns(t *testing.T) {
	s := bloom.Must(NewSync(100, 0.01))
	hs, done := make([]bloom.Hash, 1), make([]bool, 1)
	for name, call := range map[string]func(){
		"InsertHash":  func() { s.InsertHash(hs[0]) },
		"RemoveHash":  func() { s.RemoveHash(hs[0]) },
		"InsertBatch": func() { s.InsertBatch(done, hs) },
		"RemoveBatch": func() { s.RemoveBatch(done, hs) },
		"Reset":       s.Reset,
		"Snapshot":    func() { s.Snapshot() },
		"Stats":       func() { s.Stats() },
		"WriteTo":     func() { _, _ = s.WriteTo(io.Discard) },
	} {
		require.True(t, filtertest.Waits(s.table.shared, true, call), "%s does not wait", name)
	}
	for name, call := range map[string]func(){
		"ContainsHash":  func() { s.ContainsHash(hs[0]) },
		"ContainsBatch": func() { s.ContainsBatch(done, hs) },
	} {
		require.False(t, filtertest.Waits(s.table.shared, false, call), "%s waits", name)
	}
}

// TestDecodedTogether: writers of a SyncFilter take turns after each way of decoding into it.
func TestDecodedTogether(t *testing.T) {
	data := bloom.Must(sized(100, 16).MarshalBinary())
	text := bloom.Must(sized(100, 16).MarshalText())
	for name, decode := range map[string]func(*SyncFilter) error{
		"UnmarshalBinary": func(s *SyncFilter) error { return s.UnmarshalBinary(data) },
		"UnmarshalText":   func(s *SyncFilter) error { return s.UnmarshalText(text) },
		"ReadFrom": func(s *SyncFilter) error {
			_, err := s.ReadFrom(bytes.NewReader(data))
			return err
		},
	} {
		for _, s := range []*SyncFilter{new(SyncFilter), bloom.Must(NewSync(10, 0.01))} {
			require.NoError(t, decode(s), name)
			require.NotNil(t, s.table.shared, "%s leaves no lock", name)
			waits := filtertest.Waits(s.table.shared, true, func() { s.InsertString("key") })
			require.True(t, waits, "Insert does not wait after %s", name)
		}
	}
}

// TestLookUpsMeanwhile: keys of a full filter are found while other goroutines move its tags all
// the time.
func TestLookUpsMeanwhile(t *testing.T) {
	if runtime.GOARCH == "wasm" {
		t.Skip("one thread: nothing happens at the same time")
	}
	for _, n := range []uint64{200, 3000} {
		for _, bits := range []int{7, 10, 17, 33} { // a tag lies in one word or in two
			lookUpsMeanwhile(t, n, bits, operations(t, 16_000_000)/8)
		}
	}
}

func lookUpsMeanwhile(t *testing.T, n uint64, bits, ops int) {
	s := NewSyncFrom(sized(n/4, bits))
	hs := filtertest.Digests(n, int(2*n))
	var in []bloom.Hash
	for _, h := range hs {
		if len(s.table.entries()) == 0 { // stop when a key has found no place
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
