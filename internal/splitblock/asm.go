//go:build (amd64 || arm64) && !purego && !race && !msan && !asan

package splitblock

//lint:file-ignore U1000 Assembly jumps to the portable forms.

import "github.com/seed79a3ff49/bloom"

// The contract is in batch.go. Assembly jumps to a portable function for what it cannot do; see
// asm_amd64.go in the root.
const assembly, plainLoads = true, true

//go:noescape
func addHash(b *Blocks, h bloom.Hash) bool

//go:noescape
func containsHash(b *Blocks, h bloom.Hash) bool

func addHashPortable(b *Blocks, h bloom.Hash) bool      { return b.addInGo(h, None) }
func containsHashPortable(b *Blocks, h bloom.Hash) bool { return b.contains(h, None) }

// fetchAhead is how many digests in advance a block is fetched, so that cache misses overlap.
const fetchAhead = 128

// many adds or looks up a batch, which must not be empty.
func (b *Blocks) many(adds bool, others Others, dst []bool, hs []bloom.Hash) {
	fetch := len(b.blocks) >= fetchBlocks
	switch {
	case fetch:
		prefetchBlocks(b, &hs[0], min(len(hs), fetchAhead)) // speed
	case len(hs) <= chunk:
		b.call(adds, others, dst, hs, len(hs), 0)
		return
	}
	for n := 0; len(hs) > 0; dst, hs = dst[n:], hs[n:] {
		n = min(len(hs), chunk)
		further := 0
		if fetch { // speed
			further = max(0, min(n, len(hs)-fetchAhead)) // speed
		}
		b.chunk(adds, others, dst, hs, n, further)
	}
}

// chunk is like call, but is never inlined, so the runtime can interrupt a loop that calls chunk.
//
//go:noinline
func (b *Blocks) chunk(adds bool, others Others, dst []bool, hs []bloom.Hash, count, further int) {
	b.call(adds, others, dst, hs, count, further)
}

func (b *Blocks) call(adds bool, others Others, dst []bool, hs []bloom.Hash, count, further int) {
	switch {
	case !adds:
		containBlocks(b, &hs[0], count, further, &dst[0])
	case others == Writers:
		syncAddBlocks(b, &hs[0], count, further, &dst[0])
	default:
		addBlocks(b, &hs[0], count, further, &dst[0])
	}
}

// The functions below process count digests, beginning with *hs. count must be at least 1, and
// b.fast must not be 0.

//go:noescape
func prefetchBlocks(b *Blocks, hs *bloom.Hash, count int)

// addBlocks adds the digests, and sets dst[i] to whether hs[i] changed b. It also fetches the
// blocks of later digests: hs[fetchAhead] to hs[fetchAhead+further-1].
//
//go:noescape
func addBlocks(b *Blocks, hs *bloom.Hash, count, further int, dst *bool)

// containBlocks sets dst[i] to whether b contains hs[i]. It fetches blocks like addBlocks.
//
//go:noescape
func containBlocks(b *Blocks, hs *bloom.Hash, count, further int, dst *bool)
