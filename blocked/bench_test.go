package blocked

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed79a3ff49/bloom"
)

// benchKeys are n keys of 8 bytes.
func benchKeys(n int) []byte {
	keys := make([]byte, 0, 8*n)
	for i := range n {
		keys = binary.LittleEndian.AppendUint64(keys, uint64(i))
	}
	return keys
}

// benchmark runs bench for filters of 1, 2 and 3 lines that hold the keys. Some of them fit into
// the second-level cache, and the others into no cache.
func benchmark(b *testing.B, bench func(b *testing.B, f *Filter, keys []byte)) {
	for _, n := range []int{1e5, 1e7} {
		keys := benchKeys(n)
		for _, p := range []float64{1e-2, 1e-6, 1e-9} {
			f := bloom.Must(New(uint64(n), p))
			for i := range n {
				f.AddHash(bloom.SumUint64(uint64(i)))
			}
			b.Run(fmt.Sprintf("n=%.0e/p=%v", float64(n), p), func(b *testing.B) { bench(b, f, keys) })
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	benchmark(b, func(b *testing.B, f *Filter, keys []byte) {
		for i := 0; b.Loop(); {
			f.Add(keys[i : i+8])
			if i += 8; i == len(keys) {
				i = 0
			}
		}
	})
}

// found is the last key that was found. It makes BenchmarkContains branch on the answer, as most
// programs do.
var found int

// BenchmarkContains looks up keys that are present, absent, or either by chance.
func BenchmarkContains(b *testing.B) {
	benchmark(b, func(b *testing.B, f *Filter, present []byte) {
		absent, mixed := make([]byte, len(present)), slices.Clone(present)
		rnd := rand.New(rand.NewPCG(1, 2))
		for i := 0; i < len(absent); i += 8 {
			binary.LittleEndian.PutUint64(absent[i:], 1<<40+uint64(i))
			if rnd.Uint32()%2 == 0 {
				copy(mixed[i:i+8], absent[i:])
			}
		}
		for _, test := range []struct {
			name string
			keys []byte
		}{{"present", present}, {"absent", absent}, {"mixed", mixed}} {
			b.Run("keys="+test.name, func(b *testing.B) {
				for i := 0; b.Loop(); {
					if f.Contains(test.keys[i : i+8]) {
						found = i
					}
					if i += 8; i == len(test.keys) {
						i = 0
					}
				}
			})
		}
	})
}

// Hashing is part of the batches' time.
const benchBatch = 512

func benchBatches(b *testing.B, n int, do func([]bloom.Hash)) {
	ints, hs := make([]uint64, benchBatch), make([]bloom.Hash, benchBatch)
	for i := uint64(0); b.Loop(); i += benchBatch {
		for j := range ints {
			ints[j] = (i + uint64(j)) % uint64(n)
		}
		bloom.SumUint64Batch(hs, ints)
		do(hs)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchBatch, "ns/key")
}

func BenchmarkAddBatch(b *testing.B) {
	benchmark(b, func(b *testing.B, f *Filter, keys []byte) {
		dst := make([]bool, benchBatch)
		benchBatches(b, len(keys)/8, func(hs []bloom.Hash) { f.AddBatch(dst, hs) })
	})
}

func BenchmarkContainsBatch(b *testing.B) {
	dst := make([]bool, benchBatch)
	benchmark(b, func(b *testing.B, f *Filter, keys []byte) {
		benchBatches(b, len(keys)/8, func(hs []bloom.Hash) { f.ContainsBatch(dst, hs) })
	})
}
