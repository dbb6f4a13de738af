package main

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
)

// A member of a bank has bankBits bits, bankHashes hash functions and memberKeys keys: one that is
// looked up, and others that are derived from it.
const (
	bankBits   = 512
	bankHashes = 7
	memberKeys = 3
)

// banks find which of n members may hold a key.
var banks = []row{
	{"bank.Bank", "", func(n int, _ float64) filter {
		b := bloom.Must(bank.NewSize(bankBits, bankHashes))
		for range n {
			b.Append()
		}
		var members []int
		return filter{bits: 8 * uint64(b.SizeBytes()), reset: b.Reset,
			add: func(ks keys) {
				for b.Len() < n {
					b.Append()
				}
				eachMember(ks, func(i int, h bloom.Hash) { b.AddHash(i, h) })
			},
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool {
					members = b.Which(members[:0], bloom.Sum(key))
					return len(members) > 0
				})
			}}
	}},
	{"bloom.Filter, one after the other", "", func(n int, _ float64) filter {
		filters := make([]*bloom.Filter, n)
		for i := range filters {
			filters[i] = bloom.Must(bloom.NewSize(bankBits, bankHashes))
		}
		var members []int
		return filter{bits: uint64(n) * bankBits,
			reset: func() {
				for _, f := range filters {
					f.Reset()
				}
			},
			add: func(ks keys) {
				eachMember(ks, func(i int, h bloom.Hash) { filters[i].AddHash(h) })
			},
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool {
					h := bloom.Sum(key)
					members = members[:0]
					for i, f := range filters {
						if f.ContainsHash(h) {
							members = append(members, i)
						}
					}
					return len(members) > 0
				})
			}}
	}},
	{"a map of keys to members", "", func(n int, _ float64) filter {
		var members map[bloom.Hash][]int32
		return filter{
			reset: func() { members = make(map[bloom.Hash][]int32, n) },
			add: func(ks keys) {
				if members == nil {
					members = make(map[bloom.Hash][]int32, n)
				}
				eachMember(ks, func(i int, h bloom.Hash) {
					members[h] = append(members[h], int32(i))
				})
			},
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool { return len(members[bloom.Sum(key)]) > 0 })
			}}
	}},
}

// eachMember calls visit with each key of each member: for member i, key i and the keys that are
// derived from it.
func eachMember(ks keys, visit func(i int, h bloom.Hash)) {
	i := ks.first
	ks.forEach(func(key []byte) {
		h := bloom.Sum(key)
		for seed := range uint64(memberKeys - 1) {
			visit(i, h.Salt(seed))
		}
		visit(i, h)
		i++
	})
}
