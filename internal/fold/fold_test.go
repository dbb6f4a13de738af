package fold

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestTableStays: keys in files depend on each character of the table.
func TestTableStays(t *testing.T) {
	sum := sha256.Sum256([]byte(Table))
	require.Equal(t, "ca9ca98ea1f212820dbd51d5f849fe07e06d810c55da98c07d464ec8ff2a0ea8",
		hex.EncodeToString(sum[:]))
}

// TestRune: two characters have one representative if they are forms of one letter in Go's tables,
// and only then. In a Go with a later Unicode, letters that are new there have forms that the table
// does not know.
func TestRune(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		folded := Rune(r)
		if folded == r && unicode.SimpleFold(r) == r {
			continue
		}
		isForm := folded == r
		for form := unicode.SimpleFold(r); form != r; form = unicode.SimpleFold(form) {
			isForm = isForm || folded == form
			if unicode.Version == Version {
				require.Equal(t, folded, Rune(form), "%c and %c", r, form)
			}
		}
		require.True(t, isForm, "%c is no form of %c", folded, r)
		require.Equal(t, folded, Rune(folded), "%c", r)
		require.LessOrEqual(t, 2*utf8.RuneLen(folded), 3*max(utf8.RuneLen(r), 1),
			"%c: what Append says", r)
	}
}

// TestAppend holds the letters that a map to lower case takes apart or brings together.
func TestAppend(t *testing.T) {
	for text, want := range map[string]string{
		"ΟΔΥΣΣΕΥΣ οδυσσευς":             "οδυσσευσ οδυσσευσ",
		"Sſs Kk\u212a ẞß Åå\u212b":      "sss kkk ßß ååå",
		"İ I ı i":                       "İ i ı i",
		"Ǆǅǆ ᏸᏰ Ⱥ 𐐀":                    "ǆǆǆ ᏰᏰ ⱥ 𐐨",
		"A\xff\xe2\x82É\xf0\x90 \ufffd": "a\xff\xe2\x82é\xf0\x90 \ufffd",
		// later versions of Unicode fold the first to the second
		"\ufb05 \ufb06": "\ufb05 \ufb06",
		"":              "",
	} {
		require.Equal(t, "x"+want, string(Append([]byte("x"), []byte(text))))
	}
}
