package main

import (
	"github.com/FastFilter/xorfilter"
	"github.com/cespare/xxhash/v2"
	"github.com/seed79a3ff49/bloom"
)

var xorFilter = row{"xorfilter", "BinaryFuse8: static, add is building the whole; takes digests: xxHash", func(n int, _ float64) filter {
	hs := make([]uint64, 0, n)
	var f *xorfilter.BinaryFuse8
	build := func(ks keys) {
		hs = hs[:0]
		ks.each(func(key []byte) { hs = append(hs, xxhash.Sum64(key)) })
		var err error
		f, err = xorfilter.PopulateBinaryFuse8(hs)
		bloom.Must(f, err)
	}
	build(integers.make(0, n)) // its size depends on n alone
	return filter{bits: uint64(len(f.Fingerprints)) * 8, reset: func() {}, add: build,
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Contains(xxhash.Sum64(key)) }) }}
}}
