package splitblock

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
)

// This is the contract of the assembly. Builds without assembly have asm_portable.go and
// asm_key_portable.go instead.
//
//	accelerated               whether this processor has the instructions that assembly needs
//	addHash, containsHash     like addInGo and contains, for all Blocks
//	addKey, containsKey       like addHash and containsHash, but hash a key; on amd64 only
//	findKey                   like containsKey, but also returns the digest; on amd64 only
//	many                      adds or looks up a batch; the field fast must not be 0
//
// Assembly loads whole blocks while other goroutines may write to them, and stores whole blocks
// while others may read them. This is safe because amd64 and arm64 processors do not split an
// aligned 8-byte word. The race detector and the sanitizers cannot see these accesses, so builds
// with them have no assembly.

const (
	// chunk is the largest number of digests that one call into assembly adds or looks up. Assembly
	// cannot be interrupted, so a garbage collection waits for a whole chunk. Go code touches the
	// blocks of one chunk at a time, so that they stay in the cache until they are used.
	chunk = 64

	// Blocks are fetched or touched ahead of use if there are at least fetchBlocks of them. Fewer
	// blocks fit into a fast cache.
	fetchBlocks = 1 << 20 / Bytes
)

// isShort reports whether n single calls are faster than a batch of n digests.
func (b *Blocks) isShort(n int) bool {
	switch {
	case b.fast > 0:
		return n < leastBatch(b.Lines)
	case len(b.blocks) < fetchBlocks:
		return n < 4*b.Lines
	default:
		return n <= b.Lines
	}
}

// AddBatch adds hs in order, and sets added[i] to the result of Add(hs[i]). len(added) must be
// len(hs).
func (b *Blocks) AddBatch(others Others, added []bool, hs []bloom.Hash) {
	if b.isShort(len(hs)) {
		for i, h := range hs {
			switch others {
			case None:
				added[i] = b.Add(h)
			case Readers:
				added[i] = b.AddBesideReaders(h)
			default:
				added[i] = b.AddShared(h)
			}
		}
		return
	}
	if b.fast > 0 { // speed
		b.many(true, others, added, hs)
		return
	}
	for n := 0; len(hs) > 0; added, hs = added[n:], hs[n:] {
		n = min(len(hs), chunk)
		for l := 0; l < b.Lines && len(b.blocks) >= fetchBlocks; l++ {
			b.touch(nil, hs[:n], l, others) // speed
		}
		isNarrow := len(b.blocks) <= Narrow
		storesPlainly := others == None || others == Readers && !bitwords.Race
		if b.Lines == 1 && isNarrow && storesPlainly { // speed
			addOneLine(b.blocks, added[:n], hs[:n])
			continue
		}
		for i, h := range hs[:n] {
			added[i] = b.addInGo(h, others)
		}
	}
}

// ContainsBatch sets found[i] to the result of Contains(hs[i]). len(found) must be len(hs).
func (b *Blocks) ContainsBatch(others Others, found []bool, hs []bloom.Hash) {
	if b.isShort(len(hs)) {
		for i, h := range hs {
			if others == None { // speed
				found[i] = b.Contains(h)
			} else {
				found[i] = b.ContainsShared(h)
			}
		}
		return
	}
	if b.fast > 0 { // speed
		b.many(false, others, found, hs)
		return
	}
	if b.Lines == 0 {
		clear(found)
		return
	}
	for n := 0; len(hs) > 0; found, hs = found[n:], hs[n:] {
		n = min(len(hs), chunk)
		for i := range n {
			found[i] = true
		}
		// Look for line l of all keys before the next line: touch and haveLine skip keys that lack
		// an earlier line.
		for l := range b.Lines {
			if len(b.blocks) >= fetchBlocks { // speed
				b.touch(found, hs[:n], l, others) // speed
			}
			b.haveLine(found[:n], hs[:n], l, others)
		}
	}
}

// touch reads one word from the block of each digest's line l. If found is not nil, touch skips
// digest i unless found[i] is true. No read waits for another, so their cache misses overlap. touch
// is not inlined, because the compiler would then remove the reads.
//
//go:noinline
func (b *Blocks) touch(found []bool, hs []bloom.Hash, l int, others Others) (sum uint64) {
	for i, h := range hs {
		if found != nil && !found[i] { // speed
			continue
		}
		h1, h2 := h.Words()
		at := narrow(line(h1, h2, l), len(b.blocks))
		if len(b.blocks) > Narrow { // speed
			at = Block(h, l, len(b.blocks)) // speed
		}
		sum += load(&b.blocks[at][0], others) // speed
	}
	return sum
}

// addOneLine is like AddBatch, for Blocks that have one line and are narrow, if plain stores are
// safe. It takes a quarter less time than calls of addInGo.
//
//go:noinline
func addOneLine(blocks [][each]uint64, added []bool, hs []bloom.Hash) {
	added = added[:len(hs)] // speed
	for i := range hs {
		value, _ := hs[i].Words()
		block := &blocks[narrow(value, len(blocks))]
		m0, m1, m2, m3 := masks(value)
		w0 := block[0]
		w1 := block[1]
		w2 := block[2]
		w3 := block[3]
		block[0] = w0 | m0
		block[1] = w1 | m1
		block[2] = w2 | m2
		block[3] = w3 | m3
		added[i] = m0&^w0|m1&^w1|m2&^w2|m3&^w3 != 0
	}
}

// haveLine sets found[i] to false if b lacks line l of digest i.
func (b *Blocks) haveLine(found []bool, hs []bloom.Hash, l int, others Others) {
	blocks := b.blocks
	found = found[:len(hs)] // speed
	wide := len(blocks) > Narrow
	for i := range hs {
		if !found[i] {
			continue
		}
		h1, h2 := hs[i].Words()
		value := line(h1, h2, l)
		at := narrow(value, len(blocks))
		if wide {
			at = Block(hs[i], l, len(blocks))
		}
		block := &blocks[at]
		m0, m1, m2, m3 := masks(value)
		missing := m0&^load(&block[0], others) |
			m1&^load(&block[1], others) |
			m2&^load(&block[2], others) |
			m3&^load(&block[3], others)
		found[i] = missing == 0
	}
}
