// Package fold replaces each letter with one representative of its forms, such as Σ and ς with σ,
// as in Unicode's simple case folding (the statuses C and S of its file CaseFolding.txt). Keys in
// files depend on it, so the version of Unicode is fixed; Go's own tables change with Go.
package fold

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Version is the version of Unicode.
const Version = "15.0.0"

// Table has all characters that folding changes, in ascending order, as runs separated by white
// space. A run such as 100-12e/2+1 has the first and the last character in hexadecimal and then, in
// decimal, the step from one to the next and what folding adds. The last character is left out if
// it is the first, and the step if it is 1. The readers in contrib/readers have the same table.
//
//go:embed fold.txt
var Table string

// pageTable has what folding adds to each character, at [r>>8][r&255]. A page of zeros is nil.
type pageTable [0x1f0]*[256]rune

// pages parses the Table when it is first called: few programs fold.
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

func number(text string, base int) rune {
	n, err := strconv.ParseInt(text, base, 32)
	if err != nil {
		panic(fmt.Sprintf("fold: %q in the table: %v", text, err))
	}
	return rune(n)
}

// Rune returns the representative of r.
func Rune(r rune) rune { return pages().lookUp(r) }

func (pages *pageTable) lookUp(r rune) rune {
	i := uint32(r) >> 8
	if i < uint32(len(pages)) && pages[i] != nil {
		return r + pages[i][r&255]
	}
	return r
}

// Append appends text to dst, but replaces each character with its representative. Bytes that are
// not UTF-8 remain as they are. The result may be up to half as long again as text: Ⱥ has two
// bytes, and ⱥ has three.
func Append(dst, text []byte) []byte {
	var table *pageTable // nil until a character needs it
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
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
