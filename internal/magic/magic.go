// Package magic recognizes files that are not lines of UTF-8, such as compressed files, archives
// and filters, by their first bytes. The command and the readers in other languages refuse files
// that they cannot unpack: the bytes of such a file are not lines, so any answer would be wrong.
package magic

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"strconv"
	"strings"
)

// Table has three columns: the name of a kind of file, the pieces that such a file has, and the
// error message for it. A piece is an offset and hexadecimal digits, where ? stands for any digit.
// The first row that fits decides. bloom.py and bloom.mjs have the same rows.
//
//go:embed magic.txt
var Table string

// Kind is a row of the table.
type Kind struct {
	Name    string
	Refusal string // says what the file is and, if possible, how to get lines from it
	pieces  []piece
}

// Bits that are 0 in mask may have any value.
type piece struct {
	offset      int
	bytes, mask []byte
}

func (p *piece) end() int { return p.offset + len(p.bytes) }

var kinds = parse(Table)

// Bloom is the name of the rows for files that this module writes.
const Bloom = "bloom"

// HeadSize is the maximum number of bytes that Of examines.
var HeadSize = headSize()

func parse(table string) (kinds []Kind) {
	for row := range strings.Lines(table) {
		columns := strings.Split(strings.TrimSpace(row), " | ")
		k := Kind{Name: columns[0], Refusal: columns[2]}
		for _, text := range strings.Fields(columns[1]) {
			k.pieces = append(k.pieces, parsePiece(text))
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// parsePiece panics if it cannot parse the offset or the digits in text.
func parsePiece(text string) piece {
	offset, digits, _ := strings.Cut(text, ":")
	mask := strings.Map(func(digit rune) rune {
		if digit == '?' {
			return '0'
		}
		return 'f'
	}, digits)
	return piece{
		offset: must(strconv.Atoi(offset)),
		bytes:  must(hex.DecodeString(strings.ReplaceAll(digits, "?", "0"))),
		mask:   must(hex.DecodeString(mask)),
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func headSize() (size int) {
	for _, k := range kinds {
		for _, p := range k.pieces {
			size = max(size, p.end())
		}
	}
	return size
}

// fits counts bytes beyond the end of head as matches.
func (p *piece) fits(head []byte) bool {
	for i, mask := range p.mask {
		at := p.offset + i
		if at >= len(head) {
			return true
		}
		if head[at]&mask != p.bytes[i] {
			return false
		}
	}
	return true
}

// begins reports whether head may be the beginning of a file of kind k, and whether head has all
// pieces of k.
func (k *Kind) begins(head []byte) (fits, whole bool) {
	whole = true
	for i := range k.pieces {
		if !k.pieces[i].fits(head) {
			return false, false
		}
		whole = whole && len(head) >= k.pieces[i].end()
	}
	return true, whole
}

// Of returns the kind of a file that begins with head, or nil.
func Of(head []byte) *Kind {
	for i := range kinds {
		if _, whole := kinds[i].begins(head); whole {
			return &kinds[i]
		}
	}
	return nil
}

// Differs reports whether files of kind k look different from lines that end with delim. If delim
// is NUL, UTF-16 without a byte order mark looks like lines of one byte each.
func (k *Kind) Differs(delim byte) bool { return delim != 0 || k.Name != unmarked }

const unmarked = "unmarked UTF-16"

// Undecided reports whether more bytes after head could change the result of Of. If head contains
// delim, Undecided returns true only if head ends within a piece at offset 0.
func Undecided(head []byte, delim byte) bool {
	hasLine := bytes.IndexByte(head, delim) >= 0
	for i := range kinds {
		if !kinds[i].Differs(delim) {
			continue
		}
		fits, whole := kinds[i].begins(head)
		first := &kinds[i].pieces[0]
		switch {
		case whole:
			return false
		case !fits, hasLine && kinds[i].Name == unmarked: // a line may have a NUL byte
		case !hasLine, first.offset == 0 && len(head) < first.end():
			return true
		}
	}
	return false
}
