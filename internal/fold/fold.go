// Package fold maps all forms of a letter to one of them: Σ and ς become σ. It is Unicode's simple
// case folding (status C and S in CaseFolding.txt). Keys in files depend on it, so the version of
// Unicode is fixed here; Go's own tables change with Go.
package fold

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Version is the version of Unicode from which Table was made.
const Version = "15.0.0"

// Table lists all characters that folding changes, in ascending order, as runs separated by white
// space. A run such as 100-12e/2+1 has the first and the last character in hexadecimal, then, in
// decimal, the step between characters and the number that folding adds to each. A run of one
// character has no last character; a step of 1 is left out. The readers in contrib/readers have the
// same table.
//
//go:embed fold.txt
var Table string

// pageTable has, at [r>>8][r&255], the number that folding adds to r. A page of zeros is nil.
type pageTable [0x1f0]*[256]rune

// pages parses Table on the first call, because few programs need it.
var pages = sync.OnceValue(func() *pageTable { return parse(Table) })

func parse(table string) *pageTable {
	pages := new(pageTable)
	for _, run := range strings.Fields(table) {
		sign := strings.LastIndexAny(run, "+-")
		chars, stepText, _ := strings.Cut(run[:sign], "/")
		firstText, lastText, _ := strings.Cut(chars, "-")
		first := number(firstText, 16)
		last := first
		if lastText != "" {
			last = number(lastText, 16)
		}
		step := rune(1)
		if stepText != "" {
			step = number(stepText, 10)
		}
		delta := number(run[sign:], 10)
		for r := first; r <= last; r += step {
			if pages[r>>8] == nil {
				pages[r>>8] = new([256]rune)
			}
			pages[r>>8][r&255] = delta
		}
	}
	return pages
}

// number parses a number in Table, where every number is valid.
func number(text string, base int) rune {
	n, _ := strconv.ParseInt(text, base, 32)
	return rune(n)
}

// Rune returns the form to which all forms of r are mapped.
func Rune(r rune) rune { return pages().lookUp(r) }

func (pages *pageTable) lookUp(r rune) rune {
	i := uint32(r) >> 8
	if i < uint32(len(pages)) && pages[i] != nil {
		return r + pages[i][r&255]
	}
	return r
}

// Append folds text and appends the result to dst. Bytes that are not valid UTF-8 remain as they
// are. The result may be up to half as long again as text: Ⱥ takes two bytes, and ⱥ takes three.
func Append(dst, text []byte) []byte {
	var table *pageTable // nil until a character needs it
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf { // speed
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, text[i])
		} else {
			if table == nil {
				table = pages()
			}
			dst = utf8.AppendRune(dst, table.lookUp(r))
		}
		i += size
	}
	return dst
}
