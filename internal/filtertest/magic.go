package filtertest

import (
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/magic"
)

// Head has the first bytes of a file, and the name and the refusal of its kind in magic.Table.
type Head struct{ Name, Refusal, Bytes string }

// Heads returns two heads for each row of magic.Table. The digits that the row leaves open are 1 in
// the first and 9 in the second. Bytes between the pieces are letters.
func Heads(t *testing.T) (heads []Head) {
	for row := range strings.Lines(magic.Table) {
		columns := strings.Split(strings.TrimSpace(row), " | ")
		require.Len(t, columns, 3, row)
		for _, digit := range []string{"1", "9"} {
			head := []byte(strings.Repeat("a", 512))
			end := 0
			for _, piece := range strings.Fields(columns[1]) {
				offset, digits, _ := strings.Cut(piece, ":")
				at, err := strconv.Atoi(offset)
				require.NoError(t, err, row)
				bytes, err := hex.DecodeString(strings.ReplaceAll(digits, "?", digit))
				require.NoError(t, err, row)
				copy(head[at:], bytes)
				end = max(end, at+len(bytes))
			}
			heads = append(heads, Head{columns[0], columns[2], string(head[:end])})
		}
	}
	return heads
}
