package form

import "math/bits"

// Merged reads several patches as if they were one. Each patch must apply to the filter that the
// previous patch produces. A bit that an even number of patches change is the same before and
// after.
//
// Merged goes through the filter in windows. In each window, every patch flips its bits in masks
// and marks their words in touched. So the time depends on the number of changes, not on the size
// of the filter.
type Merged struct {
	sources []*Changes
	first   int // index of the window's first word
	masks   [64 * windowMarks]uint64
	touched [windowMarks]uint64 // if bit i%64 of touched[i/64] is 0, masks[i] is 0
	mark    int                 // all elements of touched before this index are 0
}

const windowMarks = 8

// Merge returns a Merged that reads the changes of patches.
func Merge(patches []*Patch) *Merged {
	m := &Merged{mark: windowMarks}
	for _, p := range patches {
		m.sources = append(m.sources, p.Changes())
	}
	return m
}

// Next returns the index of the next word that changes, and a mask of its changed bits. ok is false
// at the end.
func (m *Merged) Next() (word int, mask uint64, ok bool) {
	for {
		for ; m.mark < windowMarks; m.mark++ {
			for marks := &m.touched[m.mark]; *marks != 0; {
				i := 64*m.mark + bits.TrailingZeros64(*marks)
				*marks &= *marks - 1
				mask, m.masks[i] = m.masks[i], 0
				if mask != 0 {
					return m.first + i, mask, true
				}
			}
		}
		if !m.fill() {
			return 0, 0, false
		}
	}
}

// fill moves the window to the next changes. It returns false if there are none.
func (m *Merged) fill() bool {
	lowest := -1
	for _, c := range m.sources {
		if word, ok := c.nextWord(); ok && (lowest < 0 || word < lowest) {
			lowest = word
		}
	}
	if lowest < 0 {
		return false
	}
	m.first = lowest
	m.mark = 0
	for _, c := range m.sources {
		c.flip(m)
	}
	return true
}

// nextWord returns a lower bound for the index of the next word that changes. ok is false at the
// end of the stream.
func (c *Changes) nextWord() (word int, ok bool) {
	if c.rice == 0 {
		return int(c.pos / 64), c.left > 0 && c.pos < 8*uint64(len(c.stream))
	}
	return int((c.after - 1) / 64), c.read
}

// flip applies the changes of c that lie in the window of m.
func (c *Changes) flip(m *Merged) {
	start := 64 * uint64(m.first)
	end := start + 64*uint64(len(m.masks))
	if c.rice > 0 {
		for ; c.read && c.after <= end; c.advance() {
			i := c.after - 1 - start
			m.masks[i/64] ^= 1 << (i % 64)
			m.touched[i/4096] |= 1 << (i / 64 % 64)
		}
		return
	}
	for c.left > 0 && c.pos < min(end, 8*uint64(len(c.stream))) {
		i := (c.pos - start) / 64
		mask := c.rest()
		m.masks[i] ^= mask
		m.touched[i/64] |= 1 << (i % 64)
		c.left -= uint64(bits.OnesCount64(mask)) // speed
		c.pos += 64
	}
}
