package form

import (
	"encoding"
	"encoding/base64"
)

// AppendText appends the standard base64 encoding of a binary form to b.
func AppendText(b []byte, form encoding.BinaryMarshaler) ([]byte, error) {
	data, err := form.MarshalBinary()
	if err != nil {
		return b, err
	}
	return base64.StdEncoding.AppendEncode(b, data), nil
}

// UnmarshalText decodes base64 text into a type of package pkg.
func UnmarshalText(pkg string, text []byte, into encoding.BinaryUnmarshaler) error {
	data, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil {
		return Errorf(pkg, "%w", err)
	}
	return into.UnmarshalBinary(data)
}
