package window

import (
	"github.com/seed79a3ff49/bloom"
)

const (
	// ahead is how many keys before its turn the memory of a batch's key is
	// asked for.
	ahead = 4
	// fetchFrom is the number of words from which that pays. In smaller filters,
	// which the caches hold, it takes longer than it saves.
	fetchFrom = 1 << 20
)

// AddBatch adds hs in order and returns how many of them were new; see
// [Filter.Add]. On amd64, where the filter is larger than the processor's caches, that
// takes 30 to 60 % less time than key by key, as the memory of several keys is
// fetched at once.
func (f *Filter) AddBatch(hs []bloom.Hash) (added int) {
	for i, h := range hs {
		f.fetch(hs, i)
		if f.AddHash(h) {
			added++
		}
	}
	return added
}

// ContainsBatch appends ContainsHash of each of hs to dst and returns it. It
// pays as AddBatch does, and allocates only if dst lacks room.
func (f *Filter) ContainsBatch(dst []bool, hs []bloom.Hash) []bool {
	for i, h := range hs {
		f.fetch(hs, i)
		dst = append(dst, f.ContainsHash(h))
	}
	return dst
}

// fetch asks for the memory of the key that is ahead of hs[i]. A lock between two
// keys keeps the processor from reading ahead by itself.
func (f *Filter) fetch(hs []bloom.Hash, i int) {
	if i += ahead; i < len(hs) && len(f.array) >= fetchFrom {
		_, words, x := f.find(hs[i])
		prefetch(&words[0], x, hs[i].H2, f.curve, uint64(len(words))*64, f.k/2)
	}
}
