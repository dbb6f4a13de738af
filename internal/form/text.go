package form

import (
	"bytes"
	"encoding"
	"encoding/base64"
)

// AppendText appends the binary form of v to dst, in standard base64. It appends nothing for a
// zero value, which has no binary form.
func AppendText(dst []byte, v encoding.BinaryMarshaler) ([]byte, error) {
	data, err := v.MarshalBinary()
	if _, zero := err.(NoForm); zero {
		return dst, nil
	}
	if err != nil {
		return dst, err
	}
	return base64.StdEncoding.AppendEncode(dst, data), nil
}

// UnmarshalText decodes base64 text into dst. pkg is the package of dst's type. For empty text,
// UnmarshalText calls zero, which must set dst to its zero value.
func UnmarshalText(pkg string, text []byte, dst encoding.BinaryUnmarshaler, zero func()) error {
	if len(text) == 0 {
		zero()
		return nil
	}
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 { // package base64 would skip line breaks
		return Errorf(pkg, "base64 has a line break at byte %d", i)
	}
	data, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil {
		return Errorf(pkg, "%w", err)
	}
	return dst.UnmarshalBinary(data)
}
