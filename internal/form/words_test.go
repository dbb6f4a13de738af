package form_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	. "github.com/seed79a3ff49/bloom/internal/form"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestWords turns arrays into bytes and back. Their sizes are near those that fill buffers.
func TestWords(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 100, 8191, 8192, 8193, 32769, 100_000} {
		words := filtertest.Words(n)
		for order, as := range map[Order]binary.AppendByteOrder{
			LittleEndian: binary.LittleEndian,
			BigEndian:    binary.BigEndian,
		} {
			data := []byte("start")
			for _, w := range words {
				data = as.AppendUint64(data, w)
			}
			require.True(t, bytes.Equal(data, AppendWords([]byte("start"), words, order)))
			var out bytes.Buffer
			total, err := WriteWords(&out, []byte("start"), words, order)
			require.NoError(t, err)
			require.EqualValues(t, len(data), total)
			require.True(t, bytes.Equal(data, out.Bytes()))
			for _, room := range []int{0, 4, len(data) / 2, len(data) - 1} {
				for err, want := range map[error]error{
					io.ErrClosedPipe: io.ErrClosedPipe,
					nil:              io.ErrShortWrite,
				} {
					w := &filtertest.LimitedWriter{N: int64(room), Err: err}
					total, got := WriteWords(w, []byte("start"), words, order)
					require.ErrorIs(t, got, want)
					require.EqualValues(t, room, total)
				}
			}
			data = data[len("start"):]
			masked := make([]byte, 8*n)
			PutWords(masked, words, 0xff00, order)
			for i, w := range words {
				require.Equal(t, w&0xff00, as.(binary.ByteOrder).Uint64(masked[8*i:]))
			}

			for name, reader := range map[string]func([]byte) io.Reader{
				"Reader":  func(data []byte) io.Reader { return bytes.NewReader(data) },
				"Buffer":  func(data []byte) io.Reader { return bytes.NewBuffer(data) },
				"strings": func(data []byte) io.Reader { return strings.NewReader(string(data)) },
				"file": func(data []byte) io.Reader {
					return &FileReader{bytes.NewReader(data), int64(len(data))}
				},
				"half": func(data []byte) io.Reader {
					return iotest.HalfReader(bytes.NewReader(data))
				},
				"data with EOF": func(data []byte) io.Reader {
					return iotest.DataErrReader(bytes.NewReader(data))
				},
			} {
				r := reader(append(bytes.Clone(data), "after"...))
				var sum bytes.Buffer
				got, total, err := ReadWords(r, &sum, n, order)
				require.NoError(t, err)
				require.EqualValues(t, 8*n, total)
				require.Len(t, got, n)
				for i := range got {
					if got[i] != words[i] {
						t.Fatalf("%s: word %d of %d", name, i, n)
					}
				}
				require.True(t, bytes.Equal(data, sum.Bytes()))
				rest, err := io.ReadAll(r)
				require.NoError(t, err)
				require.Equal(t, "after", string(rest))
				if n == 0 {
					continue
				}
				_, total, err = ReadWords(reader(data[:8*n-1]), nil, n, order)
				require.ErrorIs(t, err, ErrTruncated)
				if name == "half" || name == "data with EOF" {
					require.EqualValues(t, 8*n-1, total)
				} else {
					require.Zero(t, total, "%s has too few, and is not read", name)
				}
			}
		}
	}
}

// TestWordsOfArrived: words whose bytes have all arrived are allocated at once.
func TestWordsOfArrived(t *testing.T) {
	const n = 4 * ChunkBytes // memory that grows reaches this size in four steps
	data := make([]byte, 8*n)
	allocations := func(wrap func(io.Reader) io.Reader) float64 {
		return testing.AllocsPerRun(5, func() {
			words, _, err := ReadWords(wrap(bytes.NewReader(data)), nil, n, LittleEndian)
			require.NoError(t, err)
			require.Len(t, words, n)
		})
	}
	arrived := allocations(func(r io.Reader) io.Reader { return Arrived{r} })
	growing := allocations(func(r io.Reader) io.Reader { return struct{ io.Reader }{r} })
	require.Less(t, arrived, growing)
}

// TestGuavaIOErrors: if a writer or a reader of Guava's form fails, nothing is written or read
// after that. Its error is returned, and is no statement about the form.
func TestGuavaIOErrors(t *testing.T) {
	const guava = Guava("test")
	broken := errors.New("broken")
	h, words := Header{Strategy: 1, K: 3, Words: 200}, filtertest.Words(200)
	var file bytes.Buffer
	require.NoError(t, guava.WriteFile(&file, h, words, testInfo))
	rest, refused := bytes.NewReader(file.Bytes()), errors.New("refused")
	_, _, _, err := guava.ReadAll(rest, func(Header) error { return refused })
	require.ErrorIs(t, err, refused)
	require.Equal(t, file.Len()-HeaderSize, rest.Len(), "of what is refused, only the header is read")
	size := int(h.Size())
	for _, n := range []int{0, 5, 6, 100, size - 1, size, size + 1, file.Len() - 1} {
		full := &filtertest.LimitedWriter{N: int64(n), Err: broken}
		require.ErrorIs(t, guava.WriteFile(full, h, words, testInfo), broken, "%d bytes", n)
		short := &filtertest.LimitedWriter{N: int64(n)}
		require.ErrorIs(t, guava.WriteFile(short, h, words, testInfo), io.ErrShortWrite, "%d bytes", n)
		failing := func() io.Reader {
			return io.MultiReader(bytes.NewReader(file.Bytes()[:n]), iotest.ErrReader(broken))
		}
		_, _, _, err := guava.ReadAll(failing(), func(Header) error { return nil })
		require.ErrorIs(t, err, broken, "%d bytes", n)
		require.NotErrorIs(t, err, ErrFormat, "%d bytes", n)
		got, gotWords, total, err := guava.Read(failing())
		require.EqualValues(t, min(n, size), total)
		if n < size {
			require.ErrorIs(t, err, broken, "%d bytes", n)
			require.NotErrorIs(t, err, ErrFormat, "%d bytes", n)
		} else {
			require.NoError(t, err)
			require.Equal(t, h, got)
			require.Equal(t, words, gotWords)
		}
	}
}

func TestParseAt(t *testing.T) {
	params := []uint64{100, 7}
	data := framed(params, filtertest.Words(100))
	down := errors.New("down")
	r := &filtertest.Store{Data: data}
	got, info, err := two.ParseAt(r, int64(len(data)), count)
	require.NoError(t, err)
	require.Equal(t, params, got)
	require.Equal(t, testInfo, info)
	require.Equal(t, []int{two.HeadSize(), TrailerSize(testInfo)}, r.Asked())
	for fails := 1; fails <= 2; fails++ {
		r := &filtertest.Store{Data: data, Fails: fails, Err: down}
		_, _, err := two.ParseAt(r, int64(len(data)), count)
		require.ErrorIs(t, err, down)
		require.EqualError(t, err, "test: reading: down")
	}
	for size := range len(data) + 2 {
		if size == len(data) {
			continue
		}
		_, _, err := two.ParseAt(bytes.NewReader(append(bytes.Clone(data), 0)[:size]), int64(size), count)
		require.ErrorIs(t, err, ErrFormat, "%d bytes", size)
		_, _, _, err = two.Parse(append(bytes.Clone(data), 0)[:size], count)
		require.ErrorIs(t, err, ErrFormat, "%d bytes", size)
		if size > len(data) {
			require.EqualError(t, err, "test: invalid format: 1 bytes too many")
		}
	}
	_, _, err = two.ParseAt(bytes.NewReader(data[:len(data)-5]), int64(len(data)), count)
	require.ErrorIs(t, err, ErrFormat, "the size is wrong")
}
