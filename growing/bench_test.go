package growing

import (
	"fmt"
	"testing"

	"github.com/seed79a3ff49/bloom"
)

// grown returns a filter of the keys below n.
func grown(n uint64, p float64) *Filter {
	f := bloom.Must(New(0, p))
	hs := make([]bloom.Hash, 0, batchSize)
	for i := range n {
		if hs = append(hs, bloom.SumUint64(i)); len(hs) == cap(hs) || i == n-1 {
			f.AddBatch(nil, hs)
			hs = hs[:0]
		}
	}
	return f
}

// BenchmarkFilter adds n keys to an empty filter, layers included, and looks keys up.
// Keys are 8 bytes, hashed while timed.
func BenchmarkFilter(b *testing.B) {
	for _, p := range []float64{0.01, 0.001} {
		for _, n := range []uint64{1e5, 1e7} {
			name := fmt.Sprintf("n=%.0e/p=%v", float64(n), p)
			f := bloom.Must(New(0, p))
			b.Run("op=add/"+name, func(b *testing.B) {
				i := uint64(0)
				for b.Loop() {
					if i%n == 0 {
						f = bloom.Must(New(0, p))
					}
					f.AddHash(bloom.SumUint64(i % n))
					i++
				}
			})
			f = grown(n, p)
			b.Run("op=present/"+name, func(b *testing.B) {
				i := uint64(0)
				for b.Loop() {
					f.ContainsHash(bloom.SumUint64(i * 0x9e3779b97f4a7c15 % n))
					i++
				}
			})
			b.Run("op=absent/"+name, func(b *testing.B) {
				i := n
				for b.Loop() {
					f.ContainsHash(bloom.SumUint64(i))
					i++
				}
			})
		}
	}
	b.Run("op=new", func(b *testing.B) {
		for b.Loop() {
			bloom.Must(New(0, 0.01))
		}
	})
}
