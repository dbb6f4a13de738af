package counting

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// TestBloomIsFilterOfRemainingKeys adds and removes keys at random. After each step the result of
// Bloom is, byte for byte, a new filter of the keys that remain.
func TestBloomIsFilterOfRemainingKeys(t *testing.T) {
	for _, test := range []struct {
		n     uint64
		p     float64
		steps int
	}{
		{1, 0.5, 500}, {3, 0.01, 500}, {5, 1e-5, 1000}, {100, 0.01, 2000}, {300, 1e-9, 2000},
		{1000, 0.1, 1000},
	} {
		f := bloom.Must(New(test.n, test.p))
		fresh := bloom.Must(bloom.New(test.n, test.p))
		require.Equal(t, fresh.M(), f.M())
		require.Equal(t, fresh.K(), f.K())
		rnd := rand.New(rand.NewPCG(test.n, 1))
		keys := filtertest.Digests(test.n, int(test.n)+3)
		for i, step := range []uint64{
			0,     // all indexes are one position
			1,     // the indexes are next to each other
			f.M(), // all indexes are one position, until the sum overflows
		} {
			h1, _ := keys[i].Words()
			keys[i] = bloom.NewHash(h1, step)
		}
		var there []bloom.Hash
		for step := range test.steps {
			if rnd.IntN(2) == 0 && len(there) < int(test.n)+5 {
				h := keys[rnd.IntN(len(keys))]
				times := 0
				for _, g := range there {
					if g == h {
						times++
					}
				}
				if times < 2 { // with more additions, counters of tiny filters would become full
					require.Equal(t, fresh.AddHash(h), f.AddHash(h))
					there = append(there, h)
				}
			} else if len(there) > 0 {
				i := rnd.IntN(len(there))
				require.True(t, f.RemoveHash(there[i]))
				there[i] = there[len(there)-1]
				there = there[:len(there)-1]
				fresh.Reset()
				fresh.AddBatch(nil, there)
			} else {
				before := f.Clone()
				require.False(t, f.RemoveHash(keys[rnd.IntN(len(keys))]))
				require.True(t, f.Equal(before))
			}
			require.Equal(t, bloom.Must(fresh.MarshalBinary()),
				bloom.Must(f.Bloom().MarshalBinary()), "n = %d, step %d", test.n, step)
			require.Equal(t, fresh.Stats().ApproxCount, f.Stats().ApproxCount)
			require.Equal(t, fresh.Stats().FillRatio, f.Stats().FillRatio)
			require.Equal(t, fresh.Stats().FPR, f.Stats().FPR)
			h := keys[rnd.IntN(len(keys))]
			require.Equal(t, fresh.ContainsHash(h), f.ContainsHash(h))
		}
	}
}

// TestFullCountersStay: full counters stay full until Reset. They lose no keys and do not change
// their neighbours.
func TestFullCountersStay(t *testing.T) {
	f, other := bloom.Must(New(10, 0.1)), bloom.SumString("other")
	f.AddHash(other)
	h := bloom.SumString("key")
	fresh := f.Clone()
	fresh.AddHash(h)
	for _, test := range []struct {
		times int
		stays bool
	}{{14, false}, {15, true}, {16, true}, {40, true}} {
		g := f.Clone()
		for range test.times {
			g.AddHash(h)
		}
		require.True(t, g.Bloom().Equal(fresh.Bloom()))
		for range test.times {
			require.True(t, g.RemoveHash(h))
		}
		require.Equal(t, test.stays, g.ContainsHash(h), "added and removed %d times", test.times)
		require.True(t, g.ContainsHash(other))
		if !test.stays {
			require.True(t, g.Equal(f))
			require.False(t, g.RemoveHash(h))
		}
		g.Reset()
		require.True(t, g.Equal(bloom.Must(New(10, 0.1))))
	}
}

// TestFullIsRare: a counter is full with the probability that Filter's comment states. The number
// of keys at a counter has a Poisson distribution of mean ln 2.
func TestFullIsRare(t *testing.T) {
	p, tail := 0.5, 0.0 // p is first the probability of no key, e^-ln 2
	for i := 1.0; i < 40; i++ {
		if p *= math.Ln2 / i; i >= full {
			tail += p
		}
	}
	assert.InDelta(t, 1.6e-15, tail, 0.05e-15)
}

// TestCounters compares operations on many counters together with the same operations on single
// counters.
func TestCounters(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func(words int) counters {
		c := countersOf(make([]uint64, words*perBits))
		for i := range c.words {
			c.words[i] = rnd.Uint64() & rnd.Uint64()
		}
		return c
	}
	for i := range 500 {
		words := 1 + i%9
		a, b, bits := random(words), random(words), make([]uint64, words+4)
		sum := countersOf(slices.Clone(a.words))
		sum.toBits(bits[:words])
		require.Zero(t, [4]uint64(bits[words:]))
		count, added, addedCount := sum.onesCount(), sum.merge(b), uint64(0)
		for bit := range uint64(words) * 64 {
			require.Equal(t, min(a.get(bit), 1), bits[bit/64]>>(bit%64)&1, "bit %d of %x", bit, a.words)
			count -= min(a.get(bit), 1)
			require.Equal(t, min(a.get(bit)+b.get(bit), full), sum.get(bit),
				"counter %d of %x and %x", bit, a.words, b.words)
			addedCount += min(sum.get(bit), 1)
		}
		require.Zero(t, count)
		require.Equal(t, addedCount, added)
	}
}

// TestImpossibleSizesTakeNoMemory: a frame that announces an impossible size is refused before
// memory is allocated.
func TestImpossibleSizesTakeNoMemory(t *testing.T) {
	for _, params := range [][]uint64{{0, 1}, {maxWords + 1, 1}, {1, 0}, {1, 256}} {
		data := bloom.Must(form.Counting.Append(nil, params, nil, form.Info{}))
		var err error
		memory := filtertest.Allocated(func() { err = new(Filter).UnmarshalBinary(data) })
		require.ErrorIs(t, err, bloom.ErrFormat)
		require.ErrorContains(t, err, " is outside [1, ", "%d", params)
		require.Less(t, memory, uint64(100_000), "%d", params)
	}
	// A size that is possible, in a frame without its words.
	for _, decode := range []func([]byte) error{
		new(Filter).UnmarshalBinary,
		func(data []byte) error { _, err := new(Filter).ReadFrom(bytes.NewReader(data)); return err },
	} {
		data := bloom.Must(form.Counting.Append(nil, []uint64{1 << 20, 7}, nil, form.Info{}))
		memory := filtertest.Allocated(func() { require.ErrorIs(t, decode(data), bloom.ErrFormat) })
		require.Less(t, memory, uint64(1<<20))
	}
	words, err := checkParams([]uint64{maxWords, 255})
	require.NoError(t, err)
	require.EqualValues(t, uint64(maxWords*perBits), words)
}

// TestRepeatedIndexes: a counter counts a key once, however many of the key's indexes it has, and
// whichever they are. Nothing is left of a key that was removed as often as it was added.
func TestRepeatedIndexes(t *testing.T) {
	f := bloom.Must(New(5, 0.01))
	m := f.M()
	empty := bloom.Must(f.MarshalBinary())
	repeated := 0
	for step := range m {
		for _, start := range []uint64{0, 1, m - 1} {
			h := bloom.NewHash(start, step)
			counted := map[uint64]bool{}
			for i := range uint64(f.K()) {
				counted[(start+i*step)%m] = true
			}
			if len(counted) < f.K() {
				repeated++
			}
			for range 5 {
				f.AddHash(h)
			}
			for x := range m {
				want := uint64(0)
				if counted[x] {
					want = 5
				}
				require.Equal(t, want, f.counters.get(x), "step %d, counter %d", step, x)
			}
			for range 5 {
				require.True(t, f.RemoveHash(h))
			}
			require.Equal(t, empty, bloom.Must(f.MarshalBinary()), "step %d", step)
		}
	}
	require.Greater(t, repeated, 10)
}

// TestOneIndex: if all indexes of a key are the same, its counter counts the key once.
func TestOneIndex(t *testing.T) {
	f := bloom.Must(New(100, 0.01))
	h := bloom.NewHash(5, 0)
	for want := uint64(1); want <= 3; want++ {
		f.AddHash(h)
		require.Equal(t, want, f.counters.get(5))
	}
	require.True(t, f.RemoveHash(h))
	require.EqualValues(t, 2, f.counters.get(5))
}

func TestMerge(t *testing.T) {
	hs := filtertest.Digests(4, 300)
	a, b, both := bloom.Must(New(300, 0.01)), bloom.Must(New(300, 0.01)), bloom.Must(New(300, 0.01))
	for i, h := range hs {
		if i < 200 {
			a.AddHash(h)
			both.AddHash(h)
		}
		if i >= 100 {
			b.AddHash(h)
			both.AddHash(h)
		}
	}
	require.NoError(t, a.Merge(b))
	require.True(t, a.Equal(both))
	require.Equal(t, both.Stats().ApproxCount, a.Stats().ApproxCount)
	for _, h := range hs[100:] { // the keys of b
		require.True(t, a.RemoveHash(h))
	}
	for i, h := range hs {
		require.True(t, a.ContainsHash(h) || i >= 200)
	}

	before := a.Clone()
	for other, want := range map[*Filter]string{
		bloom.Must(New(301, 0.01)): "counting: filters differ in " +
			"m: 2880 and 2944",
		{filter: filter{state: stateOf(make([]uint64, 45*4),
			6)}}: "counting: filters differ in k: 7 and 6",
		{}: "counting: filters differ in m: 2880 and 0",
	} {
		err := a.Merge(other)
		assert.ErrorIs(t, err, bloom.ErrMismatch)
		assert.EqualError(t, err, want)
		assert.False(t, a.Equal(other))
		assert.False(t, bloom.Must(New(300, 0.01)).Equal(other), "both are empty")
	}
	require.True(t, a.Equal(before))
	require.NoError(t, a.Merge(a))
	require.True(t, a.Bloom().Equal(before.Bloom()))
}

// TestConcurrent has two goroutines add and remove keys that share counters. Counters that
// were changed by two together would differ at the end.
func TestConcurrent(t *testing.T) {
	hs := filtertest.Digests(6, 20_000)
	f := bloom.Must(New(20_000, 0.5))
	f.AddString("stays")
	want := f.Clone()
	rounds := 200
	if testing.Short() {
		rounds = 10
	}
	work := func(own []bloom.Hash) func() {
		return func() {
			for range rounds {
				f.AddBatch(nil, own)
				for _, h := range own {
					if !f.RemoveHash(h) {
						t.Error("a key is missing")
						return
					}
				}
			}
		}
	}
	filtertest.Together(work(hs[:10_000]), work(hs[10_000:]))
	require.True(t, f.Equal(want))
	require.Equal(t, want.Stats(), f.Stats())
}

// TestWholeKeys: a call that reads or writes all counters finds a key as a whole or not at all,
// even while another goroutine adds and removes the key.
func TestWholeKeys(t *testing.T) {
	f, other := bloom.Must(New(10, 1e-60)), bloom.Must(New(10, 1e-60))
	// The keys have all stripes, and each has K different counters.
	key := func(i uint64) bloom.Hash { return bloom.NewHash(i, 1) }
	h, k := key(0), uint64(f.K())
	other.AddHash(h)
	whole := func(ones uint64) { assert.True(t, ones == 0 || ones == k, "%d of %d", ones, k) }
	decoded := func(data []byte, err error) {
		g := new(Filter)
		if assert.NoError(t, err) && assert.NoError(t, g.UnmarshalBinary(data)) {
			whole(g.Stats().OnesCount)
		}
	}
	var stop atomic.Bool
	filtertest.Together(func() {
		for i := uint64(0); !stop.Load(); i++ {
			f.AddHash(key(i))
			f.RemoveHash(key(i))
		}
	}, func() {
		defer stop.Store(true)
		for range 2000 {
			whole(f.Bloom().OnesCount())
			whole(f.Clone().Stats().OnesCount)
			f.Equal(other) // lets the race detector see a data race
			decoded(f.MarshalBinary())
			var out bytes.Buffer
			_, err := f.WriteTo(&out)
			decoded(out.Bytes(), err)
		}
	})
	// Merge and Reset do not split a key that is added at the same time.
	for range 200 {
		f.Reset()
		filtertest.Together(func() { f.AddHash(h) }, func() { assert.NoError(t, f.Merge(other)) })
		require.True(t, f.RemoveHash(h), "once for Add")
		require.True(t, f.RemoveHash(h), "once for Merge")
		require.Zero(t, f.Stats().OnesCount)
		filtertest.Together(func() { f.AddHash(h) }, f.Reset)
		whole(f.Stats().OnesCount)
		require.Equal(t, f.Bloom().OnesCount(), f.Stats().OnesCount)
	}
}

// TestEmptyCounter: if another Remove has set a counter to 0, the counter stays 0. Its neighbours
// do not change.
func TestEmptyCounter(t *testing.T) {
	c := countersOf(make([]uint64, perBits))
	c.words[0] = 0x30
	require.EqualValues(t, full, c.change(0, 0, -1))
	require.EqualValues(t, 0x30, c.words[0])
	require.EqualValues(t, 3, c.change(0, 4, -1))
	require.EqualValues(t, 0x20, c.words[0])
}

// TestEmptyKey: as the comment of Remove says, the empty key is found with the probability
// FillRatio.
func TestEmptyKey(t *testing.T) {
	there := 0
	for i := range 400 {
		f := bloom.Must(New(100, 1e-6))
		f.AddBatch(nil, filtertest.Digests(uint64(i), 100))
		if f.RemoveString("") {
			there++
		}
	}
	require.InDelta(t, 200, there, 50) // five standard deviations
}

// TestStripes: keys are spread evenly over the stripes, even if only a part of their digests
// varies.
func TestStripes(t *testing.T) {
	f := bloom.Must(New(1, 0.5))
	for _, hash := range []func(i uint64) bloom.Hash{
		func(i uint64) bloom.Hash { return bloom.NewHash(i, 0) },
		func(i uint64) bloom.Hash { return bloom.NewHash(7, i) },
		bloom.SumUint64,
	} {
		keys := map[*stripe]int{}
		for i := range uint64(stripes * 1000) {
			keys[f.stripe(hash(i))]++
		}
		require.Len(t, keys, stripes)
		for _, n := range keys {
			require.InDelta(t, 1000, n, 200)
		}
	}
}

func TestParameters(t *testing.T) {
	for _, n := range []uint64{1, 100, 12345} {
		for _, p := range []float64{0.5, 0.3, 1e-9, 1e-70} {
			f, err := New(n, p)
			require.NoError(t, err)
			g := bloom.Must(bloom.New(n, p))
			require.True(t, f.Bloom().Equal(g), "n = %d, p = %v", n, p)
			require.Equal(t, g.Info(), f.Bloom().Info())
			require.Equal(t, g.M(), f.M())
			require.Equal(t, g.K(), f.K())
		}
	}
	most := form.Largest(func(n uint64) bool { return bloom.OptimalM(n, 0.01) <= 64*maxWords })
	for _, test := range []struct {
		n    uint64
		p    float64
		want string
	}{
		{1, 0, "counting: p = 0 is outside (0, 1)"},
		{1, 1, "counting: p = 1 is outside (0, 1)"},
		{1, math.NaN(), "counting: p = NaN is outside (0, 1)"},
		{1, 1 - 1e-16, "counting: p = 0.9999999999999999 is too close to 1: a filter for so few keys " +
			"would have no bits"},
		{0, 0.01, fmt.Sprintf("counting: n = 0 is outside [1, %d] at a rate of 0.01", most)},
		{math.MaxUint64, 0.01, fmt.Sprintf(
			"counting: n = 18446744073709551615 is outside [1, %d] at a rate of 0.01", most)},
		{1, 1e-80, "counting: p = 1e-80 is too low: it needs 265 hashes, and the limit is 255"},
	} {
		f, err := New(test.n, test.p)
		assert.EqualError(t, err, test.want)
		assert.Nil(t, f)
		_, err = bloom.New(test.n, test.p)
		assert.Error(t, err)
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	small := bloom.Must(New(3, 0.1))
	small.AddString("key")
	filtertest.Fuzz(f, filtertest.Type{Zero: func() filtertest.Filter {
		return new(Filter)
	}}, func(t *testing.T, f *Filter) {
		before := f.Clone()
		f.AddString("key")
		require.True(t, f.RemoveString("key"))
		if !strings.Contains(fmt.Sprintf("%x", before.counters.words), "e") { // Add would make a 14 full
			require.True(t, f.Equal(before))
		}
		require.Equal(t, f.Stats().FillRatio, f.Bloom().FillRatio())
	}, bloom.Must(small.MarshalBinary()),
		bloom.Must(form.Counting.Append(nil, []uint64{1, 255}, []uint64{0, math.MaxUint64, 1, 2},
			form.Info{})))
}

// TestPortable runs some tests without assembly.
func TestPortable(t *testing.T) {
	filtertest.Without(t, "avx2", "^Test(Promises|BloomIsFilterOfRemainingKeys|OneIndex|Counters)$")
}

// TestRemove: Remove, RemoveString and RemoveHash remove the same key. The zero Filter has no key.
func TestRemove(t *testing.T) {
	var zero Filter
	require.False(t, zero.RemoveString("key"))
	require.True(t, zero.Bloom().Equal(new(bloom.Filter)))
	f := bloom.Must(New(1000, 1e-6))
	for _, remove := range []func(key string) bool{
		f.RemoveString,
		func(key string) bool { return f.Remove([]byte(key)) },
		func(key string) bool { return f.RemoveHash(bloom.SumString(key)) },
	} {
		require.True(t, f.AddString("key"))
		require.True(t, remove("key"))
		require.False(t, remove("key"))
		require.Zero(t, f.Stats().OnesCount)
	}
}

// TestSnapshotAllocatesOneFilter: Snapshot allocates memory only for its result.
func TestSnapshotAllocatesOneFilter(t *testing.T) {
	f := bloom.Must(New(1_000_000, 0.01))
	var g *bloom.Filter
	taken := filtertest.Allocated(func() { g = f.Bloom() })
	require.Less(t, taken, uint64(g.SizeBytes())+16<<10)
}

// TestBloomMakesOneCopy: Bloom allocates the words of the filter that it returns, and no others.
func TestBloomMakesOneCopy(t *testing.T) {
	f := bloom.Must(New(1e6, 0.01))
	size := f.Bloom().SizeBytes()
	require.Less(t, filtertest.Allocated(func() { f.Bloom() }), uint64(size)*11/10)
}

// TestTurns: methods that write a key, or read or write all counters, wait while a stripe is locked.
// Look-ups and statistics do not.
func TestTurns(t *testing.T) {
	f, h := bloom.Must(New(100, 0.01)), bloom.SumString("key")
	g := f.Clone()
	for name, call := range map[string]func(){
		"AddHash":      func() { f.AddHash(h) },
		"RemoveHash":   func() { f.RemoveHash(h) },
		"Merge":        func() { _ = f.Merge(g) },
		"Clone":        func() { f.Clone() },
		"Bloom":        func() { f.Bloom() },
		"Equal":        func() { f.Equal(g) },
		"Reset":        f.Reset,
		"AppendBinary": func() { _, _ = f.AppendBinary(nil) },
	} {
		f.AddHash(h)
		require.True(t, filtertest.Waits(f.stripe(h), true, call), "%s does not wait", name)
	}
	for name, call := range map[string]func(){
		"ContainsHash":  func() { f.ContainsHash(h) },
		"ContainsBatch": func() { f.ContainsBatch(make([]bool, 1), []bloom.Hash{h}) },
		"Stats":         func() { f.Stats() },
		"SizeBytes":     func() { f.SizeBytes() },
	} {
		require.False(t, filtertest.Waits(f.stripe(h), false, call), "%s waits", name)
	}
}
