package frame

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/testkit"
	"github.com/seed79a3ff49/bloom/internal/words"
)

// count is a check that takes the word count from the first parameter.
func count(params []uint64) (uint64, error) { return params[0], nil }

// one and two are kinds with so many parameters.
var (
	one = &Kind{"test", 'F', []int{1}}
	two = &Kind{"test", 'F', []int{2}}
)

func TestFrameBytes(t *testing.T) {
	got := two.Append([]byte{0xff}, []uint64{2, 0x0102030405060708}, []uint64{1, math.MaxUint64 - 1})
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
			params, words := []uint64{uint64(n), 7}, testkit.Words(n)
			var out bytes.Buffer
			wrote, err := two.Write(&out, params, words)
			require.NoError(t, err)
			require.EqualValues(t, 8+16+8*n+4, wrote)
			require.EqualValues(t, wrote, out.Len())
			data := bytes.Clone(out.Bytes())
			require.True(t, bytes.Equal(data, two.Append(nil, params, words)))

			out.WriteString("what follows")
			for _, r := range []io.Reader{bytes.NewReader(out.Bytes()), iotest.DataErrReader(&out)} {
				got, gotWords, read, err := two.Read(r, count)
				require.NoError(t, err)
				require.Equal(t, wrote, read)
				require.Equal(t, params, got)
				require.Equal(t, n, len(gotWords))
				require.True(t, n == 0 || assert.ObjectsAreEqual(words, gotWords))
				rest, err := io.ReadAll(r)
				require.NoError(t, err)
				require.Equal(t, "what follows", string(rest))
			}

			_, _, err = two.Unmarshal(data, count)
			require.NoError(t, err)
		})
	}
}

func TestFrameDamage(t *testing.T) {
	good := two.Append(nil, []uint64{5, 7}, testkit.Words(5))
	decode := func(data []byte) error {
		_, _, err := two.Unmarshal(data, count)
		_, _, n, err2 := two.Read(iotest.OneByteReader(bytes.NewReader(data)), count)
		if int(n) == len(data) || err2 != nil {
			require.Equal(t, fmt.Sprint(err), fmt.Sprint(err2))
		}
		return err
	}
	testkit.Damage(t, good, decode)
	for i := range start { // under a valid checksum
		bad := bytes.Clone(good)
		bad[i] ^= 1
		require.ErrorIs(t, decode(testkit.Sealed(bad)), format.ErrFormat, "byte %d", i)
	}
	for i := range good {
		err := decode(good[:i])
		require.True(t, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), "%d bytes: %v", i, err)
	}
}

// TestVersions reads what an earlier version wrote, with the parameters that it
// had, and refuses a later one.
func TestVersions(t *testing.T) {
	both := &Kind{"test", 'F', []int{1, 2}}
	params, _, err := both.Unmarshal(one.Append(nil, []uint64{3}, testkit.Words(3)), count)
	require.NoError(t, err)
	require.Equal(t, []uint64{3}, params)
	data := both.Append(nil, []uint64{3, 9}, testkit.Words(3))
	params, _, err = both.Unmarshal(data, count)
	require.NoError(t, err)
	require.Equal(t, []uint64{3, 9}, params)
	_, _, err = one.Unmarshal(data, count)
	require.EqualError(t, err, "test: invalid format: version = 2 is outside [1, 1]")
}

// TestOtherKinds names what was found.
func TestOtherKinds(t *testing.T) {
	_, _, err := Blocked.Unmarshal(Window.Append(nil, make([]uint64, 8), nil), nil)
	require.EqualError(t, err, "blocked: invalid format: it is a window.Filter, not a blocked.Filter")
	letters := map[byte]bool{}
	for _, k := range kinds {
		require.False(t, letters[k.letter], "letter %q is taken", k.letter)
		letters[k.letter] = true
		seen := map[int]bool{}
		for _, n := range k.params {
			require.False(t, seen[n], "two versions of %s have %d parameters", k.Package, n)
			seen[n] = true
		}
	}
}

func TestFrameCheck(t *testing.T) {
	data := one.Append(nil, []uint64{5}, testkit.Words(5))
	_, _, err := one.Unmarshal(data, func([]uint64) (uint64, error) { return 0, errors.New("test: Slots = 5") })
	require.ErrorIs(t, err, format.ErrFormat)
	require.EqualError(t, err, "test: invalid format: Slots = 5")
}

// TestFrameLargest reads the header of the largest frame, and of a larger one.
func TestFrameLargest(t *testing.T) {
	if math.MaxInt > math.MaxInt32 {
		require.EqualValues(t, uint64(1<<37), uint64(MaxWords))
	}
	header := func(n uint64) (int, error) {
		_, _, got, err := one.Header(bytes.NewReader(one.Append(nil, []uint64{n}, nil)), count)
		return got, err
	}
	n, err := header(MaxWords)
	require.NoError(t, err)
	require.EqualValues(t, uint64(MaxWords), n)
	_, err = header(MaxWords + 1)
	require.ErrorContains(t, err, fmt.Sprintf("word count %d is outside [0, %d]", uint64(MaxWords+1), uint64(MaxWords)))
}

// TestFrameHostile reads parameters that promise far more than follows.
func TestFrameHostile(t *testing.T) {
	for _, n := range []uint64{1 << 20, MaxWords, MaxWords + 1, 1 << 61, math.MaxUint64} {
		data := one.Append(nil, []uint64{n}, testkit.Words(20000))
		for _, r := range []io.Reader{bytes.NewReader(data), iotest.HalfReader(bytes.NewReader(data))} {
			var err error
			taken := testkit.Allocated(func() { _, _, _, err = one.Read(r, count) })
			require.ErrorIs(t, err, format.ErrFormat, "%d words", n)
			// 8192 words, then 32768, and the buffer.
			require.Less(t, taken, uint64(8*(8192+32768)+words.ChunkBytes+8192), "%d words", n)
		}
	}
}

func TestFrameIOErrors(t *testing.T) {
	broken := errors.New("broken")
	params, array := []uint64{20000}, testkit.Words(20000)
	data := one.Append(nil, params, array)
	for _, n := range []int{0, 7, 8, 15, 16, 70000, len(data) - 4, len(data) - 1} {
		r := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broken))
		_, _, read, err := one.Read(r, count)
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, format.ErrFormat)
		require.EqualValues(t, n, read)
	}
	for _, n := range []int64{0, 7, 70000, int64(len(data)) - 1} {
		wrote, err := one.Write(&testkit.LimitedWriter{N: n, Err: broken}, params, array)
		require.ErrorIs(t, err, broken)
		require.Equal(t, n, wrote)
		_, err = one.Write(&testkit.LimitedWriter{N: n}, params, array)
		require.ErrorIs(t, err, io.ErrShortWrite)
	}
}

func BenchmarkFrame(b *testing.B) {
	params, array := []uint64{1 << 20}, testkit.Words(1<<20)
	data := one.Append(nil, params, array)
	b.Run("op=write", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			one.Write(io.Discard, params, array)
		}
	})
	b.Run("op=append", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			one.Append(nil, params, array)
		}
	})
	b.Run("op=unmarshal", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			one.Unmarshal(data, count)
		}
	})
	b.Run("op=read", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			one.Read(iotest.DataErrReader(bytes.NewReader(data)), count)
		}
	})
}
