package window

import "github.com/seed79a3ff49/bloom"

// ahead is how many keys before its turn the memory of a batch's key is asked for.
const ahead = 4

// AddBatch adds hs in order and appends to dst for each whether it was new, as AddHash
// returns it. It returns the extended slice and allocates only if dst lacks room. It is
// faster than AddHash one by one where the filter is larger than the processor's caches.
func (f *Filter) AddBatch(dst []bool, hs []bloom.Hash) []bool {
	for i, h := range hs {
		f.fetchAhead(hs, i)
		dst = append(dst, f.AddHash(h))
	}
	return dst
}

// ContainsBatch appends ContainsHash of each of hs to dst and returns it. It
// pays as AddBatch does, and allocates only if dst lacks room.
func (f *Filter) ContainsBatch(dst []bool, hs []bloom.Hash) []bool {
	for i, h := range hs {
		f.fetchAhead(hs, i)
		dst = append(dst, f.ContainsHash(h))
	}
	return dst
}

// fetchAhead asks for the memory of the key that is ahead of hs[i].
func (f *Filter) fetchAhead(hs []bloom.Hash, i int) {
	if i += ahead; i < len(hs) && f.large() {
		_, words, x, step := f.find(hs[i])
		f.fetch(words, x, step)
	}
}

// large reports whether fetch pays. In smaller filters, which the caches hold, it takes
// longer than it saves.
func (f *Filter) large() bool { return len(f.array) >= 1<<20 }

// fetch asks for the memory of all positions of a key at once. The processor reads some
// ahead by itself, but not past a lock, and not as many as the memory can bring.
func (f *Filter) fetch(words []uint64, x, step uint64) {
	prefetch(&words[0], x, step, curve, uint64(len(words))*64, f.k/2)
}
