package bloom

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/guava"
	"github.com/seed79a3ff49/bloom/internal/testkit"
	"github.com/seed79a3ff49/bloom/internal/words"
)

// smallFilter has two words, so that one flipped bit of its word count makes
// three of them.
func smallFilter(keys ...string) *Filter {
	f := Must(NewSize(128, 3))
	for _, key := range keys {
		f.AddString(key)
	}
	return f
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o666))
}

// names returns what is in dir, temporary files included.
func names(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestFileFormat freezes the bytes: a binary form, and a trailer whose checksum
// another program computed.
func TestFileFormat(t *testing.T) {
	const want = "010300000002" + "2000000000000200" + "0000400800800001" + "626c6f6f6d01" + "0aff0a32"
	path := filepath.Join(t.TempDir(), "f")
	f := smallFilter("a", "b")
	require.NoError(t, f.SaveFile(path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, hex.EncodeToString(data))

	r := bytes.NewReader(data)
	var g Filter
	_, err = g.ReadFrom(r) // as Java would
	require.NoError(t, err)
	require.True(t, f.Equal(&g))
	require.Equal(t, guava.TrailerSize, r.Len())
}

func TestFileRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, strategy := range []Strategy{Mitz32, Mitz64} {
		for _, n := range []uint64{0, 1, 100, 1e5} { // 1e5: several chunks
			f := Must(NewWithStrategy(strategy, n, 0.01))
			for i := range n {
				f.AddHash(SumUint64(i))
			}
			require.NoError(t, f.SaveFile(path))
			g, err := LoadFile(path)
			require.NoError(t, err)
			require.True(t, f.Equal(g))
			require.Equal(t, f.OnesCount(), g.OnesCount())

			file, err := OpenFile(path)
			require.NoError(t, err)
			require.NoError(t, file.Verify())
			sameAnswers(t, f, &file.view, n)
			for i := range n {
				require.True(t, file.ContainsHash(SumUint64(i)))
			}
			require.NoError(t, file.Close())
		}
	}
	require.Equal(t, []string{"f"}, names(t, filepath.Dir(path)))
}

// TestFileDamage flips every bit of a small file, cuts it everywhere and
// lengthens it.
func TestFileDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := smallFilter("a", "b")
	require.NoError(t, f.SaveFile(path))
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	form, err := f.MarshalBinary()
	require.NoError(t, err)

	refused := func(data []byte, msg string, args ...any) {
		t.Helper()
		writeFile(t, path, data)
		_, err := LoadFile(path)
		require.ErrorIs(t, err, ErrFormat, msg, args)
		require.Regexp(t, "^bloom: .*"+filepath.Base(path), err.Error())
		file, err := OpenFile(path)
		if err == nil {
			err = file.Verify()
			require.NoError(t, file.Close())
		}
		require.ErrorIs(t, err, ErrFormat, msg, args)
	}
	for i := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[i/8] ^= 1 << (i % 8)
		refused(bad, "bit %d of byte %d flipped", i%8, i/8)
	}
	for n := range good {
		if n != len(form) {
			refused(good[:n], "cut to %d bytes", n)
		}
	}
	for n := 1; n <= 3*guava.TrailerSize; n++ {
		refused(append(bytes.Clone(good), make([]byte, n)...), "%d bytes appended to a file", n)
		refused(append(bytes.Clone(good), good[len(good)-n:]...), "last %d bytes twice", n)
		refused(append(bytes.Clone(form), make([]byte, n)...), "%d bytes appended to a binary form", n)
	}

	writeFile(t, path, good)
	_, err = LoadFile(path)
	require.NoError(t, err)
}

// TestFileOfJava loads a bare binary form, which is also what is left of a file
// cut just before its trailer.
func TestFileOfJava(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, v := range jsonVectors[filterVector](t, "filters.json") {
		writeFile(t, path, v.Bytes)
		f, err := LoadFile(path)
		require.NoError(t, err)
		v.check(t, f)
		file, err := OpenFile(path)
		require.NoError(t, err)
		require.NoError(t, file.Verify())
		sameAnswers(t, f, &file.view, 1)
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
		{filepath.Join(dir, "missing"), fs.ErrNotExist},
		{filepath.Join(file("file", "x"), "below"), nil},
		{dir, nil},
		{file("empty", ""), ErrFormat},
		{file("short", "\x01\x03\x00\x00\x00"), ErrFormat},
		{file("header", "\x01\x03\x00\x00\x00\x01"), ErrFormat},
		{file("k=0", "\x01\x00\x00\x00\x00\x0112345678"), ErrFormat},
		{file("no trailer", "\x01\x03\x00\x00\x00\x01123456780123456789"), ErrFormat},
		{file("version 2", "\x01\x03\x00\x00\x00\x0112345678bloom\x021234"), ErrFormat},
		{file("16GiB", "\x01\x03\x7f\xff\xff\xff12345678"), ErrFormat},
		{file("16GiB, trailer", "\x01\x03\x7f\xff\xff\xff12345678bloom\x011234"), ErrFormat},
	} {
		t.Run(filepath.Base(test.path), func(t *testing.T) {
			bytes := testkit.Allocated(func() {
				f, err := LoadFile(test.path)
				assert.Nil(t, f)
				assert.Regexp(t, "^bloom: .*"+filepath.Base(test.path), fmt.Sprint(err))
				v, err2 := OpenFile(test.path)
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

func TestSaveFileErrors(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o777))
	f := smallFilter("a")
	for path, f := range map[string]*Filter{
		"f":         {},
		"d":         f,
		"missing/f": f,
	} {
		err := f.SaveFile(filepath.Join(dir, path))
		require.Error(t, err, path)
		require.Regexp(t, "^bloom: ", err.Error())
	}
	require.Equal(t, []string{"d"}, names(t, dir))
}

// TestLoadFileAllocates once, and SaveFile and OpenFile a buffer at most.
func TestLoadFileAllocates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := Must(NewSize(64<<20, 3))
	size := f.M() / 8
	assert.Less(t, testkit.Allocated(func() { require.NoError(t, f.SaveFile(path)) }), 4*uint64(words.ChunkBytes))
	loaded := testkit.Allocated(func() { _ = Must(LoadFile(path)) })
	assert.Less(t, loaded, size+4*words.ChunkBytes)
	assert.GreaterOrEqual(t, loaded, size)
}

func TestFileClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := smallFilter("a")
	require.NoError(t, f.SaveFile(path))
	file, err := OpenFile(path)
	require.NoError(t, err)
	require.True(t, file.ContainsString("a"))
	for range 2 {
		require.NoError(t, file.Close())
		require.PanicsWithValue(t, errClosed, func() { _ = file.Verify() })
		require.PanicsWithValue(t, errClosed, func() { file.Contains([]byte("a")) })
		require.PanicsWithValue(t, errClosed, func() { file.ContainsString("a") })
		require.PanicsWithValue(t, errClosed, func() { file.ContainsHash(SumString("a")) })
		require.Zero(t, file.M())
	}
	require.NoError(t, os.Remove(path))
}

func TestLoadOrNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := LoadOrNew(path, 1000, 0.01)
	require.NoError(t, err)
	require.True(t, f.Equal(Must(New(1000, 0.01))))
	require.NoFileExists(t, path)
	f.AddString("a")
	require.NoError(t, f.SaveFile(path))
	f, err = LoadOrNew(path, 1000, 0.01)
	require.NoError(t, err)
	require.True(t, f.ContainsString("a"))

	for _, other := range []struct {
		n uint64
		p float64
	}{{2000, 0.01}, {1000, 0.001}} {
		_, err = LoadOrNew(path, other.n, other.p)
		require.ErrorIs(t, err, ErrMismatch)
		require.ErrorContains(t, err, "bloom.Filter(m=9600, k=7, Mitz64)")
	}
	_, err = LoadOrNew(path, 1000, 2)
	require.EqualError(t, err, "bloom: p = 2 is outside (0, 1)")
	writeFile(t, path, []byte("text"))
	_, err = LoadOrNew(path, 1000, 0.01)
	require.ErrorIs(t, err, ErrFormat)
}

// TestFileBytes: what SaveFile writes can be embedded in a program, or read by hand.
func TestFileBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := smallFilter("a", "b")
	s := NewSyncFrom(f.Clone())
	require.NoError(t, s.SaveFile(path))
	data := Must(os.ReadFile(path))
	var g Filter
	require.NoError(t, g.UnmarshalBinary(data))
	require.True(t, g.Equal(f))
	require.True(t, Must(NewView(data)).ContainsString("a"))
	testkit.Damage(t, data, new(Filter).UnmarshalBinary, len(data)-guava.TrailerSize)
	testkit.Damage(t, data, func(data []byte) error { _, err := NewView(data); return err }, len(data)-guava.TrailerSize)
}
