//go:build !purego && !race && !msan && !asan

package bloom

//lint:file-ignore U1000 Assembly jumps to the portable forms.

// See batch.go for the contract. Filters of Mitz32 and of one word, and processors without AVX2,
// have the portable forms.
//
// A call goes into assembly first, and assembly jumps to Go where it must. Go could decide
// first, as hash/crc32 does, but then each call would be two: Go already calls assembly
// through a stub that it makes itself. A look-up in a small filter takes only a few times as
// long as a call.
//
// Single keys take about four fifths of the time in a filter that is in the cache, and about two
// thirds in a larger one; see benchmarks.
const assembly = true

//go:noescape
func filterAdd(f *filter, key []byte) bool

//go:noescape
func filterAddHash(f *filter, h Hash) bool

//go:noescape
func filterContains(f *filter, key []byte) bool

//go:noescape
func filterContainsHash(f *filter, h Hash) bool

func filterAddPortable(f *filter, key []byte) bool {
	h := Sum(key)
	if inAssembly(f) {
		return filterAddHash(f, h)
	}
	return f.add(h)
}

func filterContainsPortable(f *filter, key []byte) bool {
	h := Sum(key)
	if inAssembly(f) {
		return filterContainsHash(f, h)
	}
	return f.contains(h)
}

func filterAddHashPortable(f *filter, h Hash) bool      { return f.add(h) }
func filterContainsHashPortable(f *filter, h Hash) bool { return f.contains(h) }

// inAssembly reports whether assembly is for f.
func inAssembly(f *filter) bool {
	return useAVX2 && f.strategy == Mitz64 && f.k > 0 && len(f.bits.words) >= 2
}

const (
	// fetchWords is the least number of words for which it pays to fetch them ahead of
	// their use. Smaller filters are in a cache that is near enough.
	fetchWords = 4 << 20 / 8
	// firstBits is how many bits of a key a look-up fetches at first. Most absent keys end
	// within them.
	firstBits = 4
	// slots is how many bits of four keys assembly has room for.
	slots = 256
)

// addMany is AddBatch, and that of a SyncFilter if shared.
func addMany(f *filter, shared bool, dst []bool, hs []Hash) (done int) {
	if shared && f.k > 64 {
		return 0
	}
	for n := f.next(hs); n > 0; n = f.next(hs[done:]) {
		fetch := f.fetch(f.k)
		if shared {
			syncAddFours(f, &hs[done], n/4, fetch, &dst[done])
		} else {
			filterAddFours(f, &hs[done], n/4, fetch, &dst[done])
		}
		done += n
	}
	return done
}

func containsMany(f *filter, dst []bool, hs []Hash) (done int) {
	for n := f.next(hs); n > 0; n = f.next(hs[done:]) {
		containsChunk(f, dst[done:], hs[done:done+n])
		done += n
	}
	return done
}

//go:noinline
func containsChunk(f *filter, dst []bool, hs []Hash) {
	fetch := f.fetch(min(f.k, firstBits))
	if fetch > 0 {
		filterContainsFetched(f, &hs[0], len(hs)/4, fetch, &dst[0])
	} else {
		filterContainsFours(f, &hs[0], len(hs)/4, &dst[0])
	}
}

// next returns how many digests assembly does at once, a multiple of four.
func (f *filter) next(hs []Hash) int {
	if !inAssembly(f) {
		return 0
	}
	return min(chunk, 4*(slots/f.k), len(hs)&^3)
}

// fetch returns bits, or 0 where it does not pay to fetch bits ahead of their use.
func (f *filter) fetch(bits int) int {
	if len(f.bits.words) < fetchWords {
		return 0
	}
	return bits
}

// The following are for a filter that is inAssembly, and fours times four digests,
// fours > 0. fours*K is at most slots.

// filterAddFours sets dst to whether each changed the filter. It fetches as many bits of
// each as fetch says before it uses them.
//
//go:noescape
func filterAddFours(f *filter, hs *Hash, fours, fetch int, dst *bool)

// syncAddFours is filterAddFours while others write, for K of at most 64. It does not count
// bits.
//
//go:noescape
func syncAddFours(f *filter, hs *Hash, fours, fetch int, dst *bool)

// filterContainsFours sets dst to whether the filter has each.
//
//go:noescape
func filterContainsFours(f *filter, hs *Hash, fours int, dst *bool)

// filterContainsFetched is filterContainsFours. It fetches the first bits of each, fetch of them,
// and then the other bits of those that have the first. fetch > 0.
//
//go:noescape
func filterContainsFetched(f *filter, hs *Hash, fours, fetch int, dst *bool)
