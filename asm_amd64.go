//go:build !purego && !race && !msan && !asan

package bloom

//lint:file-ignore U1000 Assembly jumps to the portable forms.

// batch.go has the contract. Filters of Mitz32, filters of one word, and processors without AVX2
// use the portable forms in Go.
//
// A call enters assembly first, which jumps to Go if it must. If Go decided first, as in
// hash/crc32, one call would become two, because Go calls assembly through a stub, and a look-up in
// a small filter takes only a few times as long as a call.
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
	return f.addInGo(h)
}

func filterContainsPortable(f *filter, key []byte) bool {
	h := Sum(key)
	if inAssembly(f) {
		return filterContainsHash(f, h)
	}
	return f.contains(h)
}

func filterAddHashPortable(f *filter, h Hash) bool      { return f.addInGo(h) }
func filterContainsHashPortable(f *filter, h Hash) bool { return f.contains(h) }

// inAssembly reports whether assembly can add to f and look keys up in it.
func inAssembly(f *filter) bool {
	return useAVX2 && f.strategy == Mitz64 && f.k > 0 && len(f.bits.words) >= 2
}

const (
	// fetchWords is the smallest number of words of a filter for which fetching ahead pays. A
	// smaller filter is in a cache that is near enough.
	fetchWords = 4 << 20 / 8
	// firstBits is the number of bits of a key that a look-up fetches first. Most absent keys lack
	// one of these.
	firstBits = 4
	// shortBatch is the smallest length of a batch that is faster than as many single calls.
	shortBatch = 8
	// slots is the number of slots in a frame of assembly. A slot has a bit of each of four
	// keys.
	slots = 256
)

// addMany adds the first part of hs, sets dst, and returns the length of the part. If shared is
// true, other goroutines may write to f during the call.
func addMany(f *filter, shared bool, dst []bool, hs []Hash) (done int) {
	if len(hs) < shortBatch || shared && f.k > 64 {
		return 0
	}
	for n := f.callSize(hs); n > 0; n = f.callSize(hs[done:]) {
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
	if len(hs) < shortBatch {
		return 0
	}
	for n := f.callSize(hs); n > 0; n = f.callSize(hs[done:]) {
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

// callSize returns how many of hs, a multiple of four, the next call of assembly does.
func (f *filter) callSize(hs []Hash) int {
	if !inAssembly(f) {
		return 0
	}
	return min(chunk, 4*(slots/f.k), len(hs)&^3)
}

// fetch returns bits, or 0 if f is too small for fetching ahead to pay.
func (f *filter) fetch(bits int) int {
	if len(f.bits.words) < fetchWords {
		return 0
	}
	return bits
}

// The functions below add or look up 4*fours digests in a filter that inAssembly accepts. fours is
// positive, and fours*K is at most slots.

// filterAddFours adds digests, and sets each element of dst to whether its digest changed the
// filter. Before it uses bits, it fetches the first fetch bits of every digest.
//
//go:noescape
func filterAddFours(f *filter, hs *Hash, fours, fetch int, dst *bool)

// syncAddFours is like filterAddFours, but other goroutines may write at the same time. K is at
// most 64. It does not update f.ones.
//
//go:noescape
func syncAddFours(f *filter, hs *Hash, fours, fetch int, dst *bool)

// filterContainsFours looks digests up, and sets each element of dst to whether the filter contains
// its digest.
//
//go:noescape
func filterContainsFours(f *filter, hs *Hash, fours int, dst *bool)

// filterContainsFetched is like filterContainsFours, but fetches bits ahead: the first fetch bits
// of every digest, and the other bits if these are set. fetch is positive.
//
//go:noescape
func filterContainsFetched(f *filter, hs *Hash, fours, fetch int, dst *bool)
