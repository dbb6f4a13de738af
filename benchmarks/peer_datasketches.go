package main

import (
	datasketches "github.com/apache/datasketches-go/filters"
	"github.com/seed79a3ff49/bloom"
)

const dataSketchesNote = "Apache's; UpdateSlice, which reports nothing"

var dataSketches = row{"datasketches-go", dataSketchesNote, func(n int, p float64) filter {
	f, err := datasketches.NewBloomFilterByAccuracy(uint64(n), p)
	bloom.Must(f, err)
	return filter{bits: f.Capacity(), reset: func() { bloom.Must(0, f.Reset()) },
		add: func(ks keys) { ks.forEach(func(key []byte) { f.UpdateSlice(key) }) },
		count: func(ks keys) int {
			return ks.count(func(key []byte) bool { return f.QuerySlice(key) })
		}}
}}
