package main

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"unsafe"
)

// keys holds keys of the same width, one after another. If scratch is not nil, forEach and count
// copy each key there just before its use, to imitate a program that must make its keys first.
type keys struct {
	buf     []byte
	width   int
	scratch []byte
	first   int // the number of keys that slice has cut off the front
}

func (k keys) len() int { return len(k.buf) / k.width }

// forEach calls visit with each key. The compiler inlines forEach, and visit if it is a function
// literal, so the loop has only the calls that visit makes.
func (k keys) forEach(visit func(key []byte)) {
	for b, w := k.buf, k.width; len(b) >= w; b = b[w:] {
		key := b[:w:w]
		if k.scratch != nil {
			copy(k.scratch, key)
			key = k.scratch
		}
		visit(key)
	}
}

// count returns the number of keys for which contains returns true. The compiler inlines it like
// forEach.
func (k keys) count(contains func(key []byte) bool) (n int) {
	for b, w := k.buf, k.width; len(b) >= w; b = b[w:] {
		key := b[:w:w]
		if k.scratch != nil {
			copy(k.scratch, key)
			key = k.scratch
		}
		n += one(contains(key))
	}
	return n
}

// one returns 1 for true, without a branch, because processors would often mispredict it.
func one(answer bool) (n int) {
	if answer {
		n = 1
	}
	return n
}

// trues returns the number of true answers. It reads whole groups of eight at once.
func trues(answers []bool) (n int) {
	for ; len(answers) >= 8; answers = answers[8:] {
		n += bits.OnesCount64(*(*uint64)(unsafe.Pointer(&answers[0])))
	}
	for _, answer := range answers {
		n += one(answer)
	}
	return n
}

// slice returns n keys, beginning with key i.
func (k keys) slice(i, n int) keys {
	k.buf = k.buf[i*k.width : (i+n)*k.width]
	k.first += i
	return k
}

// kind is a kind of keys. put writes the key for an id. Different ids have different keys, except
// with the kind inFilters. If built is true, make sets the scratch of the keys.
type kind struct {
	name  string
	width int
	built bool
	put   func(key []byte, id uint64)
}

var (
	integers = kind{"8 bytes", 8, false, putInteger}
	uuids    = kind{"36 bytes", 36, false, putUUID}
	built    = kind{"36 bytes, each put together just before it is used", 36, true, putUUID}
)

func putInteger(key []byte, id uint64) { binary.LittleEndian.PutUint64(key, mix(id)) }

func putUUID(key []byte, id uint64) {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], mix(id))
	binary.BigEndian.PutUint64(raw[8:], mix(^id))
	hex.Encode(key, raw[:4])
	parts := []struct{ offset, first, end int }{{9, 4, 6}, {14, 6, 8}, {19, 8, 10}, {24, 10, 16}}
	for _, part := range parts {
		key[part.offset-1] = '-'
		hex.Encode(key[part.offset:], raw[part.first:part.end])
	}
}

// absentIDs is the lowest id of keys that are never added.
const absentIDs = 1 << 62

// make returns n keys with the ids from first to first+n-1.
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

// mix scrambles x as SplitMix64 does (Steele, Lea and Flood, Fast Splittable Pseudorandom Number
// Generators, 2014). It is a bijection.
func mix(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
