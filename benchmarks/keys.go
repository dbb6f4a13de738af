package main

import (
	"encoding/binary"
	"encoding/hex"
)

// keys are keys of one width, back to back. Where there is a scratch, each key is put together in
// it just before it is used, as a program does that has no keys ready.
type keys struct {
	buf     []byte
	width   int
	scratch []byte
}

func (k keys) len() int { return len(k.buf) / k.width }

// each calls do with each key. The compiler inlines it, and do where that is a function
// literal: the loop has no other calls than do has.
func (k keys) each(do func(key []byte)) {
	for b, w := k.buf, k.width; len(b) >= w; b = b[w:] {
		key := b[:w:w]
		if k.scratch != nil {
			copy(k.scratch, key)
			key = k.scratch
		}
		do(key)
	}
}

// count returns how many keys it has. The compiler inlines it, as each.
func (k keys) count(has func(key []byte) bool) (n int) {
	for b, w := k.buf, k.width; len(b) >= w; b = b[w:] {
		key := b[:w:w]
		if k.scratch != nil {
			copy(k.scratch, key)
			key = k.scratch
		}
		if has(key) {
			n++
		}
	}
	return n
}

// part returns n keys from the i-th on.
func (k keys) part(i, n int) keys {
	k.buf = k.buf[i*k.width : (i+n)*k.width]
	return k
}

// kind is what keys look like. put writes one key that is unique to id.
type kind struct {
	name  string
	width int
	built bool
	put   func(key []byte, id uint64)
}

var (
	integers = kind{"8 bytes", 8, false, func(key []byte, id uint64) { binary.LittleEndian.PutUint64(key, mix(id)) }}
	uuids    = kind{"36 bytes", 36, false, putUUID}
	built    = kind{"36 bytes, each put together just before it is used", 36, true, putUUID}
)

func putUUID(key []byte, id uint64) {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], mix(id))
	binary.BigEndian.PutUint64(raw[8:], mix(^id))
	hex.Encode(key, raw[:4])
	for _, part := range []struct{ at, from, to int }{{9, 4, 6}, {14, 6, 8}, {19, 8, 10}, {24, 10, 16}} {
		key[part.at-1] = '-'
		hex.Encode(key[part.at:], raw[part.from:part.to])
	}
}

// absentIDs is where the ids of keys that are never added begin.
const absentIDs = 1 << 62

// make returns n keys with ids from first on.
func (k kind) make(first uint64, n int) keys {
	ks := keys{buf: make([]byte, n*k.width), width: k.width}
	if k.built {
		ks.scratch = make([]byte, k.width)
	}
	for i := range n {
		k.put(ks.buf[i*k.width:][:k.width], first+uint64(i))
	}
	return ks
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
