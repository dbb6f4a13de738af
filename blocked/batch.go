package blocked

import (
	"slices"

	"github.com/seed79a3ff49/bloom"
)

// AddBatch adds hs in order and returns how many of them changed the filter.
// Where the filter is larger than the processor's cache, hashing many keys and
// then adding them is more than twice as fast as key by key.
func (f *Filter) AddBatch(hs []bloom.Hash) (added int) {
	if f.lines == 0 && len(hs) > 0 {
		panic(errZero)
	}
	for ; len(hs) > 0; hs = hs[min(len(hs), batchChunk):] {
		chunk := hs[:min(len(hs), batchChunk)]
		if f.fast > 0 {
			added += blocksAdd(f, &chunk[0], len(chunk))
			continue
		}
		f.touch(chunk)
		for i := range chunk {
			if f.add(chunk[i]) {
				added++
			}
		}
	}
	return added
}

// ContainsBatch appends ContainsHash of each of hs to dst and returns it. It
// pays as AddBatch does, and allocates only if dst lacks room.
func (f *Filter) ContainsBatch(dst []bool, hs []bloom.Hash) []bool {
	n := len(dst)
	dst = slices.Grow(dst, len(hs))[:n+len(hs)]
	out := dst[n:]
	if f.lines == 0 {
		clear(out)
		return dst
	}
	for ; len(hs) > 0; hs = hs[min(len(hs), batchChunk):] {
		chunk := hs[:min(len(hs), batchChunk)]
		if f.fast > 0 {
			blocksContain(f, &chunk[0], len(chunk), &out[0])
		} else {
			f.touch(chunk)
			for i := range chunk {
				out[i] = f.contains(chunk[i])
			}
		}
		out = out[len(chunk):]
	}
	return dst
}

// touch reads a word of each block of hs. Nothing waits for these reads, so
// their cache misses overlap, which those of a loop full of arithmetic hardly
// do. It is not inlined because then the reads, whose values nobody uses, would
// go.
//
//go:noinline
func (f *Filter) touch(hs []bloom.Hash) (sum uint64) {
	for i := range hs {
		values := spread(hs[i])
		for l := range f.lines {
			sum += f.words[block(&values, l, len(f.words))]
		}
	}
	return sum
}
