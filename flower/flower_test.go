package flower

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// useful are the settings that Config calls useful.
var useful = []Config{
	{Ways: 1, Bits: 8}, {Ways: 2, Bits: 8}, {Ways: 3, Bits: 8},
	{Ways: 4, Bits: 16}, {Ways: 8, Bits: 16}, {Ways: 16, Bits: 16}, {Ways: 32, Bits: 16},
	{Ways: 2, Bits: 32},
}

// TestRecall compares the share of keys found with Recall, at every age.
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
				for range 2 * oldest { // the first half fill it
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

// TestFPR looks up keys that were never added, in a full array.
func TestFPR(t *testing.T) {
	for _, c := range useful[:5] {
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
		assert.InEpsilon(t, p, f.FPR(), 1e-3)
		assert.InDelta(t, trials*p, hits, 4.75*math.Sqrt(trials*p), "bits = %d, ways = %d", c.Bits, c.Ways)
	}
}

// TestFPRFilling counts the slots that were written, one by one.
func TestFPRFilling(t *testing.T) {
	for _, c := range []Config{{Slots: 37, Ways: 1, Bits: 8}, {Slots: 37, Ways: 4, Bits: 16}, {Slots: 37, Ways: 2, Bits: 32}} {
		f := bloom.Must(New(c))
		for written := range c.Slots {
			kinds := math.Ldexp(1, c.Bits) - 1
			want := 1 - math.Pow(1-float64(written)/float64(c.Slots)/kinds, float64(c.Ways))
			require.InDelta(t, want, f.FPR(), 1e-12, "%d written", written)
			s := f.Stats()
			require.Equal(t, bloom.Stats{M: 37, K: c.Ways, OnesCount: written, FillRatio: float64(written) / 37,
				ApproxCount: s.ApproxCount, FPR: f.FPR(), SizeBytes: f.SizeBytes()}, s)
			require.InDelta(t, -37/float64(c.Ways)*math.Log1p(-float64(written)/37), s.ApproxCount, 0.5)
			bit := written * uint64(c.Bits)
			f.words[bit/64] |= 1 << (bit%64 + written%uint64(c.Bits))
		}
	}
}

// TestEmpty looks up every kind of fingerprint where nothing was added.
func TestEmpty(t *testing.T) {
	for _, bits := range []int{8, 16, 32} {
		f := bloom.Must(New(Config{Slots: 100, Ways: 1, Bits: bits}))
		least, most := uint64(math.MaxUint64), uint64(0)
		for i := range uint64(1 << 16) {
			for _, x := range []uint64{i << 48, ^(i << 48)} {
				require.False(t, f.ContainsHash(bloom.NewHash(x, 0)))
				_, _, fingerprint := f.slot(0, x)
				least, most = min(least, fingerprint), max(most, fingerprint)
			}
		}
		assert.EqualValues(t, 1, least)
		assert.EqualValues(t, uint64(1)<<bits-1, most)
	}
}

// TestSlots compares the slots with a model, in which each way is an array of its own: of
// 13, 12 and 12 slots.
func TestSlots(t *testing.T) {
	for _, bits := range []int{8, 16, 32} {
		const slots, ways = 37, 3
		f := bloom.Must(New(Config{Slots: slots, Ways: ways, Bits: bits}))
		var model [ways][13]uint64
		for i := range uint64(1000) {
			h := bloom.SumUint64(i)
			seen := false
			written := map[*uint64]uint64{}
			x, step := h.Words()
			for way := range model {
				// x, as a fraction of 1, chooses a slot. What remains chooses a fingerprint.
				fraction := new(big.Rat).SetFrac(new(big.Int).SetUint64(x), new(big.Int).Lsh(big.NewInt(1), 64))
				at, rest := divide(fraction, int64([]int{13, 12, 12}[way]))
				fingerprint, _ := divide(rest, int64(1)<<bits-1)
				seen = seen || model[way][at] == fingerprint+1
				written[&model[way][at]] = fingerprint + 1
				x = x*6364136223846793005 + step
			}
			require.Equal(t, seen, f.ContainsHash(h))
			require.Equal(t, !seen, f.AddHash(h))
			require.True(t, f.ContainsHash(h))
			for at, fingerprint := range written {
				*at = fingerprint
			}
			for at := range slots {
				bit := at * bits
				require.Equal(t, model[at%ways][at/ways], f.words[bit/64]>>(bit%64)&f.mask, "slot %d", at)
			}
		}
	}
}

// divide returns which of n parts of [0, 1) has x, and where in the part x lies.
func divide(x *big.Rat, n int64) (part uint64, rest *big.Rat) {
	x = new(big.Rat).Mul(x, big.NewRat(n, 1))
	whole := new(big.Int).Div(x.Num(), x.Denom())
	return whole.Uint64(), x.Sub(x, new(big.Rat).SetInt(whole))
}

func TestZero(t *testing.T) {
	var f Filter
	assert.Zero(t, f.Recall(0))
	assert.Equal(t, Config{}, f.Config())
}

// TestConcurrent has each writer write its own byte of every word, over and over: a lost
// or torn neighbour is then a wrong byte. The writers go on until a neighbour has changed
// during ten thousand calls of Add, which takes two processors. With one, they give up.
func TestConcurrent(t *testing.T) {
	const writers, words, overlaps = 8, 2, 10_000
	most := uint64(4_000_000)
	if testing.Short() {
		most = 50_000
	}
	f := bloom.Must(New(Config{Slots: 8 * words, Ways: 1, Bits: 8}))
	var want [8 * words]uint64
	var seen atomic.Int64 // overlaps
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

func BenchmarkFilter(b *testing.B) {
	for _, c := range []Config{{1e5, 3, 8}, {1e7, 3, 8}, {1e6, 8, 16}} {
		f := bloom.Must(New(c))
		for i := range 4 * c.Slots / uint64(c.Ways) {
			f.AddHash(bloom.SumUint64(i))
		}
		name := fmt.Sprintf("slots=%.0e/ways=%d/bits=%d", float64(c.Slots), c.Ways, c.Bits)
		b.Run(name+"/op=add", func(b *testing.B) {
			for i := uint64(0); b.Loop(); i++ {
				f.AddHash(bloom.SumUint64(i))
			}
		})
		b.Run(name+"/op=contains", func(b *testing.B) {
			for i := uint64(0); b.Loop(); i++ {
				f.ContainsHash(bloom.SumUint64(i))
			}
		})
		b.Run(name+"/op=encode", func(b *testing.B) {
			b.SetBytes(int64(8 * len(f.words)))
			for b.Loop() {
				f.WriteTo(io.Discard)
			}
		})
	}
}
