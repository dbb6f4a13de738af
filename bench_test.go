package bloom

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// benchSet is what the benchmarks need of a filter.
type benchSet interface {
	Set
	AddBatch([]bool, []Hash)
	ContainsBatch([]bool, []Hash)
}

// benchSizes are numbers of keys at p = 1 %: in the first-level cache, in the
// second, in the third or none.
var benchSizes = []int{1e4, 1e5, 1e7}

func benchmarkSets(b *testing.B, bench func(b *testing.B, set benchSet, hs []Hash)) {
	for _, n := range benchSizes {
		hs := testkit.Digests[Hash](1, n)
		for _, set := range []struct {
			name string
			new  func() benchSet
		}{
			{"Filter", func() benchSet { return Must(New(uint64(n), 0.01)) }},
			{"SyncFilter", func() benchSet { return Must(NewSync(uint64(n), 0.01)) }},
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
		set.AddBatch(nil, hs)
		b.Run("key=present", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				set.ContainsHash(hs[i%len(hs)])
			}
		})
		b.Run("key=absent", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				h := hs[i%len(hs)]
				set.ContainsHash(NewHash(h.h2, h.h1))
			}
		})
	})
}

// benchmarkBatches measures do for batches of hs, one after the other.
func benchmarkBatches(b *testing.B, hs []Hash, do func(batch []Hash)) {
	const batch = 1000
	for i := 0; b.Loop(); i = (i + batch) % len(hs) {
		do(hs[i : i+batch])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/key")
}

func BenchmarkAddBatch(b *testing.B) {
	benchmarkSets(b, func(b *testing.B, set benchSet, hs []Hash) {
		dst := make([]bool, 1000)
		benchmarkBatches(b, hs, func(batch []Hash) { set.AddBatch(dst, batch) })
	})
}

func BenchmarkContainsBatch(b *testing.B) {
	benchmarkSets(b, func(b *testing.B, set benchSet, hs []Hash) {
		set.AddBatch(nil, hs[:len(hs)/2])
		dst := make([]bool, 1000)
		benchmarkBatches(b, hs, func(batch []Hash) { set.ContainsBatch(dst, batch) })
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

// BenchmarkSumBatch hashes stored keys, by ones and in batches.
func BenchmarkSumBatch(b *testing.B) {
	const batch = 1000
	dst := make([]Hash, batch)
	run := func(name string, do func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				do()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/key")
		})
	}
	for _, size := range []int{8, 36} {
		keys, texts := make([][]byte, batch), make([]string, batch)
		for i := range keys {
			keys[i] = bytes.Repeat([]byte{byte(i)}, size)
			texts[i] = string(keys[i])
		}
		run(fmt.Sprintf("key=%dB/by=one", size), func() {
			for i, key := range keys {
				dst[i] = Sum(key)
			}
		})
		run(fmt.Sprintf("key=%dB/by=batch", size), func() { SumBatch(dst, keys) })
		run(fmt.Sprintf("key=%dB/by=strings", size), func() { SumStringBatch(dst, texts) })
	}
	integers := make([]uint64, batch)
	run("key=uint64/by=one", func() {
		for i, key := range integers {
			dst[i] = SumUint64(key)
		}
	})
	run("key=uint64/by=batch", func() { SumUint64Batch(dst, integers) })
}

// BenchmarkByBatch adds and looks up stored keys, hashing included, one by one and
// in batches. All the filter's n keys are in it before.
func BenchmarkByBatch(b *testing.B) {
	const batch = 256
	hs, dst := make([]Hash, batch), make([]bool, batch)
	for _, n := range []int{1e5, 1e7} {
		pool := min(n, 1e6) / batch * batch
		for _, kind := range []struct {
			name string
			size int // in bytes, 8 of them different; 0 for integers
		}{{"uint64", 0}, {"8B", 8}, {"36B", 36}} {
			f := Must(New(uint64(n), 0.01))
			f.AddBatch(nil, testkit.Digests[Hash](1, n-pool))
			for _, op := range []string{"add", "present", "absent"} {
				integers, keys, bytes := make([]uint64, pool), make([][]byte, pool), make([]byte, pool*max(8, kind.size))
				for i := range integers {
					integers[i] = uint64(i)
					if op == "absent" {
						integers[i] = ^integers[i]
					}
					keys[i] = bytes[i*kind.size:][:kind.size]
					binary.LittleEndian.PutUint64(bytes[i*kind.size:], integers[i])
					switch {
					case op != "add":
					case kind.size > 0:
						f.Add(keys[i])
					default:
						f.AddHash(SumUint64(integers[i]))
					}
				}
				run := func(by string, do func(i int)) {
					b.Run(fmt.Sprintf("n=%.0e/op=%s/key=%s/by=%s", float64(n), op, kind.name, by), func(b *testing.B) {
						for i := 0; b.Loop(); i = (i + batch) % pool {
							do(i)
						}
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/key")
					})
				}
				run("one", func(i int) {
					if kind.size > 0 {
						for _, key := range keys[i : i+batch] {
							if op == "add" {
								f.Add(key)
							} else {
								f.Contains(key)
							}
						}
						return
					}
					for _, key := range integers[i : i+batch] {
						if h := SumUint64(key); op == "add" {
							f.AddHash(h)
						} else {
							f.ContainsHash(h)
						}
					}
				})
				run("batch", func(i int) {
					if kind.size > 0 {
						SumBatch(hs, keys[i:i+batch])
					} else {
						SumUint64Batch(hs, integers[i:i+batch])
					}
					if op == "add" {
						f.AddBatch(dst, hs)
					} else {
						f.ContainsBatch(dst, hs)
					}
				})
			}
		}
	}
}

// keyMakers return the i-th key, which is stored, or made in buf just before.
// What was just written is on its way to the cache, and can be read only as it
// was written: a read across two writes waits.
func keyMakers() (names []string, makers []func(buf []byte, i uint64) []byte) {
	add := func(name string, maker func(buf []byte, i uint64) []byte) {
		names, makers = append(names, name), append(makers, maker)
	}
	const stored = 1024 // in the first-level cache, or near it
	rnd := rand.New(rand.NewPCG(3, 4))
	random := make([]byte, stored+64)
	for i := range random {
		random[i] = byte(rnd.Uint32())
	}
	le := binary.LittleEndian
	for _, size := range []int{8, 16, 20, 36, 40} {
		keys := make([]byte, stored*size)
		for i := range uint64(stored) {
			le.PutUint64(keys[int(i)*size:], i)
		}
		add(fmt.Sprintf("key=%dB/from=store", size), func(_ []byte, i uint64) []byte {
			return keys[int(i%stored)*size:][:size]
		})
		add(fmt.Sprintf("key=%dB/from=integers", size), func(buf []byte, i uint64) []byte {
			buf = buf[:size]
			le.PutUint64(buf, i%stored)
			n := 8
			for ; n+8 <= size; n += 8 {
				le.PutUint64(buf[n:], i)
			}
			if n < size {
				le.PutUint32(buf[n:], uint32(i))
			}
			return buf
		})
	}
	add("key=varint", func(buf []byte, i uint64) []byte { return binary.AppendUvarint(buf, i%stored<<24) })
	add("key=decimal", func(buf []byte, i uint64) []byte { return strconv.AppendUint(buf, i%stored*1e9, 10) })
	add("key=path", func(buf []byte, i uint64) []byte {
		buf = append(buf, "/var/lib/"...)
		buf = strconv.AppendUint(buf, i%stored, 36)
		return append(buf, "/index.html"...)
	})
	lengths := make([]byte, stored)
	for i := range lengths {
		lengths[i] = byte(1 + rnd.UintN(50))
	}
	add("key=1-50B/from=store", func(_ []byte, i uint64) []byte {
		return random[i%stored:][:lengths[i%stored]]
	})
	add("key=1-50B/from=copy", func(buf []byte, i uint64) []byte {
		return append(buf, random[i%stored:][:lengths[i%stored]]...)
	})
	return names, makers
}

func BenchmarkAdd(b *testing.B) {
	f := Must(New(1e5, 0.01))
	names, makers := keyMakers()
	for i, key := range makers {
		b.Run("n=1e5/"+names[i], func(b *testing.B) {
			buf := make([]byte, 0, 64)
			for i := uint64(0); b.Loop(); i++ {
				f.Add(key(buf, i))
			}
		})
	}
}

func BenchmarkContains(b *testing.B) {
	names, makers := keyMakers()
	for i, key := range makers {
		for _, present := range []bool{true, false} {
			b.Run(fmt.Sprintf("n=1e5/%s/present=%t", names[i], present), func(b *testing.B) {
				f := Must(New(1e5, 0.01))
				f.AddBatch(nil, testkit.Digests[Hash](1, 1e5))
				buf := make([]byte, 0, 64)
				for i := uint64(0); present && i < 1024; i++ {
					f.Add(key(buf, i))
				}
				for i := uint64(0); b.Loop(); i++ {
					f.Contains(key(buf, i))
				}
			})
		}
	}
}

// BenchmarkSyncAdd adds new keys from as many goroutines as -cpu says.
func BenchmarkSyncAdd(b *testing.B) {
	for _, n := range benchSizes {
		hs := testkit.Digests[Hash](1, n)
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
	f.AddBatch(nil, testkit.Digests[Hash](1, 1e5))
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

// BenchmarkNew makes filters of one rate, whose logarithm is computed once.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		Must(New(100, 0.01))
	}
}
