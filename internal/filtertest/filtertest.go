package filtertest

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// Digests returns n random digests. They depend only on seed.
func Digests(seed uint64, n int) []bloom.Hash {
	rnd := rand.New(rand.NewPCG(seed, seed))
	hs := make([]bloom.Hash, n)
	for i := range hs {
		hs[i] = bloom.NewHash(rnd.Uint64(), rnd.Uint64())
	}
	return hs
}

func Count(answers []bool) (n int) {
	for _, yes := range answers {
		if yes {
			n++
		}
	}
	return n
}

// Equal is like require.Equal, but faster when it succeeds, for loops of a million rounds.
func Equal[T comparable](t testing.TB, want, got T, about ...any) {
	if want != got {
		t.Helper()
		require.Equal(t, want, got, about...)
	}
}

// Long reports whether BLOOM_LONG is set, which permits tests to take minutes.
func Long() bool { return os.Getenv("BLOOM_LONG") != "" }

// Names returns the names of all files in dir, including temporary ones.
func Names(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Allocated returns the number of bytes that the program allocates while f runs.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Damage requires that decode accepts good, and refuses copies with a flipped bit, an extra byte or
// a missing end. The errors must wrap ErrFormat. Copies cut to a length in cuts are not tried.
func Damage(t *testing.T, good []byte, decode func([]byte) error, cuts ...int) {
	t.Helper()
	require.NoError(t, decode(good))
	for i := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[i/8] ^= 1 << (i % 8)
		require.ErrorIs(t, decode(bad), form.ErrFormat, "bit %d of byte %d flipped", i%8, i/8)
	}
	allowed := map[int]bool{}
	for _, n := range cuts {
		allowed[n] = true
	}
	for n := range good {
		if !allowed[n] {
			require.ErrorIs(t, decode(good[:n]), form.ErrFormat, "cut to %d bytes", n)
		}
	}
	require.ErrorIs(t, decode(append(bytes.Clone(good), 0)), form.ErrFormat, "a byte more")
}

// Sealed returns a copy of data in which the checksums of a frame are correct, so that a fuzzer
// gets past them. Data that is too short stays as it is.
func Sealed(data []byte) []byte {
	if len(data) < 8+form.MinTrailer {
		return data
	}
	data = bytes.Clone(data)
	size := 24 // the size of the head in the tests of package form
	if kind := form.KindOf(data); kind != nil {
		size = kind.HeadSize()
	}
	head := data[:min(size, len(data)-16)]
	trailer := data[max(len(head), len(data)-int(binary.LittleEndian.Uint16(data[6:]))):]
	if len(trailer) < 16 {
		return data
	}
	sums := len(trailer) - 16
	var sum form.Sum
	sum.Write(head)
	sum.Write(trailer[:sums])
	binary.BigEndian.PutUint32(trailer[sums:], uint32(sum))
	sum = 0
	sum.Write(data[:len(data)-4])
	binary.BigEndian.PutUint32(trailer[sums+12:], uint32(sum))
	return data
}

// LimitedWriter accepts N bytes. The write that exceeds N returns a short count and Err, which may
// be nil. Any later write panics.
type LimitedWriter struct {
	N   int64
	Err error
}

func (w *LimitedWriter) Write(p []byte) (int, error) {
	if w.N < 0 {
		panic("a write after one that failed")
	}
	if int64(len(p)) > w.N {
		n := w.N
		w.N = -1
		return int(n), w.Err
	}
	w.N -= int64(len(p))
	return len(p), nil
}

// Words returns n different words.
func Words(n int) []uint64 {
	array := make([]uint64, n)
	for i := range array {
		array[i] = uint64(i+1) * 0x9e3779b97f4a7c15
	}
	return array
}

// RateBound returns the mean number of hits in n trials with probability p, plus 4.75 standard
// deviations. If the mean is large, more hits occur by chance about once in a million runs.
func RateBound(n int, p float64) float64 {
	return float64(n)*p + 4.75*math.Sqrt(float64(n)*p*(1-p))
}

// Added adds hs to f in a batch, and returns the results.
func Added[F interface{ AddBatch([]bool, []H) }, H any](f F, hs []H) []bool {
	added := make([]bool, len(hs))
	f.AddBatch(added, hs)
	return added
}

// Found looks up hs in f in a batch, and returns the results. It panics if they depend on what was
// in the slice before the look-up. No other goroutine may change f.
func Found[F interface{ ContainsBatch([]bool, []H) }, H any](f F, hs []H) []bool {
	found, again := slices.Repeat([]bool{true}, len(hs)), make([]bool, len(hs))
	f.ContainsBatch(found, hs)
	f.ContainsBatch(again, hs)
	if !slices.Equal(found, again) {
		panic("ContainsBatch leaves elements unset")
	}
	return found
}
