package main

import (
	"encoding/binary"
	"runtime"
	"sync"
	"unsafe"

	bitsbloom "github.com/bits-and-blooms/bloom/v3"
	"github.com/cespare/xxhash/v2"
	"github.com/greatroar/blobloom"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// The highest filterBits bits of a key select its filter, so look-ups go from filter to filter at
// random. Each filter has filterKeys keys.
const (
	filterBits = 10
	filters    = 1 << filterBits
)

var filterKeys uint64 = 100_000 // fewer in tests

// inFilters are keys of 8 bytes. A key is in one of many filters if its id is below absentIDs, and
// otherwise in none.
var inFilters = kind{"8 bytes", 8, false, func(key []byte, id uint64) {
	x := mix(id)
	low := mix(x)
	if id < absentIDs {
		low = x % filterKeys
	}
	binary.LittleEndian.PutUint64(key, filterKey(x>>(64-filterBits), low))
}}

// filterKey returns the key with this number in a filter.
func filterKey(filter, number uint64) uint64 {
	return filter<<(64-filterBits) | mix(filter*filterKeys+number)>>filterBits
}

// manyRow returns a row of many filters. fill returns a filter with keys, and the number of its
// bits; filling is not measured.
func manyRow[F any](
	name string,
	fill func(keys []uint64, p float64) (f F, bits uint64),
	count func(all []F, ks keys) int,
) row {
	return row{name, "", func(n int, p float64) filter {
		all := make([]F, filters)
		bits := make([]uint64, filters)
		workers := uint64(runtime.GOMAXPROCS(0))
		var wait sync.WaitGroup
		for worker := range workers {
			wait.Add(1)
			go func() {
				defer wait.Done()
				numbers := make([]uint64, filterKeys)
				for j := worker; j < filters; j += workers {
					for i := range numbers {
						numbers[i] = filterKey(j, uint64(i))
					}
					all[j], bits[j] = fill(numbers, p)
				}
			}()
		}
		wait.Wait()
		return filter{
			bits:   bits[0] * uint64(n) / filterKeys, // all filters have the same size
			static: true,
			count:  func(ks keys) int { return count(all, ks) },
		}
	}}
}

// manyFilters returns the rows of the table that measures many filters. Each key is looked up
// alone, because a batch is for one filter.
func manyFilters() []row {
	number := func(key []byte) uint64 {
		return binary.LittleEndian.Uint64(key) >> (64 - filterBits)
	}
	bytesOf := func(key *uint64) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(key)), 8) }
	return []row{
		manyRow("bloom.Filter", func(ks []uint64, p float64) (*bloom.Filter, uint64) {
			f := bloom.Must(bloom.New(filterKeys, p))
			for i := range ks {
				f.Add(bytesOf(&ks[i]))
			}
			return f, f.M()
		}, func(all []*bloom.Filter, ks keys) int {
			return ks.count(func(key []byte) bool { return all[number(key)].Contains(key) })
		}),
		manyRow("blocked.Filter", func(ks []uint64, p float64) (*blocked.Filter, uint64) {
			f := bloom.Must(blocked.New(filterKeys, p))
			for i := range ks {
				f.Add(bytesOf(&ks[i]))
			}
			return f, f.M()
		}, func(all []*blocked.Filter, ks keys) int {
			return ks.count(func(key []byte) bool { return all[number(key)].Contains(key) })
		}),
		manyRow("bits-and-blooms", func(ks []uint64, p float64) (*bitsbloom.BloomFilter, uint64) {
			f := bitsbloom.NewWithEstimates(uint(filterKeys), p)
			for i := range ks {
				f.Add(bytesOf(&ks[i]))
			}
			return f, uint64(f.Cap())
		}, func(all []*bitsbloom.BloomFilter, ks keys) int {
			return ks.count(func(key []byte) bool { return all[number(key)].Test(key) })
		}),
		manyRow("blobloom", func(ks []uint64, p float64) (*blobloom.Filter, uint64) {
			f := blobloom.NewOptimized(blobloom.Config{Capacity: filterKeys, FPRate: p})
			for i := range ks {
				f.Add(xxhash.Sum64(bytesOf(&ks[i])))
			}
			return f, f.NumBits()
		}, func(all []*blobloom.Filter, ks keys) int {
			return ks.count(func(key []byte) bool {
				return all[number(key)].Has(xxhash.Sum64(key))
			})
		}),
	}
}
