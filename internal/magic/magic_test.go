package magic_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/gunzip"
	"github.com/seed79a3ff49/bloom/internal/magic"
)

// TestOf: each beginning is recognized once it is whole, whatever follows it.
func TestOf(t *testing.T) {
	for _, head := range filtertest.Heads(t) {
		for _, rest := range []string{"", "\n", "rest\n"} {
			kind := magic.Of([]byte(head.Bytes + rest))
			require.NotNil(t, kind, "%s: %q", head.Name, head.Bytes)
			assert.Equal(t, head.Refusal, kind.Refusal)
		}
		last := len(head.Bytes) - 1
		if kind := magic.Of([]byte(head.Bytes[:last])); kind != nil { // UTF-32 begins like UTF-16
			assert.NotEqual(t, head.Refusal, kind.Refusal, "%q", head.Bytes)
		}
		changed := head.Bytes[:last] + string(head.Bytes[last]^0x80)
		if kind := magic.Of([]byte(changed)); kind != nil {
			assert.NotEqual(t, head.Refusal, kind.Refusal, "%q", changed)
		}
	}
}

// TestKinds: what other programs write is recognized.
func TestKinds(t *testing.T) {
	for head, name := range map[string]string{
		"\x85\x01\x8c\x03\x55\x23\x2b\x8b":                                     "PGP", // gpg -e, for a key of 3,072 bits
		"\x85\x02\x0c\x03\x55\x23\x2b\x8b":                                     "PGP",
		"\x84\x5e\x03\x55\x23\x2b\x8b":                                         "PGP", // for a key of Curve25519
		"\xa3\x01\x45\xd9\x7b\xe8\xe8\x77":                                     "PGP", // gpg -s
		"-----BEGIN AGE ENCRYPTED FILE-----\n":                                 "age",
		"\x01\x07\x00\x00\x00\x96\x00\x00":                                     "bloom",
		"\x00\x05\x00\x00\x00\x10\x00\x00":                                     "bloom", // Guava before version 14
		"\x80\x04\x95\x0b\x00\x00\x00\x00":                                     "pickle",
		"\x93NUMPY\x01\x00v\x00{'descr'":                                       "NumPy",
		"\xac\xed\x00\x05sr\x00-com.google.common.hash":                        "Java",
		"REDIS0011\xfa\x09redis-ver":                                           "Redis",
		"\x1f\x04@\x048\x042\x045\x04B\x04":                                    "unmarked UTF-16", // Cyrillic letters
		"\x04\x1f\x04@\x048\x042\x045\x04B":                                    "unmarked UTF-16",
		"\x00\x00\x04\x1f\x00\x00\x04@":                                        "unmarked UTF-16",
		"\x00\x00\x00u\x00\x00\x00s\x00\x00\x00e":                              "unmarked UTF-16",
		"\x17\x7f\x18\xe3\x05\x0b\x17\x31DUCK\x43" + strings.Repeat("\x00", 7): "DuckDB",
	} {
		kind := magic.Of([]byte(head))
		if assert.NotNil(t, kind, "%q", head) {
			assert.Equal(t, name, kind.Name, "%q", head)
		}
	}
}

// TestGzip: the table and package gunzip know the same gzip.
func TestGzip(t *testing.T) {
	for _, head := range filtertest.Heads(t) {
		assert.Equal(t, gunzip.Begins([]byte(head.Bytes)), head.Name == "gzip", head.Name)
	}
}

// TestUndecided: however slowly a file comes, it is recognized, and a whole line of text decides at
// once.
func TestUndecided(t *testing.T) {
	for _, head := range filtertest.Heads(t) {
		for _, delim := range []byte("\n\x00") {
			whole := head.Bytes + "rest"
			if kind := magic.Of([]byte(whole)); !kind.Differs(delim) {
				continue
			}
			n := 0
			for n < len(whole) && magic.Undecided([]byte(whole[:n]), delim) {
				n++
			}
			if delim == 0 && strings.ContainsRune(head.Bytes, 0) && magic.Of([]byte(whole[:n])) == nil {
				continue // the NUL that ends a line came before the second piece
			}
			kind := magic.Of([]byte(whole[:n]))
			require.NotNil(t, kind, "%s: %q", head.Name, whole[:n])
			assert.Equal(t, head.Refusal, kind.Refusal)
		}
	}
	for _, line := range []string{"\n", "a\n", "P\n", "PK\n", "P*M\n", "070701\n", "BZh\n",
		"\x1f\n", "\x28\xb5\x2f\n", "0\x00\n",
		"\xef\xbb\xbfa\n", "\xff\n", "]\n", "uk-lhr-1\n", "q\xc7\x90\n",
		strings.Repeat("a", magic.HeadSize)} {
		assert.False(t, magic.Undecided([]byte(line), '\n'), "%q", line)
		assert.Nil(t, magic.Of([]byte(line)), "%q", line)
	}
	assert.False(t, magic.Undecided([]byte("a\x00"), 0))
	records := magic.Of([]byte("a\x00b\x00c\x00"))
	require.NotNil(t, records)
	assert.True(t, records.Differs('\n'))
	assert.False(t, records.Differs(0), "they are three records")
	assert.True(t, magic.Undecided([]byte("a\x00"), '\n'), "it may be the name of a file in a tar")
	assert.True(t, magic.Undecided(nil, '\n'))
}

// TestTextIsText: lists of words, hashes, numbers and addresses are none of these kinds, in UTF-8
// and in encodings of a byte a letter.
func TestTextIsText(t *testing.T) {
	for _, line := range []string{
		"070707", strings.Repeat("0707071234567890", 8), "070701" + strings.Repeat("0123456789abcdef", 8),
		strings.Repeat("01", 200), strings.Repeat(" ", 300), "ustar", "-lh5-", "uk-lhr-1", "x^2",
		"x\xe9", "!<arch", "Rar!", "7z", "LZIP", "LZIP1",
		"BZ3v1", "FEA1", "hsqs", "X", "RDX3", "REDIS0011", "REDIS0011\xe9", "\x93NUMPY\x94", "CDF", "ELF",
		"$FL2", "DUCKDUCKDUCK", "\xffd8", "\xa3100", "\x85and", "\x80 5", "\xac\xed", "x^\xe9",
		"-----BEGIN CERTIFICATE-----", "\x01a\x01b", "\x01\x01\x01", "\x00\x00\x00\x00line",
		"\x034red\x03", "a\x04b", "1\t2\t3\t4", "\t1\t2\t3", "N-N-N-", "a0b0c0",
		"PK", "BZh9", "BZh91AY", "MSCF", "PAR1", "Obj", "ARROW1", "%PDF", "SQLite format 3",
		"BLM", "BLMB", "BLMB1", "age-encryption.org/v1/page",
		"a\x00b", "a\x00\x00b", "qǐ", "+/v8", "\ufefftext", "\xc3\x84rger", "\xc4rger", "\xc7a",
	} {
		assert.Nil(t, magic.Of([]byte(line+"\n"+strings.Repeat("line\n", 100))), "%q", line)
	}
}
