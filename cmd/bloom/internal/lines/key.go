package lines

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/seed79a3ff49/bloom/internal/fold"
)

// A Place says which part of a line is its key. The zero Place is the whole line.
type Place struct {
	Field int    // the number of the field that is the key, counted from 1
	JSON  string // the name of the JSON value that is the key
}

// A Key says how the key of a line is made. The zero Key is the whole line, without the carriage
// return at the end of lines from Windows.
type Key struct {
	Place
	// Separator is the byte between fields. If it is empty, the first line of each file decides:
	// fields are separated by tabs if the line has a tab, and otherwise by commas.
	Separator string
	FoldCase  bool // all forms of a letter are the same; see package fold
	Hex       bool // the key is written in hexadecimal
	KeepCR    bool // keep a carriage return at the end of the line
}

// whole reports whether keys are whole lines, with or without a carriage return at the end.
func (k *Key) whole() bool { return k.Place == Place{} && !k.FoldCase && !k.Hex }

// Hash returns the text for the Hash of a bloom.Info. It leaves out the field, because lines to
// look up may be values of the field alone.
func (k *Key) Hash() string {
	if k.Hex { // Of trims white space from the digits, so KeepCR makes no difference
		return "Sum of the bytes given in hexadecimal"
	}
	hash := "SumString"
	if k.FoldCase {
		hash += ", case folded by Unicode " + fold.Version
	}
	if k.KeepCR {
		hash += ", with carriage returns"
	}
	return hash
}

func (k *Key) separator(first []byte) byte {
	switch {
	case k.Separator != "":
		return k.Separator[0]
	case bytes.IndexByte(first, '\t') >= 0:
		return '\t'
	}
	return ','
}

// Of returns the key of line. sep is the byte between fields. A key that is not a part of line is
// appended to scratch.
func (k *Key) Of(line []byte, sep byte, scratch []byte) (key, newScratch []byte, err error) {
	if !k.KeepCR {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	key, doubled := line, false
	switch {
	case k.JSON != "":
		key, scratch, err = jsonKey(line, k.JSON, scratch)
	case k.Field > 0:
		key, doubled, err = field(line, k.Field, sep)
	}
	if err != nil {
		return nil, scratch, err
	}
	start := len(scratch)
	switch {
	case k.Hex:
		key = bytes.TrimSpace(key)
		scratch, err = hex.AppendDecode(scratch, key)
		if err != nil {
			return nil, scratch[:start], k.errHex(key)
		}
	case k.FoldCase:
		scratch = fold.Append(grown(scratch, len(key)+len(key)/2), key)
	case doubled:
		scratch = append(grown(scratch, len(key)), key...)
	default:
		return key, scratch, nil
	}
	if doubled { // in place, to save memory: the line may be long
		scratch = scratch[:start+undouble(scratch[start:])]
	}
	return scratch[start:], scratch, nil
}

// errHex returns the error for a key that is not in hexadecimal. If the key is a whole line that
// begins with bytes in hexadecimal, the error suggests that these are a field.
func (k *Key) errHex(key []byte) error {
	key = key[:min(len(key), 400)]
	digits := 0
	for digits < len(key) && strings.IndexByte("0123456789abcdefABCDEF", key[digits]) >= 0 {
		digits++
	}
	hint := ""
	if k.Place == (Place{}) && digits > 0 && digits%2 == 0 && digits < len(key) {
		hint = fmt.Sprintf("; if the digits end at %q, add -f 1 --sep %q", key[digits:digits+1],
			key[digits:digits+1])
	}
	return fmt.Errorf("%.80q is not an even number of hexadecimal digits%s", key, hint)
}

// undouble replaces each doubled quote in key with a single one, and returns the new length of key.
func undouble(key []byte) (n int) {
	for i := 0; i < len(key); i++ {
		key[n] = key[i]
		n++
		if key[i] == '"' {
			i++
		}
	}
	return n
}

var errQuote = errors.New(`a field's closing " is missing`)

// field returns field n of line, counted from 1, or an error if there is none. If sep is a comma,
// the line is CSV: a field may be in quotes. doubled reports whether the result still has doubled
// quotes.
func field(line []byte, n int, sep byte) (_ []byte, doubled bool, _ error) {
	for i := 1; ; i++ {
		end := 0 // the end of a value in quotes, or 0
		doubled = false
		if sep == ',' && len(line) > 0 && line[0] == '"' {
			for end = 1; ; end++ {
				quote := bytes.IndexByte(line[end:], '"')
				if quote < 0 {
					return nil, false, errQuote
				}
				if end += quote + 1; end == len(line) || line[end] != '"' {
					break
				}
				doubled = true
			}
		}
		value, rest, more := bytes.Cut(line[end:], []byte{sep})
		if end > 0 {
			if len(value) > 0 {
				return nil, false, errors.New(`a field goes on after its closing "`)
			}
			value = line[1 : end-1]
		}
		if i == n {
			return value, doubled, nil
		}
		if !more {
			return nil, false, fmt.Errorf(
				"it has only %d of %d fields, with %q between them (--sep)", i, n, sep)
		}
		line = rest
	}
}
