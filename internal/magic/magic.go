// Package magic recognizes compressions, archives, tables, filters and encodings of text by their
// first bytes. The command and the readers in other languages refuse files that they do not unpack:
// the bytes of such a file are not lines, and "not in the list" would be a wrong answer.
package magic

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"strconv"
	"strings"
)

// Table has a row for each beginning: a name, the pieces that such a file has, and what is said of
// it. A piece is an offset and hexadecimal digits, of which ? stands for any. If several rows fit,
// the first one counts. bloom.py and bloom.mjs have the same rows.
//
//go:embed magic.txt
var Table string

// Kind is a row of the table.
type Kind struct {
	Name    string
	Refusal string // says what it is, and which program unpacks it
	pieces  []piece
}

// piece is a run of bytes at an offset. Only the bits of mask count.
type piece struct {
	offset      int
	bytes, mask []byte
}

func (p *piece) end() int { return p.offset + len(p.bytes) }

var kinds = parse(Table)

// Bloom is the name of the rows for what this module writes.
const Bloom = "bloom"

// HeadSize is the number of bytes that Of looks at.
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

// parsePiece panics if text is not a piece.
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

// fits reports whether the bytes of head that p describes are as p says, as far as head goes.
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

// begins reports whether head fits k, as far as it goes, and whether it has all of k's pieces.
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

// Differs reports whether k differs from lines that end with delim. Records of one byte, and the NUL
// byte that ends each, look like UTF-16 without a byte order mark.
func (k *Kind) Differs(delim byte) bool { return delim != 0 || k.Name != unmarked }

const unmarked = "unmarked UTF-16"

// Undecided reports whether more bytes after head could change what Of returns. If head has delim,
// which ends a line, only pieces at the very beginning count: then head is text, unless a file in
// an archive has a name of two lines.
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
