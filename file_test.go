package bloom_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// smallFilter has two words. So one flipped bit of its word count makes three words of them.
func smallFilter(keys ...string) *bloom.Filter {
	f := bloom.Must(bloom.NewSize(128, 3))
	for _, key := range keys {
		f.AddString(key)
	}
	return f
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o666))
}

// TestFileFormat freezes the bytes: a binary form, and a trailer whose checksum
// another program computed.
func TestFileFormat(t *testing.T) {
	const want = "010300000002" + "2000000000000200" + "0000400800800001" +
		"0000000000000000" + "0000000000000000" + "00000000" + "9571fae4" + "0024" +
		"626c6f6f6d01" + "47830229"
	path := filepath.Join(t.TempDir(), "f")
	f := smallFilter("a", "b")
	require.NoError(t, f.SaveFile(path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, hex.EncodeToString(data))

	r := bytes.NewReader(data)
	var g bloom.Filter
	_, err = g.ReadFrom(r) // reads as much as Java does
	require.NoError(t, err)
	require.True(t, f.Equal(&g))
	require.Equal(t, form.MinTrailer, r.Len())
}

var testInfo = bloom.Info{N: 100, P: 0.01, Hash: "SumString", Comment: "a and b"}

// TestFileDamage flips every bit of a small file, cuts it everywhere and lengthens it. It decodes
// the bytes in every way, also as if they were embedded in a program.
func TestFileDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := smallFilter("a", "b")
	size := int(f.SizeBytes())
	for _, info := range []bloom.Info{{}, testInfo} {
		f.UpdateInfo(func(i *bloom.Info) { *i = info })
		require.NoError(t, f.SaveFile(path))
		good := bloom.Must(os.ReadFile(path))
		view := bloom.Must(bloom.NewView(good))
		require.True(t, view.ContainsString("a"))
		require.Equal(t, info, view.Info())
		for _, decode := range []func([]byte) error{
			new(bloom.Filter).UnmarshalBinary,
			func(data []byte) error { _, err := bloom.NewView(data); return err },
			func(data []byte) error {
				writeFile(t, path, data)
				file, err := bloom.OpenFile(path)
				if err == nil {
					err = file.Verify()
					require.NoError(t, file.Close())
				}
				_, loadErr := bloom.LoadFile(path)
				require.Equal(t, err == nil, loadErr == nil)
				return err
			},
		} {
			filtertest.Damage(t, good, decode, size)
		}
		for n := 1; n <= 3*form.MinTrailer; n++ {
			for _, bad := range [][]byte{
				append(bytes.Clone(good), make([]byte, n)...),
				append(bytes.Clone(good), good[max(0, len(good)-n):]...),
				append(bytes.Clone(good[:size]), make([]byte, n)...),
			} {
				require.ErrorIs(t, new(bloom.Filter).UnmarshalBinary(bad), bloom.ErrFormat,
					"%d bytes more: %x", n, bad)
			}
		}
	}
}

// TestFileOfJava loads a binary form without a trailer. A file that was cut just before its trailer
// is such a form, too.
func TestFileOfJava(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, v := range jsonVectors[filterVector](t, "filters.json") {
		writeFile(t, path, v.Bytes)
		f, err := bloom.LoadFile(path)
		require.NoError(t, err)
		v.check(t, f)
		file, err := bloom.OpenFile(path)
		require.NoError(t, err)
		require.NoError(t, file.Verify())
		sameAnswers(t, f, file, 1)
		require.NoError(t, file.Close())
	}
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data string) string {
		writeFile(t, filepath.Join(dir, name), []byte(data))
		return filepath.Join(dir, name)
	}
	for _, test := range []struct {
		path string
		is   error
	}{
		{filepath.Join(file("file", "x"), "below"), nil},
		{dir, nil},
		{file("no trailer", "\x01\x03\x00\x00\x00\x01123456780123456789"), bloom.ErrFormat},
		{file("16GiB", "\x01\x03\x7f\xff\xff\xff12345678"), bloom.ErrFormat},
		{file("16GiB, trailer", "\x01\x03\x7f\xff\xff\xff12345678bloom\x011234"), bloom.ErrFormat},
	} {
		t.Run(filepath.Base(test.path), func(t *testing.T) {
			bytes := filtertest.Allocated(func() {
				f, err := bloom.LoadFile(test.path)
				assert.Nil(t, f)
				assert.Regexp(t, "^bloom: .*"+filepath.Base(test.path), fmt.Sprint(err))
				assert.Equal(t, 1, strings.Count(fmt.Sprint(err), test.path), "%v", err)
				v, err2 := bloom.OpenFile(test.path)
				assert.Equal(t, 1, strings.Count(fmt.Sprint(err2), test.path), "%v", err2)
				assert.Nil(t, v)
				assert.Regexp(t, "^bloom: .*"+filepath.Base(test.path), fmt.Sprint(err2))
				if test.is != nil {
					assert.ErrorIs(t, err, test.is)
					assert.ErrorIs(t, err2, test.is)
				}
			})
			assert.Less(t, bytes, uint64(1<<20))
		})
	}
}

// TestLoadFileAllocates: LoadFile allocates the filter once. SaveFile and OpenFile allocate at most
// a buffer.
func TestLoadFileAllocates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := bloom.Must(bloom.NewSize(64<<20, 3))
	size := f.M() / 8
	assert.Less(t, filtertest.Allocated(func() {
		require.NoError(t, f.SaveFile(path))
	}), 4*uint64(form.ChunkBytes))
	loaded := filtertest.Allocated(func() { _ = bloom.Must(bloom.LoadFile(path)) })
	assert.Less(t, loaded, size+4*form.ChunkBytes)
	assert.GreaterOrEqual(t, loaded, size)
}

// TestLoadOrNew: LoadOrNew compares the size of the bits. The error says what the file was made
// for.
func TestLoadOrNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := bloom.Must(bloom.New(1000, 0.01))
	f.AddString("a")
	f.UpdateInfo(func(i *bloom.Info) {
		i.N = 1001
		i.P = 0.01
	})
	require.NoError(t, f.SaveFile(path))
	require.True(t, bloom.Must(bloom.LoadOrNew(path, 1000, 0.01)).ContainsString("a"))
	require.True(t, bloom.Must(bloom.LoadOrNewSize(path, 9537, 7)).ContainsString("a"),
		"of as many words")
	_, err := bloom.LoadOrNewSize(path, 9600, 0)
	require.EqualError(t, err, "bloom: k = 0 is outside [1, 255]")
	_, err = bloom.LoadOrNew(path, 2000, 0.01)
	require.ErrorContains(t, err,
		"bloom.Filter(m=9600, k=7, Mitz64) made for n = 1001, p = 0.01, not what New makes for n "+
			"= 2000, p = 0.01")
	for _, other := range []*bloom.Filter{
		bloom.Must(bloom.NewSize(9600, 8)), bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 1000, 0.01)),
	} {
		require.Equal(t, f.M(), other.M())
		require.NoError(t, other.SaveFile(path))
		_, err = bloom.LoadOrNew(path, 1000, 0.01)
		require.ErrorIs(t, err, bloom.ErrMismatch)
	}
}

// TestOpenFileInfo: OpenFile reads no words, but notices damage to the Info or to the header.
func TestOpenFileInfo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := smallFilter("a", "b")
	f.UpdateInfo(func(i *bloom.Info) { *i = testInfo })
	require.NoError(t, f.SaveFile(path))
	good := bloom.Must(os.ReadFile(path))
	for i := range good {
		if i >= form.HeaderSize && i < int(f.SizeBytes()) || i >= len(good)-4 {
			continue // only Verify notices that
		}
		bad := bytes.Clone(good)
		bad[i] ^= 1
		writeFile(t, path, bad)
		_, err := bloom.OpenFile(path)
		require.ErrorIs(t, err, bloom.ErrFormat, "byte %d", i)
	}
}

// TestReader: a Reader returns the answers of the filter, for both strategies. It makes as many
// requests as its comment says.
func TestReader(t *testing.T) {
	const n = 1_000_000
	hs := filtertest.Digests(1, 2*n)
	for _, strategy := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		f := bloom.Must(bloom.NewWithStrategy(strategy, n, 0.01))
		f.AddBatch(nil, hs[:n])
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, f.SaveFile(path))
		s := &filtertest.Store{Data: bloom.Must(os.ReadFile(path))}
		r, err := bloom.NewReader(s, int64(len(s.Data)))
		require.NoError(t, err)
		require.Len(t, s.Asked(), 2)

		want, got := make([]bool, 2*n), make([]bool, 2*n)
		f.ContainsBatch(want, hs)
		for i := n - 500; i < n+500; i++ {
			found, err := r.ContainsHash(hs[i])
			require.NoError(t, err)
			require.Equal(t, want[i], found)
			if i == n-1 {
				require.InDelta(t, 0.9*500*7, len(s.Asked()), 0.1*500*7,
					"for 500 present keys, some with near bits")
			}
		}
		require.Less(t, len(s.Asked()), 500*3, "for 500 absent keys")
		require.NoError(t, r.ContainsBatch(got[n-10_000:], hs[n-10_000:][:20_000]))
		require.True(t, slices.Equal(want[n-10_000:][:20_000], got[n-10_000:][:20_000]))
		require.LessOrEqual(t, len(s.Asked()), 3*(len(s.Data)>>18+1),
			"all ranges are near, in three rounds")
	}
}
