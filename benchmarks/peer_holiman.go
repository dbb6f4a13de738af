package main

import (
	"reflect"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	holiman "github.com/holiman/bloomfilter/v2"
	"github.com/seed79a3ff49/bloom"
)

var holimanBloom = row{"holiman", "takes digests: xxHash; Add reports nothing", func(n int, p float64) filter {
	f, err := holiman.NewOptimal(uint64(n), p)
	bloom.Must(f, err)
	// It cannot be emptied, and a new one would pay for new memory in its first additions.
	field := reflect.ValueOf(f).Elem().FieldByName("bits")
	words := unsafe.Slice((*uint64)(field.UnsafePointer()), field.Len())
	return filter{bits: f.M(), reset: func() { clear(words) },
		add:   func(ks keys) { ks.each(func(key []byte) { f.AddHash(xxhash.Sum64(key)) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.ContainsHash(xxhash.Sum64(key)) }) }}
}}
