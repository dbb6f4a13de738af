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

// BenchmarkLayer makes layers. With 1e9 keys at 0.1 % they have 70 MB.
func BenchmarkLayer(b *testing.B) {
	r := &rates{p: 0.001}
	for _, mb := range []float64{0.1, 1, 10, 70} {
		b.Run(fmt.Sprintf("MB=%v", mb), func(b *testing.B) {
			for b.Loop() {
				newLayer(r, 0, uint64(mb*8e6))
			}
		})
	}
}

// BenchmarkBatch adds n keys to an empty filter and looks keys up, in batches of 512
// digests. Keys are 8 bytes, hashed while timed.
func BenchmarkBatch(b *testing.B) {
	const size = 512
	for _, n := range []uint64{1e5, 1e7} {
		full := grown(n, 0.01)
		for _, op := range []string{"add", "present", "absent"} {
			b.Run(fmt.Sprintf("op=%s/n=%.0e/p=0.01", op, float64(n)), func(b *testing.B) {
				var hs []bloom.Hash
				found := make([]bool, size)
				var f *Filter
				i := uint64(0)
				for b.Loop() {
					if i%n == 0 && op == "add" {
						f = bloom.Must(New(0, 0.01))
					}
					key := i % n
					switch op {
					case "present":
						key = key * 0x9e3779b97f4a7c15 % n
					case "absent":
						key += n
					}
					hs = append(hs, bloom.SumUint64(key))
					if i++; len(hs) < size {
						continue
					}
					if op == "add" {
						f.AddBatch(found, hs)
					} else {
						full.ContainsBatch(found, hs)
					}
					hs = hs[:0]
				}
			})
		}
	}
}
