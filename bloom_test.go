package bloom_test

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/spaolacci/murmur3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// plainIndexes are a key's bit indexes as Guava's source computes them.
func plainIndexes(s bloom.Strategy, h bloom.Hash, k int, m uint64) []uint64 {
	var indexes []uint64
	w1, w2 := h.Words()
	if s == bloom.Mitz32 {
		h1, h2 := int32(w1), int32(w1>>32)
		for i := int32(1); i <= int32(k); i++ {
			combined := h1 + i*h2
			if combined < 0 {
				combined = ^combined
			}
			indexes = append(indexes, uint64(int64(combined)%int64(m)))
		}
		return indexes
	}
	combined := int64(w1)
	for range k {
		indexes = append(indexes, uint64(combined&math.MaxInt64%int64(m)))
		combined += int64(w2)
	}
	return indexes
}

// plainFilter is a Bloom filter without any cleverness.
type plainFilter struct {
	s    bloom.Strategy
	k    int
	bits []bool
}

func (p *plainFilter) add(h bloom.Hash) (changed bool) {
	for _, i := range plainIndexes(p.s, h, p.k, uint64(len(p.bits))) {
		changed = changed || !p.bits[i]
		p.bits[i] = true
	}
	return changed
}

func (p *plainFilter) contains(h bloom.Hash) bool {
	for _, i := range plainIndexes(p.s, h, p.k, uint64(len(p.bits))) {
		if !p.bits[i] {
			return false
		}
	}
	return true
}

// check compares every bit, and the count of ones.
func (p *plainFilter) check(t *testing.T, f *bloom.Filter) {
	t.Helper()
	ones := uint64(0)
	for i, want := range p.bits {
		if got := bloom.WordsOf(f)[i/64]>>(i%64)&1 == 1; got != want {
			t.Fatalf("bit %d is %v", i, got)
		}
		if want {
			ones++
		}
	}
	require.Equal(t, ones, f.OnesCount())
}

// extremes are hashes at which arithmetic could go wrong.
var extremes = []bloom.Hash{
	{},
	bloom.NewHash(0, 1),
	bloom.NewHash(1, 0),
	bloom.NewHash(math.MaxUint64, math.MaxUint64),
	bloom.NewHash(1<<63, 1<<63),
	bloom.NewHash(math.MaxInt64, 1),
	bloom.NewHash(math.MaxInt64, math.MaxInt64),
	bloom.NewHash(1<<31, 0),
	bloom.NewHash(1<<63|1<<31, 3),
	bloom.NewHash(math.MaxUint32, 5),
	bloom.NewHash(math.MaxUint32<<32, 7),
}

func TestFilterPlain(t *testing.T) {
	for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		for _, words := range []uint64{1, 2, 3, 5, 64, 100, 127, 128, 129, 1023, 1024} {
			for _, k := range []int{1, 2, 3, 4, 5, 6, 7, 8, 13, 255} {
				f := bloom.NewFilter(s, int(words), k)
				portable, sync := f.Clone(), bloom.NewSyncFrom(f.Clone())
				batch, batchSync := f.Clone(), bloom.NewSyncFrom(f.Clone())
				plain := &plainFilter{s, k, make([]bool, words*64)}
				hs := append(filtertest.Digests(words, min(int(words)*64/k+2, 1000)), extremes...)
				added := 0
				for _, h := range hs {
					want := plain.add(h)
					filtertest.Equal(t, want, f.AddHash(h))
					filtertest.Equal(t, want, bloom.AddInGo(portable, h))
					filtertest.Equal(t, want, sync.AddHash(h))
					if want {
						added++
					}
				}
				plain.check(t, f)
				plain.check(t, portable)
				require.True(t, f.Equal(sync.Snapshot()))
				require.Equal(t, added, filtertest.Count(filtertest.Added(batch, hs)))
				require.True(t, f.Equal(batch))
				require.Equal(t, added, filtertest.Count(filtertest.Added(batchSync, hs)))
				require.True(t, f.Equal(batchSync.Snapshot()))

				probes := append(filtertest.Digests(words+1, 500), hs...)
				got := filtertest.Found(f, probes)
				gotSync := filtertest.Found(sync, probes)
				for i, h := range probes {
					want := plain.contains(h)
					filtertest.Equal(t, want, f.ContainsHash(h))
					filtertest.Equal(t, want, bloom.ContainsInGo(f, h))
					filtertest.Equal(t, want, sync.ContainsHash(h))
					filtertest.Equal(t, want, bloom.SyncContainsInGo(sync, h))
					filtertest.Equal(t, want, got[i])
					filtertest.Equal(t, want, gotSync[i])
				}
			}
		}
	}
}

func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	buf := make([]byte, 2000)
	for i := range buf {
		buf[i] = byte(r.Uint32())
	}
	for size := range 600 {
		for _, offset := range []int{0, 1, 2, 3, 5, 7, 8, 9} { // every alignment
			key := buf[offset : offset+size]
			want := murmur(key)
			filtertest.Equal(t, want, bloom.Sum(key))
			filtertest.Equal(t, want, bloom.SumString(string(key)))
			got, err := bloom.SumReader(iotest.OneByteReader(bytes.NewReader(key)))
			require.NoError(t, err)
			filtertest.Equal(t, want, got)
		}
	}
	for range 100 {
		n := r.Uint64()
		require.Equal(t, bloom.Sum([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}), bloom.SumUint32(uint32(n)))
		require.Equal(t, bloom.Sum([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24),
			byte(n >> 32), byte(n >> 40), byte(n >> 48), byte(n >> 56)}), bloom.SumUint64(n))
	}
}

// murmur is the murmur3 package's digest. Where that package reads blocks in
// the wrong byte order, it is given each block's halves reversed; it reads the
// last bytes, which are no block, one by one.
func murmur(key []byte) bloom.Hash {
	if bloom.BigEndian {
		key = bytes.Clone(key)
		for i := 0; i+8 <= len(key)&^15; i += 8 {
			for j := range 4 {
				key[i+j], key[i+7-j] = key[i+7-j], key[i+j]
			}
		}
	}
	h1, h2 := murmur3.Sum128(key)
	return bloom.NewHash(h1, h2)
}

func TestSumUTF16(t *testing.T) {
	for _, key := range []string{
		"", "a", "seven!!", "eight!!!", "nine!!!!!", "naïve café", "日本語", "😀", "1234567😀", "👩‍💻 12345", "\xff\xc0 bad",
		strings.Repeat("x😀é", 100),
	} {
		var b []byte
		for _, u := range utf16.Encode([]rune(key)) {
			b = append(b, byte(u), byte(u>>8))
		}
		require.Equal(t, bloom.Sum(b), bloom.SumUTF16(key), "%q", key)
	}
}

func TestParameters(t *testing.T) {
	for _, test := range []struct {
		n    uint64
		p    float64
		want string
	}{
		{10, 0, "bloom: p = 0 is outside (0, 1)"},
		{10, math.Copysign(0, -1), "bloom: p = -0 is outside (0, 1)"},
		{10, 1, "bloom: p = 1 is outside (0, 1)"},
		{10, -0.5, "bloom: p = -0.5 is outside (0, 1)"},
		{10, 1.5, "bloom: p = 1.5 is outside (0, 1)"},
		{10, math.NaN(), "bloom: p = NaN is outside (0, 1)"},
		{10, math.Inf(1), "bloom: p = +Inf is outside (0, 1)"},
		{10, math.Inf(-1), "bloom: p = -Inf is outside (0, 1)"},
		{1, 0.99, "bloom: p = 0.99 is too close to 1: a filter of n = 1 has no bits"},
		{10, 1e-300, "bloom: p = 1e-300 is too low: it takes k = 997 hashes, and 255 is the most"},
		{0, 0.01, "bloom: n = 0: name the number of keys, or take package growing"},
		{math.MaxUint64, 0.01, "p = 0.01 take m = 9223372036854775807 bits, and "},
		{14_340_000_000, 0.01, "bloom: n = 14340000000, p = 0.01 take m = 137449737131 bits, and "},
	} {
		for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
			f, err := bloom.NewWithStrategy(s, test.n, test.p)
			require.ErrorContains(t, err, test.want)
			require.Nil(t, f)
		}
		require.Less(t, filtertest.Allocated(func() { _, _ = bloom.New(test.n, test.p) }), uint64(100_000))
		_, err := bloom.NewSync(test.n, test.p)
		require.ErrorContains(t, err, test.want)
	}
	for _, test := range []struct {
		m    uint64
		k    int
		want string
	}{
		{64, 0, "bloom: k = 0 is outside [1, 255]"},
		{64, -1, "bloom: k = -1 is outside [1, 255]"},
		{64, 256, "bloom: k = 256 is outside [1, 255]"},
		{64, math.MaxInt, fmt.Sprintf("bloom: k = %d is outside [1, 255]", math.MaxInt)},
		{0, 1, "bloom: m = 0 is outside [1, "},
		{form.MaxWords*64 + 1, 1, fmt.Sprintf("bloom: m = %d is outside [1, ", uint64(form.MaxWords*64+1))},
		{math.MaxUint64, 1, "bloom: m = 18446744073709551615 is outside [1, "},
	} {
		_, err := bloom.NewSize(test.m, test.k)
		require.ErrorContains(t, err, test.want)
	}
	_, err := bloom.NewWithStrategy(2, 10, 0.01)
	require.EqualError(t, err, "bloom: strategy = 2 is neither Mitz32 nor Mitz64")

	for _, test := range []struct{ m, want uint64 }{{1, 64}, {63, 64}, {64, 64}, {65, 128}} {
		require.Equal(t, test.want, bloom.Must(bloom.NewSize(test.m, 1)).M())
	}
	words, err := form.WordsFor("bloom", form.MaxWords*64, 255, form.MaxWords) // which NewSize would take memory for
	require.NoError(t, err)
	require.EqualValues(t, form.MaxWords, words)
	_, err = bloom.NewSize(7, 200)
	require.EqualError(t, err, "bloom: k = 200 is more than m = 7: are the two swapped?")
	require.Equal(t, 7, bloom.Must(bloom.NewSize(7, 7)).K())
	require.Panics(t, func() { bloom.Must(bloom.New(1, 2)) })
}

func TestSizing(t *testing.T) {
	for _, test := range []struct {
		n uint64
		p float64
		m uint64
		k int
	}{
		{100, 0.01, 958, 7},
		{1e6, 0.01, 9585058, 7},
		{1e9, 0.0001, 19170116754, 13},
	} {
		m := bloom.OptimalM(test.n, test.p)
		k := bloom.OptimalK(m, test.n)
		assert.Equal(t, test.m, m)
		assert.Equal(t, test.k, k)
		// Rounding k costs at most this much here: it is half a hash at worst.
		assert.InEpsilon(t, test.p, bloom.FalsePositiveRate(m, k, test.n), 1e-2)
	}
	for _, test := range []struct {
		n    uint64
		p    float64
		want uint64
	}{
		{0, 0.01, bloom.OptimalM(1, 0.01)},
		{10, 0, bloom.OptimalM(10, math.SmallestNonzeroFloat64)},
		{10, 1, 0},
		{10, 2, 0},
		{10, math.NaN(), 0},
		{math.MaxUint64, 0.01, math.MaxInt64},
		{10, -1, 0},
	} {
		require.Equal(t, test.want, bloom.OptimalM(test.n, test.p), "n = %d, p = %v", test.n, test.p)
	}
	require.Equal(t, bloom.OptimalK(100, 1), bloom.OptimalK(100, 0))
	require.Equal(t, 1, bloom.OptimalK(0, 100))
	require.Equal(t, math.MaxInt32, bloom.OptimalK(math.MaxUint64, 1))
	require.Zero(t, bloom.FalsePositiveRate(100, 3, 0))
	require.Equal(t, 1.0, bloom.FalsePositiveRate(0, 3, 1))
	require.Equal(t, 1.0, bloom.FalsePositiveRate(100, 0, 0))
	require.Equal(t, 1.0, bloom.FalsePositiveRate(100, -1, 5))
	require.Equal(t, 1.0, bloom.FalsePositiveRate(64, 3, math.MaxUint64))
	require.Equal(t, [2]bloom.Stats{}, [2]bloom.Stats{bloom.StatsOf(0, 3, 0), bloom.StatsOf(64, 0, 0)})
}

func TestEstimates(t *testing.T) {
	f := bloom.Must(bloom.New(1000, 0.01))
	require.Zero(t, f.ApproxCount())
	require.Zero(t, f.FPR())
	require.Zero(t, f.FillRatio())

	last := uint64(0)
	for i := 0; f.OnesCount() < f.M(); i++ {
		f.AddHash(bloom.SumUint64(uint64(i)))
		ones := uint64(0)
		for _, w := range bloom.WordsOf(f) {
			ones += uint64(bits.OnesCount64(w))
		}
		require.Equal(t, ones, f.OnesCount())
		require.GreaterOrEqual(t, f.ApproxCount(), last)
		last = f.ApproxCount()
	}
	// Full: as if half a bit were clear.
	require.Equal(t, 1.0, f.FillRatio())
	require.Equal(t, 1.0, f.FPR())
	require.EqualValues(t, math.Round(9600/7.0*math.Log(2*9600)), f.ApproxCount())
	f.Reset()
	require.True(t, f.Equal(bloom.Must(bloom.New(1000, 0.01))))
}

func TestOperations(t *testing.T) {
	a := bloom.Must(bloom.New(1000, 0.01))
	a.AddBatch(nil, filtertest.Digests(1, 600))
	for _, test := range []struct {
		g    *bloom.Filter
		want string
	}{
		{bloom.Must(bloom.NewSize(128, 7)), "bloom: filters differ in m: 9600 and 128"},
		{bloom.Must(bloom.NewSize(9600, 6)), "bloom: filters differ in k: 7 and 6"},
		{bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 1000, 0.01)), "bloom: filters differ in strategy: Mitz64 and Mitz32"},
	} {
		before := a.Clone()
		require.EqualError(t, a.Merge(test.g), test.want)
		require.ErrorIs(t, a.Merge(test.g), bloom.ErrMismatch)
		require.EqualError(t, a.Intersect(test.g), test.want)
		require.EqualError(t, bloom.NewSyncFrom(a.Clone()).Merge(test.g), test.want)
		require.False(t, a.Equal(test.g))
		require.True(t, a.Equal(before))
	}
	require.ErrorIs(t, a.Intersect(nil), bloom.ErrMismatch)
}

// TestFalsePositiveRateBits: the same bits on every architecture, near the exact value.
func TestFalsePositiveRateBits(t *testing.T) {
	for _, test := range []struct {
		m    uint64
		k    int
		n    uint64
		want uint64
	}{
		{9592955, 7, 1e6, 0x3f847ae11781a6cb},
		{960, 7, 100, 0x3f84689c665fbdb5},
		{28755175, 20, 1e6, 0x3eb0c72e83608832},
		{64, 255, 3, 0x3feff28f5d201896},
		{1 << 37, 3, 1, 0x394afffffffc3400},
	} {
		got := bloom.FalsePositiveRate(test.m, test.k, test.n)
		x := float64(test.k) * float64(test.n) / float64(test.m)
		require.InEpsilon(t, math.Pow(-math.Expm1(-x), float64(test.k)), got, 1e-13)
		require.Equal(t, test.want, math.Float64bits(got), "%v", test)
	}
}

// TestStrictSizeIsLeast tries all smaller sizes. Some are better than larger ones.
func TestStrictSizeIsLeast(t *testing.T) {
	for n := uint64(1); n <= 3000; n += 1 + n/15 {
		for _, p := range []float64{0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5} {
			m, k, err := bloom.StrictSize(n, p)
			require.NoError(t, err)
			least, most := uint64(64), bloom.OptimalK(bloom.OptimalM(n, p), n)
			for !(second(bloom.StrictK(least, n, most)) <= p) {
				least += 64
			}
			require.Equal(t, least, m, "n = %d, p = %v", n, p)
			require.LessOrEqual(t, k, most)
		}
	}
}

func second[T, U any](_ T, u U) U { return u }

// measure returns the rate of filters of m bits and k hashes with n keys, and its standard error.
func measure(r *rand.Rand, m uint64, k int, n uint64, probes int) (rate, deviation float64) {
	f, found, filters := bloom.Must(bloom.NewSize(m, k)), []float64(nil), probes/200
	for range filters {
		f.Reset()
		for range n {
			f.AddHash(bloom.NewHash(r.Uint64(), r.Uint64()))
		}
		count := 0.0
		for range 200 {
			if f.ContainsHash(bloom.NewHash(r.Uint64(), r.Uint64())) {
				count++
			}
		}
		found = append(found, count/200)
		rate += count / 200 / float64(filters)
	}
	for _, x := range found {
		deviation += (x - rate) * (x - rate)
	}
	return rate, math.Sqrt(deviation) / float64(filters)
}

// TestStrictSize measures: the rate is kept, and the next smaller size does not keep it with
// any number of hashes, but for a fifth. New's filter of 100 keys at 0.1 % does not keep it.
func TestStrictSize(t *testing.T) {
	for _, test := range []struct {
		n    uint64
		p    float64
		m    uint64
		most bool
	}{{3, 0.01, 64, false}, {50, 0.3, 128, false}, {50, 0.001, 832, true}, {10, 0.01, 128, false}, {100, 0.01, 1024, false}} {
		m, _, err := bloom.StrictSize(test.n, test.p)
		require.NoError(t, err)
		require.True(t, m == test.m || test.most && m < test.m, "%+v: %d", test, m)
	}
	_, _, err := bloom.StrictSize(100, 1)
	require.EqualError(t, err, "bloom: p = 1 is outside (0, 1)")
	_, _, err = bloom.StrictSize(1e6, 1e-30)
	require.ErrorContains(t, err, "bloom: n = 1000000, p = 1e-30 need more than")
	_, _, err = bloom.StrictSize(1, 1e-90)
	require.ErrorContains(t, err, "bloom: p = 1e-90 is too low: ")
	if testing.Short() {
		return
	}
	r := rand.New(rand.NewPCG(8, 9))
	for _, n := range []uint64{1, 2, 3, 5, 8, 13, 20, 33, 50, 77, 100, 150, 200} {
		for _, p := range []float64{0.5, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4} {
			m, k, err := bloom.StrictSize(n, p)
			require.NoError(t, err)
			probes := int(min(1e6, 2000/p))
			rate, deviation := measure(r, m, k, n, probes)
			require.Less(t, rate, p+4.5*deviation, "n = %d, p = %v: m = %d, k = %d", n, p, m, k)
			if m == 64 {
				continue
			}
			most := bloom.OptimalK(bloom.OptimalM(n, p), n)
			k, _ = bloom.StrictK(m-64, n, most)
			for k := max(1, k-1); k <= min(k+1, most); k++ {
				rate, deviation = measure(r, m-64, k, n, probes)
				require.Greater(t, rate, 0.8*p-4.5*deviation, "n = %d, p = %v: m = %d is too large, k = %d", n, p, m, k)
			}
		}
	}
	f := bloom.Must(bloom.New(100, 1e-3))
	rate, deviation := measure(r, f.M(), f.K(), 100, 4e6)
	require.Greater(t, rate, 1e-3+6*deviation)
}

// TestCapacity: New's n comes back, up to the bits that M is rounded by.
func TestCapacity(t *testing.T) {
	sizes := []uint64{949_125, 1e6, 1e9}
	for n := uint64(1); n < 250; n++ {
		sizes = append(sizes, n, 73*n)
	}
	for _, p := range []float64{0.991, 0.5, 0.3, 0.1, 0.02, 0.01, 1e-3, 1e-6, 1e-9} {
		perBit := math.Ln2 * math.Ln2 / -math.Log(p)
		for _, n := range sizes {
			m := bloom.OptimalM(n, p)
			if m == 0 {
				continue
			}
			got := bloom.Capacity((m+63)/64*64, bloom.OptimalK(m, n), p)
			filtertest.Equal(t, true, got >= n, "n = %d, p = %v: %d", n, p, got)
			// For a few keys K is not the best one for the rounded M.
			filtertest.Equal(t, true, n < 100 || float64(got) <= float64(n)+65*perBit, "n = %d, p = %v: %d", n, p, got)
		}
	}
	// Elsewhere FalsePositiveRate crosses p there.
	for _, k := range []int{1, 3, 12} {
		n := bloom.Capacity(9600, k, 0.01)
		require.LessOrEqual(t, bloom.FalsePositiveRate(9600, k, n), 0.01)
		require.Greater(t, bloom.FalsePositiveRate(9600, k, n+1), 0.01)
	}
	f := bloom.Must(bloom.New(1000, 0.01))
	for _, p := range []float64{0, -1, math.NaN()} {
		require.Zero(t, f.Capacity(p))
	}
	require.EqualValues(t, uint64(math.MaxUint64), f.Capacity(1))
	require.Less(t, f.Capacity(0.999), uint64(1e5))
	// Where New's n would be more than a uint64 has room for, and FalsePositiveRate's infinite.
	almost := math.Nextafter(1, 0)
	require.InEpsilon(t, 53*math.Ln2*(1<<20), bloom.Capacity(1<<20, 1, almost), 1e-6)
	require.Equal(t, uint64(math.MaxInt64), bloom.Capacity(1<<20, 10, almost))
}

// TestString: what is printed names the type and no keys.
// TestNewSizeOfOneHash: a filter of one hash and any number of bits is one that New makes, too. So
// NewSize cannot refuse blocked.Size's arguments, which look alike.
func TestNewSizeOfOneHash(t *testing.T) {
	for _, n := range []uint64{10, 1e5, 1e6} {
		f := bloom.Must(bloom.New(n, 0.5))
		require.Equal(t, 1, f.K(), "n = %d", n)
		require.True(t, f.Equal(bloom.Must(bloom.NewSize(f.M(), f.K()))), "n = %d", n)
	}
}

// TestStatsString: a printed Stats has names.
func TestStatsString(t *testing.T) {
	f := bloom.Must(bloom.New(1000, 0.01))
	f.AddString("a")
	require.Equal(t, "m=9600 k=7 ones=7 fill=0.00073 keys=1 rate=1.4e-08 size=1206", f.Stats().String())
	require.Equal(t, f.Stats().String(), fmt.Sprint(f.Stats()))
	require.Equal(t, f.Stats(), f.Stats(), "comparable")
}

func TestString(t *testing.T) {
	f := bloom.Must(bloom.New(100, 0.01))
	view := bloom.Must(bloom.NewView(bloom.Must(f.MarshalBinary())))
	require.Equal(t, "bloom.View(m=960, k=7, Mitz64)", view.String())
	require.Equal(t, "bloom.SyncFilter(m=960, k=7, Mitz64)", bloom.NewSyncFrom(f).String())
	require.Equal(t, "Strategy(2)", bloom.Strategy(2).String())
}

// TestLargeFilter sets and finds bits beyond bit 2^32. The pages in between are
// never touched.
func TestLargeFilter(t *testing.T) {
	f := bloom.Must(bloom.NewSize(1<<32+1<<20, 1))
	for _, i := range []uint64{1<<32 - 1, 1 << 32, 1<<32 + 12345, f.M() - 1} {
		require.False(t, f.ContainsHash(bloom.NewHash(i, 0)))
		require.True(t, f.AddHash(bloom.NewHash(i, 0)))
		require.True(t, f.ContainsHash(bloom.NewHash(i, 0)))
		require.True(t, f.ContainsHash(bloom.NewHash(i+f.M(), 0)))
		require.Equal(t, uint64(1), bloom.WordsOf(f)[i/64]>>(i%64)&1)
	}
	require.EqualValues(t, 4, f.OnesCount())
	require.False(t, f.ContainsHash(bloom.NewHash(12345, 0)))
}

func TestText(t *testing.T) {
	f := bloom.Must(bloom.New(100, 0.01))
	f.AddString("a")
	text := bloom.Must(f.MarshalText())
	require.Len(t, text, 168)
	require.Len(t, bloom.Must(f.MarshalBinary()), 126)

	type record struct {
		Seen *bloom.Filter `xml:"seen,attr"`
	}
	var got record
	require.NoError(t, xml.Unmarshal(bloom.Must(xml.Marshal(record{f})), &got))
	require.True(t, f.Equal(got.Seen))

	var g bloom.Filter
	for _, bad := range []string{string(text) + "=", "AQcAAAACJBAAICAAICAACAAASQQQQR=="} {
		require.ErrorIs(t, g.UnmarshalText([]byte(bad)), bloom.ErrFormat, "%q", bad)
	}
}

// TestSizes: the tables of docs/sizes.md are what the arithmetic says.
func TestSizes(t *testing.T) {
	page, err := os.ReadFile("docs/sizes.md")
	require.NoError(t, err)
	bytesOf := func(n uint64, p float64) string {
		size, unit := float64(bloom.OptimalM(n, p))/8e6, "MB"
		if size >= 1000 {
			size, unit = size/1000, "GB"
		}
		if size >= 100 {
			return fmt.Sprintf("%.0f %s", 10*math.Round(size/10), unit)
		}
		return fmt.Sprintf("%.2g %s", size, unit)
	}
	for _, row := range []struct {
		name string
		n    uint64
	}{{"1 million", 1e6}, {"10 million", 1e7}, {"100 million", 1e8}, {"1 billion", 1e9}} {
		want := fmt.Sprintf("| %s | %s | %s | %s |", row.name, bytesOf(row.n, 1e-2), bytesOf(row.n, 1e-3), bytesOf(row.n, 1e-4))
		require.Contains(t, string(page), want)
	}

	// What a filter made for 1 % does with more keys.
	m := bloom.OptimalM(1e6, 0.01)
	require.InDelta(t, 6, 100*bloom.FalsePositiveRate(m, bloom.OptimalK(m, 1e6), 1.5e6), 0.5)
	require.InDelta(t, 16, 100*bloom.FalsePositiveRate(m, bloom.OptimalK(m, 1e6), 2e6), 0.5)

	// And the package comment's.
	require.InDelta(t, 9.6, float64(bloom.OptimalM(1e9, 0.01))/1e9, 0.05)
	require.InDelta(t, 4.8, float64(bloom.OptimalM(1e9, 0.001)-bloom.OptimalM(1e9, 0.01))/1e9, 0.05)
}

// TestKeysStayOnStacks: no key is allocated for being hashed, however long.
func TestKeysStayOnStacks(t *testing.T) {
	f := bloom.Must(bloom.NewSize(1<<16, 3))
	sync := bloom.NewSyncFrom(bloom.Must(bloom.NewSize(1<<16, 3)))
	for name, do := range map[string]func(){
		"Sum":        func() { var key [1000]byte; bloom.Sum(key[:]) },
		"Filter":     func() { var key [1000]byte; f.Add(key[:]); f.Contains(key[:]) },
		"SyncFilter": func() { var key [1000]byte; sync.Add(key[:]); sync.Contains(key[:]) },
	} {
		require.Zero(t, testing.AllocsPerRun(100, do), name)
	}
}

// TestKeysOnGrowingStacks adds keys that lie on stacks as long as it takes for
// some of them to be moved in the middle of it.
func TestKeysOnGrowingStacks(t *testing.T) {
	f := bloom.Must(bloom.NewSize(1<<16, 3))
	sync := bloom.NewSyncFrom(bloom.Must(bloom.NewSize(1<<16, 3)))
	var deeper func(depth int, n uint64)
	deeper = func(depth int, n uint64) {
		if depth > 0 {
			deeper(depth-1, n)
			return
		}
		var key [bloom.DirectLen + 8]byte
		binary.BigEndian.PutUint64(key[bloom.DirectLen:], n)
		switch n % 2 {
		case 0:
			f.Add(key[:])
		case 1:
			sync.Contains(key[:])
			sync.Add(key[:])
		}
	}
	const n = 3000
	for i := range uint64(n) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			deeper(int(i%1000), i)
		}()
		<-done
	}
	for i := range uint64(n) {
		key := binary.BigEndian.AppendUint64(make([]byte, bloom.DirectLen), i)
		require.True(t, []interface{ Contains([]byte) bool }{f, sync}[i%2].Contains(key), i)
	}
}

// TestAppendText: what is before the text stays, and the zero value adds nothing to it.
func TestAppendText(t *testing.T) {
	f := smallFilter("a")
	require.Equal(t, "before"+string(bloom.Must(f.MarshalText())), string(bloom.Must(f.AppendText([]byte("before")))))
	require.Equal(t, "before", string(bloom.Must(new(bloom.Filter).AppendText([]byte("before")))))
}
