package main

import (
	"reflect"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"github.com/greatroar/blobloom"
)

const blobBloomNote = "blocks of 512 bits; takes digests: xxHash; Add reports nothing"

var blobBloom = row{"blobloom", blobBloomNote, func(n int, p float64) filter {
	f := blobloom.NewOptimized(blobloom.Config{Capacity: uint64(n), FPRate: p})
	return filter{bits: f.NumBits(), reset: f.Clear,
		add: func(ks keys) { ks.forEach(func(key []byte) { f.Add(xxhash.Sum64(key)) }) },
		count: func(ks keys) int {
			return ks.count(func(key []byte) bool { return f.Has(xxhash.Sum64(key)) })
		}}
}}

const blobBloomSyncNote = "takes digests: xxHash; Add reports nothing"

var blobBloomSync = row{"blobloom.SyncFilter", blobBloomSyncNote, func(n int, p float64) filter {
	f := blobloom.NewSyncOptimized(blobloom.Config{Capacity: uint64(n), FPRate: p})
	// A SyncFilter cannot be emptied, and the first additions to a new one would touch new memory,
	// so reset clears the words.
	field := reflect.ValueOf(f).Elem().FieldByName("b")
	words := unsafe.Slice((*uint64)(field.UnsafePointer()), field.Len()*blobloom.BlockBits/64)
	return filter{bits: uint64(len(words)) * 64, reset: func() { clear(words) },
		add: func(ks keys) { ks.forEach(func(key []byte) { f.Add(xxhash.Sum64(key)) }) },
		count: func(ks keys) int {
			return ks.count(func(key []byte) bool { return f.Has(xxhash.Sum64(key)) })
		}}
}}
