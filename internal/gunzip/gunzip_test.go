package gunzip

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/unkind"
)

func zip(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// TestBehind: zeros after gzip are padding. Of anything else the error tells the length. The text
// arrives whatever follows it.
func TestBehind(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("\x00", n) }
	member := zip(t, "more")
	for behind, says := range map[string]string{
		"":                     "",
		zeros(1):               "",
		zeros(2):               "",
		zeros(10_000):          "",
		"x":                    "1 byte follows its gzip data",
		"\x1f":                 "1 byte follows its gzip data",
		"text":                 "4 bytes follow its gzip data",
		zeros(10_000) + "x":    "10001 bytes follow its gzip data",
		"x" + zeros(9):         "10 bytes follow its gzip data",
		zeros(9) + member:      "bytes follow its gzip data",
		"\x1f\x8b":             "unexpected EOF",
		member[:len(member)-1]: "unexpected EOF",
	} {
		for _, members := range []string{zip(t, "text"), zip(t, "te") + zip(t, "") + zip(t, "xt")} {
			packed := strings.NewReader(members + behind)
			z, err := NewReader(iotest.OneByteReader(packed), gzip.NewReader)
			require.NoError(t, err)
			text, err := io.ReadAll(z)
			require.Equal(t, "text", string(text[:4]), "%q", behind)
			if says == "" {
				require.NoError(t, err, "%q", behind)
				require.Len(t, text, 4)
			} else {
				require.ErrorContains(t, err, says, "%q", behind)
			}
		}
	}
}

// TestBrokenReader: an error of the reader below is no end.
func TestBrokenReader(t *testing.T) {
	packed := zip(t, "text")
	for _, behind := range []string{"", "\x00", strings.Repeat("\x00", 10_000), "\x1f", packed, "x"} {
		for name, r := range unkind.FailingReaders([]byte(packed + behind)) {
			z, err := NewReader(r, gzip.NewReader)
			require.NoError(t, err)
			_, err = io.ReadAll(z)
			require.ErrorIs(t, err, unkind.ErrStore, "%q, and then %s", behind, name)
		}
	}
	_, err := NewReader(strings.NewReader("text"), gzip.NewReader)
	require.Error(t, err)
}
