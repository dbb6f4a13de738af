package main

import boom "github.com/tylertreat/BoomFilters"

var boomFilters = row{"BoomFilters", "Add reports nothing", func(n int, p float64) filter {
	f := boom.NewBloomFilter(uint(n), p)
	return filter{bits: uint64(f.Capacity()), reset: func() { f.Reset() },
		add:   func(ks keys) { ks.forEach(func(key []byte) { f.Add(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Test(key) }) }}
}}
