package main

import (
	"archive/tar"
	"bytes"
	"net/http"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

func tarred(t *testing.T, name, data string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}))
	_, err := w.Write([]byte(data))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// TestEveryDoorRefusesArchives: each command that takes lines refuses what holds lines, but is
// none, and says which program unpacks it. It changes no file.
func TestEveryDoorRefusesArchives(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build --type counting -n 100 -p 1e-9 -o list")
	before := read(t, "list")
	archive := tarred(t, "list.txt", "a\nb\n")
	for _, packed := range []string{archive, gzipped(archive), zstded(archive)} {
		write(t, "in", packed)
		for line, status := range map[string]int{
			"dedupe in": 1, "dedupe": 1, "dedupe --state seen in": 1, "build -n 100 -o new in": 1,
			"build -o new in": 1, "build -n 100 -o new": 1,
			"add list in": 1, "remove list in": 1, "check list in": 2, "check -v list": 2,
			"check -cv list in": 2, "bank build -n 10 -o bank in": 1,
		} {
			require.Empty(t, saying(t, status, "...it is a tar archive: unpack it first: tar -xOf",
				packed, line), line)
			require.NoFileExists(t, "new")
			require.NoFileExists(t, "bank")
			require.Equal(t, before, read(t, "list"))
		}
	}
}

// TestSkippableFramesAreUnpacked: a list that begins with a frame without data, as pzstd writes it,
// is the list.
func TestSkippableFramesAreUnpacked(t *testing.T) {
	t.Chdir(t.TempDir())
	in := numbers(0, 1000)
	packed := "\x50\x2a\x4d\x18\x04\x00\x00\x00size" + zstded(in[:5000]) +
		"\x5f\x2a\x4d\x18\x00\x00\x00\x00" + zstded(in[5000:])
	if _, err := exec.LookPath("pzstd"); err == nil {
		write(t, "list", in)
		require.NoError(t, child(t, "pzstd", "-q", "list").Run())
		require.True(t, in == good(t, "", "dedupe -p 1e-9 list.zst"))
	}
	require.True(t, in == good(t, packed, "dedupe -p 1e-9"))
	write(t, "packed", packed)
	good(t, "", "build -n 1000 -p 1e-9 -o f packed")
	require.Equal(t, "1000\n", good(t, in, "check -c f"))
	// A filter, too.
	write(t, "f.zst", "\x50\x2a\x4d\x18\x00\x00\x00\x00"+zstded(read(t, "f")))
	require.Equal(t, "1000\n", good(t, in, "check -c f.zst"))
}

// TestServeRefusesArchives: a body that is no text gets status 415, and what it is.
func TestServeRefusesArchives(t *testing.T) {
	_, web := serving(t, "a\n", "-n 100")
	for _, head := range filtertest.Heads(t) {
		answer, resp := ask(t, "POST", web.URL+"/contains", head.Bytes+"\na\n")
		require.Equal(t, http.StatusUnsupportedMediaType, resp.StatusCode, head.Name)
		if head.Name == "gzip" || head.Name == "zstd" {
			require.Equal(t, errPacked.Error()+"\n", answer)
		} else {
			require.Equal(t, head.Refusal+"\n", answer)
		}
	}
}
