package bloom_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

func BenchmarkSum(b *testing.B) {
	for _, size := range []int{4, 8, 16, 36, 80, 120, 200, 1000} {
		key := bytes.Repeat([]byte{'k'}, size)
		b.Run(fmt.Sprintf("key=%dB", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				bloom.Sum(key)
			}
		})
	}
	b.Run("key=uint64", func(b *testing.B) {
		for i := uint64(0); b.Loop(); i++ {
			bloom.SumUint64(i)
		}
	})
}

// BenchmarkSumBatch hashes stored keys, one by one and in batches.
func BenchmarkSumBatch(b *testing.B) {
	const batch = 1000
	dst := make([]bloom.Hash, batch)
	run := func(name string, do func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				do()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/key")
		})
	}
	for _, size := range []int{8, 16, 36} {
		keys, texts := make([][]byte, batch), make([]string, batch)
		for i := range keys {
			keys[i] = bytes.Repeat([]byte{byte(i)}, size)
			texts[i] = string(keys[i])
		}
		run(fmt.Sprintf("key=%dB/by=one", size), func() {
			for i, key := range keys {
				dst[i] = bloom.Sum(key)
			}
		})
		run(fmt.Sprintf("key=%dB/by=batch", size), func() { bloom.SumBatch(dst, keys) })
		run(fmt.Sprintf("key=%dB/by=strings", size), func() { bloom.SumStringBatch(dst, texts) })
	}
	integers := make([]uint64, batch)
	run("key=uint64/by=one", func() {
		for i, key := range integers {
			dst[i] = bloom.SumUint64(key)
		}
	})
	run("key=uint64/by=batch", func() { bloom.SumUint64Batch(dst, integers) })
}

// BenchmarkByBatch hashes stored keys and adds them or looks them up, one by one and in batches.
// The filter is full before.
func BenchmarkByBatch(b *testing.B) {
	const batch = 256
	hs, dst := make([]bloom.Hash, batch), make([]bool, batch)
	for _, n := range []int{1e5, 1e7} {
		pool := min(n, 1e6) / batch * batch
		for _, kind := range []struct {
			name string
			size int // length in bytes, of which 8 differ from key to key; 0 for integers
		}{{"uint64", 0}, {"8B", 8}, {"36B", 36}} {
			f := bloom.Must(bloom.New(uint64(n), 0.01))
			f.AddBatch(nil, filtertest.Digests(1, n-pool))
			for _, op := range []string{"add", "present", "absent"} {
				integers, keys, bytes := make([]uint64, pool), make([][]byte, pool),
					make([]byte, pool*max(8, kind.size))
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
						f.AddHash(bloom.SumUint64(integers[i]))
					}
				}
				run := func(by string, do func(i int)) {
					b.Run(fmt.Sprintf("n=%.0e/op=%s/key=%s/by=%s", float64(n), op, kind.name, by),
						func(b *testing.B) {
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
						if h := bloom.SumUint64(key); op == "add" {
							f.AddHash(h)
						} else {
							f.ContainsHash(h)
						}
					}
				})
				run("batch", func(i int) {
					if kind.size > 0 {
						bloom.SumBatch(hs, keys[i:i+batch])
					} else {
						bloom.SumUint64Batch(hs, integers[i:i+batch])
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

// BenchmarkSyncAdd adds new keys from several goroutines. -cpu sets their number.
func BenchmarkSyncAdd(b *testing.B) {
	for _, n := range []int{1e4, 1e5, 1e7} {
		hs := filtertest.Digests(1, n)
		b.Run(fmt.Sprintf("n=%.0e", float64(n)), func(b *testing.B) {
			s := bloom.Must(bloom.NewSync(uint64(n), 0.01))
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
	f := bloom.Must(bloom.New(1e7, 0.01))
	f.AddBatch(nil, filtertest.Digests(1, 1e5))
	data := bloom.Must(f.MarshalBinary())
	buf := make([]byte, 0, len(data))
	var g bloom.Filter
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

// BenchmarkBatchLength looks digests up and adds known ones, by single calls and in batches of each
// length, in filters within the processor's cache and beyond it.
func BenchmarkBatchLength(b *testing.B) {
	type set interface {
		bloom.Set
		AddBatch([]bool, []bloom.Hash)
		ContainsBatch([]bool, []bloom.Hash)
	}
	const pool = 4200
	for _, n := range []int{1e5, 2e7} {
		for _, typ := range []struct {
			name  string
			start func() set
		}{
			{"bloom", func() set { return bloom.Must(bloom.New(uint64(n), 0.01)) }},
			{"bloom.Sync", func() set { return bloom.Must(bloom.NewSync(uint64(n), 0.01)) }},
			{"blocked", func() set { return bloom.Must(blocked.New(uint64(n), 0.01)) }},
			{"blocked.Sync", func() set { return bloom.Must(blocked.NewSync(uint64(n), 0.01)) }},
			{"growing", func() set { return bloom.Must(growing.New(0, 0.01)) }},
			{"counting", func() set { return bloom.Must(counting.New(uint64(n), 0.01)) }},
		} {
			var f set
			hs, answers := filtertest.Digests(1, n), make([]bool, pool)
			run := func(op string, length int, do func(answers []bool, hs []bloom.Hash)) {
				b.Run(fmt.Sprintf("%s/n=%.0e/op=%s/length=%d", typ.name, float64(n), op, length),
					func(b *testing.B) {
						if f == nil {
							f = typ.start()
							f.AddBatch(nil, hs)
						}
						length := max(1, length)
						for at := 0; b.Loop(); at = (at + pool) % (n - pool) {
							for i := 0; i < pool; i += length {
								end := min(pool, i+length)
								do(answers[i:end], hs[at+i:at+end])
							}
						}
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pool, "ns/key")
					})
			}
			for _, length := range []int{0, 1, 2, 3, 4, 7, 8, 15, 16, 64, 256, 1000} {
				contains := func(found []bool, hs []bloom.Hash) { f.ContainsBatch(found, hs) }
				add := func(added []bool, hs []bloom.Hash) { f.AddBatch(added, hs) }
				if length == 0 { // single calls
					contains = func(found []bool, hs []bloom.Hash) { found[0] = f.ContainsHash(hs[0]) }
					add = func(added []bool, hs []bloom.Hash) { added[0] = f.AddHash(hs[0]) }
				}
				run("contains", length, contains)
				run("add", length, add)
			}
		}
	}
}
