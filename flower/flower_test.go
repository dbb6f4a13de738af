package flower

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// usefulFlowers are the settings that Config calls useful.
var usefulFlowers = []Config{
	{Ways: 1, Bits: 8}, {Ways: 2, Bits: 8}, {Ways: 3, Bits: 8},
	{Ways: 4, Bits: 16}, {Ways: 8, Bits: 16}, {Ways: 16, Bits: 16}, {Ways: 32, Bits: 16},
	{Ways: 2, Bits: 32},
}

// TestFlowerRecall holds the fraction of keys found to Recall at every age.
func TestFlowerRecall(t *testing.T) {
	for _, c := range usefulFlowers {
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

func TestFlowerRecallFormula(t *testing.T) {
	// The formula as it is written.
	f := bloom.Must(New(Config{Slots: 1000, Ways: 3, Bits: 8}))
	q := math.Pow(1-1.0/1000, 3*500)
	assert.InEpsilon(t, 1-math.Pow(1-(q+(1-q)/256), 3), f.Recall(500), 1e-12)
	assert.Equal(t, 1.0, f.Recall(0))
	assert.InEpsilon(t, 1-math.Pow(1-1.0/256, 3), f.Recall(math.MaxUint64), 1e-12)
	one := bloom.Must(New(Config{Slots: 1, Ways: 1, Bits: 8}))
	assert.Equal(t, 1.0, one.Recall(0))
	assert.InEpsilon(t, 1.0/256, one.Recall(1), 1e-12)
}

// TestFlowerFPR looks up keys that were never added, in a full array.
func TestFlowerFPR(t *testing.T) {
	for _, c := range usefulFlowers[:5] {
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
		assert.InDelta(t, trials*p, hits, 4.75*math.Sqrt(trials*p), "bits = %d, ways = %d", c.Bits, c.Ways)
	}
}

// TestFlowerEmpty looks up every kind of fingerprint where nothing was added.
func TestFlowerEmpty(t *testing.T) {
	for _, bits := range []int{8, 16, 32} {
		f := bloom.Must(New(Config{Slots: 100, Ways: 1, Bits: bits}))
		least, most := uint64(math.MaxUint64), uint64(0)
		for i := range uint64(1 << 16) {
			for _, low := range []uint64{i << 16, i<<16 | 0xffff} {
				h := bloom.Hash{H1: i<<48 | low, H2: i}
				require.False(t, f.ContainsHash(h))
				least, most = min(least, f.fingerprint(h)), max(most, f.fingerprint(h))
			}
		}
		assert.EqualValues(t, 1, least)
		assert.EqualValues(t, uint64(1)<<bits-1, most)
	}
}

// TestFlowerSlots checks which slots a key writes: its own, no neighbour's.
func TestFlowerSlots(t *testing.T) {
	for _, bits := range []int{8, 16, 32} {
		const slots = 37
		f := bloom.Must(New(Config{Slots: slots, Ways: 3, Bits: bits}))
		model := make([]uint64, slots)
		for i := range uint64(1000) {
			h := bloom.SumUint64(i)
			seen := false
			for j := range uint64(3) {
				at := mulHigh(h.H1+j*h.H2, slots)
				seen = seen || model[at] == f.fingerprint(h)
			}
			require.Equal(t, seen, f.ContainsHash(h))
			require.Equal(t, !seen, f.AddHash(h))
			for j := range uint64(3) {
				model[mulHigh(h.H1+j*h.H2, slots)] = f.fingerprint(h)
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

func TestFlowerAdd(t *testing.T) {
	f := bloom.Must(New(Config{Slots: 10, Ways: 4, Bits: 32}))
	for i := range uint64(1000) { // often a key has a slot twice
		h := bloom.SumUint64(i)
		require.True(t, f.AddHash(h), "key %d is new", i)
		require.False(t, f.AddHash(h))
		require.True(t, f.ContainsHash(h))
	}
}

func TestFlowerFor(t *testing.T) {
	for _, test := range []struct {
		t           uint64
		recall, fpr float64
	}{
		{1, 0.5, 0.5}, {1000, 0.5, 0.5}, {1000, 0.003, 0.01}, {100, 0.99, 0.01}, {3000, 0.9, 0.01},
		{3000, 0.99, 0.001}, {1000, 0.999, 0.0001}, {1000, 0.9, 1e-6},
	} {
		t.Run(fmt.Sprintf("t=%d/recall=%v/fpr=%v", test.t, test.recall, test.fpr), func(t *testing.T) {
			c, err := Optimal(test.t, test.recall, test.fpr)
			require.NoError(t, err)
			f := bloom.Must(New(c))
			require.GreaterOrEqual(t, f.Recall(test.t), test.recall)

			// No smaller one does it, by bisection over each setting.
			for _, bits := range []int{8, 16, 32} {
				for ways := 1; ways <= maxWays && 1-math.Pow(1-1/(math.Ldexp(1, bits)-1), float64(ways)) <= test.fpr; ways++ {
					low, high := uint64(0), c.Slots*uint64(c.Bits)/uint64(bits)
					if high*uint64(bits) == c.Slots*uint64(c.Bits) {
						high--
					}
					if high > low {
						require.Less(t, recall(float64(test.t), float64(high), float64(ways), uint(bits)), test.recall,
							"%d slots of %d bits, %d ways are enough", high, bits, ways)
					}
				}
			}

			// And the one found does it, keys of age t in an array long full.
			const trials = 30000
			added := 20*c.Slots/uint64(c.Ways) + test.t
			found, hits := 0, 0
			for i := range added + trials {
				f.AddHash(bloom.SumUint64(i))
				if i >= added {
					if f.ContainsHash(bloom.SumUint64(i - test.t)) {
						found++
					}
					if f.ContainsHash(bloom.SumUint64(1<<40 + i)) {
						hits++
					}
				}
			}
			assert.GreaterOrEqual(t, float64(found), trials*test.recall-4.75*math.Sqrt(trials*test.recall*(1-test.recall)))
			assert.LessOrEqual(t, float64(hits), testkit.RateBound(trials, test.fpr)+1)
		})
	}
}

// TestFlowerForSizes holds the sizes that the documentation tells.
func TestFlowerForSizes(t *testing.T) {
	for _, test := range []struct {
		recall float64
		bytes  float64
	}{{0.9, 5.2e6}, {0.99, 18.9e6}} {
		c, err := Optimal(1e6, test.recall, 0.01)
		require.NoError(t, err)
		assert.InDelta(t, test.bytes, float64(c.Slots)*float64(c.Bits)/8, 0.05e6)
	}
}

func TestFlowerErrors(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   string
	}{
		{Config{0, 2, 8}, "flower: Slots = 0 "},
		{Config{math.MaxUint64, 2, 8}, "flower: Slots = 18446744073709551615 "},
		{Config{1 << 60, 2, 8}, "flower: Slots = 1152921504606846976 "},
		{Config{100, 0, 8}, "flower: Ways = 0 "},
		{Config{100, -1, 8}, "flower: Ways = -1 "},
		{Config{100, 65, 8}, "flower: Ways = 65 "},
		{Config{100, 2, 0}, "flower: Bits = 0 "},
		{Config{100, 2, 7}, "flower: Bits = 7 "},
		{Config{100, 2, -8}, "flower: Bits = -8 "},
		{Config{100, 2, 64}, "flower: Bits = 64 "},
	} {
		f, err := New(test.config)
		assert.ErrorContains(t, err, test.want)
		assert.Nil(t, f)
	}
	for _, test := range []struct {
		t           uint64
		recall, fpr float64
		want        string
	}{
		{0, 0.9, 0.1, "flower: t = 0 "},
		{10, 0, 0.1, "flower: recall = 0 "},
		{10, 1, 0.1, "flower: recall = 1 "},
		{10, math.NaN(), 0.1, "flower: recall = NaN "},
		{10, 0.9, -1, "flower: fpr = -1 "},
		{10, 0.9, math.NaN(), "flower: fpr = NaN "},
		{10, 0.9, 1e-10, "flower: fpr = 1e-10 "},
		{math.MaxUint64, 0.9, 0.1, "flower: t = 18446744073709551615, recall = 0.9, fpr = 0.1 "},
		{1 << 50, 1 - 1e-16, 1e-9, "flower: t = 1125899906842624, recall = 0.9999999999999999, fpr = 1e-09 "},
	} {
		c, err := Optimal(test.t, test.recall, test.fpr)
		assert.ErrorContains(t, err, test.want)
		assert.Zero(t, c)
	}
}

func TestZeroFlower(t *testing.T) {
	var f Filter
	assert.False(t, f.Contains(nil))
	assert.False(t, f.ContainsString("key"))
	assert.Zero(t, f.Recall(0))
	assert.PanicsWithValue(t, errZeroFlower, func() { f.AddString("key") })
	_, err := f.MarshalBinary()
	assert.ErrorContains(t, err, "flower: ")
	_, err = f.WriteTo(io.Discard)
	assert.ErrorContains(t, err, "flower: ")
}

// TestFlowerConcurrent has each writer write its own byte of every word, over
// and over: a lost or torn neighbour is then a wrong byte at the end.
func TestFlowerConcurrent(t *testing.T) {
	const writers, perWriter, words = 8, 100000, 2
	f := bloom.Must(New(Config{Slots: 8 * words, Ways: 1, Bits: 8}))
	var want [8 * words]uint64
	var wg sync.WaitGroup
	for i := range uint64(writers) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range uint64(perWriter) {
				slot := j%words*8 + i
				h := bloom.Hash{H1: slot<<(64-4) | uint64(uint32(bloom.SumUint64(i*perWriter+j).H1))}
				f.AddHash(h)
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
	for slot := range want {
		require.Equal(t, want[slot], f.words[slot/8]>>(slot%8*8)&0xff, "slot %d", slot)
	}
}

func TestFlowerAllocs(t *testing.T) {
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

func smallFlower() *Filter {
	f := bloom.Must(New(Config{Slots: 9, Ways: 2, Bits: 16}))
	f.AddString("old")
	f.AddString("new")
	return f
}

func TestFlowerBytes(t *testing.T) {
	data, err := smallFlower().MarshalBinary()
	require.NoError(t, err)
	const want = "424c4d4601000000" +
		"0900000000000000" + "0200000000000000" + "1000000000000000" +
		"00000000e3bb6480" + "0000648000000000" + "0000000000000000" +
		"56887714"
	assert.Equal(t, want, hex.EncodeToString(data))
}

func TestFlowerEncoding(t *testing.T) {
	for _, c := range []Config{{1, 1, 8}, {9, 3, 8}, {100, 4, 16}, {7, 2, 32}, {100000, 3, 8}} {
		f := bloom.Must(New(c))
		for i := range 2 * c.Slots {
			f.AddHash(bloom.SumUint64(i))
		}
		var out bytes.Buffer
		wrote, err := f.WriteTo(&out)
		require.NoError(t, err)
		require.EqualValues(t, out.Len(), wrote)
		data, err := f.AppendBinary([]byte("before"))
		require.NoError(t, err)
		require.Equal(t, append([]byte("before"), out.Bytes()...), data)

		var decoded, streamed Filter
		require.NoError(t, decoded.UnmarshalBinary(data[len("before"):]))
		require.Equal(t, f, &decoded)
		out.WriteString("after")
		read, err := streamed.ReadFrom(iotest.HalfReader(&out))
		require.NoError(t, err)
		require.Equal(t, wrote, read)
		require.Equal(t, "after", out.String())
		require.Equal(t, f, &streamed)
	}
}

func TestFlowerDamage(t *testing.T) {
	f := smallFlower()
	good, err := f.MarshalBinary()
	require.NoError(t, err)
	for i := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[i/8] ^= 1 << (i % 8)
		require.ErrorIs(t, f.UnmarshalBinary(bad), bloom.ErrFormat, "bit %d", i)
		_, err := f.ReadFrom(bytes.NewReader(bad))
		require.ErrorIs(t, err, bloom.ErrFormat, "bit %d", i)
	}
	for i := range good {
		require.ErrorIs(t, f.UnmarshalBinary(good[:i]), bloom.ErrFormat, "%d bytes", i)
	}
	require.Equal(t, smallFlower(), f, "errors changed the receiver")

	for _, params := range [][]uint64{
		{0, 2, 16}, {math.MaxUint64, 2, 16}, {1 << 40, 2, 16}, {13, 2, 16}, {9, 0, 16}, {9, 65, 16},
		{9, 1<<32 + 1, 16}, {9, math.MaxUint64, 16}, {9, 2, 0}, {9, 2, 7}, {9, 2, 1<<32 + 16}, {9, 2, math.MaxUint64},
	} {
		require.ErrorIs(t, f.UnmarshalBinary(frame.Flower.Append(nil, params, testkit.Words(3))), bloom.ErrFormat, "%d", params)
	}
}

func FuzzFlower(f *testing.F) {
	good, err := smallFlower().MarshalBinary()
	require.NoError(f, err)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{})
	f.Add(frame.Flower.Append(nil, []uint64{2, 64, 32}, testkit.Words(1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := new(Filter).UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
		}
		data = testkit.Sealed(data)
		var f Filter
		if err := f.UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.Equal(t, Filter{}, f)
			return
		}
		again, err := f.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, data, again)
		f.AddString("key")
		require.True(t, f.ContainsString("key"))
	})
}

func BenchmarkFlower(b *testing.B) {
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
