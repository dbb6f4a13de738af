package bloom_test

import (
	"bytes"
	"encoding/base64"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/stretchr/testify/require"
)

// seeds returns the vectors of Guava's form, and the damaged ones of every form.
func seeds(f *testing.F) (all [][]byte) {
	for _, pattern := range []string{"guava*", "refused*"} {
		for _, path := range bloom.Must(filepath.Glob(filepath.Join("testdata", "vectors", pattern))) {
			if data := bloom.Must(os.ReadFile(path)); len(data) < 2000 {
				all = append(all, data)
			}
		}
	}
	require.Greater(f, len(all), 50)
	return all
}

// FuzzFilter compares the decoders of Filter. They accept the same bytes and make the same filter
// of them, which is encoded to the same bytes again. If they refuse bytes, they do not change the
// receiver.
func FuzzFilter(f *testing.F) {
	before := bloom.Must(bloom.NewSize(128, 3))
	before.AddString("before")
	for _, data := range seeds(f) {
		if !bytes.Contains(data, []byte("bloom\x01")) { // a form without a trailer
			f.Add(data)
		}
	}
	f.Add(bloom.Must(before.MarshalText()))
	f.Fuzz(func(t *testing.T, data []byte) {
		refused := func(err error, g *bloom.Filter) {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.Regexp(t, "^bloom: ", err.Error())
			require.True(t, g.Equal(before), "receiver changed")
		}
		if len(data) == 0 { // empty bytes are not a form, but empty text is the zero value
			require.NoError(t, before.Clone().UnmarshalText(data))
			require.ErrorIs(t, before.Clone().UnmarshalBinary(data), bloom.ErrFormat)
			return
		}
		// Any bytes may be text; few are.
		text := before.Clone()
		if err := text.UnmarshalText(data); err != nil {
			refused(err, text)
		} else {
			again, err := text.MarshalText()
			require.NoError(t, err)
			require.Equal(t, bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\n"), nil),
				[]byte("\r"), nil), again)
		}

		read := before.Clone()
		n, err := read.ReadFrom(iotest.HalfReader(bytes.NewReader(data)))
		require.LessOrEqual(t, n, int64(len(data)))
		whole, whole64 := before.Clone(), before.Clone()
		wholeErr := whole.UnmarshalBinary(data)
		err64 := whole64.UnmarshalText([]byte(base64.StdEncoding.EncodeToString(data)))
		require.Equal(t, wholeErr, err64)
		if err != nil {
			refused(err, read)
			refused(wholeErr, whole)
			refused(err64, whole64)
			return
		}
		if n < int64(len(data)) { // bytes follow the filter
			refused(wholeErr, whole)
			refused(err64, whole64)
			require.NoError(t, whole.UnmarshalBinary(data[:n]))
		} else {
			require.True(t, whole64.Equal(whole))
		}
		require.True(t, read.Equal(whole))
		ones := 0
		for _, b := range data[form.HeaderSize:n] {
			ones += bits.OnesCount8(b)
		}
		require.EqualValues(t, ones, read.OnesCount())
		require.LessOrEqual(t, read.FPR(), 1.0)
		read.ApproxCount()

		out, err := read.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, data[:n], out)
		var w bytes.Buffer
		written, err := read.WriteTo(&w)
		require.NoError(t, err)
		require.Equal(t, n, written)
		require.Equal(t, out, w.Bytes())
		read.AddString("key")
		require.NoError(t, whole.UnmarshalBinary(bloom.Must(read.MarshalBinary())))
		require.True(t, whole.ContainsString("key"))
	})
}

// FuzzView compares View and Reader with Filter: they accept the same bytes and return the same
// answers.
func FuzzView(f *testing.F) {
	for i, data := range seeds(f) {
		f.Add(data, uint64(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		var g bloom.Filter
		err := g.UnmarshalBinary(data)
		v, viewErr := bloom.NewView(data)
		require.Equal(t, err, viewErr)
		r, readerErr := bloom.NewReader(bytes.NewReader(data), int64(len(data)))
		if readerErr != nil { // a Reader checks less
			require.ErrorIs(t, readerErr, bloom.ErrFormat)
			require.Error(t, err)
			return
		}
		found, readerErr := r.ContainsString("key")
		require.NoError(t, readerErr)
		if err != nil {
			return
		}
		require.Equal(t, g.ContainsString("key"), found)
		sameAnswers(t, &g, v, seed)
	})
}

func sameAnswers(t testing.TB, g *bloom.Filter, v *bloom.View, seed uint64) {
	require.Equal(t, g.Stats(), v.Stats())
	require.Contains(t, v.String(), g.Strategy().String())
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 32 {
		h := bloom.NewHash(rnd.Uint64(), rnd.Uint64())
		require.Equal(t, g.ContainsHash(h), v.ContainsHash(h), h)
	}
}

// FuzzLoadFile compares files with UnmarshalBinary: a file loads if and only if it is a binary
// form, alone or with the right trailer. If seal is true, data gets the right trailer, so that not
// every mutation fails at the checksum.
func FuzzLoadFile(f *testing.F) {
	path := filepath.Join(f.TempDir(), "f")
	a := smallFilter("a")
	a.UpdateInfo(func(i *bloom.Info) { *i = testInfo })
	require.NoError(f, a.SaveFile(path))
	f.Add(bloom.Must(os.ReadFile(path)), false)
	for _, data := range seeds(f) {
		f.Add(data, false)
		f.Add(data, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		if seal {
			var sum form.Sum
			sum.Write(data)
			data = append(data, sum.Trailer(data[:min(len(data), form.HeaderSize)], form.Info(testInfo))...)
		}
		writeFile(t, path, data)
		var want bloom.Filter
		wantErr := want.UnmarshalBinary(data)
		g, err := bloom.LoadFile(path)
		file, openErr := bloom.OpenFile(path)
		if openErr == nil {
			defer file.Close()
			openErr = file.Verify()
		}
		if wantErr != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.ErrorIs(t, openErr, bloom.ErrFormat)
			return
		}
		require.NoError(t, err)
		require.NoError(t, openErr)
		require.True(t, want.Equal(g))
		sameAnswers(t, g, file, uint64(len(data)))
	})
}
