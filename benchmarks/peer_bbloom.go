package main

import (
	"reflect"

	"github.com/ipfs/bbloom"
	"github.com/seed79a3ff49/bloom"
)

var ipfsBbloom = row{"bbloom", "Add reports nothing", func(n int, p float64) filter {
	f, err := bbloom.New(float64(n), p)
	bloom.Must(f, err)
	words := reflect.ValueOf(f).Elem().FieldByName("bitset").Len()
	return filter{bits: uint64(words) * 64, reset: f.Clear,
		add:   func(ks keys) { ks.forEach(func(key []byte) { f.Add(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Has(key) }) }}
}}
