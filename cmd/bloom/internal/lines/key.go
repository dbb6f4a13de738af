package lines

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
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
	if k.Hex { // where space at the end never counts
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

// Of returns the key of line, whose fields sep separates. It appends to scratch what is not in line as it is.
func (k *Key) Of(line []byte, sep byte, scratch []byte) (key, newScratch []byte, err error) {
	if !k.KeepCR {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	key = line
	if k.Field > 0 {
		if key, scratch, err = field(line, k.Field, sep, scratch); err != nil {
			return nil, scratch, err
		}
	}
	start := len(scratch)
	switch {
	case k.Hex:
		key = bytes.TrimSpace(key)
		scratch, err = hex.AppendDecode(scratch, key)
		if err != nil {
			return nil, scratch[:start], fmt.Errorf("%.80q is not an even number of hexadecimal digits", key)
		}
		return scratch[start:], scratch, nil
	case k.FoldCase:
		scratch = appendFolded(scratch, key)
		return scratch[start:], scratch, nil
	}
	return key, scratch, nil
}

// appendFolded appends key with small letters for capital ones. Bytes that are not
// UTF-8 stay: unicode/bytes would make all of them the same.
func appendFolded(dst, key []byte) []byte {
	dst = slices.Grow(dst, len(key))
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
// as in CSV.
func field(line []byte, n int, sep byte, scratch []byte) (value, newScratch []byte, err error) {
	for i := 1; ; i++ {
		var rest []byte
		more := false
		if sep == ',' && len(line) > 0 && line[0] == '"' {
			start := len(scratch)
			value, rest = nil, line[1:]
			for {
				end := bytes.IndexByte(rest, '"')
				if end < 0 {
					return nil, scratch[:start], errQuote
				}
				scratch = append(scratch, rest[:end]...)
				if rest = rest[end+1:]; len(rest) == 0 || rest[0] != '"' {
					break
				}
				scratch = append(scratch, '"')
				rest = rest[1:]
			}
			if len(rest) > 0 && rest[0] != ',' {
				return nil, scratch[:start], errors.New(`a field goes on after its closing "`)
			}
			value = scratch[start:]
			if more = len(rest) > 0; more {
				rest = rest[1:]
			}
		} else {
			value, rest, more = bytes.Cut(line, []byte{sep})
		}
		if i == n {
			return value, scratch, nil
		}
		if !more {
			return nil, scratch, fmt.Errorf("it has only %d of %d fields, with %q between them (-sep)", i, n, sep)
		}
		line = rest
	}
}
