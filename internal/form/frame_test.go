package form_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"testing/iotest"

	. "github.com/seed79a3ff49/bloom/internal/form"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// count is a check that takes the word count from the first parameter.
func count(params []uint64) (uint64, error) { return params[0], nil }

// two is a kind with two parameters.
var two = NewKind("test", 't', 2)

var testInfo = Info{N: 1000, P: 0.5, Hash: "SumString"}

// framed returns a frame of kind two.
func framed(params, array []uint64) []byte {
	data, err := two.Append(nil, params, array, testInfo)
	if err != nil {
		panic(err)
	}
	return data
}

// TestFrameBytes freezes the bytes of a frame. A program in Python computed the last two sums.
func TestFrameBytes(t *testing.T) {
	params := []uint64{2, 0x0102030405060708}
	words := []uint64{1, math.MaxUint64 - 1}
	info := Info{N: 100, P: 0.01, Hash: "Sum", Comment: "wör"}
	got, err := two.Append([]byte{0xff}, params, words, info)
	require.NoError(t, err)
	const want = "ff" +
		"424c4d74" + "01002c00" +
		"0200000000000000" + "0807060504030201" +
		"0100000000000000" + "feffffffffffffff" +
		"0000000000000064" + "3f847ae147ae147b" + "0003" + "0004" + "53756d" + "77c3b672" + "00" +
		"8f7f325d" + "002c" + "626c6f6f6d01" + "57b805fe"
	assert.Equal(t, want, hex.EncodeToString(got))
	_, err = two.Append(nil, []uint64{0, 0}, nil, Info{P: 2})
	require.EqualError(t, err, "test: Info.P = 2 is outside [0, 1)")
}

func TestFrameRoundTrip(t *testing.T) {
	// The sizes are near those that fill the buffer or the reader's memory.
	for _, n := range []int{
		0, 1, 8188, 8189, 8190, 8191, 8192, 8193, 16381, 32768, 32769, 131072, 131073, 200000,
	} {
		t.Run(fmt.Sprintf("words=%d", n), func(t *testing.T) {
			params, words := []uint64{uint64(n), 7}, filtertest.Words(n)
			var out bytes.Buffer
			wrote, err := two.Write(&out, params, words, testInfo)
			require.NoError(t, err)
			require.EqualValues(t, two.Size(n, testInfo), wrote)
			require.EqualValues(t, wrote, out.Len())
			data := bytes.Clone(out.Bytes())
			require.True(t, bytes.Equal(data, framed(params, words)))

			out.WriteString("what follows")
			for _, r := range []io.Reader{bytes.NewReader(out.Bytes()), iotest.DataErrReader(&out)} {
				got, gotWords, info, read, err := two.Read(r, count)
				require.Equal(t, testInfo, info)
				require.NoError(t, err)
				require.Equal(t, wrote, read)
				require.Equal(t, params, got)
				require.Equal(t, n, len(gotWords))
				require.True(t, n == 0 || assert.ObjectsAreEqual(words, gotWords))
				rest, err := io.ReadAll(r)
				require.NoError(t, err)
				require.Equal(t, "what follows", string(rest))
			}

			_, _, _, err = two.Unmarshal(data, count)
			require.NoError(t, err)
			_, body, info, err := two.Parse(data, count)
			require.Equal(t, testInfo, info)
			require.Len(t, body, 8*n)
			require.NoError(t, err)
		})
	}
}

func TestFrameDamage(t *testing.T) {
	good := framed([]uint64{5, 7}, filtertest.Words(5))
	decode := func(data []byte) error {
		_, _, _, err := two.Unmarshal(data, count)
		_, _, _, n, err2 := two.Read(iotest.OneByteReader(bytes.NewReader(data)), count)
		if int(n) == len(data) || err2 != nil {
			require.Equal(t, fmt.Sprint(err), fmt.Sprint(err2))
		}
		return err
	}
	filtertest.Damage(t, good, decode)
	for i := range 8 { // the checksum is valid
		bad := bytes.Clone(good)
		bad[i] ^= 1
		require.ErrorIs(t, decode(filtertest.Sealed(bad)), ErrFormat, "byte %d", i)
	}
	for i := range good {
		err := decode(good[:i])
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		require.True(t, ended, "%d bytes: %v", i, err)
	}
	sum := good[len(good)-4:]
	bad := append(bytes.Clone(good[:len(good)-1]), sum[3]^1)
	require.EqualError(t, decode(bad),
		fmt.Sprintf("test: invalid format: checksum is %x, should be %x", bad[len(bad)-4:], sum))
}

// TestOtherKinds: an error for a frame of another kind names that kind.
func TestOtherKinds(t *testing.T) {
	data, err := Window.Append(nil, make([]uint64, 10), nil, Info{})
	require.NoError(t, err)
	_, _, _, err = Blocked.Unmarshal(data, nil)
	require.EqualError(t, err, "blocked: invalid format: it is a window.Filter, not a blocked.Filter")
	_, _, _, read, err := Blocked.Read(bytes.NewReader(data), nil)
	require.ErrorIs(t, err, ErrFormat)
	require.EqualValues(t, 8, read, "what shows the kind is read, and no more")
	letters := map[byte]bool{}
	for _, k := range Kinds {
		require.False(t, letters[k.Letter()], "letter %q is taken", k.Letter())
		letters[k.Letter()] = true
	}
}

// TestParse: Parse does not read the words. It notices damage to all other bytes but the last
// checksum. Verify notices damaged words, and a damaged last checksum.
func TestParse(t *testing.T) {
	good := framed([]uint64{5, 7}, filtertest.Words(5))
	end := len(good) - 4
	parse := func(data []byte) error {
		_, _, _, err := two.Parse(data, count)
		return err
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		switch words := i >= two.HeadSize() && i < two.HeadSize()+40; {
		case words || i >= end:
			require.NoError(t, parse(bad), i)
			require.ErrorIs(t, two.Verify(bad), ErrFormat, i)
		default:
			require.ErrorIs(t, parse(bad), ErrFormat, i)
		}
	}
	for i := range good {
		require.ErrorIs(t, parse(good[:i]), ErrFormat, i)
	}
	require.ErrorIs(t, parse(append(bytes.Clone(good), 0)), ErrFormat)
	require.NoError(t, two.Verify(good))
}

func TestFrameCheck(t *testing.T) {
	data := framed([]uint64{5, 0}, filtertest.Words(5))
	refuse := func([]uint64) (uint64, error) { return 0, errors.New("Slots = 5") }
	_, _, _, err := two.Unmarshal(data, refuse)
	require.ErrorIs(t, err, ErrFormat)
	require.EqualError(t, err, "test: invalid format: Slots = 5")
}

// TestFrameLargest reads the head of the largest frame, and that of a larger frame.
func TestFrameLargest(t *testing.T) {
	if math.MaxInt > math.MaxInt32 {
		require.EqualValues(t, uint64(1<<37), uint64(MaxFrameWords))
	}
	header := func(n uint64) (int, error) {
		return ReadWordCount(two, bytes.NewReader(framed([]uint64{n, 0}, nil)), count)
	}
	n, err := header(MaxFrameWords)
	require.NoError(t, err)
	require.EqualValues(t, uint64(MaxFrameWords), n)
	_, err = header(MaxFrameWords + 1)
	require.ErrorContains(t, err,
		fmt.Sprintf("word count %d is outside [0, %d]", uint64(MaxFrameWords+1), uint64(MaxFrameWords)))
}

// TestFrameHostile reads parameters that promise far more words than follow.
func TestFrameHostile(t *testing.T) {
	for _, n := range []uint64{1 << 20, MaxFrameWords, MaxFrameWords + 1, 1 << 61, math.MaxUint64} {
		data := framed([]uint64{n, 0}, filtertest.Words(20000))
		for _, r := range []io.Reader{bytes.NewReader(data), iotest.HalfReader(bytes.NewReader(data))} {
			var err error
			taken := filtertest.Allocated(func() { _, _, _, _, err = two.Read(r, count) })
			require.ErrorIs(t, err, ErrFormat, "%d words", n)
			// Read allocates 8192 words, then 32768, and the buffer.
			require.Less(t, taken, uint64(8*(8192+32768)+ChunkBytes+8192), "%d words", n)
		}
	}
}

func TestFrameIOErrors(t *testing.T) {
	broken := errors.New("broken")
	params, array := []uint64{20000, 0}, filtertest.Words(20000)
	data := framed(params, array)
	for _, n := range []int{0, 7, 8, 15, 16, 70000, len(data) - 4, len(data) - 1} {
		r := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broken))
		_, _, _, read, err := two.Read(r, count)
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, ErrFormat)
		require.EqualValues(t, n, read)
		// A broken connection is not a damaged frame.
		r = io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(io.ErrUnexpectedEOF))
		_, _, _, _, err = two.Read(r, count)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.NotErrorIs(t, err, ErrFormat)
	}
	for _, n := range []int64{0, 7, 70000, int64(len(data)) - 1} {
		wrote, err := two.Write(&filtertest.LimitedWriter{N: n, Err: broken}, params, array, testInfo)
		require.ErrorIs(t, err, broken)
		require.Equal(t, n, wrote)
		_, err = two.Write(&filtertest.LimitedWriter{N: n}, params, array, testInfo)
		require.ErrorIs(t, err, io.ErrShortWrite)
	}
}
