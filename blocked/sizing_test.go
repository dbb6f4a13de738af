package blocked

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// TestMemory: New takes the lines that the package comment promises, and the memory, compared with
// a classic filter.
func TestMemory(t *testing.T) {
	const n = 1e6
	for _, test := range []struct {
		p     float64
		lines int
		most  float64
		more  float64 // percent, as the comment says
	}{
		{1e-2, 1, 1.11, 10}, {1e-3, 1, 1.18, 18}, {1e-4, 2, 1.11, 10}, {1e-5, 2, 1.13, 12},
		{1e-6, 2, 1.18, 18},
		{1e-7, 3, 1.12, 11}, {1e-8, 3, 1.14, 14}, {1e-9, 3, 1.18, 18}, {1e-12, 4, 1.18, 18},
	} {
		f := bloom.Must(New(n, test.p))
		classic := n * -math.Log(test.p) / (math.Ln2 * math.Ln2)
		assert.Equal(t, test.lines, f.Lines(), "p = %v", test.p)
		assert.LessOrEqual(t, float64(f.M())/classic, test.most, "p = %v", test.p)
		assert.InDelta(t, test.more, 100*(float64(f.M())/classic-1), 0.6, "p = %v", test.p)
		t.Logf("p = %v: %d lines, %.2f bits a key, %.3f times as many as a classic filter",
			test.p, f.Lines(), float64(f.M())/n, float64(f.M())/classic)
	}
}

// TestSmallest: with one block less, New's filter would exceed its rate.
func TestSmallest(t *testing.T) {
	for _, n := range []uint64{1, 2, 10, 1000, 1e6, 1e9, 3e11} {
		for _, p := range []float64{1 - 1e-16, 0.9, 0.1, 0.01, 1e-3, 1e-6, 1e-9, 1e-12} {
			m, lines, err := Size(n, p)
			if err != nil {
				require.ErrorContains(t, err, fmt.Sprintf("blocked: n = %d is outside [1, ", n))
				require.Greater(t, fewest(n, p, splitblock.MaxLines), uint64(splitblock.Max/2))
				continue
			}
			blocks := m / 256
			require.LessOrEqual(t, rate(n, blocks, lines), p)
			require.True(t, blocks == 1 || rate(n, blocks-1, lines) > p)
			for l := range lines {
				require.True(t,
					l == 0 || float64(fewest(n, p, l)) > 1.1*float64(fewest(n, p, lines)), "n = %d, p = %v", n, p)
			}
		}
	}
}

// TestBlockRates compares blockRates with another model. It computes for a word how many of its 32
// bits are set after j lines. If s bits are set, t further lines all find their bits set with the
// probability (s/32)^t.
func TestBlockRates(t *testing.T) {
	for _, mean := range []float64{1e-15, 0.5, 10, 40} {
		var want [splitblock.MaxLines + 1]float64
		want[1] = mean / (1 << 32) // an added line may come from the same 32 bits of a digest
		set := [33]float64{1}      // set[s] is the probability that s bits are set after j lines
		poisson := math.Exp(-mean)
		for j := 1.0; j < 200; j++ {
			for s := 32; s >= 0; s-- {
				set[s] *= float64(s) / 32
				if s > 0 {
					set[s] += set[s-1] * float64(33-s) / 32
				}
			}
			poisson *= mean / j
			for lines := 1; lines <= splitblock.MaxLines; lines++ {
				word := 0.0
				for s, p := range set {
					word += p * math.Pow(float64(s)/32, float64(lines))
				}
				want[lines] += poisson * math.Pow(word, 8)
			}
		}
		for lines := 1; lines <= splitblock.MaxLines; lines++ {
			got := blockRates(mean, lines)
			require.InEpsilonSlice(t, want[1:lines+1], got[1:lines+1], 1e-6, "mean %v, %d lines",
				mean, lines)
		}
	}
}

// TestMostKeys finds the most keys for which there is a filter, without its memory.
func TestMostKeys(t *testing.T) {
	most := sort.Search(min(1<<40, math.MaxInt), func(n int) bool {
		return fewest(uint64(n), 0.01, 1) > splitblock.Max
	}) - 1
	m, lines, err := Size(uint64(most), 0.01)
	require.NoError(t, err)
	require.Equal(t, 1, lines)
	require.EqualValues(t, uint64(splitblock.Max*splitblock.Bits), m)
	_, _, err = Size(uint64(most+1), 0.01)
	require.ErrorContains(t, err,
		fmt.Sprintf("blocked: n = %d is outside [1, %d] at a rate of 0.01", most+1, most))
}

func TestParameters(t *testing.T) {
	for _, test := range []struct {
		n    uint64
		p    float64
		want string
	}{
		{10, 0, "blocked: p = 0 is outside [1e-12, 1)"},
		{10, 1, "blocked: p = 1 is outside [1e-12, 1)"},
		{10, math.NaN(), "blocked: p = NaN is outside [1e-12, 1)"},
		{10, 9e-13, "blocked: p = 9e-13 is outside [1e-12, 1)"},
		{0, 0.01, "blocked: n = 0"},
		{math.MaxUint64, 0.01, "blocked: n = 18446744073709551615 is outside [1, "},
		{math.MaxUint64, 1e-12, "blocked: n = 18446744073709551615 is outside [1, "},
	} {
		_, err := New(test.n, test.p)
		require.ErrorContains(t, err, test.want)
	}
	for _, m := range []uint64{0, splitblock.Max*256 + 1, math.MaxUint64} {
		_, err := NewSize(m, 1)
		require.ErrorContains(t, err, fmt.Sprintf("blocked: m = %d is outside [1, ", m))
	}
	for _, lines := range []int{-1, 0, 5} {
		_, err := NewSize(256, lines)
		require.EqualError(t, err, fmt.Sprintf("blocked: lines = %d is outside [1, 4]", lines))
	}
	require.EqualValues(t, 256, bloom.Must(NewSize(1, 1)).M())
	require.EqualValues(t, 256, bloom.Must(NewSize(256, 1)).M())
	require.EqualValues(t, 512, bloom.Must(NewSize(257, 4)).M())
	require.EqualValues(t, 256, bloom.Must(New(1, 0.01)).M())
}

// TestRate: the rate at n keys is at most p, by the filter's bits and by look-ups of absent keys.
// FPR and ApproxCount are right at half of n keys, at n, and at one and a half times n. At low
// rates a test finds no false positive, so the test looks at each line, too.
func TestRate(t *testing.T) {
	for _, p := range []float64{0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9, 1e-12} {
		for _, test := range []struct{ capacity, n uint64 }{
			{5000, 5000}, {300_000, 150_000}, {300_000, 300_000}, {300_000, 450_000},
		} {
			n := test.n
			if testing.Short() && n > 5000 {
				continue
			}
			t.Run(fmt.Sprintf("p=%v/n=%d/keys=%d", p, test.capacity, n), func(t *testing.T) {
				f := bloom.Must(New(test.capacity, p))
				for i := range n {
					f.AddHash(bloom.SumUint64(i))
				}

				// Each block is a sample of the rate that a line of an absent key meets.
				rates := f.blockRates()
				mean, deviation := meanOf(rates)
				lines := float64(f.Lines())
				assert.InEpsilon(t, math.Pow(mean, lines), f.Stats().FPR, 1e-9)
				if n == test.capacity {
					assert.InDelta(t, math.Pow(p, 1/lines), mean, 4.5*deviation)
				}

				const probes = 100_000.0
				found := 0
				var foundLines [splitblock.MaxLines]int
				for i := range uint64(probes) {
					h := bloom.SumUint64(1<<40 + i)
					if f.ContainsHash(h) {
						found++
					}
					for l := range f.Lines() {
						if f.containsLine(h, l) {
							foundLines[l]++
						}
					}
				}
				assert.InDelta(t, probes*f.Stats().FPR, found, 4.5*math.Sqrt(probes*f.Stats().FPR)+2)
				for l := range f.Lines() {
					assert.InDelta(t, probes*mean, foundLines[l], 4.5*math.Sqrt(probes*mean)+2)
				}

				// Let a fraction e of a block's 256 bits be zeros. If the bits were independent,
				// the estimate of the block's lines would have the variance (1/e-1)/256 /
				// ln(31/32)^2. It has less, because a line sets only one bit in each word.
				zeros := math.Exp(lines * float64(n) / float64(len(rates)) * math.Log1p(-1.0/32))
				sigma := math.Sqrt(float64(len(rates))*(1/zeros-1)/256) / -math.Log1p(-1.0/32) / lines
				assert.InDelta(t, float64(n), float64(f.Stats().ApproxCount), 4.5*sigma)
			})
		}
	}
}

// TestFormula compares the model of one line with a closed form. In a block of j lines, a bit of a
// word is set with probability 1-(31/32)^j. So eight bits, one in each word, are set with the
// eighth power of that. Multiplied out, the power is a sum of terms x^j. If j has a Poisson
// distribution, the mean of x^j is e^(mean (x-1)).
func TestFormula(t *testing.T) {
	for _, mean := range []float64{5, 16, 24.5, 40, 100} {
		sum, choose := 0.0, 1.0 // choose is 8 over i, with its sign
		for i := 0.0; i <= 8; i++ {
			sum += choose * math.Exp(mean*(math.Pow(31.0/32, i)-1))
			choose *= -(8 - i) / (i + 1)
		}
		const blocks = 1e6
		require.InEpsilon(t, sum+mean/(1<<32), rate(uint64(mean*blocks), blocks, 1), 1e-8,
			"mean = %v", mean)
	}
}

// TestModel compares rate with filters that are as the model assumes: each of a few blocks has a
// number of lines with a Poisson distribution. With few blocks, the lines of a key often share one.
func TestModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for lines := 1; lines <= splitblock.MaxLines; lines++ {
		for _, size := range []int{1, 2, 3, 5} {
			const filters, n = 20_000, 20
			f := bloom.Must(NewSize(uint64(size)*256, lines))
			var rates []float64
			for range filters {
				f.Reset()
				for b := range size {
					for range poisson(rnd, float64(n*lines)/float64(size)) {
						line := splitblock.Of(f.b.Words[b*blockWords:][:blockWords], 1)
						line.Add(bloom.NewHash(rnd.Uint64(), 0))
					}
				}
				rates = append(rates, f.Stats().FPR)
			}
			mean, deviation := meanOf(rates)
			assert.InDelta(t, mean, rate(n, uint64(size), lines), 4.5*deviation,
				"%d lines, %d blocks", lines, size)
		}
	}
}

// poisson returns a random number with a Poisson distribution of the given mean.
func poisson(rnd *rand.Rand, mean float64) (n int) {
	for sum := rnd.ExpFloat64(); sum < mean; sum += rnd.ExpFloat64() {
		n++
	}
	return n
}

// TestSmallRate: the mean rate of many small filters is at most p. In small filters, lines of a key
// that fall into one block matter most.
func TestSmallRate(t *testing.T) {
	for _, n := range []uint64{1, 3, 10, 30, 100} {
		for _, p := range []float64{0.1, 1e-2, 1e-4, 1e-6, 1e-9} {
			f := bloom.Must(New(n, p))
			var rates []float64
			for i := range uint64(300) {
				f.Reset()
				f.AddBatch(nil, filtertest.Digests(i*1000+n, int(n)))
				rates = append(rates, f.Stats().FPR)
			}
			mean, deviation := meanOf(rates)
			assert.LessOrEqual(t, mean, p+4.5*deviation, "n = %d, p = %v, %v", n, p, f)
		}
	}
}

const blockWords = splitblock.Bits / 64

// meanOf returns the mean of samples and its standard deviation.
func meanOf(samples []float64) (mean, deviation float64) {
	n, square := float64(len(samples)), 0.0
	for _, x := range samples {
		mean += x / n
		square += x * x / n
	}
	return mean, math.Sqrt((square - mean*mean) / n)
}

// containsLine reports whether a block has all bits of one line of a key.
func (f *Filter) containsLine(h bloom.Hash, l int) bool {
	words := f.b.Words[blockWords*splitblock.Block(h, l, len(f.b.Words)/blockWords):][:blockWords]
	return splitblock.HasLine(form.AppendWords(nil, words, form.LittleEndian), h, l)
}

// blockRates returns a rate for each block: the share of the lines of absent keys in this block
// that find all their bits set.
func (f *Filter) blockRates() (rates []float64) {
	for i := 0; i < len(f.b.Words); i += blockWords {
		rate := 1.0
		for _, w := range f.b.Words[i:][:blockWords] {
			rate *= float64(bits.OnesCount32(uint32(w))) / 32 * float64(bits.OnesCount32(uint32(w>>32))) / 32
		}
		rates = append(rates, rate)
	}
	return rates
}

// TestFalsePositiveRate: it is at most p for the size of p, is in [0, 1] for all arguments, and
// never falls with n.
func TestFalsePositiveRate(t *testing.T) {
	for _, p := range []float64{0.3, 0.01, 1e-6, 1e-12} {
		for _, n := range []uint64{1, 100, 12_345, 1e8} {
			m, lines, err := Size(n, p)
			require.NoError(t, err)
			require.LessOrEqual(t, FalsePositiveRate(m, lines, n), p)
			require.Greater(t, FalsePositiveRate(m-splitblock.Bits, lines, n), p)
			require.Equal(t, FalsePositiveRate(m, lines, n), FalsePositiveRate(m-255, lines, n))
		}
	}
	values := []uint64{0, 1, 2, 255, 256, 257, 1e4, 1 << 20, 1 << 43, 1<<43 + 1, 1 << 60,
		math.MaxUint64}
	for _, m := range values {
		for _, lines := range []int{math.MinInt, -1, 0, 1, 2, 3, 4, 5, math.MaxInt} {
			last := 0.0
			for _, n := range values {
				rate := FalsePositiveRate(m, lines, n)
				name := fmt.Sprintf("m = %d, lines = %d, n = %d", m, lines, n)
				require.GreaterOrEqual(t, rate, last*(1-1e-9), name)
				require.LessOrEqual(t, rate, 1.0, name)
				last = rate
			}
			require.Equal(t, 1.0, max(last, FalsePositiveRate(256, lines, math.MaxUint64)))
		}
	}
	require.Equal(t, 0.0, FalsePositiveRate(0, 1, 0))
	require.Equal(t, 1.0, FalsePositiveRate(0, 1, 1))
	require.Equal(t, 1.0, FalsePositiveRate(1<<20, 0, 0))
	require.Equal(t, 1.0, FalsePositiveRate(1<<20, 5, 0))
}
