package main

import (
	"sync"

	bitsbloom "github.com/bits-and-blooms/bloom/v3"
	"github.com/cespare/xxhash/v2"
)

const testOrAdd = "TestOrAdd, which reports whether the key was new, as bloom's Add does"

var bitsAndBlooms = row{"bits-and-blooms", testOrAdd, func(n int, p float64) filter {
	f := bitsbloom.NewWithEstimates(uint(n), p)
	return filter{bits: uint64(f.Cap()), reset: func() { f.ClearAll() },
		add:   func(ks keys) { ks.forEach(func(key []byte) { f.TestOrAdd(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Test(key) }) }}
}}

const addNote = "reports nothing"

var bitsAndBloomsAdd = row{"bits-and-blooms, Add", addNote, func(n int, p float64) filter {
	f := bitsbloom.NewWithEstimates(uint(n), p)
	return filter{bits: uint64(f.Cap()), reset: func() { f.ClearAll() },
		add:   func(ks keys) { ks.forEach(func(key []byte) { f.Add(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Test(key) }) }}
}}

// locked is a bits-and-blooms filter with a lock. The padding keeps locks in different cache lines.
type locked struct {
	mu sync.RWMutex
	f  *bitsbloom.BloomFilter
	_  [128]byte
}

const (
	manyName  = "bits-and-blooms, 64 locks"
	manyLocks = "64 filters, each with a sync.RWMutex, picked by xxHash"
)

var bitsAndBloomsLocked = row{manyName, manyLocks, func(n int, p float64) filter {
	var all [64]locked
	bits := uint64(0)
	for i := range all {
		all[i].f = bitsbloom.NewWithEstimates(uint(n/len(all)), p)
		bits += uint64(all[i].f.Cap())
	}
	shard := func(key []byte) *locked { return &all[xxhash.Sum64(key)%uint64(len(all))] }
	return filter{bits: bits,
		reset: func() {
			for i := range all {
				all[i].f.ClearAll()
			}
		},
		add: func(ks keys) {
			ks.forEach(func(key []byte) {
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
		}}
}}
