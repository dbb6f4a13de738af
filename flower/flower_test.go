package flower

import (
	"fmt"
	"io"
	"math"
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

// TestRecall holds the fraction of keys found to Recall at every age.
func TestRecall(t *testing.T) {
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
			for _, low := range []uint64{i << 16, i<<16 | 0xffff} {
				h := bloom.NewHash(i<<48|low, i)
				require.False(t, f.ContainsHash(h))
				least, most = min(least, f.fingerprint(h)), max(most, f.fingerprint(h))
			}
		}
		assert.EqualValues(t, 1, least)
		assert.EqualValues(t, uint64(1)<<bits-1, most)
	}
}

// TestSlots checks which slots a key writes: its own, no neighbour's.
func TestSlots(t *testing.T) {
	for _, bits := range []int{8, 16, 32} {
		const slots = 37
		f := bloom.Must(New(Config{Slots: slots, Ways: 3, Bits: bits}))
		model := make([]uint64, slots)
		for i := range uint64(1000) {
			h := bloom.SumUint64(i)
			seen := false
			for j := range uint64(3) {
				at := mulHigh(index(h, j), slots)
				seen = seen || model[at] == f.fingerprint(h)
			}
			require.Equal(t, seen, f.ContainsHash(h))
			require.Equal(t, !seen, f.AddHash(h))
			for j := range uint64(3) {
				model[mulHigh(index(h, j), slots)] = f.fingerprint(h)
			}
			for at, want := range model {
				bit := at * bits
				require.Equal(t, want, f.words[bit/64]>>(bit%64)&f.mask(), "slot %d", at)
			}
		}
	}
}

func mulHigh(x, n uint64) uint64 { // x n / 2^64
	return (x>>32*n + (x & math.MaxUint32 * n >> 32)) >> 32
}

func TestAdd(t *testing.T) {
	f := bloom.Must(New(Config{Slots: 10, Ways: 4, Bits: 32}))
	for i := range uint64(1000) { // often a key has a slot twice
		h := bloom.SumUint64(i)
		require.True(t, f.AddHash(h), "key %d is new", i)
		require.False(t, f.AddHash(h))
		require.True(t, f.ContainsHash(h))
	}
}

func TestZero(t *testing.T) {
	var f Filter
	assert.False(t, f.Contains(nil))
	assert.False(t, f.ContainsString("key"))
	assert.Zero(t, f.Recall(0))
	assert.PanicsWithValue(t, errZero, func() { f.AddString("key") })
	assert.Zero(t, f.FPR())
	assert.Zero(t, f.SizeBytes())
	assert.Equal(t, Config{}, f.Config())
	assert.NotEmpty(t, f.String())
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
				h := bloom.NewHash(slot<<(64-4)|uint64(uint32(index(bloom.SumUint64(i*most+j), 0))), 0)
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
				want[slot] = f.fingerprint(h)
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

func TestAllocs(t *testing.T) {
	f := bloom.Must(New(Config{Slots: 1000, Ways: 4, Bits: 16}))
	key := []byte("http://example.com/")
	text, h := string(key), bloom.Sum(key)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		f.Add(key)
		f.AddString(text)
		f.AddHash(h)
		f.Contains(key)
		f.ContainsString(text)
		f.ContainsHash(h)
	}))
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

func index(h bloom.Hash, j uint64) uint64 {
	x, step := h.Words()
	return x + j*step
}
