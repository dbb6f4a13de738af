package lines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder finds a value in lines of JSON. It checks the whole line, as encoding/json does, but does
// not build values.
type decoder struct {
	json jsontext.Decoder
	line bytes.Buffer
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// lenient accepts bytes that are not UTF-8, as encoding/json does.
var lenient = jsontext.AllowInvalidUTF8(true)

// twice accepts duplicate names. findIn refuses an object that has the wanted name twice.
var twice = jsontext.AllowDuplicateNames(true)

// jsonKey returns the value of name in line, a JSON object, as a key: the decoded bytes of a
// string, or the bytes of any other value. A dot in name leads into a nested object. A key that is
// not a part of line is appended to scratch.
func jsonKey(line []byte, name string, scratch []byte) (key, newScratch []byte, err error) {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.line = *bytes.NewBuffer(line)
	d.json.Reset(&d.line, lenient, twice)
	value, err := d.find(line, name)
	if len(line) > longLine { // keep no reference to it
		d.line = bytes.Buffer{}
		d.json.Reset(&d.line, lenient, twice)
	}
	if err != nil {
		return nil, scratch, err
	}
	if value[0] != '"' {
		return value, scratch, nil
	}
	inner := value[1 : len(value)-1]
	start := len(scratch)
	switch {
	case !utf8.Valid(inner): // each invalid byte becomes U+FFFD
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, scratch, fmt.Errorf("%w: %w", errObject, err)
		}
		scratch = append(scratch, text...)
	case bytes.IndexByte(inner, '\\') >= 0:
		// The only possible error is half a surrogate pair, which becomes U+FFFD.
		scratch, _ = jsontext.AppendUnquote(grown(scratch, len(inner)), value)
	default:
		return inner, scratch, nil
	}
	return scratch[start:], scratch, nil
}

type twiceError string

func (name twiceError) Error() string { return fmt.Sprintf("it has %q twice", string(name)) }

var errObject = errors.New("it is not a JSON object")

func (d *decoder) find(line []byte, name string) ([]byte, error) {
	if d.json.PeekKind() != '{' {
		return nil, errObject
	}
	value, err := d.findIn(line, name)
	if err != nil {
		return nil, err
	}
	if _, err := d.json.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("%w: text follows it", errObject)
	}
	if value == nil {
		return nil, fmt.Errorf("it has no %q (--json)", name)
	}
	return value, nil
}

// findIn reads the next object, and returns the bytes of the value at path. It returns nil if the
// object has no such value.
func (d *decoder) findIn(line []byte, path string) (value []byte, err error) {
	name, rest, deeper := strings.Cut(path, ".")
	if _, err := d.json.ReadToken(); err != nil {
		return nil, damaged(err)
	}
	seen := false
	for d.json.PeekKind() == '"' {
		key, err := d.json.ReadValue()
		if err != nil {
			return nil, damaged(err)
		}
		if !isName(key, name) {
			if err := d.json.SkipValue(); err != nil {
				return nil, damaged(err)
			}
			continue
		}
		if seen {
			return nil, twiceError(name)
		}
		seen = true
		if deeper && d.json.PeekKind() == '{' {
			if value, err = d.findIn(line, rest); err != nil {
				return nil, err
			}
			continue
		}
		raw, err := d.json.ReadValue()
		if err != nil {
			return nil, damaged(err)
		}
		if !deeper {
			end := d.json.InputOffset()
			value = line[end-int64(len(raw)) : end]
		}
	}
	if _, err := d.json.ReadToken(); err != nil { // the closing brace
		return nil, damaged(err)
	}
	return value, nil
}

// isName reports whether quoted, a JSON string, decodes to name.
func isName(quoted []byte, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return string(text) == name
}

func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", errObject)
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && syntax.Err != nil {
		return fmt.Errorf("%w: %w after offset %d", errObject, syntax.Err, syntax.ByteOffset)
	}
	return fmt.Errorf("%w: %w", errObject, err)
}
