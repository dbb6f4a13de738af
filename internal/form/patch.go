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
// The frame's words are a stream of bits, the least significant bit of a word first. The stream has
// a gap for each bit that differs, in ascending order. The gap is the number of equal bits before
// that bit, back to the last one that differs or to the filter's start. Gaps are in a Rice code:
// gap >> rice zeros, a one, and the rice lower bits of the gap, least significant first. Zeros fill
// the last word.
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

// A Patch is a decoded patch. Its stream is a part of the bytes that were decoded.
type Patch struct {
	Header Header // header of both filters
	Info   Info   // Info of the new filter
	bits   uint64 // number of bits that differ
	rice   uint
	proof  Sum
	stream []byte
}

// AppendPatch appends to b a patch that makes changes to a filter with the header h, and gives it
// the Info. It goes through changes twice. The words of changes must ascend, and no mask may be 0.
func AppendPatch(b []byte, h Header, info Info, changes iter.Seq[Change]) ([]byte, error) {
	changed := uint64(0)
	var p prover
	for c := range changes {
		changed += uint64(bits.OnesCount64(c.Mask))
		p.add(c.Word, c.Old)
	}
	w := gapWriter{rice: bestRice(64*uint64(h.Words), changed)}
	for c := range changes {
		w.append(c)
	}
	params := []uint64{
		uint64(h.Strategy),
		uint64(h.K),
		uint64(h.Words),
		changed,
		uint64(w.rice),
		uint64(len(w.words)),
		uint64(p.sum),
	}
	return patchKind.Append(b, params, w.words, info)
}

// prover makes a proof.
type prover struct {
	sum Sum
	buf [16]byte
}

// add adds a word that changes to the proof. old is the word as it was.
func (p *prover) add(word int, old uint64) {
	binary.LittleEndian.PutUint64(p.buf[:], uint64(word))
	binary.LittleEndian.PutUint64(p.buf[8:], old)
	_, _ = p.sum.Write(p.buf[:])
}

// bestRice returns the rice with the least upper bound for the length of the stream. m is the
// number of bits of the filter, and changed is how many of them differ.
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
	used  uint64 // number of bits written
	next  uint64 // index in the filter after the last bit that differs
	rice  uint
}

func (w *gapWriter) append(c Change) {
	if w.rice == 0 { // the stream is the exclusive or of both filters
		w.words = append(w.words, make([]uint64, c.Word-len(w.words))...)
		w.words = append(w.words, c.Mask)
		return
	}
	for mask := c.Mask; mask != 0; mask &= mask - 1 {
		index := 64*uint64(c.Word) + uint64(bits.TrailingZeros64(mask))
		gap := index - w.next
		w.next = index + 1
		w.used += gap >> w.rice // that many zeros
		w.put(1)
		for i := range w.rice {
			w.put(gap >> i & 1)
		}
	}
}

func (w *gapWriter) put(bit uint64) {
	for uint64(len(w.words)) <= w.used/64 {
		w.words = append(w.words, 0)
	}
	w.words[w.used/64] |= bit << (w.used % 64)
	w.used++
}

// ParsePatch decodes data. The Patch uses data from then on. ParsePatch checks everything that it
// can check without the filter. Its errors wrap ErrFormat.
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

// checkPatch is the Check of patches.
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

// whole reports whether the stream has as many changes as the parameters say, and nothing else.
func (p *Patch) whole() bool {
	c := p.Changes()
	for {
		if _, _, ok := c.Next(); !ok {
			break
		}
	}
	return !c.damaged && (c.at+63)/64 == uint64(len(p.stream)/8) && c.rest() == 0
}

// Check returns an error that wraps ErrMismatch unless p fits a filter with the header h and the
// given words. A patch fits if the words that it changes are as they were in the filter that it was
// made from. Other goroutines may write to words atomically at the same time. was has the present
// values of the bits that p changes: the value of the i-th such bit is bit i%64 of was[i/64].
func (p *Patch) Check(h Header, words []uint64) (was []uint64, err error) {
	if h != p.Header {
		return nil, Mismatch(patchKind.Package, "parameters", h, p.Header)
	}
	var now prover
	w := gapWriter{words: make([]uint64, 0, (p.bits+63)/64)}
	for c := p.Changes(); ; {
		word, mask, ok := c.Next()
		if !ok {
			break
		}
		old := atomic.LoadUint64(&words[word])
		now.add(word, old)
		for ; mask != 0; mask &= mask - 1 {
			w.put(old >> bits.TrailingZeros64(mask) & 1)
		}
	}
	if now.sum != p.proof {
		return nil, mismatchError(patchKind.Package + ": filters differ: " +
			"the patch was made from another filter than this one")
	}
	return w.words, nil
}

// Changes returns a reader of the stream of p.
func (p *Patch) Changes() *Changes {
	c := &Changes{stream: p.stream, rice: p.rice, m: 64 * uint64(p.Header.Words), left: p.bits}
	if c.rice > 0 {
		c.advance()
	}
	return c
}

// Changes reads the stream of a Patch.
type Changes struct {
	stream  []byte
	rice    uint
	m       uint64 // number of bits of the filter
	at      uint64 // index of the next bit in the stream
	left    uint64 // number of bits that differ and were not read
	next    uint64 // index in the filter after the last bit that was read
	read    bool   // whether bit next-1 was read and Next has not returned it
	damaged bool
}

// Next returns the next word that changes, and the bits of it that do.
func (c *Changes) Next() (word int, mask uint64, ok bool) {
	if c.rice == 0 {
		return c.nextXor()
	}
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

// nextXor is Next if rice is 0. The stream is then the exclusive or of both filters, so its words
// are the masks.
func (c *Changes) nextXor() (word int, mask uint64, ok bool) {
	for c.left > 0 && c.at < 8*uint64(len(c.stream)) {
		mask = c.rest()
		c.at += 64
		n := uint64(bits.OnesCount64(mask))
		if n > c.left {
			break
		}
		c.left -= n
		if n > 0 {
			return int(c.at/64) - 1, mask, true
		}
	}
	c.damaged = c.left > 0
	return 0, 0, false
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

// unary reads zeros and the one behind them. It returns how many zeros there are, and whether there
// is a one.
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

// take reads n bits. The stream must have them.
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

// rest returns the bits from c.at to the end of their word in the stream. At the end of the stream
// it returns 0.
func (c *Changes) rest() uint64 {
	if i := c.at / 64 * 8; i < uint64(len(c.stream)) {
		return binary.LittleEndian.Uint64(c.stream[i:]) >> (c.at % 64)
	}
	return 0
}
