package main

import (
	"reflect"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	holiman "github.com/holiman/bloomfilter/v2"
	"github.com/seed79a3ff49/bloom"
)

const holimanBloomNote = "takes digests: xxHash; Add reports nothing"

var holimanBloom = row{"holiman", holimanBloomNote, func(n int, p float64) filter {
	f, err := holiman.NewOptimal(uint64(n), p)
	bloom.Must(f, err)
	// The library cannot empty a filter, and the first additions to a new filter would touch new
	// memory, so reset clears the words.
	field := reflect.ValueOf(f).Elem().FieldByName("bits")
	words := unsafe.Slice((*uint64)(field.UnsafePointer()), field.Len())
	return filter{bits: f.M(), reset: func() { clear(words) },
		add: func(ks keys) { ks.forEach(func(key []byte) { f.AddHash(xxhash.Sum64(key)) }) },
		count: func(ks keys) int {
			return ks.count(func(key []byte) bool { return f.ContainsHash(xxhash.Sum64(key)) })
		}}
}}
