package main

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	bitsbloom "github.com/bits-and-blooms/bloom/v3"
	"github.com/cespare/xxhash/v2"
	"github.com/greatroar/blobloom"
)

// A sharer is a filter that goroutines share.
type sharer struct {
	name, note string
	make       func(n int, p float64) filter
}

var sharers = []sharer{
	{"bloom.SyncFilter", "no locks", makeSync},
	{"blocked.SyncFilter", "no locks", makeBlockedSync},
	{"blobloom.SyncFilter", "no locks; takes digests: xxhash; Add reports nothing", makeBlobloomSync},
	{"bits-and-blooms, one lock", "a sync.RWMutex about TestOrAdd and Test", func(n int, p float64) filter { return makeLocked(n, 1, p) }},
	{"bits-and-blooms, 64 locks", "64 filters, each with its sync.RWMutex, picked by xxhash of the key", func(n int, p float64) filter { return makeLocked(n, 64, p) }},
}

// goroutines are the numbers of goroutines that are measured: 1, 2, 4 and 8, as far as
// there are processors for them.
func goroutines() (list []int) {
	for g := 1; g <= min(8, runtime.GOMAXPROCS(0)); g *= 2 {
		list = append(list, g)
	}
	return list
}

// shared returns a row for each sharer and number of goroutines.
func shared() (rows []library) {
	for _, s := range sharers {
		for _, g := range goroutines() {
			rows = append(rows, library{name: sharedName(s, g), make: func(n int, p float64) filter { return parallel(s.make(n, p), g) }})
		}
	}
	return rows
}

func sharedName(s sharer, goroutines int) string { return fmt.Sprintf("%s × %d", s.name, goroutines) }

// parallel returns f with its keys cut into as many parts as there are goroutines. Each
// goroutine does one part.
func parallel(f filter, goroutines int) filter {
	each := func(ks keys, do func(part keys, goroutine int)) {
		var done sync.WaitGroup
		for g := range goroutines {
			from, to := g*ks.len()/goroutines, (g+1)*ks.len()/goroutines
			done.Add(1)
			go func() {
				defer done.Done()
				do(ks.part(from, to-from), g)
			}()
		}
		done.Wait()
	}
	return filter{
		bits:  f.bits,
		reset: f.reset,
		add:   func(ks keys) { each(ks, func(part keys, _ int) { f.add(part) }) },
		count: func(ks keys) (sum int) {
			counts := make([]int, goroutines)
			each(ks, func(part keys, g int) { counts[g] = f.count(part) })
			for _, c := range counts {
				sum += c
			}
			return sum
		},
	}
}

func makeBlobloomSync(n int, p float64) filter {
	f := blobloom.NewSyncOptimized(blobloom.Config{Capacity: uint64(n), FPRate: p})
	// It cannot be emptied, as holiman's cannot.
	field := reflect.ValueOf(f).Elem().FieldByName("b")
	words := unsafe.Slice((*uint64)(field.UnsafePointer()), field.Len()*blobloom.BlockBits/64)
	return filter{
		bits:  uint64(len(words)) * 64,
		reset: func() { clear(words) },
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(xxhash.Sum64(key)) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Has(xxhash.Sum64(key)) }) },
	}
}

// guarded is a filter of bits-and-blooms behind a lock, in cache lines of its own.
type guarded struct {
	mu sync.RWMutex
	f  *bitsbloom.BloomFilter
	_  [128]byte
}

func makeLocked(n, shards int, p float64) filter {
	all := make([]guarded, shards)
	bits := uint64(0)
	for i := range all {
		all[i].f = bitsbloom.NewWithEstimates(uint(n/shards), p)
		bits += uint64(all[i].f.Cap())
	}
	shard := func(key []byte) *guarded {
		if shards == 1 {
			return &all[0]
		}
		return &all[xxhash.Sum64(key)%uint64(shards)]
	}
	return filter{
		bits: bits,
		reset: func() {
			for i := range all {
				all[i].f.ClearAll()
			}
		},
		add: func(ks keys) {
			ks.each(func(key []byte) {
				s := shard(key)
				s.mu.Lock()
				s.f.TestOrAdd(key)
				s.mu.Unlock()
			})
		},
		count: func(ks keys) int {
			return ks.count(func(key []byte) bool {
				s := shard(key)
				s.mu.RLock()
				found := s.f.Test(key)
				s.mu.RUnlock()
				return found
			})
		},
	}
}
