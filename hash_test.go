package bloom_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/spaolacci/murmur3"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/digest"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestSumBatch compares batches with the murmur3 package, for keys of all lengths and alignments.
// Some batches have keys that assembly leaves to Sum, and others have none.
func TestSumBatch(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	buf := make([]byte, 400)
	for i := range buf {
		buf[i] = byte(r.Uint32())
	}
	for _, longest := range []int{bloom.DirectLen, 300} {
		var keys [][]byte
		var texts []string
		var want []bloom.Hash
		for offset := range 16 {
			for size := range longest + 1 {
				key := slices.Clip(buf[offset : offset+size])
				keys, texts, want = append(keys, key), append(texts, string(key)), append(want, murmur(key))
			}
		}
		r.Shuffle(len(keys), func(i, j int) {
			keys[i], keys[j], texts[i], texts[j] = keys[j], keys[i], texts[j], texts[i]
			want[i], want[j] = want[j], want[i]
		})
		require.Equal(t, want, sumBatch(bloom.SumBatch, keys))
		require.Equal(t, want, sumBatch(bloom.SumStringBatch, texts))
		for n := range 200 { // batches of every length
			require.Equal(t, want[:n], sumBatch(bloom.SumBatch, keys[:n]))
			require.Equal(t, want[:n], sumBatch(bloom.SumStringBatch, texts[:n]))
		}
	}
	for size := range bloom.DirectLen + 2 { // keys of one length, and one key of another length
		keys, want := make([][]byte, 40), make([]bloom.Hash, 40)
		for i := range keys {
			keys[i] = buf[r.IntN(200):][:size]
		}
		odd := r.IntN(len(keys))
		keys[odd] = buf[:r.IntN(2*bloom.DirectLen)]
		for i, key := range keys {
			want[i] = murmur(key)
		}
		require.Equal(t, want, sumBatch(bloom.SumBatch, keys), "%d bytes", size)
		require.Equal(t, want[odd+1:], sumBatch(bloom.SumBatch, keys[odd+1:]), "%d bytes", size)
	}
	for n := range 200 {
		keys, want := make([]uint64, n), make([]bloom.Hash, n)
		for i := range keys {
			keys[i] = r.Uint64() >> r.UintN(64)
			want[i] = murmur(binary.LittleEndian.AppendUint64(nil, keys[i]))
		}
		require.Equal(t, want, sumBatch(bloom.SumUint64Batch, keys))
	}
	short := "bloom: batch of 2 keys with room for 1 results"
	require.PanicsWithValue(t, short, func() {
		bloom.SumBatch(make([]bloom.Hash, 1, 2), make([][]byte, 2))
	})
	require.PanicsWithValue(t, short, func() {
		bloom.SumStringBatch(make([]bloom.Hash, 1, 2), make([]string, 2))
	})
	require.PanicsWithValue(t, short, func() {
		bloom.SumUint64Batch(make([]bloom.Hash, 1, 2), make([]uint64, 2))
	})
}

// sumBatch returns the digests that sum sets. It panics if sum writes after them.
func sumBatch[K any](sum func([]bloom.Hash, []K), keys []K) []bloom.Hash {
	dst := append(make([]bloom.Hash, len(keys)), bloom.NewHash(3, 4))
	sum(dst, keys)
	if dst[len(keys)] != bloom.NewHash(3, 4) {
		panic("written beyond")
	}
	return dst[:len(keys)]
}

// FuzzSum compares all functions that hash a key with the murmur3 package.
func FuzzSum(f *testing.F) {
	for _, size := range []int{
		0, 1, 3, 4, 7, 8, 9, 12, 15, 16, 17, 24, 28, 31, 32, 36, bloom.DirectLen, bloom.DirectLen + 1,
	} {
		f.Add(bytes.Repeat([]byte{0xa5}, size), uint8(size))
	}
	filter := bloom.Must(bloom.NewSize(1<<16, 7))
	f.Fuzz(func(t *testing.T, key []byte, offset uint8) {
		at := int(offset % 64)
		key = append(make([]byte, at, at+len(key)), key...)[at:]
		want := murmur(key)
		require.Equal(t, want, bloom.Sum(key))
		require.Equal(t, want, bloom.SumString(string(key)))
		require.Equal(t, []bloom.Hash{want, want}, sumBatch(bloom.SumBatch, [][]byte{key, key}))
		require.Equal(t, []bloom.Hash{want, want},
			sumBatch(bloom.SumStringBatch, []string{string(key), string(key)}))
		got, err := bloom.SumReader(bytes.NewReader(key))
		require.NoError(t, err)
		require.Equal(t, want, got)

		filter.Reset()
		filter.Add(key)
		require.True(t, filter.Contains(key))
		require.False(t, filter.AddHash(want))
	})
}

func TestSalt(t *testing.T) {
	seeds := []uint64{0, 1, 2, 1 << 31, math.MaxUint32, 1 << 32, 1 << 63, math.MaxUint64}
	r := rand.New(rand.NewPCG(3, 4))
	for _, seed := range seeds {
		for range 1000 {
			h := bloom.NewHash(r.Uint64()>>r.UintN(64), r.Uint64()>>r.UintN(64))
			w1, w2 := h.Words()
			salted := h.Salt(seed)
			// If two digests had the same salted digest, unsalted could not return both.
			require.Equal(t, h, unsalted(salted, seed))
			if seed <= math.MaxUint32 && !bloom.BigEndian {
				key := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, w1), w2)
				h1, h2 := murmur3.Sum128WithSeed(key, uint32(seed))
				require.Equal(t, bloom.NewHash(h1, h2), salted)
			}
		}
	}
}

// unsalted undoes Salt, step by step.
func unsalted(h bloom.Hash, seed uint64) bloom.Hash {
	unfix := func(k uint64) uint64 {
		k ^= k >> 33
		k *= inverse(0xc4ceb9fe1a85ec53)
		k ^= k >> 33
		k *= inverse(0xff51afd7ed558ccd)
		return k ^ k>>33
	}
	h1, h2 := h.Words()
	h2 -= h1
	h1 = unfix(h1 - h2)
	h2 = unfix(h2) - h1
	h1 -= h2
	h1, h2 = h1^16, h2^16
	k2 := bits.RotateLeft64((h2-0x38495ab5)*inverse(5)-h1, -31) ^ seed
	k1 := bits.RotateLeft64((h1-0x52dce729)*inverse(5)-seed, -27) ^ seed
	return bloom.NewHash(
		bits.RotateLeft64(k1*inverse(digest.C2), -31)*inverse(digest.C1),
		bits.RotateLeft64(k2*inverse(digest.C1), -33)*inverse(digest.C2),
	)
}

// inverse returns the number whose product with x is 1, by Newton's method. x is odd.
func inverse(x uint64) uint64 {
	y := x
	for range 6 {
		y *= 2 - x*y
	}
	return y
}

// TestSaltedFalsePositives looks absent keys up in two filters. If their errors are independent,
// the rate at which both are wrong is the product of their rates.
func TestSaltedFalsePositives(t *testing.T) {
	const n, probes, p = 10_000, 100_000, 0.1
	hs := filtertest.Digests(11, n+probes)
	seeds := []uint64{0, 1, 2, 1 << 32, 1 << 63, math.MaxUint64}
	for _, strategy := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		wrong := map[string][]bool{}
		for i := -1; i < len(seeds); i++ {
			name, salted := "unsalted", func(h bloom.Hash) bloom.Hash { return h }
			if i >= 0 {
				name, salted = fmt.Sprintf("seed %#x", seeds[i]),
					func(h bloom.Hash) bloom.Hash { return h.Salt(seeds[i]) }
			}
			f := bloom.Must(bloom.NewWithStrategy(strategy, n, p))
			for _, h := range hs[:n] {
				f.AddHash(salted(h))
			}
			for _, h := range hs[n:] {
				wrong[name] = append(wrong[name], f.ContainsHash(salted(h)))
			}
		}
		for a, wrongA := range wrong {
			for b, wrongB := range wrong {
				if a <= b {
					continue
				}
				var as, bs, both float64
				for i := range probes {
					as += value(wrongA[i])
					bs += value(wrongB[i])
					both += value(wrongA[i] && wrongB[i])
				}
				expected := as * bs / probes
				// Given as and bs, both is hypergeometric.
				deviation := math.Sqrt(expected * (1 - as/probes) * (1 - bs/probes))
				require.InDelta(t, expected, both, statZ*deviation, "%v, %s and %s", strategy, a, b)
			}
		}
	}
}

func value(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// TestHashText: the text of a Hash is the hexadecimal form that other Murmur3 libraries print, also
// in JSON. Reading it back returns the same Hash.
func TestHashText(t *testing.T) {
	h := bloom.SumString("abc")
	require.Equal(t, "6778ad3f3f3f96b4522dca264174a23b", h.String())
	h1, h2 := h.Words()
	require.Equal(t, h, bloom.NewHash(h1, h2))
	text, err := json.Marshal(map[string]bloom.Hash{"h": h})
	require.NoError(t, err)
	require.Equal(t, `{"h":"`+h.String()+`"}`, string(text))
	var back struct{ H bloom.Hash }
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, h, back.H)
	for _, bad := range []string{"", h.String()[1:], h.String() + "0", "g" + h.String()[1:]} {
		require.ErrorIs(t, back.H.UnmarshalText([]byte(bad)), bloom.ErrFormat, bad)
		require.Equal(t, h, back.H)
	}
}

// TestSumReader: all bytes that a reader yields are one key. A body that was cut short has no
// digest.
func TestSumReader(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 32<<10 - 1, 32 << 10, 32<<10 + 1, 100_000} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i * 7)
		}
		for _, r := range []io.Reader{
			bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data)),
			iotest.DataErrReader(bytes.NewReader(data)), iotest.HalfReader(bytes.NewReader(data)),
		} {
			got, err := bloom.SumReader(r)
			require.NoError(t, err)
			require.Equal(t, bloom.Sum(data), got)
		}
		for _, err := range []error{io.ErrUnexpectedEOF, io.ErrClosedPipe} {
			got, gotErr := bloom.SumReader(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(err)))
			require.Equal(t, err, gotErr)
			require.Zero(t, got)
		}
	}
}

func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	buf := make([]byte, 2000)
	for i := range buf {
		buf[i] = byte(r.Uint32())
	}
	for size := range 600 {
		for _, offset := range []int{0, 1, 2, 3, 5, 7, 8, 9} { // various alignments
			key := buf[offset : offset+size]
			want := murmur(key)
			filtertest.Equal(t, want, bloom.Sum(key))
			filtertest.Equal(t, want, bloom.SumString(string(key)))
			got, err := bloom.SumReader(iotest.OneByteReader(bytes.NewReader(key)))
			require.NoError(t, err)
			filtertest.Equal(t, want, got)
		}
	}
	for range 100 {
		n := r.Uint64()
		require.Equal(t, bloom.Sum([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}),
			bloom.SumUint32(uint32(n)))
		require.Equal(t, bloom.Sum([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24),
			byte(n >> 32), byte(n >> 40), byte(n >> 48), byte(n >> 56)}), bloom.SumUint64(n))
	}
}

// murmur returns the murmur3 package's digest. On big-endian machines that package reads blocks in
// the wrong byte order, so murmur reverses the bytes of both halves of each block. It does not
// reverse the last bytes, which are not a whole block: the package reads these one by one.
func murmur(key []byte) bloom.Hash {
	if bloom.BigEndian {
		key = bytes.Clone(key)
		for i := 0; i+8 <= len(key)&^15; i += 8 {
			for j := range 4 {
				key[i+j], key[i+7-j] = key[i+7-j], key[i+j]
			}
		}
	}
	h1, h2 := murmur3.Sum128(key)
	return bloom.NewHash(h1, h2)
}

func TestSumUTF16(t *testing.T) {
	for _, key := range []string{
		"", "a", "seven!!", "eight!!!", "nine!!!!!", "naïve café", "日本語", "😀", "1234567😀",
		"👩‍💻 12345", "\xff\xc0 bad",
		strings.Repeat("x😀é", 100),
	} {
		var b []byte
		for _, u := range utf16.Encode([]rune(key)) {
			b = append(b, byte(u), byte(u>>8))
		}
		require.Equal(t, bloom.Sum(b), bloom.SumUTF16(key), "%q", key)
	}
}

// TestKeysStayOnStacks: hashing a key does not move it to the heap, whatever its length is.
func TestKeysStayOnStacks(t *testing.T) {
	f := bloom.Must(bloom.NewSize(1<<16, 3))
	sync := bloom.NewSyncFrom(bloom.Must(bloom.NewSize(1<<16, 3)))
	for name, do := range map[string]func(){
		"Sum":        func() { var key [1000]byte; bloom.Sum(key[:]) },
		"Filter":     func() { var key [1000]byte; f.Add(key[:]); f.Contains(key[:]) },
		"SyncFilter": func() { var key [1000]byte; sync.Add(key[:]); sync.Contains(key[:]) },
	} {
		require.Zero(t, testing.AllocsPerRun(100, do), name)
	}
}

// TestKeysOnGrowingStacks adds keys that lie on stacks. Stacks of various depths make the runtime
// move some of the keys during a call.
func TestKeysOnGrowingStacks(t *testing.T) {
	f := bloom.Must(bloom.NewSize(1<<16, 3))
	sync := bloom.NewSyncFrom(bloom.Must(bloom.NewSize(1<<16, 3)))
	var deeper func(depth int, n uint64)
	deeper = func(depth int, n uint64) {
		if depth > 0 {
			deeper(depth-1, n)
			return
		}
		var key [bloom.DirectLen + 8]byte
		binary.BigEndian.PutUint64(key[bloom.DirectLen:], n)
		switch n % 2 {
		case 0:
			f.Add(key[:])
		case 1:
			sync.Contains(key[:])
			sync.Add(key[:])
		}
	}
	const n = 3000
	for i := range uint64(n) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			deeper(int(i%1000), i)
		}()
		<-done
	}
	for i := range uint64(n) {
		key := binary.BigEndian.AppendUint64(make([]byte, bloom.DirectLen), i)
		require.True(t, []interface{ Contains([]byte) bool }{f, sync}[i%2].Contains(key), i)
	}
}
