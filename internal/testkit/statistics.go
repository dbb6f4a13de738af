package testkit

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A StatSet is measured by Statistics.
type StatSet[H any] interface {
	AddHash(H) bool
	ContainsHash(H) bool
	FPR() float64
}

// Stat is a type to measure, and the theory of it after n keys.
type Stat[H any] struct {
	Name string
	Make func(n uint64, p float64) StatSet[H]
	// Fill adds keys. Nil adds one after the other.
	Fill func(s StatSet[H], keys []H)
	// Excess is what may come on top of FPR. Nil is nothing.
	Excess func(s StatSet[H]) float64
	// Deviation is FPR's relative standard deviation over filters that are
	// equal but for their keys.
	Deviation func(s StatSet[H], n float64) float64
	// Count is the bias and the standard deviation of ApproxCount. Nil where there
	// is none.
	Count func(s StatSet[H], n float64) (bias, sigma float64)
}

// OnesVariance returns the mean and the variance of the share of bins that are
// hit by so many balls a bin, the variance times the number of bins m. A bin is
// clear with probability (1-1/m)^(load m) = e^-load, two bins both are with
// (1-2/m)^(load m) = e^(-2 load) (1 - load/m), to first order in 1/m. (A key's k
// balls hit different bins, which matters no more than that.)
func OnesVariance(load float64) (mean, variance float64) {
	clear := math.Exp(-load)
	return 1 - clear, clear * (1 - (1+load)*clear)
}

const (
	statKeys   = 150_000
	statProbes = 100_000
	// About 1300 comparisons are made, each of which would fail by chance once
	// in 150,000 times.
	StatZ = 4.5
)

// statKinds are digests of different keys of each kind. BLOOM_URLS names a file
// with a URL on each line, to measure with those too.
func statKinds[H any](t *testing.T, sum func([]byte) H) map[string][]H {
	rnd := rand.New(rand.NewPCG(1, 2))
	kinds := map[string][]H{}
	for i := range uint64(statKeys + statProbes) {
		kinds["integers"] = append(kinds["integers"], sum(binary.LittleEndian.AppendUint64(nil, i)))
		text := make([]byte, 8+rnd.IntN(40))
		for i := range text {
			text[i] = byte(rnd.Uint32())
		}
		kinds["random"] = append(kinds["random"], sum(text))
		kinds["URLs"] = append(kinds["URLs"], sum([]byte(randomURL(rnd, i))))
	}
	if name := os.Getenv("BLOOM_URLS"); name != "" {
		file, err := os.Open(name)
		require.NoError(t, err)
		defer file.Close()
		seen := map[string]bool{}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if !seen[lines.Text()] {
				seen[lines.Text()] = true
				kinds[name] = append(kinds[name], sum(lines.Bytes()))
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

// Statistics measures false positives and ApproxCount at half, full and one
// and a half times the capacity. Given the bits, an absent key is a false
// positive with probability FPR, so that their number is binomial, and its
// square root has a standard deviation of at most 1/2.
func Statistics[H any](t *testing.T, sum func([]byte) H, sets ...Stat[H]) {
	if testing.Short() {
		t.Skip("takes seconds, and minutes in an emulator")
	}
	kinds := statKinds(t, sum)
	for _, set := range sets {
		worst := 0.0
		within := func(z float64, msg string, args ...any) {
			worst = max(worst, math.Abs(z))
			if math.Abs(z) > StatZ {
				t.Errorf("%s: %.1f standard deviations off: %s", set.Name, z, fmt.Sprintf(msg, args...))
			}
		}
		for kind, hs := range kinds {
			for _, n := range []int{1000, 10_000, 100_000} {
				if n+n/2 >= len(hs) {
					continue
				}
				for _, p := range []float64{0.1, 0.01, 0.001} {
					for _, load := range []float64{0.5, 1, 1.5} {
						s, keys := set.Make(uint64(n), p), hs[:int(load*float64(n))]
						cell := fmt.Sprintf("%s, n = %d, p = %v, %d added", kind, n, p, len(keys))
						set.fill(s, keys)
						for _, h := range keys {
							if !s.ContainsHash(h) {
								t.Fatalf("%s: %s: a key is missing", set.Name, cell)
							}
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
							deviation := math.Hypot(math.Sqrt(asked), asked*set.Deviation(s, float64(n)))
							within(max(0, (found-asked)/deviation), "%s: %v found, asked for %.1f", cell, found, asked)
						}
						if set.Count != nil {
							bias, sigma := set.Count(s, float64(len(keys)))
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
		t.Logf("%s: at most %.1f standard deviations off", set.Name, worst)
	}
}

func (set Stat[H]) fill(s StatSet[H], keys []H) {
	if set.Fill != nil {
		set.Fill(s, keys)
		return
	}
	for _, h := range keys {
		s.AddHash(h)
	}
}

func (set Stat[H]) excess(s StatSet[H]) float64 {
	if set.Excess == nil {
		return 0
	}
	return set.Excess(s)
}
