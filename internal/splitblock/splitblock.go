// Package splitblock implements arrays of blocks for the filters of packages blocked and growing.
package splitblock

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
)

// Blocks is an array of 32-byte blocks. A block has eight 32-bit lanes. Each of a key's lines
// selects a block, and sets one bit in each lane of that block. Zero Blocks contain nothing; adding
// to them panics.
//
// Unless a method says otherwise, no other goroutine may use the Blocks while the method writes, or
// write to them while it reads. Batches take the parameter others; single keys have several
// methods:
//
//	others   other goroutines may  methods for a single key
//	None     read during look-ups  Add, Contains, AddKey, ContainsKey
//	Readers  read                  AddBesideReaders
//	Writers  read and write        AddShared, ContainsShared, AddKeyShared, ContainsKeyShared
//
// The terms of this package:
//
//	line    one of a key's 1 to 4 parts; it has 8 bits in one block
//	value   64 bits for a line: the high half selects the block (see Block), the low half the bits
//	block   32 bytes: eight 32-bit lanes
//	mask    the 8 bits of a line, at their places in the block
//	narrow  having at most Narrow blocks: half of a value is then fine enough to select one
//	chunk   the digests of a batch that one call into assembly processes
type Blocks struct {
	// Words holds the lanes. The low half of word i is lane 2i, and its high half is lane 2i+1.
	Words []uint64
	// Lines is the number of lines of each key. It is 0 in zero Blocks.
	Lines int
	// blocks shares the memory of Words, four words to an element, so that Go checks one index for
	// all four.
	blocks [][each]uint64
	// fast is Lines if assembly can process these Blocks, and 0 otherwise.
	fast int
}

const (
	each = 4 // words in a block

	Bytes = 8 * each  // bytes in a block
	Bits  = 64 * each // bits in a block

	// MaxLines is the largest number of lines of a key.
	MaxLines = 4
	// Max is the largest number of blocks. They take a tebibyte, or on 32-bit platforms almost
	// as many bytes as an int can count.
	Max = min(1<<35, math.MaxInt/Bytes)
	// Narrow is the largest number of blocks for which half of a line's value is fine enough to
	// select one of them.
	Narrow = 1 << 30
)

func New(n uint64, lines int) Blocks { return Of(bitwords.Make(int(n)*each), lines) }

// Of returns Blocks that use words, without copying them.
func Of(words []uint64, lines int) Blocks {
	b := Blocks{Words: words, Lines: lines}
	first := (*[each]uint64)(unsafe.Pointer(unsafe.SliceData(words)))
	b.blocks = unsafe.Slice(first, len(words)/each)
	if accelerated && len(b.blocks) <= Narrow { // speed
		b.fast = lines // speed
	}
	return b
}

// Clone returns a copy of b. Other goroutines may write to b during the call.
func (b *Blocks) Clone() Blocks { return Of(bitwords.Clone(b.Words), b.Lines) }

// First returns b with only the first line of each key. The result contains all keys of b. Looking
// up a batch in the result reads only one line of each key.
func (b *Blocks) First() Blocks { return Of(b.Words, min(b.Lines, 1)) }

// Add adds a key and reports whether that changed b.
func (b *Blocks) Add(h bloom.Hash) bool {
	if assembly { // speed
		return addHash(b, h)
	}
	return b.addInGo(h, None)
}

// AddBesideReaders is like Add, but other goroutines may look keys up at the same time. It does not
// need the locked writes that make AddShared slow.
func (b *Blocks) AddBesideReaders(h bloom.Hash) bool {
	if assembly { // speed
		return addHash(b, h)
	}
	return b.addInGo(h, Readers)
}

// AddShared is like Add, but other goroutines may write to b at the same time.
func (b *Blocks) AddShared(h bloom.Hash) bool {
	// A look-up in assembly is so fast that it pays to look first. In Go, addInGo does so itself.
	return !(assembly && containsHash(b, h)) && b.addAbsent(h)
}

// Contains reports whether b has all bits of the key.
func (b *Blocks) Contains(h bloom.Hash) bool {
	if assembly { // speed
		return containsHash(b, h)
	}
	return b.contains(h, None)
}

// ContainsShared is like Contains, but other goroutines may write to b at the same time.
func (b *Blocks) ContainsShared(h bloom.Hash) bool {
	if assembly { // speed
		return containsHash(b, h)
	}
	return b.contains(h, Writers)
}

// Others says what other goroutines may do during a call; see [Blocks].
type Others uint8

const (
	None Others = iota
	Readers
	Writers
)

// load uses a plain load where that is as good as an atomic one.
func load(word *uint64, others Others) uint64 {
	if others == None || plainLoads { // speed
		return *word
	}
	return atomic.LoadUint64(word)
}

// masks returns the bits of a line in the four words of its block. In each 32-bit lane, the low
// half of value is multiplied by the lane's salt, as in the Parquet format; the top five bits of
// the product select the bit. Without a loop, the compiler inlines masks and needs no table.
func masks(value uint64) (m0, m1, m2, m3 uint64) {
	x := uint32(value)
	m0 = 1<<(x*0x47b6137b>>27) | 1<<(x*0x44974d91>>27|32)
	m1 = 1<<(x*0x8824ad5b>>27) | 1<<(x*0xa2b7289d>>27|32)
	m2 = 1<<(x*0x705495c7>>27) | 1<<(x*0x2df1424b>>27|32)
	m3 = 1<<(x*0x9efc4947>>27) | 1<<(x*0x5c6bfb31>>27|32)
	return m0, m1, m2, m3
}

// lineStep is added i times to the value of line i. Without it, all lines of the empty key would be
// equal, because its digest is 0, 0. lineStep is 2^64 divided by the golden ratio, so these lines
// select different blocks if there are at least 5 blocks.
const lineStep = 0x9e3779b97f4a7c15

// line returns the value of a key's line i. Line 0 is the same as in the Parquet format.
func line(h1, h2 uint64, i int) uint64 {
	h2 += lineStep * uint64(i)
	switch i {
	case 0:
		return h1
	case 1:
		return h2
	case 2:
		return h1 + h2
	default:
		return bits.RotateLeft64(h1, 32) + h2
	}
}

// narrow returns the index of a line's block among at most Narrow blocks. It takes the high half of
// value as a fraction of 2^32, and multiplies the number of blocks by it.
func narrow(value uint64, blocks int) int { return int(value >> 32 * uint64(blocks) >> 32) }

// Block returns the index of the block of a key's line i. If there are more than Narrow blocks, the
// fraction that narrow uses is too coarse. Block then uses a fraction of 2^64: its high half is the
// high half of the line's value, and its low half is the high half of the value of line i^1.
func Block(h bloom.Hash, i, blocks int) int {
	h1, h2 := h.Words()
	if blocks <= Narrow {
		return narrow(line(h1, h2, i), blocks)
	}
	high, _ := bits.Mul64(line(h1, h2, i)>>32<<32|line(h1, h2, i^1)>>32, uint64(blocks))
	return int(high)
}

// HasLine reports whether block, which is part of a binary form, has all bits of a key's line i.
func HasLine(block []byte, h bloom.Hash, i int) bool {
	h1, h2 := h.Words()
	m0, m1, m2, m3 := masks(line(h1, h2, i))
	word := binary.LittleEndian.Uint64
	return m0&^word(block)|m1&^word(block[8:])|m2&^word(block[16:])|m3&^word(block[24:]) == 0
}

func (b *Blocks) addInGo(h bloom.Hash, others Others) bool {
	if b.Lines == 0 {
		panic("blocked: Add to a zero Filter: make it with a constructor, or decode into it")
	}
	if others == Writers {
		return b.addBesideWriters(h)
	}
	h1, h2 := h.Words()
	missing, value := uint64(0), h1
	for l := 0; ; {
		at := narrow(value, len(b.blocks))
		if len(b.blocks) > Narrow {
			at = Block(h, l, len(b.blocks))
		}
		block := &b.blocks[at]
		m0, m1, m2, m3 := masks(value)
		w0 := load(&block[0], others)
		w1 := load(&block[1], others)
		w2 := load(&block[2], others)
		w3 := load(&block[3], others)
		missing |= m0&^w0 | m1&^w1 | m2&^w2 | m3&^w3
		if bitwords.Race && others == Readers {
			bitwords.Store(&block[0], w0|m0)
			bitwords.Store(&block[1], w1|m1)
			bitwords.Store(&block[2], w2|m2)
			bitwords.Store(&block[3], w3|m3)
		} else {
			block[0] = w0 | m0
			block[1] = w1 | m1
			block[2] = w2 | m2
			block[3] = w3 | m3
		}
		l++
		if l == b.Lines {
			return missing != 0
		}
		value = line(h1, h2, l)
	}
}

// addBesideWriters is like addInGo, but other goroutines may write to b at the same time. It reads
// all of a key's words, and then sets the missing bits. It reports whether the last write changed a
// word; setBits in package bloom explains why. It does not write to words that already have the
// key's bits, so their cache lines stay shared between processors.
func (b *Blocks) addBesideWriters(h bloom.Hash) bool {
	var blocks [MaxLines]*[each]uint64
	var missing [MaxLines][each]uint64
	h1, h2 := h.Words()
	all, value := uint64(0), h1
	for l := 0; ; {
		at := narrow(value, len(b.blocks))
		if len(b.blocks) > Narrow {
			at = Block(h, l, len(b.blocks))
		}
		block := &b.blocks[at]
		m0, m1, m2, m3 := masks(value)
		m0 &^= load(&block[0], Writers)
		m1 &^= load(&block[1], Writers)
		m2 &^= load(&block[2], Writers)
		m3 &^= load(&block[3], Writers)
		blocks[l%MaxLines] = block
		missing[l%MaxLines] = [each]uint64{m0, m1, m2, m3}
		all |= m0 | m1 | m2 | m3
		l++
		if l == b.Lines {
			break
		}
		value = line(h1, h2, l)
	}
	if all == 0 {
		return false
	}
	last := b.Lines*each - 1
	for missing[last/each][last%each] == 0 {
		last--
	}
	final, bits := &blocks[last/each][last%each], missing[last/each][last%each]
	for i := range last {
		word, set := &blocks[i/each][i%each], missing[i/each][i%each]
		if word == final { // two of the key's lines lie in one block
			set &^= bits
		}
		if set != 0 {
			atomic.OrUint64(word, set)
		}
	}
	return atomic.OrUint64(final, bits)&bits != bits
}

func (b *Blocks) contains(h bloom.Hash, others Others) bool {
	if b.Lines == 0 {
		return false
	}
	h1, h2 := h.Words()
	value := h1
	for l := 0; ; {
		at := narrow(value, len(b.blocks))
		if len(b.blocks) > Narrow {
			at = Block(h, l, len(b.blocks))
		}
		block := &b.blocks[at]
		m0, m1, m2, m3 := masks(value)
		missing := m0&^load(&block[0], others) |
			m1&^load(&block[1], others) |
			m2&^load(&block[2], others) |
			m3&^load(&block[3], others)
		l++
		if missing != 0 || l == b.Lines {
			return missing == 0
		}
		value = line(h1, h2, l)
	}
}
