package bloom

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
)

// benchSet is what the benchmarks need of a filter.
type benchSet interface {
	Set
	AddBatch([]Hash) int
	ContainsBatch([]bool, []Hash) []bool
}

// benchSizes are numbers of keys at p = 1 %: in the first-level cache, in the
// second, in the third or none.
var benchSizes = []int{1e4, 1e5, 1e7}

func benchmarkSets(b *testing.B, bench func(b *testing.B, set benchSet, hs []Hash)) {
	for _, n := range benchSizes {
		hs := randomHashes(1, n)
		for _, set := range []struct {
			name string
			new  func() benchSet
		}{
			{"Filter", func() benchSet { return Must(New(uint64(n), 0.01)) }},
			{"SyncFilter", func() benchSet { return Must(NewSync(uint64(n), 0.01)) }},
			{"BlockedFilter", func() benchSet { return Must(NewBlocked(uint64(n), 0.01)) }},
		} {
			b.Run(fmt.Sprintf("type=%s/n=%.0e", set.name, float64(n)), func(b *testing.B) {
				bench(b, set.new(), hs)
			})
		}
	}
}

func BenchmarkAddHash(b *testing.B) {
	benchmarkSets(b, func(b *testing.B, set benchSet, hs []Hash) {
		for i := 0; b.Loop(); i++ {
			set.AddHash(hs[i%len(hs)])
		}
	})
}

func BenchmarkContainsHash(b *testing.B) {
	benchmarkSets(b, func(b *testing.B, set benchSet, hs []Hash) {
		set.AddBatch(hs)
		b.Run("key=present", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				set.ContainsHash(hs[i%len(hs)])
			}
		})
		b.Run("key=absent", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				h := hs[i%len(hs)]
				set.ContainsHash(Hash{h.H2, h.H1})
			}
		})
	})
}

func BenchmarkAddBatch(b *testing.B) {
	benchmarkSets(b, func(b *testing.B, set benchSet, hs []Hash) {
		const batch = 1000
		i := 0
		for b.Loop() {
			set.AddBatch(hs[i : i+batch])
			i = (i + batch) % len(hs)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/key")
	})
}

func BenchmarkContainsBatch(b *testing.B) {
	benchmarkSets(b, func(b *testing.B, set benchSet, hs []Hash) {
		const batch = 1000
		set.AddBatch(hs[:len(hs)/2])
		dst := make([]bool, 0, batch)
		i := 0
		for b.Loop() {
			set.ContainsBatch(dst, hs[i:i+batch])
			i = (i + batch) % len(hs)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/key")
	})
}

func BenchmarkSum(b *testing.B) {
	for _, size := range []int{4, 8, 16, 36, 80, 120, 200, 1000} {
		key := bytes.Repeat([]byte{'k'}, size)
		b.Run(fmt.Sprintf("key=%dB", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				Sum(key)
			}
		})
	}
	b.Run("key=uint64", func(b *testing.B) {
		for i := uint64(0); b.Loop(); i++ {
			SumUint64(i)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	f := Must(New(1e5, 0.01))
	for _, size := range []int{8, 36} {
		b.Run(fmt.Sprintf("n=1e5/key=%dB", size), func(b *testing.B) {
			key := make([]byte, size)
			for i := uint64(0); b.Loop(); i++ {
				binary.LittleEndian.PutUint64(key, i%1e5)
				f.Add(key)
			}
		})
	}
}

func BenchmarkContains(b *testing.B) {
	f := Must(New(1e5, 0.01))
	key := make([]byte, 36)
	for i := range uint64(1e5) {
		binary.LittleEndian.PutUint64(key, i)
		f.Add(key)
		f.Add(key[:8])
	}
	for _, size := range []int{8, 36} {
		for _, offset := range []uint64{0, 1 << 40} {
			b.Run(fmt.Sprintf("n=1e5/key=%dB/present=%t", size, offset == 0), func(b *testing.B) {
				for i := uint64(0); b.Loop(); i++ {
					binary.LittleEndian.PutUint64(key, offset+i%1e5)
					f.Contains(key[:size])
				}
			})
		}
	}
}

// BenchmarkSyncAdd adds new keys from as many goroutines as -cpu says.
func BenchmarkSyncAdd(b *testing.B) {
	for _, n := range benchSizes {
		hs := randomHashes(1, n)
		b.Run(fmt.Sprintf("n=%.0e", float64(n)), func(b *testing.B) {
			s := Must(NewSync(uint64(n), 0.01))
			var next atomic.Uint64
			b.RunParallel(func(pb *testing.PB) {
				i := int(next.Add(1)) * 7919
				for ; pb.Next(); i++ {
					s.AddHash(hs[i%n])
				}
			})
		})
	}
}

func BenchmarkCode(b *testing.B) {
	f := Must(New(1e7, 0.01))
	f.AddBatch(randomHashes(1, 1e5))
	data := Must(f.MarshalBinary())
	buf := make([]byte, 0, len(data))
	var g Filter
	for _, op := range []struct {
		name string
		do   func() error
	}{
		{"AppendBinary", func() error { _, err := f.AppendBinary(buf); return err }},
		{"WriteTo", func() error { _, err := f.WriteTo(io.Discard); return err }},
		{"UnmarshalBinary", func() error { return g.UnmarshalBinary(data) }},
		{"ReadFrom", func() error { _, err := g.ReadFrom(bytes.NewReader(data)); return err }},
	} {
		b.Run("op="+op.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := op.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		Must(New(100, 0.01))
	}
}
