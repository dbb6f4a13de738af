//go:build unix

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cespare/xxhash/v2"
	parquet "github.com/parquet-go/parquet-go/bloom"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// wholeKeys is the largest number of keys that are all added in this comparison. A
// filter for more of them is brought to the same fill by other means first.
const wholeKeys = 20_000_000

// contender is a filter of n keys in this comparison. Each of its functions does all
// keys, which are 8 bytes each, and returns how many it added or found.
type contender struct {
	name     string
	bits     uint64
	add      func(keys []byte) int
	contains func(keys []byte) int
}

// inOrder adds n digests whose blocks follow each other, which takes a few nanoseconds
// each. All blocks then hold the average number of lines.
func inOrder(n uint64, add func([]bloom.Hash)) {
	hs := make([]bloom.Hash, 0, batchSize)
	position, step := uint64(0), math.MaxUint64/n
	for i := range n {
		block, low := position&^(1<<32-1), mix(i)
		hs = append(hs, bloom.NewHash(block|low>>32, block|low&(1<<32-1)))
		position += step
		if len(hs) == batchSize || i == n-1 {
			add(hs)
			hs = hs[:0]
		}
	}
}

// form is the binary form of a bloom.Filter that random words follow.
type form struct {
	io.Reader
	bytes int
}

func (f form) Len() int { return f.bytes }

// halfFull sets every bit of f with a probability of one half. That is how full n keys
// make a filter that was made for n.
func halfFull(f *bloom.Filter) {
	header := bloom.Must(bloom.Must(bloom.NewSize(64, f.K())).MarshalBinary())[:6]
	binary.BigEndian.PutUint32(header[2:], uint32(f.M()/64))
	random := io.MultiReader(bytes.NewReader(header), rand.NewChaCha8([32]byte{}))
	bloom.Must(f.ReadFrom(form{random, int(f.SizeBytes())}))
}

func blockedContenders(n uint64, p float64) []contender {
	b := bloom.Must(blocked.New(n, p))
	f := bloom.Must(bloom.New(n, p))
	batch, fBatch := b, f
	if n > wholeKeys {
		// Keys are others for every row. So rows can share a filter.
		inOrder(n, func(hs []bloom.Hash) { b.AddBatch(nil, hs) })
		halfFull(f)
	} else {
		batch, fBatch = b.Clone(), f.Clone()
	}
	s := blocked.NewSyncFrom(b.Clone())
	hs, dst := make([]bloom.Hash, 0, batchSize), make([]bool, 0, batchSize)
	count := func(found []bool) (c int) {
		for _, yes := range found {
			if yes {
				c++
			}
		}
		return c
	}
	each := func(keys []byte, do func() int) (count int) {
		var ints [batchSize]uint64
		for len(keys) > 0 {
			m := min(len(keys)/8, batchSize)
			for i := range m {
				ints[i] = binary.LittleEndian.Uint64(keys[8*i:])
			}
			hs = bloom.SumUint64Batch(hs[:0], ints[:m])
			count += do()
			keys = keys[8*m:]
		}
		return count
	}
	cs := []contender{
		{fmt.Sprintf("blocked.Filter, %d lines", b.Lines()), b.M(), func(keys []byte) (c int) {
			for ; len(keys) > 0; keys = keys[8:] {
				if b.Add(keys[:8:8]) {
					c++
				}
			}
			return c
		}, func(keys []byte) (c int) {
			for ; len(keys) > 0; keys = keys[8:] {
				if b.Contains(keys[:8:8]) {
					c++
				}
			}
			return c
		}},
		{"blocked.Filter, batches", batch.M(), func(keys []byte) int {
			return each(keys, func() int { return len(batch.AddBatch(dst[:0], hs)) })
		}, func(keys []byte) int {
			return each(keys, func() int { return count(batch.ContainsBatch(dst, hs)) })
		}},
		{"blocked.SyncFilter", s.M(), func(keys []byte) (c int) {
			for ; len(keys) > 0; keys = keys[8:] {
				if s.Add(keys[:8:8]) {
					c++
				}
			}
			return c
		}, func(keys []byte) (c int) {
			for ; len(keys) > 0; keys = keys[8:] {
				if s.Contains(keys[:8:8]) {
					c++
				}
			}
			return c
		}},
		{"bloom.Filter", f.M(), func(keys []byte) (c int) {
			for ; len(keys) > 0; keys = keys[8:] {
				if f.Add(keys[:8:8]) {
					c++
				}
			}
			return c
		}, func(keys []byte) (c int) {
			for ; len(keys) > 0; keys = keys[8:] {
				if f.Contains(keys[:8:8]) {
					c++
				}
			}
			return c
		}},
		{"bloom.Filter, batches", f.M(), func(keys []byte) int {
			return each(keys, func() int { return len(fBatch.AddBatch(dst[:0], hs)) })
		}, func(keys []byte) int {
			return each(keys, func() int { return count(fBatch.ContainsBatch(dst, hs)) })
		}},
	}
	if b.Lines() > 1 {
		return cs
	}
	one, bulk := make(parquet.SplitBlockFilter, b.M()/256), make(parquet.SplitBlockFilter, b.M()/256)
	sums := make([]uint64, 0, batchSize)
	if n > wholeKeys {
		bulk = one
		inOrder(n, func(hs []bloom.Hash) {
			sums = sums[:0]
			for _, h := range hs {
				h1, _ := h.Words()
				sums = append(sums, h1)
			}
			bulk.InsertBulk(sums)
		})
	}
	return append(cs,
		contender{"parquet-go", b.M(), func(keys []byte) (c int) {
			for ; len(keys) > 0; keys = keys[8:] {
				one.Insert(xxhash.Sum64(keys[:8:8]))
			}
			return 0
		}, func(keys []byte) (c int) {
			for ; len(keys) > 0; keys = keys[8:] {
				if one.Check(xxhash.Sum64(keys[:8:8])) {
					c++
				}
			}
			return c
		}},
		contender{"parquet-go.InsertBulk", b.M(), func(keys []byte) (c int) {
			for len(keys) > 0 {
				m := min(len(keys)/8, batchSize)
				sums = sums[:0]
				for i := range m {
					sums = append(sums, xxhash.Sum64(keys[8*i:][:8:8]))
				}
				bulk.InsertBulk(sums)
				keys = keys[8*m:]
			}
			return 0
		}, nil})
}

// cpuTime returns how long, in nanoseconds, this process has computed. Other processes
// add nothing to that, but for what they do to caches.
func cpuTime() float64 {
	var use syscall.Rusage
	bloom.Must(0, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return float64(use.Utime.Nano() + use.Stime.Nano())
}

// TestBlockedTable prints a table of the blocked filters beside the classic one,
// parquet-go's, which has as many blocks as ours, and fastbloom. BLOOM_BLOCKED lists the
// numbers of keys, such as 1e5,1e9, and BLOOM_RATES the rates. Times are medians of
// BLOOM_ROUNDS rounds, in nanoseconds of processor time a key, hashing included.
func TestBlockedTable(t *testing.T) {
	if os.Getenv("BLOOM_BLOCKED") == "" {
		t.Skip("BLOOM_BLOCKED is not set")
	}
	rounds := 9
	if r := os.Getenv("BLOOM_ROUNDS"); r != "" {
		rounds = bloom.Must(strconv.Atoi(r))
	}
	rates := os.Getenv("BLOOM_RATES")
	if rates == "" {
		rates = "1e-2,1e-3,1e-4,1e-5,1e-6,1e-7,1e-8,1e-9"
	}
	var others []foreign
	var counts []uint64
	for _, count := range strings.Split(os.Getenv("BLOOM_BLOCKED"), ",") {
		counts = append(counts, uint64(bloom.Must(strconv.ParseFloat(count, 64))))
	}
	if slices.Min(counts) <= wholeKeys {
		t.Setenv("CPU_TIME", "1") // for fastbloom
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, sources))
		if program, err := buildRust(dir); err != nil {
			t.Logf("fastbloom is left out: %v", err)
		} else {
			others = []foreign{{name: "fastbloom with foldhash, in Rust", args: []string{program, "fold"}}}
		}
	}
	fmt.Println("| n | p | | bits/key | add new | add present | present | absent | false positives |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	for _, n := range counts {
		for _, rate := range strings.Split(rates, ",") {
			debug.FreeOSMemory()
			compareBlocked(n, rate, rounds)
			if n <= wholeKeys {
				compareOthers(n, rate, rounds, others)
			}
		}
	}
}

func compareBlocked(n uint64, rate string, rounds int) {
	some := min(n, 500_000) // keys a round
	added := n
	if n > wholeKeys {
		added = some * uint64(rounds)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	keys := make([]byte, 8*some)
	cs := blockedContenders(n, bloom.Must(strconv.ParseFloat(rate, 64)))
	ns := make([][4][]float64, len(cs))
	found := make([]int, len(cs))
	// measure has each row do keys, which begin at first, from different ones of its own.
	measure := func(op int, first, step uint64) {
		for _, i := range rnd.Perm(len(cs)) {
			do := cs[i].add
			if op >= 2 {
				do = cs[i].contains
			}
			if do == nil {
				continue
			}
			for j := range some {
				binary.LittleEndian.PutUint64(keys[8*j:], uint64(i)<<40+first+j*step)
			}
			start := cpuTime()
			c := do(keys)
			ns[i][op] = append(ns[i][op], (cpuTime()-start)/float64(some))
			if op == 2 && c != int(some) {
				panic(cs[i].name + " did not find keys that were added")
			}
			if op == 3 {
				found[i] += c
			}
		}
	}
	for first := uint64(0); first < added; first += some {
		measure(0, first, 1)
	}
	for range rounds {
		measure(1, 0, added/some)
		measure(2, 0, added/some)
		measure(3, 1<<60+rnd.Uint64N(1<<59), 1)
	}
	for i, c := range cs {
		fmt.Printf("| %s | %s | %s | %.2f |", exponent(n), rate, c.name, float64(c.bits)/float64(n))
		for op := range 4 {
			if len(ns[i][op]) == 0 {
				fmt.Print(" |")
				continue
			}
			slices.Sort(ns[i][op])
			fmt.Printf(" %.1f |", ns[i][op][len(ns[i][op])/2])
		}
		if c.contains == nil {
			fmt.Println(" |")
			continue
		}
		fmt.Printf(" %.2g |\n", float64(found[i])/float64(some)/float64(rounds))
	}
}

// exponent writes 1e9 for a billion.
func exponent(n uint64) string {
	return strings.Replace(strconv.FormatFloat(float64(n), 'e', -1, 64), "e+0", "e", 1)
}

// compareOthers measures programs in other languages. They add all keys in each round.
func compareOthers(n uint64, rate string, rounds int, others []foreign) {
	if n > 1_000_000 {
		rounds = min(rounds, 3)
	}
	peers := startAll(others, newWorkload(kinds[0], int(n), bloom.Must(strconv.ParseFloat(rate, 64)), 500_000))
	for i := range rounds {
		for _, peer := range peers {
			peer.measure(i)
		}
	}
	for _, peer := range peers {
		peer.stop()
		r := peer.result
		fmt.Printf("| %s | %s | %s | %.2f | %.1f | | %.1f | %.1f | %.2g |\n", exponent(n), rate, r.name,
			r.bitsPerKey, r.median(add), r.median(present), r.median(absent), r.rate)
	}
}
