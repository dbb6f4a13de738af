package main

import (
	"reflect"
	"runtime"
	"unsafe"

	"github.com/FastFilter/xorfilter"
	datasketches "github.com/apache/datasketches-go/filters"
	bitsbloom "github.com/bits-and-blooms/bloom/v3"
	"github.com/cespare/xxhash/v2"
	"github.com/dgraph-io/ristretto/v2/z"
	"github.com/greatroar/blobloom"
	holiman "github.com/holiman/bloomfilter/v2"
	"github.com/ipfs/bbloom"
	parquet "github.com/parquet-go/parquet-go/bloom"
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	boom "github.com/tylertreat/BoomFilters"
)

const rate = 0.01 // the false-positive rate of most tables

// filter is one filter of one library. Its functions loop over the keys
// themselves, so that each calls its library directly, not through an
// interface that would cost the cheap ones most.
type filter struct {
	bits  uint64
	reset func()
	add   func(keys)
	count func(keys) int // how many of the keys it contains; nil if that is another row's
}

// library is a row of the results. Not every row is in every table: static ones are filled
// at once, fixed ones do not take a rate, and big ones are measured at n = 1e9 and at low
// rates, too.
type library struct {
	name               string
	note               string
	make               func(n int, p float64) filter
	big, static, fixed bool
}

// loop does what every row does besides calling its library.
const loop = "loop"

var libraries = []library{
	{name: loop, make: makeLoop, big: true},
	{name: "bloom.Filter", make: makeFilter, big: true},
	{name: "bloom.Filter.Batch", make: batched(bloom.New), big: true, note: batchNote},
	{name: "bloom.SyncFilter", make: makeSync, big: true},
	{name: "bloom.SyncFilter.Batch", make: batched(bloom.NewSync), big: true, note: batchNote},
	{name: "blocked.Filter", make: makeBlocked, big: true},
	{name: "blocked.Filter.Batch", make: batched(blocked.New), big: true, note: batchNote},
	{name: "blocked.SyncFilter", make: makeBlockedSync, big: true},
	{name: "blocked.SyncFilter.Batch", make: batched(blocked.NewSync), big: true, note: batchNote},
	{name: "bits-and-blooms.Add", make: makeBitsAdd, note: "Add, which reports nothing"},
	{name: "bits-and-blooms.TestOrAdd", make: makeBits, big: true, note: "TestOrAdd, which reports what bloom's Add does; its look-ups are Test, as in the row above"},
	{name: "holiman", make: makeHoliman, big: true, note: "takes digests: xxhash; Add reports nothing"},
	{name: "blobloom", make: makeBlobloom, note: "blocks of 512 bits; takes digests: xxhash; Add reports nothing"},
	{name: "datasketches-go", make: makeDatasketches, note: "Apache's; UpdateSlice, which reports nothing, and QuerySlice"},
	{name: "BoomFilters", make: makeBoom, note: "Add reports nothing"},
	{name: "ristretto.z", make: makeRistretto, note: "takes digests: its own MemHash; Add reports nothing"},
	{name: "bbloom", make: makeBbloom, note: "Add reports nothing; v0.1.0 needs Go 1.25"},
	{name: "parquet-go", make: makeParquet, big: true, fixed: true, note: "split-block, 10 bits a key as in its README; takes digests: xxhash; Insert reports nothing; the code is still that in v0.32.0, which needs a later Go"},
	{name: "parquet-go.InsertBulk", make: makeParquetBulk, big: true, fixed: true, note: "hashes 512 keys, then InsertBulk; it has no bulk look-up"},
	{name: "xorfilter", make: makeXor, static: true, fixed: true, note: "BinaryFuse8: static, add is building the whole; takes digests: xxhash"},
}

const batchNote = "512 keys at a time: SumUint64Batch for keys of 8 bytes, SumBatch for others, whose slices are made in the loop, then AddBatch, ContainsBatch"

func makeLoop(int, float64) filter {
	touch := func(ks keys) {
		var x byte
		ks.each(func(key []byte) { x ^= key[0] })
		runtime.KeepAlive(x)
	}
	return filter{
		reset: func() {},
		add:   touch,
		count: func(ks keys) int { touch(ks); return 0 },
	}
}

func makeFilter(n int, p float64) filter {
	f := bloom.Must(bloom.New(uint64(n), p))
	return filter{
		bits:  f.M(),
		reset: f.Reset,
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Contains(key) }) },
	}
}

func makeSync(n int, p float64) filter {
	f := bloom.Must(bloom.NewSync(uint64(n), p))
	return filter{
		bits:  f.M(),
		reset: f.Reset,
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Contains(key) }) },
	}
}

func makeBlockedSync(n int, p float64) filter {
	f := bloom.Must(blocked.NewSync(uint64(n), p))
	return filter{
		bits:  f.M(),
		reset: f.Reset,
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Contains(key) }) },
	}
}

func makeBlocked(n int, p float64) filter {
	f := bloom.Must(blocked.New(uint64(n), p))
	return filter{
		bits:  f.M(),
		reset: f.Reset,
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Contains(key) }) },
	}
}

const batchSize = 512

// batched makes rows that hash up to batchSize keys at a time. Indirect calls cost nothing
// here, being so few.
func batched[F interface {
	M() uint64
	Reset()
	AddBatch([]bool, []bloom.Hash)
	ContainsBatch([]bool, []bloom.Hash)
}](open func(n uint64, p float64) (F, error)) func(n int, p float64) filter {
	return func(n int, p float64) filter {
		f := bloom.Must(open(uint64(n), p))
		slices := make([][]byte, batchSize)
		room, dst := make([]bloom.Hash, batchSize), make([]bool, batchSize)
		each := func(ks keys, do func([]bloom.Hash)) {
			for w, b := ks.width, ks.buf; len(b) >= w; {
				n := min(len(b)/w, batchSize)
				hs := room[:n]
				if w == 8 {
					bloom.SumUint64Batch(hs, unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), n))
				} else {
					for i := range slices[:n] {
						slices[i] = b[i*w:][:w:w]
					}
					bloom.SumBatch(hs, slices[:n])
				}
				do(hs)
				b = b[n*w:]
			}
		}
		return filter{
			bits:  f.M(),
			reset: f.Reset,
			add:   func(ks keys) { each(ks, func(hs []bloom.Hash) { f.AddBatch(dst, hs) }) },
			count: func(ks keys) (c int) {
				each(ks, func(hs []bloom.Hash) {
					f.ContainsBatch(dst, hs)
					for _, found := range dst[:len(hs)] {
						if found {
							c++
						}
					}
				})
				return c
			},
		}
	}
}

func makeBits(n int, p float64) filter {
	f := bitsbloom.NewWithEstimates(uint(n), p)
	return filter{
		bits:  uint64(f.Cap()),
		reset: func() { f.ClearAll() },
		add:   func(ks keys) { ks.each(func(key []byte) { f.TestOrAdd(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Test(key) }) },
	}
}

func makeBitsAdd(n int, p float64) filter {
	f := bitsbloom.NewWithEstimates(uint(n), p)
	return filter{
		bits:  uint64(f.Cap()),
		reset: func() { f.ClearAll() },
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(key) }) },
	}
}

func makeHoliman(n int, p float64) filter {
	f, err := holiman.NewOptimal(uint64(n), p)
	bloom.Must(f, err)
	// It cannot be emptied, and a new one would pay for new memory in its
	// first additions, as no other row does.
	field := reflect.ValueOf(f).Elem().FieldByName("bits")
	words := unsafe.Slice((*uint64)(field.UnsafePointer()), field.Len())
	return filter{
		bits:  f.M(),
		reset: func() { clear(words) },
		add:   func(ks keys) { ks.each(func(key []byte) { f.AddHash(xxhash.Sum64(key)) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.ContainsHash(xxhash.Sum64(key)) }) },
	}
}

func makeBlobloom(n int, p float64) filter {
	f := blobloom.NewOptimized(blobloom.Config{Capacity: uint64(n), FPRate: p})
	return filter{
		bits:  f.NumBits(),
		reset: f.Clear,
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(xxhash.Sum64(key)) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Has(xxhash.Sum64(key)) }) },
	}
}

func makeDatasketches(n int, p float64) filter {
	f, err := datasketches.NewBloomFilterByAccuracy(uint64(n), p)
	bloom.Must(f, err)
	return filter{
		bits:  f.Capacity(),
		reset: func() { bloom.Must(0, f.Reset()) },
		add:   func(ks keys) { ks.each(func(key []byte) { f.UpdateSlice(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.QuerySlice(key) }) },
	}
}

func makeBoom(n int, p float64) filter {
	f := boom.NewBloomFilter(uint(n), p)
	return filter{
		bits:  uint64(f.Capacity()),
		reset: func() { f.Reset() },
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Test(key) }) },
	}
}

func makeRistretto(n int, p float64) filter {
	f := z.NewBloomFilter(float64(n), p)
	return filter{
		bits:  uint64(f.TotalSize()-5*8) * 8,
		reset: f.Clear,
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(z.MemHash(key)) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Has(z.MemHash(key)) }) },
	}
}

func makeBbloom(n int, p float64) filter {
	f, err := bbloom.New(float64(n), p)
	bloom.Must(f, err)
	return filter{
		bits:  uint64(reflect.ValueOf(f).Elem().FieldByName("bitset").Len()) * 64,
		reset: f.Clear,
		add:   func(ks keys) { ks.each(func(key []byte) { f.Add(key) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Has(key) }) },
	}
}

func makeParquet(n int, _ float64) filter {
	f := make(parquet.SplitBlockFilter, parquet.NumSplitBlocksOf(int64(n), 10))
	return filter{
		bits:  uint64(len(f)) * parquet.BlockSize * 8,
		reset: f.Reset,
		add:   func(ks keys) { ks.each(func(key []byte) { f.Insert(xxhash.Sum64(key)) }) },
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Check(xxhash.Sum64(key)) }) },
	}
}

func makeParquetBulk(n int, _ float64) filter {
	f := make(parquet.SplitBlockFilter, parquet.NumSplitBlocksOf(int64(n), 10))
	room := make([]uint64, 0, batchSize)
	return filter{
		bits:  uint64(len(f)) * parquet.BlockSize * 8,
		reset: f.Reset,
		add: func(ks keys) {
			w := ks.width
			for b := ks.buf; len(b) >= w; {
				hs := room[:n]
				for ; len(b) >= w && len(hs) < batchSize; b = b[w:] {
					hs = append(hs, xxhash.Sum64(b[:w:w]))
				}
				f.InsertBulk(hs)
			}
		},
	}
}

func makeXor(n int, _ float64) filter {
	hs := make([]uint64, n)
	var f *xorfilter.BinaryFuse8
	build := func(ks keys) {
		hs := hs[:0]
		ks.each(func(key []byte) { hs = append(hs, xxhash.Sum64(key)) })
		var err error
		f, err = xorfilter.PopulateBinaryFuse8(hs)
		bloom.Must(f, err)
	}
	// Its size depends on n alone: any keys show it.
	build(kinds[0].make(0, n))
	return filter{
		bits:  uint64(len(f.Fingerprints)) * 8,
		reset: func() {},
		add:   build,
		count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Contains(xxhash.Sum64(key)) }) },
	}
}
