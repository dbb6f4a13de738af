package main

import (
	"time"
	"unsafe"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// ours are the rows of this library that are also measured without assembly.
var ours = []row{
	{"bloom.Filter", "", func(n int, p float64) filter {
		f := bloom.Must(bloom.New(uint64(n), p))
		return filter{bits: f.M(), reset: f.Reset, fill: batched(f, 0).add,
			add: func(ks keys) { ks.forEach(func(key []byte) { f.Add(key) }) },
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool { return f.Contains(key) })
			}}
	}},
	{"bloom.Filter, batches", batchNote, func(n int, p float64) filter {
		f := bloom.Must(bloom.New(uint64(n), p))
		return batched(f, f.M())
	}},
	{"blocked.Filter", "", func(n int, p float64) filter {
		f := bloom.Must(blocked.New(uint64(n), p))
		return filter{bits: f.M(), reset: f.Reset, fill: batched(f, 0).add,
			add: func(ks keys) { ks.forEach(func(key []byte) { f.Add(key) }) },
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool { return f.Contains(key) })
			}}
	}},
	{"blocked.Filter, batches", "", func(n int, p float64) filter {
		f := bloom.Must(blocked.New(uint64(n), p))
		return batched(f, f.M())
	}},
}

var syncs = []row{
	{"bloom.SyncFilter", "", func(n int, p float64) filter {
		f := bloom.Must(bloom.NewSync(uint64(n), p))
		return filter{bits: f.Stats().M, reset: f.Reset, fill: batched(f, 0).add,
			add: func(ks keys) { ks.forEach(func(key []byte) { f.Add(key) }) },
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool { return f.Contains(key) })
			}}
	}},
	{"blocked.SyncFilter", "", func(n int, p float64) filter {
		f := bloom.Must(blocked.NewSync(uint64(n), p))
		return filter{bits: f.Stats().M, reset: f.Reset, fill: batched(f, 0).add,
			add: func(ks keys) { ks.forEach(func(key []byte) { f.Add(key) }) },
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool { return f.Contains(key) })
			}}
	}},
}

// others are filters of this library that grow or forget.
var others = []row{
	{"growing.Filter", "made for an unknown number of keys", func(_ int, p float64) filter {
		var f *growing.Filter
		empty := func() { f = bloom.Must(growing.New(0, p)) }
		empty()
		return filter{reset: empty,
			add: func(ks keys) { ks.forEach(func(key []byte) { f.Add(key) }) },
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool { return f.Contains(key) })
			}}
	}},
	{"growing.Filter, batches", "", func(_ int, p float64) filter {
		f := bloom.Must(growing.New(0, p))
		return batched(f, 0)
	}},
	{"window.Filter", "remembers the keys of a day", func(n int, p float64) filter {
		f := bloom.Must(window.New(window.Config{N: uint64(n), P: p, Span: 24 * time.Hour}))
		return filter{bits: 8 * uint64(f.SizeBytes()), reset: f.Reset,
			add: func(ks keys) { ks.forEach(func(key []byte) { f.Add(key) }) },
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool { return f.Contains(key) })
			}}
	}},
	{"window.Filter, batches", "", func(n int, p float64) filter {
		f := bloom.Must(window.New(window.Config{N: uint64(n), P: p, Span: 24 * time.Hour}))
		return batched(f, 8*uint64(f.SizeBytes()))
	}},
}

var removers = []row{
	{"cuckoo.Filter", "", func(n int, p float64) filter {
		f := bloom.Must(cuckoo.New(uint64(n), p))
		return filter{bits: 8 * uint64(f.SizeBytes()), reset: f.Reset,
			add: func(ks keys) { ks.forEach(func(key []byte) { f.Insert(key) }) },
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool { return f.Contains(key) })
			},
			remove: func(ks keys) { ks.forEach(func(key []byte) { f.Remove(key) }) }}
	}},
	{"cuckoo.SyncFilter", "", func(n int, p float64) filter {
		f := bloom.Must(cuckoo.NewSync(uint64(n), p))
		return filter{bits: 8 * uint64(f.Stats().SizeBytes), reset: f.Reset,
			add: func(ks keys) { ks.forEach(func(key []byte) { f.Insert(key) }) },
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool { return f.Contains(key) })
			},
			remove: func(ks keys) { ks.forEach(func(key []byte) { f.Remove(key) }) }}
	}},
	{"counting.Filter", "", func(n int, p float64) filter {
		f := bloom.Must(counting.New(uint64(n), p))
		return filter{bits: 8 * uint64(f.SizeBytes()), reset: f.Reset,
			add: func(ks keys) { ks.forEach(func(key []byte) { f.Add(key) }) },
			count: func(ks keys) int {
				return ks.count(func(key []byte) bool { return f.Contains(key) })
			},
			remove: func(ks keys) { ks.forEach(func(key []byte) { f.Remove(key) }) }}
	}},
}

const (
	batchSize = 512
	batchNote = "of 512 keys, hashed by SumUint64Batch or SumBatch"
)

// batched returns a filter that adds and looks up batches of up to batchSize keys. The calls
// through the interface are so few that they cost almost nothing.
func batched(f interface {
	Reset()
	AddBatch([]bool, []bloom.Hash)
	ContainsBatch([]bool, []bloom.Hash)
}, bits uint64) filter {
	slices := make([][]byte, batchSize)
	hs := make([]bloom.Hash, batchSize)
	answers := make([]bool, batchSize)
	each := func(ks keys, visit func([]bloom.Hash) int) (found int) {
		for w, b := ks.width, ks.buf; len(b) >= w; {
			n := min(len(b)/w, batchSize)
			if w == 8 {
				bloom.SumUint64Batch(hs, unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), n))
			} else {
				for i := range slices[:n] {
					slices[i] = b[i*w:][:w:w]
				}
				bloom.SumBatch(hs, slices[:n])
			}
			found += visit(hs[:n])
			b = b[n*w:]
		}
		return found
	}
	return filter{bits: bits, reset: f.Reset,
		add: func(ks keys) {
			each(ks, func(hs []bloom.Hash) int {
				f.AddBatch(answers, hs)
				return 0
			})
		},
		count: func(ks keys) (found int) {
			return each(ks, func(hs []bloom.Hash) int {
				f.ContainsBatch(answers, hs)
				return trues(answers[:len(hs)])
			})
		}}
}

// digested returns the make function of a row that gives a blocked.Filter precomputed digests.
// count returns a function that counts the digests in f.
func digested(count func(f *blocked.Filter) func(hs []bloom.Hash) int) func(int, float64) filter {
	return func(n int, p float64) filter {
		f := bloom.Must(blocked.New(uint64(n), p))
		count := count(f)
		var hs []bloom.Hash
		return filter{bits: f.M(), reset: f.Reset,
			prepare: func(ks keys) {
				hs = hs[:0]
				ks.forEach(func(key []byte) { hs = append(hs, bloom.Sum(key)) })
			},
			add: func(keys) {
				for _, h := range hs {
					f.AddHash(h)
				}
			},
			count: func(keys) int { return count(hs) }}
	}
}

// digestRows measure filters for users who already have the digests of their keys.
var digestRows = []row{
	{"blocked.Filter, digests", "ContainsHash of ready digests", digested(
		func(f *blocked.Filter) func([]bloom.Hash) int {
			return func(hs []bloom.Hash) (found int) {
				for _, h := range hs {
					found += one(f.ContainsHash(h))
				}
				return found
			}
		})},
	{"blocked.Filter, digests, batches", "", digested(
		func(f *blocked.Filter) func([]bloom.Hash) int {
			answers := make([]bool, batchSize)
			return func(hs []bloom.Hash) (found int) {
				for len(hs) > 0 {
					batch := hs[:min(len(hs), batchSize)]
					f.ContainsBatch(answers, batch)
					found += trues(answers[:len(batch)])
					hs = hs[len(batch):]
				}
				return found
			}
		})},
}
