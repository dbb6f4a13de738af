package form

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
)

// A patch is a frame that turns a filter in Guava's form into another one with the same parameters.
// The parameters of the frame are, in this order:
//
//	strategy, K, words    of both filters
//	changed               the number of bits that differ
//	rice                  the parameter of the code below, 0 to 37
//	length                the number of words in the frame
//	proof                 the CRC-32C of the old filter's words, as bytes of Guava's form
//
// The words of the frame are a bit stream; the least significant bit of each word comes first. For
// each bit that differs, in ascending order, the stream has a gap: the number of equal bits between
// this bit and the previous one that differs, or the start of the filter. The Rice code of a gap is
// gap>>rice zeros, a one, and the lowest bits of the gap, least significant bit first. The number
// of these lowest bits is the parameter rice. Zeros fill the last word.
//
// If rice is 0, this stream is the exclusive or of both filters, up to the last word that differs.
// AppendPatch uses the best value of rice, so a patch never has more words than the filter; see
// bestRice.

const (
	patchParams = 7
	// maxRice suffices because a filter has fewer than 2^37 bits.
	maxRice = 37
)

// A Patch is a decoded patch. Its stream is a part of the bytes that were decoded.
type Patch struct {
	Header  Header // header of both filters
	Info    Info   // Info of the new filter
	Proof   Sum    // checksum of the old filter's words; see WordsSum
	Changed uint64 // number of bits that differ
	rice    uint
	stream  []byte
}

// AppendPatch appends a patch to b. The old filter has the header h, and proof is the checksum of
// its words; see WordsSum. The new filter has the given Info. changes yields the index of each word
// that changes, in ascending order, and a mask of its changed bits. guess estimates the number of
// bits that change. If the estimate does not lead to the best value of rice, AppendPatch iterates
// over changes twice.
func AppendPatch(
	b []byte, h Header, info Info, proof Sum, guess uint64, changes iter.Seq2[int, uint64],
) ([]byte, error) {
	m := 64 * uint64(h.Words)
	w := newGapWriter(m, min(guess, m))
	changed := w.write(h.Words, changes)
	if rice, _ := bestRice(m, changed); rice != w.rice {
		w = newGapWriter(m, changed)
		w.write(h.Words, changes)
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

// WordsSum returns the checksum of a filter's words, as bytes of Guava's form.
func WordsSum(words []uint64) (sum Sum) {
	buf := make([]byte, min(ChunkBytes, 8*len(words)))
	for len(words) > 0 {
		chunk := words[:min(len(words), len(buf)/8)]
		words = words[len(chunk):]
		PutWords(buf, chunk, ^uint64(0), BigEndian)
		sum.Write(buf[:8*len(chunk)])
	}
	return sum
}

// bestRice returns the value of rice with the smallest bound on the length of the stream, and that
// bound in bits. m is the number of bits in the filter, and changed is the number of bits that
// differ.
func bestRice(m, changed uint64) (best uint, least uint64) {
	if changed == 0 {
		return 0, 0
	}
	least = m
	for rice := uint(1); rice <= maxRice; rice++ {
		bound := changed*uint64(rice+1) + (m-changed)>>rice
		if bound < least {
			best, least = rice, bound
		}
	}
	return best, least
}

type gapWriter struct {
	words []uint64
	used  uint64 // number of bits in the stream; append ignores it if rice is 0
	after uint64 // index in the filter of the bit after the last change
	rice  uint
}

func newGapWriter(m, changed uint64) *gapWriter {
	rice, bound := bestRice(m, changed)
	return &gapWriter{rice: rice, words: make([]uint64, 0, (bound+63)/64)}
}

// write appends changes to the stream and returns the number of changed bits. Once the stream is
// longer than the filter, write only counts, because AppendPatch will start again with a different
// value of rice.
func (w *gapWriter) write(words int, changes iter.Seq2[int, uint64]) (changed uint64) {
	for word, mask := range changes {
		changed += uint64(bits.OnesCount64(mask))
		if len(w.words) <= words {
			w.append(word, mask)
		}
	}
	return changed
}

func (w *gapWriter) append(word int, mask uint64) {
	// If rice is 0, the code below would write the same stream, but more slowly.
	if w.rice == 0 { // speed
		w.words = append(w.words, make([]uint64, word-len(w.words))...)
		w.words = append(w.words, mask)
		return
	}
	for ; mask != 0; mask &= mask - 1 {
		index := 64*uint64(word) + uint64(bits.TrailingZeros64(mask))
		gap := index - w.after
		w.after = index + 1
		w.used += gap >> w.rice // put writes the zeros
		low := gap & (1<<w.rice - 1)
		w.put(low<<1|1, w.rice+1)
	}
}

// put writes the lower n bits of v. The other bits of v must be 0.
func (w *gapWriter) put(v uint64, n uint) {
	shift := w.used % 64
	i := int(w.used / 64)
	w.used += uint64(n)
	for len(w.words) <= i {
		w.words = append(w.words, 0)
	}
	w.words[i] |= v << shift
	if shift+uint64(n) > 64 {
		w.words = append(w.words, v>>(64-shift))
	}
}

// ParsePatch decodes data, which the Patch retains. It checks everything except the stream; see
// Check. Its errors wrap ErrFormat.
func ParsePatch(data []byte) (*Patch, error) {
	p, err := parsePatch(data)
	if err == nil {
		err = patchKind.Verify(data)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// MadePatch is like ParsePatch, but for data that AppendPatch made in this process. It does not
// check the last checksum, and panics if it cannot parse data.
func MadePatch(data []byte) *Patch {
	p, err := parsePatch(data)
	if err != nil {
		panic(err)
	}
	return p
}

// parsePatch is like ParsePatch, but does not check the last checksum.
func parsePatch(data []byte) (*Patch, error) {
	params, stream, info, err := patchKind.Parse(data, checkPatch)
	if err != nil {
		return nil, err
	}
	return &Patch{
		Header:  Header{Strategy: uint8(params[0]), K: int(params[1]), Words: int(params[2])},
		Info:    info,
		Proof:   Sum(params[6]),
		Changed: params[3],
		rice:    uint(params[4]),
		stream:  stream,
	}, nil
}

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
		return 0, fmt.Errorf("%d changed bits in a filter of %d bits", changed, m)
	case rice > maxRice:
		return 0, fmt.Errorf("rice = %d is outside [0, %d]", rice, maxRice)
	case length > params[2]:
		return 0, fmt.Errorf("%d words of changes in a filter of %d words", length, params[2])
	case changed > 64*length:
		return 0, fmt.Errorf("%d words are too few for the changes of %d bits", length, changed)
	case proof>>32 != 0:
		return 0, errors.New("the proof has more than 32 bits")
	}
	return length, nil
}

// Check returns an error that wraps ErrMismatch unless p was made from a filter with the header h
// and the checksum of words. If the stream of p is damaged, the error wraps ErrFormat instead. Bit
// i%64 of old[i/64] is the old value of the i-th bit that differs. Check loads each word once and
// atomically, so other goroutines may write to words atomically at the same time.
func (p *Patch) Check(h Header, words []uint64) (old []uint64, err error) {
	if h != p.Header { // speed
		words = nil // speed
	}
	var sum Sum
	writer := gapWriter{words: make([]uint64, 0, (p.Changed+63)/64)}
	buf := make([]byte, min(ChunkBytes, 8*len(words)))
	c := p.Changes()
	word, mask, ok := c.Next()
	for first := 0; first < len(words); first += len(buf) / 8 {
		chunk := words[first:min(len(words), first+len(buf)/8)]
		PutWords(buf, chunk, ^uint64(0), BigEndian)
		sum.Write(buf[:8*len(chunk)])
		for ok && word < first+len(chunk) {
			bytes := buf[8*(word-first):]
			for current := binary.BigEndian.Uint64(bytes); mask != 0; mask &= mask - 1 {
				writer.put(current>>bits.TrailingZeros64(mask)&1, 1)
			}
			word, mask, ok = c.Next()
		}
	}
	for ok { // the headers differ, so the loop above did nothing
		_, _, ok = c.Next()
	}
	switch {
	case !c.whole():
		return nil, Errorf(patchKind.Package, "the changes of the patch are damaged")
	case h != p.Header:
		return nil, Mismatch(patchKind.Package, "parameters", h, p.Header)
	case sum != p.Proof:
		return nil, mismatchError(patchKind.Package + ": filters differ: " +
			"the patch was made from a different filter")
	}
	return writer.words, nil
}

// StreamSize returns the length of p's stream in bytes.
func (p *Patch) StreamSize() int { return len(p.stream) }

// Changes returns a Changes at the start of p's stream.
func (p *Patch) Changes() *Changes {
	c := &Changes{stream: p.stream, rice: p.rice, m: 64 * uint64(p.Header.Words), left: p.Changed}
	if c.rice > 0 {
		c.advance()
	}
	return c
}

// whole reports whether the stream is undamaged. It must be called after Next has returned false.
func (c *Changes) whole() bool {
	return !c.damaged && (c.pos+63)/64 == uint64(len(c.stream)/8) && c.rest() == 0
}

// Changes reads the stream of a Patch.
type Changes struct {
	stream  []byte
	rice    uint
	m       uint64 // number of bits in the filter
	pos     uint64 // index of the next bit in the stream
	left    uint64 // number of changed bits that are still in the stream
	after   uint64 // index in the filter of the bit after the last change that was read
	read    bool   // the change of bit after-1 has been read, but Next has not returned it
	damaged bool
}

// Next returns the index of the next word that changes, and a mask of its changed bits. ok is false
// at the end.
func (c *Changes) Next() (word int, mask uint64, ok bool) {
	if c.rice == 0 {
		return c.nextXor()
	}
	if !c.read {
		return 0, 0, false
	}
	word = int((c.after - 1) / 64)
	for c.read && int((c.after-1)/64) == word {
		mask |= 1 << ((c.after - 1) % 64)
		c.advance()
	}
	return word, mask, true
}

// nextXor is Next for rice = 0: the words of the stream are the masks.
func (c *Changes) nextXor() (word int, mask uint64, ok bool) {
	for c.left > 0 && c.pos < 8*uint64(len(c.stream)) {
		mask = c.rest()
		c.pos += 64
		n := uint64(bits.OnesCount64(mask))
		if n > c.left { // speed
			break
		}
		c.left -= n
		if n > 0 {
			return int(c.pos/64) - 1, mask, true
		}
	}
	c.damaged = c.left > 0
	return 0, 0, false
}

func (c *Changes) advance() {
	c.read = false
	if c.left == 0 {
		return
	}
	room := c.m - c.after
	high, low, ok := c.code()
	gap := high<<c.rice | low
	if !ok || high > room>>c.rice || gap >= room {
		c.damaged = true
		return
	}
	c.left--
	c.after += gap + 1
	c.read = true
}

// code reads the next Rice code, and returns the upper and the lower bits of the gap. ok is false
// if the stream ends first.
func (c *Changes) code() (high, low uint64, ok bool) {
	if i, shift := c.pos/64*8, c.pos%64; i+16 <= uint64(len(c.stream)) { // speed
		words := c.stream[i:]
		word := binary.LittleEndian.Uint64(words) >> shift
		word |= binary.LittleEndian.Uint64(words[8:]) << (64 - shift)
		zeros := uint(bits.TrailingZeros64(word))
		if n := zeros + 1 + c.rice; n <= 64 { // speed
			c.pos += uint64(n)
			return uint64(zeros), word >> (zeros + 1) & (1<<c.rice - 1), true
		}
	}
	// The code is longer than 64 bits, or near the end of the stream.
	high, ok = c.unary()
	if !ok || c.pos+uint64(c.rice) > 8*uint64(len(c.stream)) { // speed
		return 0, 0, false
	}
	return high, c.readBits(c.rice), true
}

// unary reads zeros and a one, and returns the number of zeros. ok is false if the stream ends
// first.
func (c *Changes) unary() (zeros uint64, ok bool) {
	for c.pos < 8*uint64(len(c.stream)) {
		if rest := c.rest(); rest != 0 {
			n := uint64(bits.TrailingZeros64(rest))
			c.pos += n + 1
			return zeros + n, true
		}
		zeros += 64 - c.pos%64
		c.pos += 64 - c.pos%64
	}
	return 0, false
}

// readBits reads n bits, which the stream must have.
func (c *Changes) readBits(n uint) (v uint64) {
	v = c.rest()
	if had := uint(64 - c.pos%64); n > had {
		c.pos += uint64(had)
		v |= c.rest() << had
		c.pos -= uint64(had)
	}
	c.pos += uint64(n)
	return v & (1<<n - 1)
}

// rest returns the bits from c.pos to the end of the word, or 0 at the end of the stream.
func (c *Changes) rest() uint64 {
	if i := c.pos / 64 * 8; i < uint64(len(c.stream)) {
		return binary.LittleEndian.Uint64(c.stream[i:]) >> (c.pos % 64)
	}
	return 0
}
