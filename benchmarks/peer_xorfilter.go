package main

import (
	"github.com/FastFilter/xorfilter"
	"github.com/cespare/xxhash/v2"
	"github.com/seed79a3ff49/bloom"
)

const xorNote = "BinaryFuse8, which is static: add builds the whole filter; takes digests: xxHash"

var xorFilter = row{"xorfilter", xorNote, func(n int, _ float64) filter {
	hs := make([]uint64, 0, n)
	var f *xorfilter.BinaryFuse8
	build := func(ks keys) {
		hs = hs[:0]
		ks.forEach(func(key []byte) { hs = append(hs, xxhash.Sum64(key)) })
		var err error
		f, err = xorfilter.PopulateBinaryFuse8(hs)
		bloom.Must(f, err)
	}
	build(integers.make(0, n)) // bits needs the size, which depends on n alone
	return filter{bits: uint64(len(f.Fingerprints)) * 8, reset: func() {}, add: build, whole: true,
		count: func(ks keys) int {
			return ks.count(func(key []byte) bool { return f.Contains(xxhash.Sum64(key)) })
		}}
}}
