package main

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

type grown interface {
	ContainsBatch(found []bool, hs []bloom.Hash)
	SizeBytes() int64
}

// growths are the filters that recordGrowth measures. make returns a filter and the method that
// adds a batch to it.
var growths = []struct {
	name string
	make func(n uint64, p float64) (grown, func([]bool, []bloom.Hash))
}{
	{"bloom.Filter", func(n uint64, p float64) (grown, func([]bool, []bloom.Hash)) {
		f := bloom.Must(bloom.New(n, p))
		return f, f.AddBatch
	}},
	{"blocked.Filter", func(n uint64, p float64) (grown, func([]bool, []bloom.Hash)) {
		f := bloom.Must(blocked.New(n, p))
		return f, f.AddBatch
	}},
	{"growing.Filter, of unknown n", func(_ uint64, p float64) (grown, func([]bool, []bloom.Hash)) {
		f := bloom.Must(growing.New(0, p))
		return f, f.AddBatch
	}},
	{"growing.Filter, of n", func(n uint64, p float64) (grown, func([]bool, []bloom.Hash)) {
		f := bloom.Must(growing.New(n, p))
		return f, f.AddBatch
	}},
	{"cuckoo.Filter", func(n uint64, p float64) (grown, func([]bool, []bloom.Hash)) {
		f := bloom.Must(cuckoo.New(n, p))
		return f, f.InsertBatch
	}},
	{"counting.Filter", func(n uint64, p float64) (grown, func([]bool, []bloom.Hash)) {
		f := bloom.Must(counting.New(n, p))
		return f, f.AddBatch
	}},
	{"window.Filter", func(n uint64, p float64) (grown, func([]bool, []bloom.Hash)) {
		f := bloom.Must(window.New(window.Config{N: n, P: p, Span: 24 * time.Hour}))
		return f, f.AddBatch
	}},
}

// growth is a section of RESULTS.md. The rows that recordGrowth prints are pasted into it by hand.
//
//go:embed growth.md
var growth string

// recordGrowth prints how the cost of a key grows with the number of keys, from a million up to
// limit. The regular expression selects filters by name. See growth.md.
func recordGrowth(limit float64, only *regexp.Regexp) {
	for _, kind := range growths {
		if !only.MatchString(kind.name) {
			continue
		}
		var times, sizes []string
		for n := uint64(1e6); float64(n) <= limit; n *= 10 {
			debug.FreeOSMemory()
			start := processorTime()
			f, add := kind.make(n, 0.01)
			b := batch{hs: make([]bloom.Hash, turnKeys), answers: make([]bool, turnKeys)}
			for first := uint64(0); first < n; first += turnKeys {
				b.hash(func(i uint64) uint64 { return first + i })
				size := min(turnKeys, n-first)
				add(b.answers[:size], b.hs[:size])
			}
			each := float64(processorTime()-start) / float64(n)
			random := rand.New(rand.NewPCG(1, n))
			present := b.look(f, func(uint64) uint64 { return random.Uint64N(n) }, turnKeys)
			absent := b.look(f, func(uint64) uint64 { return absentIDs + random.Uint64N(absentIDs) }, -1)
			times = append(times, fmt.Sprintf("%.0f / %.0f / %.0f", each, present, absent))
			sizes = append(sizes, fmt.Sprintf("%.1f", 8*float64(f.SizeBytes())/float64(n)))
			fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), kind.name, short(int(n)))
		}
		sizes = slices.Compact(sizes)
		fmt.Printf("| %s | %s | %s |\n", kind.name, strings.Join(times, " | "), strings.Join(sizes, ", "))
	}
}

type batch struct {
	hs      []bloom.Hash
	answers []bool
	keys    [turnKeys]uint64
}

// hash makes the digests of the keys with the ids id(0), id(1) and so on.
func (b *batch) hash(id func(i uint64) uint64) {
	for i := range b.keys {
		b.keys[i] = mix(id(uint64(i)))
	}
	bloom.SumUint64Batch(b.hs, b.keys[:])
}

// look returns the time of a look-up in nanoseconds, with hashing: the tenth percentile of 300
// batches. It panics if the number of keys found in a batch is not want, unless want is -1.
func (b *batch) look(f grown, id func(i uint64) uint64, want int) float64 {
	var times []float64
	for range 300 {
		b.hash(id)
		start := time.Now()
		bloom.SumUint64Batch(b.hs, b.keys[:])
		f.ContainsBatch(b.answers, b.hs)
		times = append(times, float64(time.Since(start))/turnKeys)
		if got := trues(b.answers); want >= 0 && got != want {
			panic(fmt.Sprintf("found %d of %d keys that were added", got, want))
		}
	}
	return percentile(times, tenth)
}
