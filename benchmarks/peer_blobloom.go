package main

import (
	"reflect"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"github.com/greatroar/blobloom"
)

var blobBloom = row{"blobloom", "blocks of 512 bits; takes digests: xxHash; Add reports nothing", func(n int, p float64) filter {
	f := blobloom.NewOptimized(blobloom.Config{Capacity: uint64(n), FPRate: p})
	return filter{bits: f.NumBits(), reset: f.Clear,
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(xxhash.Sum64(key)) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Has(xxhash.Sum64(key)) }) }}
}}

var blobBloomSync = row{"blobloom.SyncFilter", "takes digests: xxHash; Add reports nothing", func(n int, p float64) filter {
	f := blobloom.NewSyncOptimized(blobloom.Config{Capacity: uint64(n), FPRate: p})
	// It cannot be emptied, and a new one would pay for new memory in its first additions.
	field := reflect.ValueOf(f).Elem().FieldByName("b")
	words := unsafe.Slice((*uint64)(field.UnsafePointer()), field.Len()*blobloom.BlockBits/64)
	return filter{bits: uint64(len(words)) * 64, reset: func() { clear(words) },
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(xxhash.Sum64(key)) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Has(xxhash.Sum64(key)) }) }}
}}
