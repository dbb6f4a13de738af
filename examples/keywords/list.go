package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed79a3ff49/bloom"
)

// A list is the forbidden words and the filter in front of them.
type list struct {
	filter  *bloom.Filter
	exact   map[string]string // folded word to its spelling in the list
	longest int               // bytes of the longest folded word
}

// newList reads one word a line. Blank lines and lines that start with '#' are
// skipped.
func newList(r io.Reader, p float64) (*list, error) {
	l := &list{exact: map[string]string{}}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\uFEFF"))
		if line == "" || line[0] == '#' {
			continue
		}
		if strings.ContainsFunc(line, func(r rune) bool { return !isWord(r) }) {
			return nil, fmt.Errorf("line %d: %q is not one word of letters and digits", n, line)
		}
		word := strings.Map(fold, line)
		l.exact[word] = line
		l.longest = max(l.longest, len(word))
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(l.exact) == 0 {
		return nil, errors.New("no words in the list")
	}
	var err error
	if l.filter, err = bloom.New(uint64(len(l.exact)), p); err != nil {
		return nil, err
	}
	for word := range l.exact {
		l.filter.AddString(word)
	}
	return l, nil
}

// A match is a forbidden word as the list spells it, and where it was found to
// start: line and column count from 1, columns in characters.
type match struct {
	line, column int
	word         string
}

type stats struct{ tokens, lookups, matches int }

func (s *stats) add(t stats) {
	s.tokens += t.tokens
	s.lookups += t.lookups
	s.matches += t.matches
}

// check calls found for each token of r that is on the list. A token is a run of
// letters, digits and combining marks, whatever its length; bytes that are not
// UTF-8 separate tokens. Except for matches it allocates nothing per token.
func (l *list) check(r io.Reader, found func(match)) (s stats, err error) {
	var (
		in     = bufio.NewReader(r)
		token  []byte // folded, and cut off where it is already longer than any word
		at     = match{line: 1}
		line   = 1
		column = 0
		inside = false
	)
	for {
		r, _, err := in.ReadRune()
		if err != nil && err != io.EOF {
			return s, err
		}
		column++
		if err == nil && isWord(r) {
			if !inside {
				inside, at.line, at.column = true, line, column
			}
			if len(token) <= l.longest {
				token = utf8.AppendRune(token, fold(r))
			}
			continue
		}
		if inside {
			s.tokens++
			if l.filter.Contains(token) {
				s.lookups++
				if word, ok := l.exact[string(token)]; ok {
					s.matches++
					at.word = word
					found(at)
				}
			}
			inside, token = false, token[:0]
		}
		if err == io.EOF {
			return s, nil
		}
		if r == '\n' {
			line, column = line+1, 0
		}
	}
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// fold maps all runes that differ in case alone to one of them, so that words
// are equal after folding if strings.EqualFold says so: unlike lower-casing it
// also unites the two small sigmas of Greek. It does not unite "ß" with "ss",
// nor an accented letter with the same letter and a combining accent.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	// The orbit of r under SimpleFold leads through all its cases; take the first.
	folded := r
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		folded = min(folded, c)
	}
	return folded
}
