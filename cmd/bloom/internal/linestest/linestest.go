// Package linestest makes random texts, and reads them in a simple way, each text as a whole. It
// does not import package lines, because the tests of lines use it.
package linestest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/seed79a3ff49/bloom/internal/fold"
)

// Some texts exceed these limits of package lines: the number of bytes in a read, and the number of
// lines that are hashed together.
const (
	ReadSize   = 256 << 10
	HashedSize = 256
)

// mark is the UTF-8 byte order mark.
const mark = "\ufeff"

// Rule says how lines and their keys are read. Its fields mean the same as in lines.Config and
// lines.Key.
type Rule struct {
	Field     int
	JSON      string
	Separator string
	FoldCase  bool
	Hex       bool
	KeepCR    bool

	Delim   byte
	SkipBad bool
	Blank   bool
}

// Line is a line with a key.
type Line struct {
	File int    // the index of its text
	Text string // the line and its delimiter
	Key  string
}

// Reading is what Read found.
type Reading struct {
	Lines    []Line // the lines that are wanted, in order
	Bad      int    // number of lines that SkipBad left out
	FirstBad string // how the error of the first such line begins
	Blanks   int    // number of lines with an empty key
	Keys     uint64 // number of lines with a key, wanted or not; empty keys count only if Blank
	Parted   bool   // a line with the byte between fields was read; set only if Field is 1
	Err      string // the beginning of the error that ended reading, or ""
}

// Read reads texts. names are the names of their files. wanted reports whether the line of a key is
// wanted; nil means that all are.
func (r *Rule) Read(names, texts []string, wanted func(key string) bool) (got Reading) {
	for i, text := range texts {
		all, sep := r.Split(text)
		for n, line := range all {
			key, ok := r.Key(line, sep)
			got.Parted = got.Parted || r.Field == 1 && strings.Contains(line, string(sep))
			says := fmt.Sprintf("%s: line %d: ", names[i], n+1)
			switch {
			case !ok && !r.SkipBad:
				got.Err = says
				return got
			case !ok:
				if got.Bad == 0 {
					got.FirstBad = says
				}
				got.Bad++
				continue
			case key == "":
				got.Blanks++
			}
			if key == "" && !r.Blank {
				continue
			}
			got.Keys++
			if wanted == nil || wanted(key) {
				got.Lines = append(got.Lines, Line{i, line + string(r.Delim), key})
			}
		}
	}
	return got
}

// Split returns the lines of a text, without their delimiters, and the byte between their fields.
func (r *Rule) Split(text string) (lines []string, sep byte) {
	text = strings.TrimPrefix(text, mark)
	if text == "" {
		return nil, 0
	}
	lines = strings.Split(strings.TrimSuffix(text, string(r.Delim)), string(r.Delim))
	sep = ','
	if strings.Contains(lines[0], "\t") {
		sep = '\t'
	}
	if r.Separator != "" {
		sep = r.Separator[0]
	}
	return lines, sep
}

// csvField matches a field at the beginning, with or without quotes, and the comma or the end after
// it.
var csvField = regexp.MustCompile(`(?s)\A(?:"((?:[^"]|"")*)"|((?:[^",][^,]*)?))(,|\z)`)

// Key returns the key of a line, if it has one.
func (r *Rule) Key(line string, sep byte) (key string, ok bool) {
	if !r.KeepCR && r.Delim == '\n' {
		line = strings.TrimSuffix(line, "\r")
	}
	key = line
	switch {
	case r.JSON != "":
		value, ok := JSONKey([]byte(line), r.JSON)
		twice := strings.Contains(line, `1,"`+r.JSON+`":`) // as Text writes it
		if !ok || twice {
			return "", false
		}
		key = string(value)
	case r.Field > 0 && sep != ',':
		fields := strings.Split(line, string(sep))
		if len(fields) < r.Field {
			return "", false
		}
		key = fields[r.Field-1]
	case r.Field > 0:
		more := ","
		for range r.Field {
			found := csvField.FindStringSubmatch(line)
			if more == "" || found == nil {
				return "", false
			}
			line = line[len(found[0]):]
			key = strings.ReplaceAll(found[1], `""`, `"`) + found[2]
			more = found[3]
		}
	}
	switch {
	case r.Hex:
		b, err := hex.DecodeString(strings.TrimSpace(key))
		return string(b), err == nil
	case r.FoldCase:
		return string(fold.Append(nil, []byte(key))), true
	}
	return key, true
}

// JSONKey returns the key of line: the value that belongs to name in a JSON object, decoded if it
// is a string. If the object has name several times, the last value counts. name has no dots. ok is
// false if line is not an object that has name.
func JSONKey(line []byte, name string) (key []byte, ok bool) {
	if !json.Valid(line) || bytes.TrimLeft(line, " \t\r\n")[0] != '{' {
		return nil, false
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(line, &values) != nil {
		return nil, false
	}
	value, ok := values[name]
	if !ok || value[0] != '"' {
		return value, ok
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		return nil, false
	}
	return []byte(text), true
}

func RandomRule(rnd *rand.Rand) Rule {
	half := func() bool { return rnd.IntN(2) == 0 }
	r := Rule{Delim: '\n', SkipBad: rnd.IntN(4) > 0, Blank: half()}
	switch rnd.IntN(6) {
	case 0:
	case 1:
		r.JSON = "u"
	default:
		r.Field = 1 + rnd.IntN(3)
		r.Separator = []string{"", "", "", ":", ",", "\t", `"`}[rnd.IntN(7)]
	}
	if rnd.IntN(3) == 0 {
		r.Delim = 0
	}
	r.Hex = rnd.IntN(4) == 0
	r.FoldCase = half()
	r.KeepCR = half()
	return r
}

// Text returns a random text, possibly empty, of the bytes that matter to r.
func (r *Rule) Text(rnd *rand.Rand) string {
	end := string(r.Delim)
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	token := func() string {
		return one("a", "B", "é", "\u212a", "\xff", " ", ",", ",", "\t", ":", "\r", "\r"+end, "\n",
			"\x00", end, end, `"`, `""`, `"a,B"`, `"a""b",`, mark, "4f", "C0", "\\")
	}
	if r.Hex && rnd.IntN(3) > 0 {
		token = func() string { return one("4f", "4F", "C0", " 4f", ",", "\t", "\r", end) }
	}
	if r.JSON != "" && rnd.IntN(4) > 0 {
		token = func() string {
			value := one(`"a"`, `"B\"\u0061"`, `""`, "1.10", `[1,"u"]`, `{"u":2}`, "\"\xff\"",
				`"4f"`)
			object := one(`{"u":`, `{"v":1, "u":`, `{"v":`) + value + one("}", "}", "} ", "} x", "")
			return one(object, object, object, `{"u":1,"u":1}`, "\r", "") + end
		}
	}
	text := one("", "", "", mark, mark+mark, mark[:2])
	tokens := rnd.IntN([]int{4, 60}[rnd.IntN(2)])
	switch rnd.IntN(80) {
	case 0:
		text += strings.Repeat(token(), ReadSize/2) + token()
	case 1, 2, 3, 4:
		tokens = rnd.IntN(20 * HashedSize)
	}
	for range tokens {
		text += token()
	}
	return text
}
