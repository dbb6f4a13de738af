package main

import (
	"encoding/binary"
	"runtime"
	"slices"
	"strconv"
	"time"

	bitsbloom "github.com/bits-and-blooms/bloom/v3"
	"github.com/cespare/xxhash/v2"
	holiman "github.com/holiman/bloomfilter/v2"
	parquet "github.com/parquet-go/parquet-go/bloom"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// Programs often put a key together just before they ask a filter. Its bytes are then
// still on their way to memory, in pieces.

// A recipe appends the key with an id to key.
type recipe struct {
	name  string
	build func(key []byte, id uint64) []byte
}

var recipes = []recipe{
	{"a word, 8 bytes", func(key []byte, id uint64) []byte {
		return binary.LittleEndian.AppendUint64(key, mix(id))
	}},
	{"two words, 16 bytes", func(key []byte, id uint64) []byte {
		key = binary.LittleEndian.AppendUint64(key, mix(id))
		return binary.LittleEndian.AppendUint64(key, mix(^id))
	}},
	{"two words and a tag, 20 bytes", func(key []byte, id uint64) []byte {
		key = binary.LittleEndian.AppendUint64(key, mix(id))
		key = binary.LittleEndian.AppendUint64(key, mix(^id))
		return binary.LittleEndian.AppendUint32(key, uint32(id))
	}},
	{"strconv.AppendUint, 19 or 20 digits", func(key []byte, id uint64) []byte {
		return strconv.AppendUint(key, mix(id)|1<<63, 10)
	}},
	{"a path of four parts, some 29 bytes", func(key []byte, id uint64) []byte {
		key = strconv.AppendUint(append(key, "/srv/cache/"...), 10+id%90, 10)
		return strconv.AppendUint(append(key, '/'), mix(id)>>16, 10)
	}},
}

// asked is a filter that is asked for keys, one by one.
type asked struct {
	name     string
	add      func(key []byte)
	contains func(key []byte) bool
}

func makeAsked(n int) []asked {
	f := bloom.Must(bloom.New(uint64(n), rate))
	b := bloom.Must(blocked.New(uint64(n), rate))
	bits := bitsbloom.NewWithEstimates(uint(n), rate)
	h, err := holiman.NewOptimal(uint64(n), rate)
	bloom.Must(h, err)
	p := make(parquet.SplitBlockFilter, parquet.NumSplitBlocksOf(int64(n), 10))
	return []asked{
		{"bloom.Filter", func(key []byte) { f.Add(key) }, f.Contains},
		{"blocked.Filter", func(key []byte) { b.Add(key) }, b.Contains},
		{"bits-and-blooms", func(key []byte) { bits.Add(key) }, bits.Test},
		{"holiman", func(key []byte) { h.AddHash(xxhash.Sum64(key)) }, func(key []byte) bool { return h.ContainsHash(xxhash.Sum64(key)) }},
		{"parquet-go", func(key []byte) { p.Insert(xxhash.Sum64(key)) }, func(key []byte) bool { return p.Check(xxhash.Sum64(key)) }},
	}
}

// freshness is how long look-ups of keys of one recipe take in one filter, in each round.
type freshness struct {
	recipe, filter string
	stored, built  []float64
}

// compareBuilt looks present keys up, those that lie ready and those that are built in
// one buffer for each look-up.
func compareBuilt(rounds int) (all []freshness) {
	const n = 100_000
	for _, r := range recipes {
		filters := makeAsked(n)
		stored := make([][]byte, n)
		for id := range stored {
			stored[id] = r.build(nil, uint64(id))
			for _, f := range filters {
				f.add(stored[id])
			}
		}
		rows := make([]freshness, len(filters))
		buf := make([]byte, 0, 64)
		for range rounds {
			runtime.GC()
			for i, f := range filters {
				rows[i].recipe, rows[i].filter = r.name, f.name
				found := 0
				ask := func(key []byte) {
					if f.contains(key) {
						found++
					}
				}
				rows[i].stored = append(rows[i].stored, each(n, func(id int) { ask(stored[id]) }))
				rows[i].built = append(rows[i].built, each(n, func(id int) { ask(r.build(buf, uint64(id))) }))
				if found != 2*n {
					panic(f.name + " did not find keys that were added")
				}
			}
		}
		all = slices.Concat(all, rows)
	}
	return all
}

// each returns the nanoseconds of a call of do.
func each(n int, do func(id int)) float64 {
	start := time.Now()
	for id := range n {
		do(id)
	}
	return float64(time.Since(start)) / float64(n)
}
