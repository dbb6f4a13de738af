package form

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"sync/atomic"
)

// A patch is a frame that turns a filter in Guava's form into another of the same parameters.
// Its parameters are these, in this order:
//
//	strategy, K, words    of both filters
//	changed               the number of bits that differ
//	rice                  the parameter of the code below, 0 to 37
//	length                the number of the frame's words
//	proof                 the CRC-32C of the words that change, as they were: for each, in
//	                      ascending order, its number and its bits, both little-endian u64
//
// The frame's words are a stream of bits, the least significant bit of a word first. It has a
// number for each bit that differs, in ascending order: how many equal bits are between it and
// the one before, or the filter's start. These gaps are in a Rice code: gap >> rice zeros, a
// one, and the rice lower bits of the gap, least significant first. Zeros fill the last word.
//
// With rice = 0 the stream is the exclusive or of both filters, so a patch never has more
// words than a filter. With the best rice a bit that differs takes at most 40 bits.

const (
	patchParams = 7
	// maxRice is the largest rice: a filter has fewer than 2^37 bits.
	maxRice = 37
)

// A Change is one word in which two filters differ.
type Change struct {
	Word int
	Old  uint64 // the word as it was
	Mask uint64 // the bits that differ
}

// A Patch is a decoded patch. Its stream lies where it was received.
type Patch struct {
	Header Header // of both filters
	Info   Info   // of the new one
	bits   uint64 // that differ
	rice   uint
	proof  Sum
	stream []byte
}

// AppendPatch appends to b the patch that makes changes to a filter with the header h, which gets
// the Info. It goes through changes twice. They have ascending words, and no empty mask.
func AppendPatch(b []byte, h Header, info Info, changes iter.Seq[Change]) ([]byte, error) {
	changed := uint64(0)
	var proof Sum
	for c := range changes {
		changed += uint64(bits.OnesCount64(c.Mask))
		proof.change(c.Word, c.Old)
	}
	w := gapWriter{rice: bestRice(64*uint64(h.Words), changed)}
	next := uint64(0) // the bit after the last that differs
	for c := range changes {
		for mask := c.Mask; mask != 0; mask &= mask - 1 {
			index := 64*uint64(c.Word) + uint64(bits.TrailingZeros64(mask))
			w.append(index - next)
			next = index + 1
		}
	}
	params := []uint64{
		uint64(h.Strategy),
		uint64(h.K),
		uint64(h.Words),
		changed,
		uint64(w.rice),
		uint64(len(w.words)),
		uint64(proof),
	}
	return patchKind.Append(b, params, w.words, info)
}

// change adds a word of the proof.
func (s *Sum) change(word int, old uint64) {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(word))
	binary.LittleEndian.PutUint64(b[8:], old)
	_, _ = s.Write(b[:])
}

// bestRice returns the rice with the least bound for the bits of the stream, if so many of m
// bits differ.
func bestRice(m, changed uint64) (best uint) {
	least := m
	for rice := uint(1); rice <= maxRice && changed > 0; rice++ {
		bound := changed*uint64(rice+1) + (m-changed)>>rice
		if bound < least {
			best, least = rice, bound
		}
	}
	return best
}

// gapWriter writes a stream.
type gapWriter struct {
	words []uint64
	used  uint64 // bits of words
	rice  uint
}

func (w *gapWriter) append(gap uint64) {
	w.used += gap >> w.rice // zeros
	w.put(1)
	for i := range w.rice {
		w.put(gap >> i & 1)
	}
}

func (w *gapWriter) put(bit uint64) {
	for uint64(len(w.words)) <= w.used/64 {
		w.words = append(w.words, 0)
	}
	w.words[w.used/64] |= bit << (w.used % 64)
	w.used++
}

// ParsePatch decodes data, which stays in use. It checks all that can be known without the filter.
// Its errors wrap ErrFormat.
func ParsePatch(data []byte) (*Patch, error) {
	params, stream, info, err := patchKind.Parse(data, checkPatch)
	if err != nil {
		return nil, err
	}
	if err := patchKind.Verify(data); err != nil {
		return nil, err
	}
	p := &Patch{
		Header: Header{Strategy: uint8(params[0]), K: int(params[1]), Words: int(params[2])},
		Info:   info,
		bits:   params[3],
		rice:   uint(params[4]),
		proof:  Sum(params[6]),
		stream: stream,
	}
	if !p.whole() {
		return nil, Errorf(patchKind.Package, "the changes of the patch are damaged")
	}
	return p, nil
}

// checkPatch is a Check.
func checkPatch(params []uint64) (words uint64, err error) {
	switch strategy, k, n := params[0], params[1], params[2]; {
	case strategy > 1:
		return 0, fmt.Errorf("strategy = %d is neither 0 nor 1", strategy)
	case k < 1 || k > MaxK:
		return 0, fmt.Errorf("k = %d is outside [1, %d]", k, MaxK)
	case n < 1 || n > MaxWords:
		return 0, fmt.Errorf("word count %d is outside [1, %d]", n, uint64(MaxWords))
	}
	changed, rice, length, proof := params[3], params[4], params[5], params[6]
	switch m := 64 * params[2]; {
	case changed > m:
		return 0, fmt.Errorf("%d of %d bits differ", changed, m)
	case rice > maxRice:
		return 0, fmt.Errorf("rice = %d is outside [0, %d]", rice, maxRice)
	case length > params[2]:
		return 0, fmt.Errorf("%d words for the changes of %d words", length, params[2])
	case proof>>32 != 0:
		return 0, errors.New("the proof has more than 32 bits")
	}
	return length, nil
}

// whole reports whether the stream has the changes that the parameters name, and nothing else.
func (p *Patch) whole() bool {
	c := p.Changes()
	for {
		if _, _, ok := c.Next(); !ok {
			break
		}
	}
	return !c.damaged && (c.at+63)/64 == uint64(len(p.stream)/8) && c.rest() == 0
}

// Check returns an error, which wraps ErrMismatch, unless p was made from a filter
// that has the header h and, where p changes it, words as they are now. Others may write
// to words atomically. was has, for each bit that differs, what it is now: bit i of the whole is
// bit i%64 of was[i/64].
func (p *Patch) Check(h Header, words []uint64) (was []uint64, err error) {
	if h != p.Header {
		return nil, Mismatch(patchKind.Package, "parameters", h, p.Header)
	}
	var proof Sum
	w := gapWriter{words: make([]uint64, 0, (p.bits+63)/64)}
	for c := p.Changes(); ; {
		word, mask, ok := c.Next()
		if !ok {
			break
		}
		old := atomic.LoadUint64(&words[word])
		proof.change(word, old)
		for ; mask != 0; mask &= mask - 1 {
			w.put(old >> bits.TrailingZeros64(mask) & 1)
		}
	}
	if proof != p.proof {
		return nil, mismatchError(patchKind.Package + ": filters differ: " +
			"the patch was made from another filter than this one")
	}
	return w.words, nil
}

// Changes begins to read the stream of p, which ParsePatch has checked.
func (p *Patch) Changes() *Changes {
	c := &Changes{stream: p.stream, rice: p.rice, m: 64 * uint64(p.Header.Words), left: p.bits}
	c.advance()
	return c
}

// Changes reads a stream.
type Changes struct {
	stream  []byte
	rice    uint
	m       uint64 // bits of the filter
	at      uint64 // the next bit of the stream
	left    uint64 // bits that differ, and were not read
	next    uint64 // the bit of the filter after the one that was read last
	read    bool   // next-1 is a bit that differs, which Next has not returned
	damaged bool
}

// Next returns the next word that changes, and the bits of it that do.
func (c *Changes) Next() (word int, mask uint64, ok bool) {
	if !c.read {
		return 0, 0, false
	}
	word = int((c.next - 1) / 64)
	for c.read && int((c.next-1)/64) == word {
		mask |= 1 << ((c.next - 1) % 64)
		c.advance()
	}
	return word, mask, true
}

// advance reads a gap.
func (c *Changes) advance() {
	c.read = false
	if c.left == 0 {
		return
	}
	room := c.m - c.next
	high, ok := c.unary()
	if !ok || high > room>>c.rice || c.at+uint64(c.rice) > 8*uint64(len(c.stream)) {
		c.damaged = true
		return
	}
	gap := high<<c.rice | c.take(c.rice)
	if gap >= room {
		c.damaged = true
		return
	}
	c.left--
	c.next += gap + 1
	c.read = true
}

// unary reads zeros and the one behind them.
func (c *Changes) unary() (zeros uint64, ok bool) {
	for c.at < 8*uint64(len(c.stream)) {
		if rest := c.rest(); rest != 0 {
			n := uint64(bits.TrailingZeros64(rest))
			c.at += n + 1
			return zeros + n, true
		}
		zeros += 64 - c.at%64
		c.at += 64 - c.at%64
	}
	return 0, false
}

// take reads n bits, which the stream has.
func (c *Changes) take(n uint) (v uint64) {
	v = c.rest()
	if had := uint(64 - c.at%64); n > had {
		c.at += uint64(had)
		v |= c.rest() << had
		c.at -= uint64(had)
	}
	c.at += uint64(n)
	return v & (1<<n - 1)
}

// rest returns the bits of the stream's word that at is in, from at on. It is 0 at the end.
func (c *Changes) rest() uint64 {
	if i := c.at / 64 * 8; i < uint64(len(c.stream)) {
		return binary.LittleEndian.Uint64(c.stream[i:]) >> (c.at % 64)
	}
	return 0
}
