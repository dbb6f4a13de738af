//go:build !purego && !race && !msan && !asan

package bloom

//lint:file-ignore U1000 Assembly jumps to the portable forms.

// The contract is in batch.go. The portable functions are for Mitz32 filters, filters with fewer
// than two words, keys longer than directLen, and processors without AVX2 or BMI2.
//
// A call goes to assembly first, which jumps to a portable function for what it cannot do. If Go
// code chose between the two, as in hash/crc32, each look-up would take a second call. In a small
// filter, a look-up takes only a few times as long as a call.
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
	if inAssembly(f) { // speed
		return filterAddHash(f, h)
	}
	return f.addInGo(h)
}

func filterContainsPortable(f *filter, key []byte) bool {
	h := Sum(key)
	if inAssembly(f) { // speed
		return filterContainsHash(f, h)
	}
	return f.contains(h)
}

func filterAddHashPortable(f *filter, h Hash) bool      { return f.addInGo(h) }
func filterContainsHashPortable(f *filter, h Hash) bool { return f.contains(h) }

func inAssembly(f *filter) bool {
	return useAVX2 && f.strategy == Mitz64 && f.k > 0 && len(f.bits.words) >= 2
}

const (
	// Fetching ahead pays off in filters of at least fetchWords words. Smaller filters fit into a
	// fast cache.
	fetchWords = 4 << 20 / 8
	// A batch of look-ups first fetches up to firstBits bits of each key. An absent key usually
	// lacks one of them.
	firstBits = 4
	// Single calls are faster than a batch of fewer than shortBatch keys.
	shortBatch = 8
	// slots is the largest number of slots in a stack frame of the assembly. A slot holds four bit
	// indexes, one for each of four keys.
	slots = 256
)

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
	if len(hs) < shortBatch { // speed
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
	if fetch > 0 { // speed
		filterContainsFetched(f, &hs[0], len(hs)/4, fetch, &dst[0])
	} else {
		filterContainsFours(f, &hs[0], len(hs)/4, &dst[0])
	}
}

// callSize returns how many of hs the next call into assembly processes: a multiple of 4, or 0 if
// Go must process them.
func (f *filter) callSize(hs []Hash) int {
	if !inAssembly(f) {
		return 0
	}
	return min(chunk, 4*(slots/f.k), len(hs)&^3)
}

func (f *filter) fetch(bits int) int {
	if len(f.bits.words) < fetchWords { // speed
		return 0
	}
	return bits
}

// The functions below process 4*fours digests. inAssembly(f) must be true, fours must be positive,
// and fours*K must be at most slots.

// filterAddFours adds the digests, and sets dst[i] to whether hs[i] changed the filter. Before
// that, it fetches the words of each digest's first bits into the cache. fetch is the number of
// bits to fetch for a digest, and may be 0.
//
//go:noescape
func filterAddFours(f *filter, hs *Hash, fours, fetch int, dst *bool)

// syncAddFours is like filterAddFours, but other goroutines may write to f at the same time.
// syncAddFours does not update f.ones. K must be at most 64.
//
//go:noescape
func syncAddFours(f *filter, hs *Hash, fours, fetch int, dst *bool)

// filterContainsFours sets dst[i] to whether the filter contains hs[i].
//
//go:noescape
func filterContainsFours(f *filter, hs *Hash, fours int, dst *bool)

// filterContainsFetched is like filterContainsFours, but fetches words into the cache before it
// tests their bits. fetch is the number of bits that it fetches and tests first for each digest,
// and must be positive. If all of these are set, it fetches and tests the digest's other bits.
//
//go:noescape
func filterContainsFetched(f *filter, hs *Hash, fours, fetch int, dst *bool)
