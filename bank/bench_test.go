package bank

import (
	"fmt"
	"testing"

	"github.com/seed79a3ff49/bloom"
)

const (
	benchBits   = 512
	benchHashes = 7
)

// filled returns a Bank of so many members with so many keys each.
func filled(members, keys int) *Bank {
	b := bloom.Must(NewSize(benchBits, benchHashes))
	for range members {
		i := b.Append()
		for j := range keys {
			b.AddHash(i, bloom.SumUint64(uint64(i*keys+j)))
		}
	}
	return b
}

func BenchmarkWhich(b *testing.B) {
	for _, members := range []int{1e3, 1e5, 1e6} {
		if testing.Short() && members > 1e5 {
			continue
		}
		for _, keys := range []int{3, 50} {
			bank := filled(members, keys)
			for _, op := range []struct {
				name string
				base uint64
			}{{"present", 0}, {"absent", 1 << 40}} {
				b.Run(fmt.Sprintf("members=%d/keys=%d/op=%s", members, keys, op.name), func(b *testing.B) {
					var dst []int
					for i := uint64(0); b.Loop(); i += 7919 {
						dst = bank.Which(dst[:0], bloom.SumUint64(op.base+i%uint64(members*keys)))
					}
				})
			}
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	const members, keys = 100_000, 3
	for b.Loop() {
		filled(members, keys)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*members*keys), "ns/key")
}
