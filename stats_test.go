package bloom

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A statSet is measured by TestStatistics.
type statSet interface {
	Set
	FPR() float64
}

// statSets are the filters to measure, and the theory of each after n keys.
var statSets = []struct {
	name string
	make func(n uint64, p float64) statSet
	fill func(s statSet, keys []Hash)
	// excess is what may come on top of FPR.
	excess func(s statSet) float64
	// deviation is FPR's relative standard deviation over filters that are
	// equal but for their keys.
	deviation func(s statSet, n float64) float64
	// count is the bias and the standard deviation of ApproxCount.
	count func(s statSet, n float64) (bias, sigma float64)
}{
	{"Filter", func(n uint64, p float64) statSet { return Must(New(n, p)) }, addAll,
		classicExcess, classicDeviation, classicCount},
	{"Filter/Mitz32", func(n uint64, p float64) statSet { return Must(NewStrategy(Mitz32, n, p)) }, addAll,
		classicExcess, classicDeviation, classicCount},
	{"SyncFilter", func(n uint64, p float64) statSet { return Must(NewSync(n, p)) }, addAll,
		classicExcess, classicDeviation, classicCount},
	{"BlockedFilter", func(n uint64, p float64) statSet { return Must(NewBlocked(n, p)) }, addAll,
		noExcess, blockedDeviation, blockedCount},
	{"Window", newStatWindow, fillStatWindow, noExcess, windowDeviation, nil},
}

func addAll(s statSet, keys []Hash) {
	for _, h := range keys {
		s.AddHash(h)
	}
}

const statGenerations = 7

// newStatWindow returns a Window that is full when its live generations, one
// more than in a span, hold n keys.
func newStatWindow(n uint64, p float64) statSet {
	return Must(NewWindow(WindowConfig{
		Capacity:    n * statGenerations / (statGenerations + 1),
		FPR:         p,
		Span:        statGenerations * time.Hour,
		Generations: statGenerations,
		Now:         new(fakeClock).Now,
	}))
}

// fillStatWindow spreads keys over the live generations.
func fillStatWindow(s statSet, keys []Hash) {
	w, clock := s.(*Window), new(fakeClock)
	w.now = clock.Now
	for g := range statGenerations + 1 {
		addAll(w, keys[g*len(keys)/(statGenerations+1):(g+1)*len(keys)/(statGenerations+1)])
		if g < statGenerations {
			clock.Advance(time.Hour)
		}
	}
}

// windowDeviation is classicDeviation for one of several generations, which
// deviate independently.
func windowDeviation(s statSet, n float64) float64 {
	w := s.(*Window)
	m, k := float64(uint64(len(w.blocks))*w.lanes), float64(w.k)
	fill, variance := onesVariance(k * n / (statGenerations + 1) / m)
	return k * math.Sqrt(variance/m/(statGenerations+1)) / fill
}

// onesVariance returns the mean and the variance of the share of bins that are
// hit by so many balls a bin, the variance times the number of bins m. A bin is
// clear with probability (1-1/m)^(load m) = e^-load, two bins both are with
// (1-2/m)^(load m) = e^(-2 load) (1 - load/m), to first order in 1/m. (A key's k
// balls hit different bins, which matters no more than that.)
func onesVariance(load float64) (mean, variance float64) {
	clear := math.Exp(-load)
	return 1 - clear, clear * (1 - (1+load)*clear)
}

// classic returns the number of bits and of hashes.
func classic(s statSet) (m, k float64) {
	f := s.(interface {
		M() uint64
		K() int
	})
	return float64(f.M()), float64(f.K())
}

// classicExcess is what double hashing adds at most. A probe whose H2 is 0 or m
// over a small number comes back to bits it has tested, and one whose H2 is a
// key's, or its negative, falls in with that key's bits; either happens to about
// one probe in m. See TestDoubleHashing.
func classicExcess(s statSet) float64 {
	m, _ := classic(s)
	return 2 / m
}

func noExcess(statSet) float64 { return 0 }

// classicDeviation: FPR = fill^k, so its relative deviation is k times fill's.
func classicDeviation(s statSet, n float64) float64 {
	m, k := classic(s)
	fill, variance := onesVariance(k * n / m)
	return k * math.Sqrt(variance/m) / fill
}

// classicCount follows the ones through the estimate, g(fill) = -m/k ln(1-fill).
// Its first derivative times the deviation of fill is the deviation of the
// estimate, sqrt(m (e^c-1-c))/k where c = kn/m; half its second derivative times
// the variance of fill is the bias, (e^c-1-c)/2k.
func classicCount(s statSet, n float64) (bias, sigma float64) {
	m, k := classic(s)
	fill, variance := onesVariance(k * n / m)
	slope := m / k / (1 - fill)
	return slope / (1 - fill) * variance / m / 2, slope * math.Sqrt(variance/m)
}

// blockedDeviation takes the deviation from the blocks' own rates.
func blockedDeviation(s statSet, _ float64) float64 {
	rates := s.(*BlockedFilter).blockRates()
	var mean, square float64
	for _, r := range rates {
		mean += r / float64(len(rates))
		square += r * r / float64(len(rates))
	}
	return math.Sqrt((square-mean*mean)/float64(len(rates))) / mean
}

// blockedCount is classicCount for each block, of 8 times 32 bins, with
// g(fill) = ln(1-fill) / ln(31/32), added up over a Poisson-distributed number
// of keys in each.
func blockedCount(s statSet, n float64) (bias, sigma float64) {
	blocks := float64(s.(*BlockedFilter).M()) / blockBits
	mean := n / blocks
	for j := 0.0; j < mean+12*math.Sqrt(mean)+40; j++ {
		lgamma, _ := math.Lgamma(j + 1)
		share := blocks * math.Exp(j*math.Log(mean)-mean-lgamma)
		fill, variance := onesVariance(-math.Log1p(-1.0/32) * j)
		variance /= blockBits
		slope := -1 / math.Log1p(-1.0/32) / (1 - fill)
		bias += share * slope / (1 - fill) * variance / 2
		sigma += share * slope * slope * variance
	}
	return bias, math.Sqrt(sigma)
}

const (
	statKeys   = 150_000
	statProbes = 100_000
	// About 1300 comparisons are made, each of which would fail by chance once
	// in 150,000 times.
	statZ = 4.5
)

// statKinds are digests of different keys of each kind. BLOOM_URLS names a file
// with a URL on each line, to measure with those too.
func statKinds(t *testing.T) map[string][]Hash {
	rnd := rand.New(rand.NewPCG(1, 2))
	kinds := map[string][]Hash{}
	for i := range uint64(statKeys + statProbes) {
		kinds["integers"] = append(kinds["integers"], SumUint64(i))
		text := make([]byte, 8+rnd.IntN(40))
		for i := range text {
			text[i] = byte(rnd.Uint32())
		}
		kinds["random"] = append(kinds["random"], Sum(text))
		kinds["URLs"] = append(kinds["URLs"], SumString(randomURL(rnd, i)))
	}
	if name := os.Getenv("BLOOM_URLS"); name != "" {
		file, err := os.Open(name)
		require.NoError(t, err)
		defer file.Close()
		seen := map[string]bool{}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if !seen[lines.Text()] {
				seen[lines.Text()] = true
				kinds[name] = append(kinds[name], SumString(lines.Text()))
			}
		}
	}
	return kinds
}

// randomURL returns a URL like those a crawler meets: long common prefixes,
// numbers that differ in a digit, here and there a date or a query.
func randomURL(rnd *rand.Rand, i uint64) string {
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	host := pick("https://", "https://", "http://") +
		pick("www.", "", "blog.", "en.", "m.") +
		pick("example", "wikipedia", "news", "github", "shop", "archive") +
		pick(".org", ".com", ".net", ".co.uk", ".io")
	switch i % 4 {
	case 0:
		return fmt.Sprintf("%s/%s/%d", host, pick("item", "issues", "post", "user"), i)
	case 1:
		return fmt.Sprintf("%s/%d/%02d/%02d/%s-%s-%d.html", host, 2000+rnd.IntN(25), 1+rnd.IntN(12), 1+rnd.IntN(28),
			pick("how", "why", "when"), pick("to-sort", "we-moved", "it-failed", "caf%C3%A9"), i)
	case 2:
		return fmt.Sprintf("%s/search?q=%s&page=%d", host, pick("bloom+filter", "cache", "hash"), i)
	}
	return fmt.Sprintf("%s/wiki/%s_(%d)#%s", host, pick("Set", "Probability", "Zürich"), i, pick("History", "Notes", "See_also"))
}

// TestStatistics measures false positives and ApproxCount at half, full and one
// and a half times the capacity. Given the bits, an absent key is a false
// positive with probability FPR, so that their number is binomial, and its
// square root has a standard deviation of at most 1/2.
func TestStatistics(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and minutes in an emulator")
	}
	kinds := statKinds(t)
	for _, set := range statSets {
		worst := 0.0
		within := func(z float64, msg string, args ...any) {
			worst = max(worst, math.Abs(z))
			if math.Abs(z) > statZ {
				t.Errorf("%s: %.1f standard deviations off: %s", set.name, z, fmt.Sprintf(msg, args...))
			}
		}
		for kind, hs := range kinds {
			for _, n := range []int{1000, 10_000, 100_000} {
				if n+n/2 >= len(hs) {
					continue
				}
				for _, p := range []float64{0.1, 0.01, 0.001} {
					for _, load := range []float64{0.5, 1, 1.5} {
						s, keys := set.make(uint64(n), p), hs[:int(load*float64(n))]
						cell := fmt.Sprintf("%s, n = %d, p = %v, %d added", kind, n, p, len(keys))
						set.fill(s, keys)
						for _, h := range keys {
							require.True(t, s.ContainsHash(h), cell)
						}
						probes := hs[max(len(keys), len(hs)-statProbes):]
						num := float64(len(probes))
						found := 0.0
						for _, h := range probes {
							if s.ContainsHash(h) {
								found++
							}
						}

						root := func(x float64) float64 { return 2 * math.Sqrt(x+3.0/8) } // Anscombe
						least, most := num*s.FPR(), num*(s.FPR()+set.excess(s))
						within(min(0, root(found)-root(least)), "%s: %v found, not %.1f", cell, found, least)
						within(max(0, root(found)-root(most)), "%s: %v found, not %.1f", cell, found, most)

						if load == 1 {
							// A whole number of hashes costs up to 1 % at these p.
							asked := num * (1.01*p + set.excess(s))
							deviation := math.Hypot(math.Sqrt(asked), asked*set.deviation(s, float64(n)))
							within(max(0, (found-asked)/deviation), "%s: %v found, asked for %.1f", cell, found, asked)
						}
						if set.count != nil {
							bias, sigma := set.count(s, float64(len(keys)))
							count := float64(s.(interface{ ApproxCount() uint64 }).ApproxCount())
							// One key for rounding, and for bits that double
							// hashing sets twice.
							off := math.Abs(count - bias - float64(len(keys)))
							within(max(0, off-1)/sigma, "%s: ApproxCount is %v", cell, count)
						}
					}
				}
			}
		}
		t.Logf("%s: at most %.1f standard deviations off", set.name, worst)
	}
}

// TestDoubleHashing measures, over many small filters, by how much their rate
// exceeds FPR: by about 0.7/m. That is 8 % of the rate for n =
// 100 and p = 1 %, 45 % for p = 0.1 %, and a tenth of that for ten times the
// keys.
func TestDoubleHashing(t *testing.T) {
	const filters, probes = 300, 10_000
	rnd := rand.New(rand.NewPCG(3, 3))
	for _, p := range []float64{0.01, 0.001} {
		var m, expected, found float64
		for range filters {
			f := Must(New(100, p))
			for range 100 {
				f.AddHash(Hash{rnd.Uint64(), rnd.Uint64()})
			}
			for range probes {
				if f.ContainsHash(Hash{rnd.Uint64(), rnd.Uint64()}) {
					found++
				}
			}
			m = float64(f.M())
			expected += probes * f.FPR()
		}
		excess, deviation := found-expected, math.Sqrt(found)
		t.Logf("p = %v: %+.1f %%, %.2f/m", p, 100*excess/expected, excess/filters/probes*m)
		require.Greater(t, excess, 3*deviation, "double hashing costs nothing?")
		require.Less(t, excess, filters*probes*classicExcess(Must(New(100, p)))+statZ*deviation)
	}
}

// TestBillion fills filters with 1e9 keys, for which they were made, and prints
// time, memory, rate and estimate. It takes minutes, up to 2 GB of memory, and
// BLOOM_BILLION=1 in the environment.
func TestBillion(t *testing.T) {
	if os.Getenv("BLOOM_BILLION") == "" {
		t.Skip("BLOOM_BILLION is not set")
	}
	const n, p, probes, chunk = 1_000_000_000, 0.01, 10_000_000, 10_000
	for _, set := range statSets {
		if set.name != "Filter" && set.name != "BlockedFilter" {
			continue
		}
		t.Run(set.name, func(t *testing.T) {
			s := set.make(n, p).(interface {
				statSet
				M() uint64
				AddBatch([]Hash) int
				ContainsBatch([]bool, []Hash) []bool
				ApproxCount() uint64
			})
			hs := make([]Hash, chunk)
			dst := make([]bool, 0, chunk)
			start := time.Now()
			for i := uint64(0); i < n; i += chunk {
				for j := range hs {
					hs[j] = SumUint64(i + uint64(j))
				}
				s.AddBatch(hs)
			}
			adding := time.Since(start)

			// search looks up probes keys from first on, at such a distance.
			search := func(first, distance uint64) (found int, took time.Duration) {
				start := time.Now()
				for i := uint64(0); i < probes; i += chunk {
					for j := range hs {
						hs[j] = SumUint64(first + distance*(i+uint64(j)))
					}
					for _, yes := range s.ContainsBatch(dst, hs) {
						if yes {
							found++
						}
					}
				}
				return found, time.Since(start)
			}
			present, hitTime := search(0, n/probes)
			absent, missTime := search(n, 1)
			count := s.ApproxCount()
			debug.FreeOSMemory()
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			t.Logf("%s, n = %d, p = %v: %.2f GB of bits, %.2f GB from the system", set.name, uint64(n), p, float64(s.M())/8e9, float64(mem.Sys-mem.HeapReleased)/1e9)
			t.Logf("AddBatch %.1f ns a key, %v in all; ContainsBatch %.1f ns present, %.1f ns absent; hashing included",
				float64(adding.Nanoseconds())/n, adding.Round(time.Second), float64(hitTime.Nanoseconds())/probes, float64(missTime.Nanoseconds())/probes)
			t.Logf("false positives %.4f %%, FPR says %.4f %%; ApproxCount %d, off by %+.5f %%",
				100*float64(absent)/probes, 100*s.FPR(), count, 100*(float64(count)/n-1))
			require.Equal(t, probes, present)
			want := probes * s.FPR()
			require.InDelta(t, want, absent, statZ*math.Sqrt(want))
			bias, sigma := set.count(s, n)
			require.InDelta(t, n+bias, count, 1+statZ*sigma)
		})
	}
}
