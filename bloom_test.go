package bloom_test

import (
	"encoding/xml"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
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

func TestMergeRefusesOtherParameters(t *testing.T) {
	a := bloom.Must(bloom.New(1000, 0.01))
	a.AddBatch(nil, filtertest.Digests(1, 600))
	for _, test := range []struct {
		g    *bloom.Filter
		want string
	}{
		{bloom.Must(bloom.NewSize(128, 7)), "bloom: filters differ in m: 9600 and 128"},
		{bloom.Must(bloom.NewSize(9600, 6)), "bloom: filters differ in k: 7 and 6"},
		{bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 1000, 0.01)),
			"bloom: filters differ in strategy: Mitz64 and Mitz32"},
	} {
		before := a.Clone()
		require.EqualError(t, a.Merge(test.g), test.want)
		require.ErrorIs(t, a.Merge(test.g), bloom.ErrMismatch)
		require.EqualError(t, a.Intersect(test.g), test.want)
		require.EqualError(t, bloom.NewSyncFrom(a.Clone()).Merge(test.g), test.want)
		require.False(t, a.Equal(test.g))
		require.False(t, bloom.Must(bloom.New(1000, 0.01)).Equal(test.g), "both are empty")
		require.True(t, a.Equal(before))
	}
	require.ErrorIs(t, a.Intersect(nil), bloom.ErrMismatch)
}

func TestString(t *testing.T) {
	f := bloom.Must(bloom.New(100, 0.01))
	view := bloom.Must(bloom.NewView(bloom.Must(f.MarshalBinary())))
	require.Equal(t, "bloom.View(m=960, k=7, Mitz64)", view.String())
	require.Equal(t, "bloom.SyncFilter(m=960, k=7, Mitz64)", bloom.NewSyncFrom(f).String())
	require.Equal(t, "Strategy(2)", bloom.Strategy(2).String())
}

// TestLargeFilter sets and finds bits beyond bit 2^32. It does not touch the pages in between.
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

func TestTextForms(t *testing.T) {
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

// TestFold compares folded filters with those built small, byte for byte.
func TestFold(t *testing.T) {
	for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		// 2100 words are more than a block of fold
		for _, words := range []uint64{1, 12, 97, 360, 3 * 2100} {
			k := int(words%10) + 1
			hs := append(filtertest.Digests(words, min(int(words)*64/k, 3000)), extremes...)
			f := bloom.NewFilter(s, int(words), k)
			f.AddBatch(nil, hs)
			before := f.Clone()
			for d := uint64(1); d <= words; d++ {
				if words%d != 0 {
					continue
				}
				g, err := f.Fold(int(d))
				require.NoError(t, err)
				small := bloom.NewFilter(s, int(words/d), k)
				small.AddBatch(nil, hs)
				require.Equal(t, bloom.Must(small.MarshalBinary()), bloom.Must(g.MarshalBinary()),
					"%v, %d words, d = %d", s, words, d)
				require.Equal(t, small.OnesCount(), g.OnesCount())
				for _, h := range filtertest.Digests(words+1, 20) {
					require.Equal(t, small.ContainsHash(h), g.ContainsHash(h))
				}
				g.AddHash(bloom.NewHash(1, 2)) // shares nothing with f
			}
			require.True(t, f.Equal(before))
		}
	}
}

func TestFoldErrors(t *testing.T) {
	f := bloom.Must(bloom.NewSize(128, 3))
	for _, d := range []int{0, -1, math.MinInt, 3, 4, math.MaxInt} {
		_, err := f.Fold(d)
		require.EqualError(t, err,
			fmt.Sprintf("bloom: d = %d is not a divisor of the filter's 2 words", d))
	}
	_, err := new(bloom.Filter).Fold(1)
	require.EqualError(t, err, "bloom: d = 1 is not a divisor of the filter's 0 words")
}

// TestNewWordsCopies: NewWords copies the words. NewSync allocates one filter and not two.
func TestNewWordsCopies(t *testing.T) {
	words := make([]uint64, 4)
	f := bloom.Must(bloom.NewWords(words, 3))
	words[0] = 1
	require.Zero(t, bloom.Must(bloom.NewSize(256, 3)).OnesCount()+f.Stats().OnesCount)
	require.False(t, f.ContainsHash(bloom.NewHash(0, 0)))
}

// TestNewSyncMakesOneFilter: NewSync takes the memory of one filter, without a copy.
func TestNewSyncMakesOneFilter(t *testing.T) {
	require.Less(t, filtertest.Allocated(func() {
		_ = bloom.Must(bloom.NewSync(1e6, 0.01))
	}), uint64(1.3e6))
}

// TestNewWordsErrors: NewWords refuses no words, and a number of hashes out of range.
func TestNewWordsErrors(t *testing.T) {
	_, err := bloom.NewWords(nil, 3)
	require.ErrorContains(t, err, "bloom: len(words) = 0 is outside [1, ")
	_, err = bloom.NewWords(make([]uint64, 4), 0)
	require.EqualError(t, err, "bloom: k = 0 is outside [1, 255]")
}

// TestWithoutAssembly runs tests without assembly, and without its forms for newer processors.
func TestWithoutAssembly(t *testing.T) {
	filtertest.Without(t, "avx512vbmi2", "^Test(Sum|SumBatch|FilterPlain)$")
	filtertest.Without(t, "avx512f", "^Test(Sum|SumBatch|FilterPlain)$")
	filtertest.Without(t, "avx2",
		"^Test(Promises|WritersKeepEachOthersBits|FilterPlain|Sum|SumBatch|SumUTF16|Views?.*|MergeRefusesOtherParameters)$")
}
