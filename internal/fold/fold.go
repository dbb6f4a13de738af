// Package fold replaces each letter by one representative of its forms, such as Σ and ς by σ.
// The representative is that of Unicode's simple case folding (the statuses C and S of its file
// CaseFolding.txt). Keys in files depend on it, so the version of Unicode is fixed, and Go's own
// tables, which change with Go, are not used.
package fold

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Version is the version of Unicode.
const Version = "15.0.0"

// Table has all characters that folding changes, in ascending order, as runs between white space.
// A run such as 100-12e/2+1 has the first and the last character in hexadecimal, the step from one
// to the next, and what folding adds to each of them, in decimal. The last is left out if it is the
// first, and the step if it is 1. The readers in contrib/readers have the same table.
//
//go:embed fold.txt
var Table string

// run is a run of Table.
type run struct{ first, last, step, delta rune }

var runs = parse(Table)

func parse(table string) (runs []run) {
	for _, text := range strings.Fields(table) {
		sign := strings.LastIndexAny(text, "+-")
		chars, step, _ := strings.Cut(text[:sign], "/")
		first, last, _ := strings.Cut(chars, "-")
		r := run{step: 1}
		scan(text[sign:], "%d", &r.delta)
		scan(first, "%x", &r.first)
		r.last = r.first
		if last != "" {
			scan(last, "%x", &r.last)
		}
		if step != "" {
			scan(step, "%d", &r.step)
		}
		runs = append(runs, r)
	}
	return runs
}

func scan(text, format string, to *rune) {
	if _, err := fmt.Sscanf(text, format, to); err != nil {
		panic(fmt.Sprintf("fold: %q in the table: %v", text, err))
	}
}

// Rune returns the representative of r.
func Rune(r rune) rune {
	i, _ := slices.BinarySearchFunc(runs, r, func(of run, r rune) int { return int(of.last - r) })
	if i < len(runs) && r >= runs[i].first && (r-runs[i].first)%runs[i].step == 0 {
		return r + runs[i].delta
	}
	return r
}

// Append appends text to dst, with the representative of each character. It leaves bytes that are
// not UTF-8 as they are. At most half as many bytes again are appended as text has: Ⱥ has two
// bytes, and ⱥ has three.
func Append(dst, text []byte) []byte {
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
			dst = utf8.AppendRune(dst, Rune(r))
		}
		i += size
	}
	return dst
}
