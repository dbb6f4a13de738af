package lines

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// A Key says what of a line is its key. The zero Key is the line without the carriage
// return that lines from Windows end with.
type Key struct {
	Field     int    // one of the line's fields, from 1 on; 0 is the line
	Separator string // of fields: one byte, or "" for a tab if the input's first line has one, else a comma
	FoldCase  bool   // capital and small letters are the same
	Hex       bool   // the key is the bytes that the line gives in hexadecimal digits
	KeepCR    bool   // a carriage return at the line's end is part of it
}

// whole reports whether keys are lines, but for a carriage return at the end.
func (k *Key) whole() bool { return k.Field == 0 && !k.FoldCase && !k.Hex }

// Hash says how keys become digests, as bloom.Info does. Which field of a line was the
// key does not matter to who looks one up.
func (k *Key) Hash() string {
	if k.Hex { // space at the end never counts
		return "Sum of the bytes given in hexadecimal"
	}
	hash := "SumString"
	if k.FoldCase {
		hash += ", in small letters"
	}
	if k.KeepCR {
		hash += ", with carriage returns"
	}
	return hash
}

// separator returns the byte between fields of an input with that first line.
func (k *Key) separator(first []byte) byte {
	switch {
	case k.Separator != "":
		return k.Separator[0]
	case bytes.IndexByte(first, '\t') >= 0:
		return '\t'
	}
	return ','
}

// Of returns the key of line, whose fields sep separates. It appends to scratch what is not in line
// as it is.
func (k *Key) Of(line []byte, sep byte, scratch []byte) (key, newScratch []byte, err error) {
	if !k.KeepCR {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	key, doubled := line, false
	if k.Field > 0 {
		if key, doubled, err = field(line, k.Field, sep); err != nil {
			return nil, scratch, err
		}
	}
	start := len(scratch)
	switch {
	case k.Hex:
		key = bytes.TrimSpace(key)
		scratch, err = hex.AppendDecode(scratch, key)
		if err != nil {
			key = key[:min(len(key), 400)]
			return nil, scratch[:start], fmt.Errorf(
				"%.80q is not an even number of hexadecimal digits", key)
		}
	case k.FoldCase:
		scratch = appendFolded(scratch, key)
	case doubled:
		scratch = append(grown(scratch, len(key)), key...)
	default:
		return key, scratch, nil
	}
	if doubled { // in place: one more copy of a long line takes too much memory
		scratch = scratch[:start+undouble(scratch[start:])]
	}
	return scratch[start:], scratch, nil
}

// undouble leaves one quote of two, and returns the length of what is left.
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

// appendFolded appends key with small letters for capital ones. Bytes that are not
// UTF-8 stay: unicode/bytes would make all of them the same.
func appendFolded(dst, key []byte) []byte {
	dst = grown(dst, len(key)+len(key)/2) // no small letter takes more: ⱥ has three bytes, Ⱥ two
	for i := 0; i < len(key); {
		if c := key[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(key[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, key[i])
		} else {
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		}
		i += size
	}
	return dst
}

var errQuote = errors.New(`a field's closing " is missing`)

// field returns field n of line. Where commas separate fields, one may be in quotes
// as in CSV, and doubled says that quotes in it are still doubled.
func field(line []byte, n int, sep byte) (_ []byte, doubled bool, _ error) {
	for i := 1; ; i++ {
		end := 0 // of the value, where quotes may be around it
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
				"it has only %d of %d fields, with %q between them (-sep)", i, n, sep)
		}
		line = rest
	}
}
