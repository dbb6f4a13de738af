package flower

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// useful has configurations like those that Optimal returns.
var useful = []Config{
	{Ways: 1, Bits: 8}, {Ways: 2, Bits: 8}, {Ways: 3, Bits: 8},
	{Ways: 4, Bits: 16}, {Ways: 8, Bits: 16}, {Ways: 16, Bits: 16}, {Ways: 32, Bits: 16},
	{Ways: 2, Bits: 32},
}

// TestRecall compares the share of keys that are found with Recall, for every age.
func TestRecall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second, and many under emulation")
	}
	for _, c := range useful {
		t.Run(fmt.Sprintf("bits=%d/ways=%d", c.Bits, c.Ways), func(t *testing.T) {
			c.Slots = 10007
			oldest := 6 * c.Slots / uint64(c.Ways)
			const buckets = 12
			var found, expected, variance [buckets]float64
			key := uint64(0)
			for range 12 {
				f := bloom.Must(New(c))
				for range 2 * oldest { // the first half of the keys fill the filter
					f.AddHash(bloom.SumUint64(key))
					key++
				}
				for age := range oldest {
					i := age * buckets / oldest
					if f.ContainsHash(bloom.SumUint64(key - 1 - age)) {
						found[i]++
					}
					p := f.Recall(age)
					expected[i] += p
					variance[i] += p * (1 - p)
				}
			}
			for i := range buckets {
				assert.InDelta(t, expected[i], found[i], 4.75*math.Sqrt(variance[i])+1, "ages in part %d", i)
			}
		})
	}
}

// TestFPR looks up keys that were never added. All slots are written.
func TestFPR(t *testing.T) {
	for _, c := range append(useful[:5:5], Config{Ways: 64, Bits: 8}) {
		c.Slots = 5000
		f := bloom.Must(New(c))
		for i := range 15 * c.Slots / uint64(c.Ways) {
			f.AddHash(bloom.SumUint64(i))
		}
		const trials = 500000
		hits := 0
		for i := range uint64(trials) {
			if f.ContainsHash(bloom.SumUint64(1<<40 + i)) {
				hits++
			}
		}
		p := 1 - math.Pow(1-1/(math.Ldexp(1, c.Bits)-1), float64(c.Ways))
		assert.InEpsilon(t, p, f.Stats().FPR, 1e-3)
		assert.InEpsilon(t, p, f.Info().P, 1e-9)
		assert.InDelta(t, trials*p, hits, 4.75*math.Sqrt(trials*p), "bits = %d, ways = %d", c.Bits,
			c.Ways)
	}
}

// TestFPRFilling: while a filter fills, Stats has the slots that were written, and their rate.
func TestFPRFilling(t *testing.T) {
	for _, c := range []Config{
		{Slots: 37, Ways: 1, Bits: 8}, {Slots: 37, Ways: 4, Bits: 16}, {Slots: 37, Ways: 2, Bits: 32},
	} {
		f := bloom.Must(New(c))
		m := c.Slots - c.Slots%uint64(c.Ways)
		for written := range m + 1 {
			fill, kinds := float64(written)/float64(m), math.Ldexp(1, c.Bits)-1
			want := 1 - math.Pow(1-fill/kinds, float64(c.Ways))
			require.InDelta(t, want, f.Stats().FPR, 1e-12, "%d written", written)
			s := f.Stats()
			require.Equal(t, bloom.Stats{M: m, K: c.Ways, OnesCount: written, FillRatio: fill,
				ApproxCount: s.ApproxCount, FPR: f.Stats().FPR, SizeBytes: f.SizeBytes()}, s)
			if written < m {
				require.InDelta(t, -float64(m)/float64(c.Ways)*math.Log1p(-fill), s.ApproxCount, 0.5)
			}
			bit := written * uint64(c.Bits)
			f.words[bit/64] |= 1 << (bit%64 + written%uint64(c.Bits))
		}
		require.Equal(t, 1.0, f.Stats().FillRatio, "with a slot written that is not used")
	}
}

// TestEmpty: an empty filter does not find a key of any fingerprint.
func TestEmpty(t *testing.T) {
	for _, bits := range []int{8, 16, 32} {
		f := bloom.Must(New(Config{Slots: 100, Ways: 1, Bits: bits}))
		least, most := uint64(math.MaxUint64), uint64(0)
		for i := range uint64(1 << 16) {
			for _, x := range []uint64{i << 16, ^(i << 16)} {
				require.False(t, f.ContainsHash(bloom.NewHash(x, 0)))
				_, _, fingerprint := f.slot(0, x)
				least, most = min(least, fingerprint), max(most, fingerprint)
			}
		}
		assert.EqualValues(t, 1, least)
		assert.EqualValues(t, uint64(1)<<bits-1, most)
	}
}

// TestConfigModel compares random filters with a model, in which each way is an array of its own,
// under random calls. Slots beyond a multiple of Ways are not used.
func TestConfigModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 73))
		c := Config{Ways: 1 + r.IntN(9), Bits: []int{8, 16, 32}[r.IntN(3)]}
		c.Slots = uint64(c.Ways) + r.Uint64N(60)
		perWay := c.Slots / uint64(c.Ways)
		f := bloom.Must(New(c))
		model := make([][]uint64, c.Ways)
		reset := func() {
			for way := range model {
				model[way] = make([]uint64, perWay)
			}
		}
		reset()
		for event := range 200 {
			about := fmt.Sprintf("seed %d, event %d, %s", seed, event, c.text())
			h := bloom.SumUint64(r.Uint64N(100))
			seen, written := false, uint64(0)
			add := r.IntN(2) == 0
			x, step := h.Words()
			for _, slots := range model {
				slot := &slots[part(x, 64, int64(perWay))]
				fingerprint := 1 + part(x%(1<<32), 32, 1<<c.Bits-1)
				seen = seen || *slot == fingerprint
				if add {
					*slot = fingerprint
				}
				x = (x<<21 | x>>43) + step
			}
			require.Equal(t, seen, f.ContainsHash(h), about)
			if add {
				require.Equal(t, !seen, f.AddHash(h), about)
			}
			switch r.IntN(40) {
			case 0:
				f.Reset()
				reset()
			case 1:
				data := bloom.Must(f.MarshalBinary())
				f = &Filter{}
				require.NoError(t, f.UnmarshalBinary(data), about)
			}
			for way, slots := range model {
				for i, slot := range slots {
					bit := (way*int(perWay) + i) * c.Bits
					got := f.words[bit/64] >> (bit % 64) & (1<<c.Bits - 1)
					require.Equal(t, slot, got, "%s: slot %d of way %d", about, i, way)
					written += min(slot, 1)
				}
			}
			stats := f.Stats()
			require.Equal(t, c, f.Config(), about)
			require.Equal(t, perWay*uint64(c.Ways), stats.M, about)
			require.Equal(t, c.Ways, stats.K, about)
			require.Equal(t, written, stats.OnesCount, about)
		}
	}
}

// part returns the number of the part that has x, if [0, 2^width) is divided into n parts.
func part(x uint64, width uint, n int64) uint64 {
	product := new(big.Int).Mul(new(big.Int).SetUint64(x), big.NewInt(n))
	return product.Rsh(product, width).Uint64()
}

func TestZero(t *testing.T) {
	var f Filter
	assert.Zero(t, f.Recall(0))
	assert.Equal(t, Config{}, f.Config())
}

// TestConcurrent: each of several writers writes its own byte of every word, again and again. If a
// writer damages a neighbour's byte, the neighbour finds a wrong byte. The writers continue until
// neighbours have changed during ten thousand calls of Add. On one processor they stop earlier.
func TestConcurrent(t *testing.T) {
	const writers, words, overlaps = 8, 2, 10_000
	most := uint64(4_000_000)
	if testing.Short() {
		most = 50_000
	}
	f := bloom.Must(New(Config{Slots: 8 * words, Ways: 1, Bits: 8}))
	var want [8 * words]uint64
	var seen atomic.Int64 // the number of overlaps
	var wg sync.WaitGroup
	for i := range uint64(writers) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := uint64(0); j < words || j < most && seen.Load() < overlaps; j++ {
				slot := j%words*8 + i
				random, _ := bloom.SumUint64(i*most + j).Words()
				x := slot<<(64-4) | random>>4
				h := bloom.NewHash(x, 0)
				neighbours := func() uint64 { return atomic.LoadUint64(&f.words[j%words]) &^ (0xff << (8 * i)) }
				before := neighbours()
				f.AddHash(h)
				if neighbours() != before {
					seen.Add(1)
				}
				if !f.ContainsHash(h) {
					t.Errorf("slot %d lost its fingerprint", slot)
					return
				}
				_, _, want[slot] = f.slot(0, x)
			}
		}()
	}
	wg.Add(1)
	go func() {
		defer wg.Done()
		for range 20 {
			data, err := f.MarshalBinary()
			if err == nil {
				err = new(Filter).UnmarshalBinary(data)
			}
			assert.NoError(t, err)
		}
	}()
	wg.Wait()
	t.Logf("%d overlaps", seen.Load())
	for slot := range want {
		require.Equal(t, want[slot], f.words[slot/8]>>(slot%8*8)&0xff, "slot %d", slot)
	}
}
