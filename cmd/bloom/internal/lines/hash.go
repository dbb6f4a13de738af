package lines

import (
	"bytes"
	"slices"

	"github.com/seed79a3ff49/bloom"
)

// hashChunk is the largest number of keys that are hashed together. Their slice headers fit into a
// core's first-level cache.
const hashChunk = 256

func (r *Reader) hashBatches() {
	var keys [hashChunk][]byte
	var scratch []byte
	for b := range r.work {
		scratch = b.hash(keys[:0], scratch)
		if b.long { // keep no reference to the line, so that it can be freed
			scratch = nil
			clear(keys[:])
		}
		b.ready <- struct{}{}
	}
}

// hash finds the lines of b and hashes their keys. keys, with room for hashChunk keys, and scratch
// are buffers. The result is scratch, which may have grown.
func (b *Batch) hash(keys [][]byte, scratch []byte) []byte {
	b.Ends = b.Ends[:0]
	b.Hashes = b.Hashes[:0]
	b.numbers = b.numbers[:0]
	b.next = 0
	b.skipped = 0
	b.parted = b.cfg.Key.Field == 1 && bytes.IndexByte(b.Data, b.sep) >= 0
	cut := cutLines
	if !b.cfg.Key.whole() {
		cut = func(b *Batch, keys [][]byte) [][]byte {
			keys, scratch = cutKeys(b, keys, scratch[:0])
			return keys
		}
	}
	for keys = cut(b, keys); len(keys) > 0; keys = cut(b, keys[:0]) {
		n := len(b.Hashes)
		b.Hashes = slices.Grow(b.Hashes, len(keys))[:n+len(keys)]
		bloom.SumBatch(b.Hashes[n:], keys)
	}
	b.pick()
	return scratch
}

// IsBlank reports whether h is the digest of the empty key. Another key has it only if somebody
// constructed it.
func IsBlank(h bloom.Hash) bool { return h == bloom.Hash{} }

// pick counts blank lines, and removes the digests of lines that are not wanted.
func (b *Batch) pick() {
	b.blanks = 0
	for _, h := range b.Hashes {
		if IsBlank(h) {
			b.blanks++
		}
	}
	selects := b.cfg.Select
	dropBlanks := b.blanks > 0 && !b.cfg.Blank
	b.keys = uint64(len(b.Hashes))
	if dropBlanks {
		b.keys -= uint64(b.blanks)
	}
	b.picked = selects != nil || dropBlanks
	if !b.picked {
		return
	}
	b.numbers = slices.Grow(b.numbers, len(b.Hashes))
	n := 0
	for i, h := range b.Hashes {
		wanted := selects == nil || selects(h)
		if dropBlanks && IsBlank(h) {
			wanted = false
		}
		if wanted {
			b.Hashes[n] = h
			b.numbers = append(b.numbers, i)
			n++
		}
	}
	b.Hashes = b.Hashes[:n]
}

// cutLines appends the keys of b's next lines to keys, as many as fit, and the ends of the lines to
// b.Ends.
func cutLines(b *Batch, keys [][]byte) [][]byte {
	data := b.Data
	ends := b.Ends
	at := b.next
	delim := b.cfg.Delim
	dropCR := !b.cfg.Key.KeepCR
	for at < len(data) && len(keys) < cap(keys) {
		end := at + bytes.IndexByte(data[at:], delim)
		key := data[at:end]
		if dropCR && len(key) > 0 && key[len(key)-1] == '\r' {
			key = key[:len(key)-1]
		}
		keys = append(keys, key)
		at = end + 1
		ends = append(ends, at)
	}
	b.Ends = ends
	b.next = at
	return keys
}

// cutKeys is like cutLines, for keys that are not whole lines. Keys that are not part of their line
// are appended to scratch. A line without a key is removed from b.Data if SkipBad is set, and
// otherwise ends the batch with an error.
func cutKeys(b *Batch, keys [][]byte, scratch []byte) ([][]byte, []byte) {
	size := b.start(len(b.Ends))
	for b.next < len(b.Data) && len(keys) < cap(keys) && len(scratch) < longLine {
		end := b.next + bytes.IndexByte(b.Data[b.next:], b.cfg.Delim) + 1
		if size < b.next {
			copy(b.Data[size:], b.Data[b.next:end])
		}
		lineEnd := size + end - b.next
		b.next = end
		var key []byte
		var err error
		if key, scratch, err = b.cfg.Key.Of(b.Data[size:lineEnd-1], b.sep, scratch); err == nil {
			keys = append(keys, key)
			b.Ends = append(b.Ends, lineEnd)
			size = lineEnd
			continue
		}
		if !b.cfg.SkipBad {
			b.err = err
			b.bad = true
			b.next = len(b.Data)
			break
		}
		if b.skipped == 0 {
			b.skip = err
			b.skipAt = len(b.Ends)
		}
		b.skipped++
	}
	if b.next == len(b.Data) && len(keys) == 0 {
		b.Data = b.Data[:size] // cut Data after the last line with a key
	}
	return keys, scratch
}
