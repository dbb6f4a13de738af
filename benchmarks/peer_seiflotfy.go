package main

import cuckoofilter "github.com/seiflotfy/cuckoofilter"

const seiflotfyNote = "its number of buckets is a power of two; 8-bit tags; a rate of about 2 % for any p"

var seiflotfy = row{"seiflotfy/cuckoofilter", seiflotfyNote, func(n int, _ float64) filter {
	f := cuckoofilter.NewFilter(uint(n))
	size := len(f.Encode())
	return filter{bits: 8 * uint64(size), reset: f.Reset,
		add: func(ks keys) { ks.forEach(func(key []byte) { f.Insert(key) }) },
		count: func(ks keys) int {
			return ks.count(func(key []byte) bool { return f.Lookup(key) })
		},
		remove: func(ks keys) { ks.forEach(func(key []byte) { f.Delete(key) }) }}
}}

// cuckooAsEmpty is a cuckoo.Filter with about as many places as seiflotfy's filter, so both are
// similarly full.
var cuckooAsEmpty = row{"cuckoo.Filter, as empty", "as many places as seiflotfy's filter",
	func(n int, p float64) filter {
		places := len(cuckoofilter.NewFilter(uint(n)).Encode()) // one byte each
		return removers[0].make(places*96/100, p)
	}}
