package splitblock

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEncodings: each WORD in arm64 assembly is the instruction in its comment. The encodings are
// in the Arm Architecture Reference Manual, C7.2.
func TestEncodings(t *testing.T) {
	source, err := os.ReadFile("asm_arm64.s")
	require.NoError(t, err)
	encodings := map[string]uint32{"mul 4s": 0x4ea09c00, "ushl 4s": 0x6ea04400,
		"bic 16b": 0x4e601c00, "umaxp 4s": 0x6ea0a400}
	words := regexp.MustCompile(
		`WORD +\$(\w+) // (\w+) v(\d+)\.(\w+), v(\d+)\.\w+, v(\d+)\.\w+\n`).FindAllSubmatch(source, -1)
	require.Len(t, words, len(regexp.MustCompile(`WORD`).FindAll(source, -1)))
	for _, word := range words {
		var d, n, m uint32
		_, err := fmt.Sscan(fmt.Sprintf("%s %s %s", word[3], word[5], word[6]), &d, &n, &m)
		require.NoError(t, err)
		base, known := encodings[fmt.Sprintf("%s %s", word[2], word[4])]
		require.True(t, known)
		require.Equal(t, fmt.Sprintf("0x%08x", base|m<<16|n<<5|d), string(word[1]), "%s", word[0])
	}
}

// TestHashHeader: this package's copy of the macros for hashing is equal to the root's file. An
// include across directories would break vendoring and other build systems.
func TestHashHeader(t *testing.T) {
	ours, err := os.ReadFile("hash_amd64.h")
	require.NoError(t, err)
	roots, err := os.ReadFile("../../hash_amd64.h")
	require.NoError(t, err)
	require.Equal(t, string(roots), string(ours))
}
