package bloom

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// countIn returns a check that takes the word count from params[0].
func countIn(params []uint64) func() (uint64, error) {
	return func() (uint64, error) { return params[0], nil }
}

func testWords(n int) []uint64 {
	words := make([]uint64, n)
	for i := range words {
		words[i] = SumUint64(uint64(i)).H1
	}
	return words
}

// sealed returns data with the checksum that makes it a frame, if it is long
// enough, so that a fuzzer gets past it.
func sealed(data []byte) []byte {
	if len(data) < frameStart+frameEnd {
		return data
	}
	body := bytes.Clone(data[:len(data)-frameEnd])
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
}

func TestFrameBytes(t *testing.T) {
	got := appendFrame([]byte{0xff}, kindFlower, []uint64{2, 0x0102030405060708}, []uint64{1, math.MaxUint64 - 1})
	const want = "ff" +
		"424c4d46" + "01000000" +
		"0200000000000000" + "0807060504030201" +
		"0100000000000000" + "feffffffffffffff" +
		"59497f07"
	assert.Equal(t, want, hex.EncodeToString(got))
}

func TestFrameRoundTrip(t *testing.T) {
	// Around the sizes at which the buffer and the reader's memory are full.
	for _, n := range []int{0, 1, 8188, 8189, 8190, 8191, 8192, 8193, 16381, 32768, 32769, 131072, 131073, 200000} {
		t.Run(fmt.Sprintf("words=%d", n), func(t *testing.T) {
			params, words := []uint64{uint64(n), 7}, testWords(n)
			var out bytes.Buffer
			wrote, err := writeFrame(&out, kindWindow, params, words)
			require.NoError(t, err)
			require.EqualValues(t, 8+16+8*n+4, wrote)
			require.EqualValues(t, wrote, out.Len())
			data := bytes.Clone(out.Bytes())
			require.True(t, bytes.Equal(data, appendFrame(nil, kindWindow, params, words)))

			out.WriteString("what follows")
			for _, r := range []io.Reader{bytes.NewReader(out.Bytes()), iotest.DataErrReader(&out)} {
				got := make([]uint64, 2)
				gotWords, read, err := readFrame(r, kindWindow, got, countIn(got))
				require.NoError(t, err)
				require.Equal(t, wrote, read)
				require.Equal(t, params, got)
				require.Equal(t, n, len(gotWords))
				require.True(t, n == 0 || assert.ObjectsAreEqual(words, gotWords))
				rest, err := io.ReadAll(r)
				require.NoError(t, err)
				require.Equal(t, "what follows", string(rest))
			}

			got := make([]uint64, 2)
			_, err = unmarshalFrame(data, kindWindow, got, countIn(got))
			require.NoError(t, err)
			_, err = unmarshalFrame(append(data, 0), kindWindow, got, countIn(got))
			require.ErrorIs(t, err, ErrFormat)
		})
	}
}

func TestFrameDamage(t *testing.T) {
	good := appendFrame(nil, kindFlower, []uint64{5, 7}, testWords(5))
	decode := func(data []byte) error {
		got := make([]uint64, 2)
		_, err := unmarshalFrame(data, kindFlower, got, countIn(got))
		_, _, err2 := readFrame(iotest.OneByteReader(bytes.NewReader(data)), kindFlower, got, countIn(got))
		require.Equal(t, err, err2)
		return err
	}
	require.NoError(t, decode(good))
	for i := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[i/8] ^= 1 << (i % 8)
		require.ErrorIs(t, decode(bad), ErrFormat, "bit %d", i)
	}
	for i := range frameStart { // under a valid checksum
		bad := bytes.Clone(good)
		bad[i] ^= 1
		require.ErrorIs(t, decode(sealed(bad)), ErrFormat, "byte %d", i)
	}
	for i := range good {
		err := decode(good[:i])
		require.ErrorIs(t, err, ErrFormat, "%d bytes", i)
		require.True(t, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), "%d bytes: %v", i, err)
	}
}

func TestFrameCheck(t *testing.T) {
	data := appendFrame(nil, kindFlower, []uint64{5}, testWords(5))
	got := make([]uint64, 1)
	_, err := unmarshalFrame(data, kindFlower, got, func() (uint64, error) { return 0, errors.New("bloom: Slots = 5") })
	require.ErrorIs(t, err, ErrFormat)
	require.EqualError(t, err, "bloom: invalid format: Slots = 5")
}

// TestFrameHostile reads parameters that promise far more than follows.
func TestFrameHostile(t *testing.T) {
	for _, n := range []uint64{1 << 20, maxFrameWords, maxFrameWords + 1, 1 << 61, math.MaxUint64} {
		data := appendFrame(nil, kindFlower, []uint64{n}, testWords(20000))
		got := make([]uint64, 1)
		for _, r := range []io.Reader{bytes.NewReader(data), bytes.NewBuffer(data)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := readFrame(r, kindFlower, got, countIn(got))
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, ErrFormat, "%d words", n)
			// 8192 words, then 32768, and the buffer.
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*(8192+32768)+chunkBytes+8192), "%d words", n)
		}
	}
}

func TestFrameIOErrors(t *testing.T) {
	broken := errors.New("broken")
	params, words := []uint64{20000}, testWords(20000)
	data := appendFrame(nil, kindFlower, params, words)
	for _, n := range []int{0, 7, 8, 15, 16, 70000, len(data) - 4, len(data) - 1} {
		got := make([]uint64, 1)
		r := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broken))
		_, read, err := readFrame(r, kindFlower, got, countIn(got))
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, ErrFormat)
		require.EqualValues(t, n, read)
	}
	for _, n := range []int64{0, 7, 70000, int64(len(data)) - 1} {
		wrote, err := writeFrame(&limitedWriter{n, broken}, kindFlower, params, words)
		require.ErrorIs(t, err, broken)
		require.Equal(t, n, wrote)
	}
}

// limitedWriter takes n bytes and then fails.
type limitedWriter struct {
	n   int64
	err error
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > w.n {
		n := w.n
		w.n = 0
		return int(n), w.err
	}
	w.n -= int64(len(p))
	return len(p), nil
}

func BenchmarkFrame(b *testing.B) {
	params, words := []uint64{1 << 20}, testWords(1<<20)
	data := appendFrame(nil, kindFlower, params, words)
	b.Run("op=write", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			writeFrame(io.Discard, kindFlower, params, words)
		}
	})
	b.Run("op=append", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			appendFrame(nil, kindFlower, params, words)
		}
	})
	b.Run("op=unmarshal", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			unmarshalFrame(data, kindFlower, params, countIn(params))
		}
	})
	b.Run("op=read", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			readFrame(bytes.NewBuffer(data), kindFlower, params, countIn(params))
		}
	})
}
