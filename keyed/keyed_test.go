package keyed

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

func hasher(t *testing.T, first byte) *Hasher {
	secret := make([]byte, SecretSize)
	for i := range secret {
		secret[i] = first + byte(i)
	}
	h := bloom.Must(New(secret))
	return h
}

// TestReference compares digests with the first vectors of the reference implementation for 128
// bits (vectors_sip128, key 00 to 0f, message 00, 01, ...).
func TestReference(t *testing.T) {
	h := hasher(t, 0)
	for message, want := range map[string]string{
		"":     "a3817f04ba25a8e66df67214c7550293",
		"\x00": "da87c1d86b99af44347659119b22fc45",
	} {
		sum := h.SumString(message)
		require.Equal(t, sum, h.Sum([]byte(message)))
		h1, h2 := sum.Words()
		digest := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, h1), h2)
		require.Equal(t, want, hex.EncodeToString(digest))
	}
}

func TestSecretSize(t *testing.T) {
	for _, n := range []int{0, 15, 17, 32} {
		_, err := New(make([]byte, n))
		require.Equal(t, &bloom.ParamError{
			Package: "keyed", Param: "len(secret)", Value: n, Bound: "not 16",
		}, err)
		require.EqualError(t, err, fmt.Sprintf("keyed: len(secret) = %d is not 16", n))
	}
}

// TestSecretStays: no way of printing a Hasher writes its secret.
func TestSecretStays(t *testing.T) {
	h := hasher(t, 1)
	type holder struct {
		Exported *Hasher
		Value    Hasher
		hidden   Hasher // fmt cannot call the methods of this field
	}
	values := []any{h, *h, []*Hasher{h}, []Hasher{*h}, &holder{h, *h, *h}, holder{h, *h, *h},
		map[string]any{"h": h}}
	var out strings.Builder
	text, structured := slog.New(slog.NewTextHandler(&out, nil)),
		slog.New(slog.NewJSONHandler(&out, nil))
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%08b"} {
			fmt.Fprintf(&out, verb+"\n", v)
			require.Equal(t, "keyed.Hasher", fmt.Sprintf(verb, h), verb)
			require.Equal(t, "keyed.Hasher", fmt.Sprintf(verb, *h), verb)
		}
		text.Info("text", "h", v)
		structured.Info("structured", "h", v)
		data := bloom.Must(json.Marshal(v))
		out.Write(data)
	}
	require.Contains(t, out.String(), "h=keyed.Hasher")
	require.Contains(t, out.String(), `"h":"keyed.Hasher"`)
	k0, k1 := h.secret()
	for _, word := range []uint64{k0, k1} {
		for _, verb := range []string{"%d", "%x", "%b", "%o"} {
			require.NotContains(t, strings.ToLower(out.String()), fmt.Sprintf(verb, word))
		}
	}
}

func TestZeroPanics(t *testing.T) {
	const message = "keyed: use of a zero Hasher: make it with New"
	require.PanicsWithValue(t, message, func() { new(Hasher).Sum(nil) })
	require.PanicsWithValue(t, message, func() { new(Hasher).SumString("key") })
	require.PanicsWithValue(t, message, func() { new(Hasher).Mark(bloom.Must(bloom.New(10, 0.01))) })
	require.PanicsWithValue(t, message, func() {
		_ = new(Hasher).Check(bloom.Must(bloom.New(10, 0.01)))
	})
}

func TestCheck(t *testing.T) {
	ours, theirs := hasher(t, 0), hasher(t, 1)
	f := bloom.Must(bloom.New(1000, 0.01))
	require.ErrorIs(t, ours.Check(f), ErrSecret, "not marked")
	ours.Mark(f)
	require.EqualValues(t, 8, f.ApproxCount())
	for i := range uint64(1000) {
		f.AddHash(ours.Sum(binary.LittleEndian.AppendUint64(nil, i)))
	}
	require.NoError(t, ours.Check(f))
	require.ErrorIs(t, theirs.Check(f), ErrSecret)
	require.Equal(t, "92e2014d74d348a9a99574df5942bfda", ours.mark(7).String(),
		"marks of older versions stay known")

	var read bloom.Filter
	require.NoError(t, read.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
	require.NoError(t, ours.Check(&read))

	// A mark has several keys. Check needs all of them.
	for i := range marks {
		g := bloom.Must(bloom.New(1000, 1e-9))
		for j := range marks {
			if j != i {
				g.AddHash(ours.mark(j))
			}
		}
		require.ErrorIs(t, ours.Check(g), ErrSecret, "without mark %d", i)
	}
}

func TestAllocatesNothing(t *testing.T) {
	h := hasher(t, 0)
	f := bloom.Must(bloom.New(1000, 0.01))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		var key [40]byte
		f.AddHash(h.Sum(key[:]))
		f.ContainsHash(h.SumString("key"))
	}))
}

func BenchmarkSum(b *testing.B) {
	h, _ := New(make([]byte, SecretSize))
	for _, size := range []int{8, 36, 200} {
		key := make([]byte, size)
		b.Run(map[int]string{8: "key=8B", 36: "key=36B", 200: "key=200B"}[size], func(b *testing.B) {
			for b.Loop() {
				h.Sum(key)
			}
		})
	}
}

// TestKeys: a string and its bytes have one digest, at every length. A Hasher retains neither its
// secret nor a key, and another secret makes other digests.
func TestKeys(t *testing.T) {
	secret := []byte("0123456789abcdef")
	h := bloom.Must(New(secret))
	clear(secret)
	same := bloom.Must(New([]byte("0123456789abcdef")))
	other := bloom.Must(New([]byte("0123456789abcdeg")))
	seen := map[bloom.Hash]int{}
	key := []byte{}
	for n := range 100 {
		sum := h.Sum(key)
		require.Equal(t, sum, same.SumString(string(key)), "%d bytes", n)
		require.NotContains(t, seen, sum, "%d bytes", n)
		require.NotEqual(t, sum, other.Sum(key), "%d bytes", n)
		seen[sum] = n
		key = append(key, byte(n%3))
	}
	require.Equal(t, "f8a3754446079ea52cf8ce7656bad357", h.SumString("a key of more than one block of eight").String(),
		"digests of older versions stay valid")
}

// TestCheckByChance: Check of a filter with another mark is nil with a probability of p^8.
func TestCheckByChance(t *testing.T) {
	const trials = 4000
	for _, fill := range []float64{0.6, 0.8} {
		f := bloom.Must(bloom.NewSize(1<<16, 1))
		for i := uint64(0); f.FillRatio() < fill; i++ {
			f.AddHash(bloom.SumUint64(i))
		}
		wrong := 0.0
		for i := range uint64(trials) {
			secret := binary.LittleEndian.AppendUint64(make([]byte, 8), i)
			if bloom.Must(New(secret)).Check(f) == nil {
				wrong++
			}
		}
		p := math.Pow(f.FPR(), 8)
		require.InDelta(t, trials*p, wrong, 5*math.Sqrt(trials*p), "a fill of %v", fill)
	}
}
