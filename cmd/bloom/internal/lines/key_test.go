package lines

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestHexErrors: the error for a line that is not in hexadecimal suggests a field only if the line
// begins with whole bytes.
func TestHexErrors(t *testing.T) {
	const says = " is not an even number of hexadecimal digits"
	field := func(sep string) string {
		return says + `; if the digits end at "` + sep + `", add -f 1 --sep "` + sep + `"`
	}
	zeros := func(n int) string { return strings.Repeat("0", n) }
	for line, want := range map[string]string{
		"x":     `"x"` + says,
		"0":     `"0"` + says,
		"0g":    `"0g"` + says,
		"00g":   `"00g"` + field("g"),
		"00g0":  `"00g0"` + field("g"),
		"09f:1": `"09f:1"` + says,
		"aFAf:": `"aFAf:"` + field(":"),

		zeros(81):         `"` + zeros(80) + `"` + says,
		zeros(80) + "x":   `"` + zeros(80) + `"` + field("x"),
		zeros(398) + "xy": `"` + zeros(80) + `"` + field("x"),
		zeros(400) + "x":  `"` + zeros(80) + `"` + says, // the rest of a long line is not read
	} {
		key := Key{Hex: true}
		_, _, err := key.Of([]byte(line), 0, nil)
		assert.EqualError(t, err, want, "%.90q", line)
	}
	key := Key{Hex: true, Place: Place{Field: 1}}
	_, _, err := key.Of([]byte("00g,"), ',', nil)
	assert.EqualError(t, err, `"00g"`+says)
}
