package main

import "github.com/dgraph-io/ristretto/v2/z"

const ristrettoNote = "takes digests: its own MemHash; Add reports nothing"

var ristretto = row{"ristretto.z", ristrettoNote, func(n int, p float64) filter {
	f := z.NewBloomFilter(float64(n), p)
	return filter{bits: uint64(f.TotalSize()-5*8) * 8, reset: f.Clear,
		add: func(ks keys) { ks.forEach(func(key []byte) { f.Add(z.MemHash(key)) }) },
		count: func(ks keys) int {
			return ks.count(func(key []byte) bool { return f.Has(z.MemHash(key)) })
		}}
}}
