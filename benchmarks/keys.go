package main

import (
	"encoding/binary"
	"encoding/hex"
)

// keys are keys of one width, back to back.
type keys struct {
	buf   []byte
	width int
}

func (k keys) len() int { return len(k.buf) / k.width }

// each calls do with each key. The compiler inlines it, and do where that is a function
// literal: the loop has no other calls than do has.
func (k keys) each(do func(key []byte)) {
	for b, w := k.buf, k.width; len(b) >= w; b = b[w:] {
		do(b[:w:w])
	}
}

// count returns how many keys it has. The compiler inlines it, as each.
func (k keys) count(has func(key []byte) bool) (n int) {
	for b, w := k.buf, k.width; len(b) >= w; b = b[w:] {
		if has(b[:w:w]) {
			n++
		}
	}
	return n
}

// part returns n keys from the i-th on.
func (k keys) part(i, n int) keys {
	return keys{k.buf[i*k.width : (i+n)*k.width], k.width}
}

// kind is what keys look like. put writes one key that is unique to id.
type kind struct {
	name  string
	width int
	put   func(key []byte, id uint64)
}

var kinds = []kind{
	{"8B", 8, func(key []byte, id uint64) {
		binary.LittleEndian.PutUint64(key, mix(id))
	}},
	{"36B", 36, func(key []byte, id uint64) {
		var raw [16]byte
		binary.BigEndian.PutUint64(raw[:], mix(id))
		binary.BigEndian.PutUint64(raw[8:], mix(^id))
		hex.Encode(key, raw[:4])
		for _, part := range []struct{ at, from, to int }{{9, 4, 6}, {14, 6, 8}, {19, 8, 10}, {24, 10, 16}} {
			key[part.at-1] = '-'
			hex.Encode(key[part.at:], raw[part.from:part.to])
		}
	}},
	{"80B", 80, func(key []byte, id uint64) {
		var raw [8]byte
		copy(key, "https://www.example.com/catalogue/items/________________/reviews?lang=en&page=__")
		binary.BigEndian.PutUint64(raw[:], mix(id))
		hex.Encode(key[40:], raw[:])
		hex.Encode(key[78:], raw[:1])
	}},
}

// absentIDs is where the ids of keys that are never added begin.
const absentIDs = 1 << 62

// make returns n keys with ids from first on.
func (k kind) make(first uint64, n int) keys {
	ks := keys{make([]byte, n*k.width), k.width}
	k.fill(ks, first)
	return ks
}

// fill overwrites ks by keys with ids from first on.
func (k kind) fill(ks keys, first uint64) {
	for i := range ks.len() {
		k.put(ks.buf[i*k.width:][:k.width], first+uint64(i))
	}
}

// mix is the output function of SplitMix64 (Steele, Lea and Flood, Fast
// Splittable Pseudorandom Number Generators, 2014): a bijection, so that keys
// made of different ids differ.
func mix(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
