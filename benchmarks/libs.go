package main

import (
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/FastFilter/xorfilter"
	bitsbloom "github.com/bits-and-blooms/bloom/v3"
	"github.com/cespare/xxhash/v2"
	"github.com/dgraph-io/ristretto/v2/z"
	holiman "github.com/holiman/bloomfilter/v2"
	"github.com/ipfs/bbloom"
	parquet "github.com/parquet-go/parquet-go/bloom"
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	boom "github.com/tylertreat/BoomFilters"
)

const rate = 0.01 // the false-positive rate asked of every filter that takes one

// filter is one filter of one library. Its functions loop over the keys
// themselves, so that each calls its library directly, not through an
// interface that would cost the cheap ones most.
type filter struct {
	bits  uint64
	reset func()
	add   func(keys)
	count func(keys) int // how many of the keys it contains; nil if that is another row's
}

// library is a row of the results.
type library struct {
	name string
	note string
	make func(n int) filter
	big  bool // measured at n = 1e9 too
}

// loop does what every row does besides calling its library.
const loop = "loop"

var libraries = []library{
	{name: loop, make: makeLoop, big: true},
	{name: "bloom.Filter", make: makeFilter, big: true},
	{name: "bloom.Filter.Batch", make: makeFilterBatch, big: true, note: "hashes 512 keys, then AddBatch, ContainsBatch"},
	{name: "bloom.SyncFilter", make: makeSync, big: true},
	{name: "blocked.Filter", make: makeBlocked, big: true},
	{name: "blocked.Filter.Batch", make: makeBlockedBatch, big: true, note: "hashes 512 keys, then AddBatch, ContainsBatch"},
	{name: "bits-and-blooms", make: makeBits, big: true, note: "add is TestOrAdd, which reports what bloom's Add does"},
	{name: "bits-and-blooms.Add", make: makeBitsAdd, note: "its Add, which reports nothing"},
	{name: "holiman", make: makeHoliman, big: true, note: "takes digests: xxhash"},
	{name: "BoomFilters", make: makeBoom},
	{name: "ristretto.z", make: makeRistretto, note: "takes digests: its own MemHash"},
	{name: "bbloom", make: makeBbloom, note: "v0.1.0 needs Go 1.25"},
	{name: "parquet-go", make: makeParquet, big: true, note: "split-block, 10 bits per key as in its README; takes digests: xxhash; the code is still that in v0.32.0, which needs a later Go"},
	{name: "parquet-go.InsertBulk", make: makeParquetBulk, note: "hashes 512 keys, then InsertBulk; it has no bulk lookup"},
	{name: "xorfilter", make: makeXor, note: "BinaryFuse8: static, add is building the whole; takes digests: xxhash"},
}

func makeLoop(int) filter {
	touch := func(ks keys) {
		var x byte
		w := ks.width
		for b := ks.buf; len(b) >= w; b = b[w:] {
			key := b[:w:w]
			x ^= key[0]
		}
		runtime.KeepAlive(x)
	}
	return filter{
		reset: func() {},
		add:   touch,
		count: func(ks keys) int { touch(ks); return 0 },
	}
}

func makeFilter(n int) filter {
	f := bloom.Must(bloom.New(uint64(n), rate))
	return filter{
		bits:  f.M(),
		reset: f.Reset,
		add: func(ks keys) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				f.Add(b[:w:w])
			}
		},
		count: func(ks keys) (c int) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				if f.Contains(b[:w:w]) {
					c++
				}
			}
			return c
		},
	}
}

func makeSync(n int) filter {
	f := bloom.Must(bloom.NewSync(uint64(n), rate))
	empty := sync.OnceValue(func() []byte {
		return bloom.Must(bloom.Must(bloom.NewSync(uint64(n), rate)).MarshalBinary())
	})
	return filter{
		bits:  f.M(),
		reset: func() { bloom.Must(0, f.UnmarshalBinary(empty())) }, // touches the memory, as Reset would
		add:   func(ks keys) { addSync(f, ks) },
		count: func(ks keys) (c int) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				if f.Contains(b[:w:w]) {
					c++
				}
			}
			return c
		},
	}
}

func addSync(f *bloom.SyncFilter, ks keys) {
	w := ks.width
	for b := ks.buf; len(b) >= w; b = b[w:] {
		f.Add(b[:w:w])
	}
}

func makeBlocked(n int) filter {
	f := bloom.Must(blocked.New(uint64(n), rate))
	return filter{
		bits:  f.M(),
		reset: f.Reset,
		add: func(ks keys) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				f.Add(b[:w:w])
			}
		},
		count: func(ks keys) (c int) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				if f.Contains(b[:w:w]) {
					c++
				}
			}
			return c
		},
	}
}

func makeFilterBatch(n int) filter {
	f := bloom.Must(bloom.New(uint64(n), rate))
	return batched(f.M(), f.Reset, f.AddBatch, f.ContainsBatch)
}

func makeBlockedBatch(n int) filter {
	f := bloom.Must(blocked.New(uint64(n), rate))
	return batched(f.M(), f.Reset, f.AddBatch, f.ContainsBatch)
}

const batchSize = 512

// batched hashes up to batchSize keys at a time. Calls through function values cost
// nothing here, being so few.
func batched(m uint64, reset func(), add func([]bloom.Hash) int, contains func([]bool, []bloom.Hash) []bool) filter {
	room := make([]bloom.Hash, 0, batchSize)
	dst := make([]bool, 0, batchSize)
	each := func(ks keys, do func([]bloom.Hash)) {
		w := ks.width
		for b := ks.buf; len(b) >= w; {
			hs := room
			for ; len(b) >= w && len(hs) < batchSize; b = b[w:] {
				hs = append(hs, bloom.Sum(b[:w:w]))
			}
			do(hs)
		}
	}
	return filter{
		bits:  m,
		reset: reset,
		add:   func(ks keys) { each(ks, func(hs []bloom.Hash) { add(hs) }) },
		count: func(ks keys) (c int) {
			each(ks, func(hs []bloom.Hash) {
				for _, found := range contains(dst, hs) {
					if found {
						c++
					}
				}
			})
			return c
		},
	}
}

func makeBits(n int) filter {
	f := bitsbloom.NewWithEstimates(uint(n), rate)
	return filter{
		bits:  uint64(f.Cap()),
		reset: func() { f.ClearAll() },
		add: func(ks keys) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				f.TestOrAdd(b[:w:w])
			}
		},
		count: func(ks keys) (c int) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				if f.Test(b[:w:w]) {
					c++
				}
			}
			return c
		},
	}
}

func makeBitsAdd(n int) filter {
	f := bitsbloom.NewWithEstimates(uint(n), rate)
	return filter{
		bits:  uint64(f.Cap()),
		reset: func() { f.ClearAll() },
		add: func(ks keys) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				f.Add(b[:w:w])
			}
		},
	}
}

func makeHoliman(n int) filter {
	f, err := holiman.NewOptimal(uint64(n), rate)
	bloom.Must(f, err)
	// It cannot be emptied, and a new one would pay for new memory in its
	// first additions, as no other row does.
	field := reflect.ValueOf(f).Elem().FieldByName("bits")
	words := unsafe.Slice((*uint64)(field.UnsafePointer()), field.Len())
	return filter{
		bits:  f.M(),
		reset: func() { clear(words) },
		add: func(ks keys) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				f.AddHash(xxhash.Sum64(b[:w:w]))
			}
		},
		count: func(ks keys) (c int) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				if f.ContainsHash(xxhash.Sum64(b[:w:w])) {
					c++
				}
			}
			return c
		},
	}
}

func makeBoom(n int) filter {
	f := boom.NewBloomFilter(uint(n), rate)
	return filter{
		bits:  uint64(f.Capacity()),
		reset: func() { f.Reset() },
		add: func(ks keys) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				f.Add(b[:w:w])
			}
		},
		count: func(ks keys) (c int) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				if f.Test(b[:w:w]) {
					c++
				}
			}
			return c
		},
	}
}

func makeRistretto(n int) filter {
	f := z.NewBloomFilter(float64(n), rate)
	return filter{
		bits:  uint64(f.TotalSize()-5*8) * 8,
		reset: f.Clear,
		add: func(ks keys) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				f.Add(z.MemHash(b[:w:w]))
			}
		},
		count: func(ks keys) (c int) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				if f.Has(z.MemHash(b[:w:w])) {
					c++
				}
			}
			return c
		},
	}
}

func makeBbloom(n int) filter {
	f, err := bbloom.New(float64(n), rate)
	bloom.Must(f, err)
	return filter{
		bits:  uint64(reflect.ValueOf(f).Elem().FieldByName("bitset").Len()) * 64,
		reset: f.Clear,
		add: func(ks keys) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				f.Add(b[:w:w])
			}
		},
		count: func(ks keys) (c int) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				if f.Has(b[:w:w]) {
					c++
				}
			}
			return c
		},
	}
}

func makeParquet(n int) filter {
	f := make(parquet.SplitBlockFilter, parquet.NumSplitBlocksOf(int64(n), 10))
	return filter{
		bits:  uint64(len(f)) * parquet.BlockSize * 8,
		reset: f.Reset,
		add: func(ks keys) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				f.Insert(xxhash.Sum64(b[:w:w]))
			}
		},
		count: func(ks keys) (c int) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				if f.Check(xxhash.Sum64(b[:w:w])) {
					c++
				}
			}
			return c
		},
	}
}

func makeParquetBulk(n int) filter {
	f := make(parquet.SplitBlockFilter, parquet.NumSplitBlocksOf(int64(n), 10))
	room := make([]uint64, 0, batchSize)
	return filter{
		bits:  uint64(len(f)) * parquet.BlockSize * 8,
		reset: f.Reset,
		add: func(ks keys) {
			w := ks.width
			for b := ks.buf; len(b) >= w; {
				hs := room
				for ; len(b) >= w && len(hs) < batchSize; b = b[w:] {
					hs = append(hs, xxhash.Sum64(b[:w:w]))
				}
				f.InsertBulk(hs)
			}
		},
	}
}

func makeXor(n int) filter {
	hs := make([]uint64, n)
	var f *xorfilter.BinaryFuse8
	build := func(ks keys) {
		w := ks.width
		hs := hs[:0]
		for b := ks.buf; len(b) >= w; b = b[w:] {
			hs = append(hs, xxhash.Sum64(b[:w:w]))
		}
		var err error
		f, err = xorfilter.PopulateBinaryFuse8(hs)
		bloom.Must(f, err)
	}
	// Its size depends on n alone: any keys tell.
	build(kinds[0].make(0, n))
	return filter{
		bits:  uint64(len(f.Fingerprints)) * 8,
		reset: func() {},
		add:   build,
		count: func(ks keys) (c int) {
			w := ks.width
			for b := ks.buf; len(b) >= w; b = b[w:] {
				if f.Contains(xxhash.Sum64(b[:w:w])) {
					c++
				}
			}
			return c
		},
	}
}
