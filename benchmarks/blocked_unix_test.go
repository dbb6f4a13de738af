//go:build unix

package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cespare/xxhash/v2"
	parquet "github.com/parquet-go/parquet-go/bloom"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// contender is a filter of n keys in this comparison. Each of its functions does all
// keys, which are 8 bytes each, and returns how many it added or found.
type contender struct {
	name     string
	bits     uint64
	add      func(keys []byte) int
	contains func(keys []byte) int
}

func blockedContenders(n uint64, p float64) []contender {
	b := bloom.Must(blocked.New(n, p))
	batch := bloom.Must(blocked.New(n, p))
	s := bloom.Must(blocked.NewSync(n, p))
	f := bloom.Must(bloom.New(n, p))
	hs, dst := make([]bloom.Hash, 0, batchSize), make([]bool, 0, batchSize)
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
			return each(keys, func() int { return batch.AddBatch(hs) })
		}, func(keys []byte) int {
			return each(keys, func() (c int) {
				for _, found := range batch.ContainsBatch(dst, hs) {
					if found {
						c++
					}
				}
				return c
			})
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
	}
	if b.Lines() > 1 {
		return cs
	}
	one, bulk := make(parquet.SplitBlockFilter, b.M()/256), make(parquet.SplitBlockFilter, b.M()/256)
	sums := make([]uint64, 0, batchSize)
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

// TestBlockedTable prints a table of the blocked filters beside the classic one and
// parquet-go's, which has as many blocks as ours. BLOOM_BLOCKED lists the numbers of
// keys, such as 1e5,1e7, and BLOOM_RATES the rates. Times are medians of BLOOM_ROUNDS
// rounds, in nanoseconds of processor time a key, hashing included.
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
	fmt.Println("| n | p | | bits/key | add new | add present | present | absent | false positives |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	for _, count := range strings.Split(os.Getenv("BLOOM_BLOCKED"), ",") {
		n := uint64(bloom.Must(strconv.ParseFloat(count, 64)))
		some := min(n, 500_000) // keys a round
		rnd := rand.New(rand.NewPCG(1, 2))
		fill := func(keys []byte, first, step uint64) {
			for i := range uint64(len(keys)) / 8 {
				binary.LittleEndian.PutUint64(keys[8*i:], first+i*step)
			}
		}
		keys := make([]byte, 8*some)
		for _, rate := range strings.Split(rates, ",") {
			p := bloom.Must(strconv.ParseFloat(rate, 64))
			cs := blockedContenders(n, p)
			ns := make([][4][]float64, len(cs))
			found := make([]int, len(cs))
			measure := func(op int, tell bool) {
				for _, i := range rnd.Perm(len(cs)) {
					do := cs[i].add
					if op >= 2 {
						do = cs[i].contains
					}
					if do == nil {
						continue
					}
					start := cpuTime()
					c := do(keys)
					ns[i][op] = append(ns[i][op], (cpuTime()-start)/float64(len(keys)/8))
					if tell {
						found[i] += c
					}
				}
			}
			for first := uint64(0); first < n; first += some {
				fill(keys, first, 1)
				measure(0, false)
			}
			for range rounds {
				fill(keys, 0, n/some)
				measure(1, false)
				measure(2, false)
				fill(keys, 1<<40+rnd.Uint64N(1<<40), 1)
				measure(3, true)
			}
			for i, c := range cs {
				fmt.Printf("| %s | %s | %s | %.2f |", count, rate, c.name, float64(c.bits)/float64(n))
				for op := range 4 {
					if len(ns[i][op]) == 0 {
						fmt.Print(" |")
						continue
					}
					slices.Sort(ns[i][op])
					fmt.Printf(" %.1f |", ns[i][op][len(ns[i][op])/2])
				}
				fmt.Printf(" %.2g |\n", float64(found[i])/float64(some)/float64(rounds))
			}
		}
	}
}
