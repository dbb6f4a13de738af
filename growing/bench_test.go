package growing

import (
	"fmt"
	"testing"

	"github.com/seed79a3ff49/bloom"
)

// BenchmarkFilter adds n keys to an empty filter, layers included, and looks keys up.
// Keys are 8 bytes, hashed while timed.
func BenchmarkFilter(b *testing.B) {
	for _, p := range []float64{0.01, 0.001} {
		for _, n := range []uint64{1e5, 1e7} {
			name := fmt.Sprintf("n=%.0e/p=%v", float64(n), p)
			f := bloom.Must(New(p))
			b.Run("op=add/"+name, func(b *testing.B) {
				i := uint64(0)
				for b.Loop() {
					if i%n == 0 {
						f = bloom.Must(New(p))
					}
					f.AddHash(bloom.SumUint64(i % n))
					i++
				}
			})
			for i := range n {
				f.AddHash(bloom.SumUint64(i))
			}
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
			bloom.Must(New(0.01))
		}
	})
}
