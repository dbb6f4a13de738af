package lines

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

func gzipped(t *testing.T, data string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func zstded(t *testing.T, data string) string {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	require.NoError(t, err)
	_, err = io.WriteString(w, data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// skippable returns a skippable frame of RFC 8878, with the lowest or a higher magic number.
func skippable(number byte, data string) string {
	return string([]byte{0x50 + number, 0x2a, 0x4d, 0x18, byte(len(data)), byte(len(data) >> 8), 0, 0}) + data
}

// TestDecompressRefuses: whatever begins like a compression, an archive or an encoding that is not
// unpacked is refused by name, however slowly it comes, and also within gzip and zstd.
func TestDecompressRefuses(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	for _, head := range filtertest.Heads(t) {
		if head.Name == "gzip" || head.Name == "zstd" {
			continue
		}
		data := head.Bytes + strings.Repeat("a line\n", 100)
		for _, in := range []string{
			data, gzipped(t, data), zstded(t, data), skippable(0, "x") + zstded(t, data),
		} {
			for _, r := range []io.Reader{
				strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)),
			} {
				_, err := Decompress(r, DefaultWindow, '\n')
				assert.EqualError(t, err, head.Refusal, "%q", head.Bytes)
			}
		}
	}
	for _, data := range []string{
		gzipped(t, gzipped(t, "a\n")), gzipped(t, zstded(t, "a\n")), zstded(t, skippable(3, "x")),
	} {
		_, err := Decompress(strings.NewReader(data), DefaultWindow, '\n')
		require.EqualError(t, err, "it is compressed twice")
	}
	large := zstded(t, gzipped(t, "a\n")+strings.Repeat("\x00", 4<<20))
	for range 20 {
		_, err := Decompress(strings.NewReader(large), DefaultWindow, '\n')
		require.EqualError(t, err, "it is compressed twice")
	}
	require.Less(t, runtime.NumGoroutine(), goroutines+10, "decoders are not closed")
}

// TestArrived: what unpacks to 100 times the bytes that arrived is fine, and more is not.
func TestArrived(t *testing.T) {
	a := NewArrived(iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 20_000))))
	require.NoError(t, a.Check(1<<20))
	require.Equal(t, ErrArrived, a.Check(2_000_000))
	_, err := io.ReadAll(a)
	require.NoError(t, err)
	require.NoError(t, a.Check(2_000_000))
	require.Equal(t, ErrArrived, a.Check(2_000_001))
}

// TestSkippableFrames: zstd is unpacked whatever frame it begins with, and the frames that have no
// data do not count, wherever they are.
func TestSkippableFrames(t *testing.T) {
	a, b := zstded(t, "a\nb"), zstded(t, "c\nd\n")
	large := strings.Repeat("\x00", 60_000)
	for in, want := range map[string]string{
		skippable(0, "\x12\x00\x00\x00") + a:                      "a\nb",
		skippable(15, "") + a:                                     "a\nb",
		skippable(7, large) + a + b:                               "a\nbc\nd\n",
		skippable(1, "x") + skippable(2, "y") + a:                 "a\nb",
		a + skippable(0, "x") + b + skippable(14, large):          "a\nbc\nd\n",
		skippable(0, a) + b:                                       "c\nd\n",
		skippable(0, "x"):                                         "",
		zstded(t, "") + skippable(9, "x") + zstded(t, "") + b:     "c\nd\n",
		skippable(0, "x") + zstded(t, mark+"text\n"):              "text\n",
		skippable(5, "x") + zstded(t, "P*M\n") + skippable(5, ""): "P*M\n",
	} {
		for _, r := range []io.Reader{
			strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)),
		} {
			unpacked, err := Decompress(r, DefaultWindow, '\n')
			require.NoError(t, err, "%.30q", in)
			text, err := io.ReadAll(unpacked)
			require.NoError(t, err, "%.30q", in)
			assert.Equal(t, want, string(text), "%.30q", in)
		}
	}
	for _, in := range []string{
		skippable(0, "xyz")[:9], skippable(0, "x")[:6], skippable(0, "x") + a[:len(a)-1],
		skippable(0, "x") + "a line\n", a + skippable(0, "x")[:5],
		skippable(0, "x") + "\x04\x22\x4d\x18", // of lz4, which has the same skippable frames
	} {
		unpacked, err := Decompress(strings.NewReader(in), DefaultWindow, '\n')
		if err == nil {
			_, err = io.ReadAll(unpacked)
		}
		require.Error(t, err, "%q", in)
	}
}

// TestDecompressWaitsForNoMoreThanALine: a line that has arrived is passed on before more comes.
func TestDecompressWaitsForNoMoreThanALine(t *testing.T) {
	for delim, lines := range map[byte][]string{
		'\n': {"\n", "a\n", "PK\n", "P\n", "070701\n", "\x1f\n", "\xff\n", mark + "a\n", "0\x00\n"},
		0:    {"a\x00", "PK\x00", "a\nb\x00"},
	} {
		for _, line := range lines {
			r, w := io.Pipe()
			go w.Write([]byte(line))
			unpacked, err := Decompress(r, DefaultWindow, delim)
			require.NoError(t, err)
			got := make([]byte, len(strings.TrimPrefix(line, mark)))
			_, err = io.ReadFull(unpacked, got)
			require.NoError(t, err)
			require.Equal(t, strings.TrimPrefix(line, mark), string(got))
			w.Close()
		}
	}
}
