package form

import (
	"bytes"
	"encoding"
	"encoding/base64"
)

// AppendText appends the standard base64 encoding of a binary form to b, or nothing for the
// zero value, which has none.
func AppendText(b []byte, form encoding.BinaryMarshaler) ([]byte, error) {
	data, err := form.MarshalBinary()
	if _, zero := err.(NoForm); zero {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	return base64.StdEncoding.AppendEncode(b, data), nil
}

// UnmarshalText decodes base64 text into a type of package pkg. Empty text calls zero, which
// makes it zero.
func UnmarshalText(pkg string, text []byte, into encoding.BinaryUnmarshaler, zero func()) error {
	if len(text) == 0 {
		zero()
		return nil
	}
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 { // which package base64 skips
		return Errorf(pkg, "base64 with the end of a line, at byte %d", i)
	}
	data, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil {
		return Errorf(pkg, "%w", err)
	}
	return into.UnmarshalBinary(data)
}
