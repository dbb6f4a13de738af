package bloom

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/testkit"
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
	const want = "010300000002" + "2000000000000200" + "0000400800800001" +
		"0000000000000000" + "0000000000000000" + "00000000" + "9571fae4" + "0024" + "626c6f6f6d01" + "47830229"
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
	require.Equal(t, form.MinTrailer, r.Len())
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
			sameAnswers(t, f, file.view, n)
			for i := range n {
				require.True(t, file.ContainsHash(SumUint64(i)))
			}
			require.NoError(t, file.Close())
		}
	}
	require.Equal(t, []string{"f"}, names(t, filepath.Dir(path)))
}

var testInfo = Info{N: 100, P: 0.01, Hash: "SumString", Comment: "a and b"}

// TestFileDamage flips every bit of a small file, cuts it everywhere and
// lengthens it.
func TestFileDamage(t *testing.T) {
	for _, info := range []Info{{}, testInfo} {
		testFileDamage(t, info)
	}
}

func testFileDamage(t *testing.T, info Info) {
	path := filepath.Join(t.TempDir(), "f")
	f := smallFilter("a", "b")
	f.SetInfo(info)
	require.NoError(t, f.SaveFile(path))
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	bare, err := f.MarshalBinary()
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
		if n != len(bare) {
			refused(good[:n], "cut to %d bytes", n)
		}
	}
	for n := 1; n <= min(len(good), 3*form.MinTrailer); n++ {
		refused(append(bytes.Clone(good), make([]byte, n)...), "%d bytes appended to a file", n)
		refused(append(bytes.Clone(good), good[len(good)-n:]...), "last %d bytes twice", n)
		refused(append(bytes.Clone(bare), make([]byte, n)...), "%d bytes appended to a binary form", n)
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
		sameAnswers(t, f, file.view, 1)
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
				assert.Equal(t, 1, strings.Count(fmt.Sprint(err), test.path), "%v", err)
				v, err2 := OpenFile(test.path)
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
	assert.Less(t, testkit.Allocated(func() { require.NoError(t, f.SaveFile(path)) }), 4*uint64(form.ChunkBytes))
	loaded := testkit.Allocated(func() { _ = Must(LoadFile(path)) })
	assert.Less(t, loaded, size+4*form.ChunkBytes)
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
		require.PanicsWithValue(t, errClosed, func() { file.Stats() })
		require.PanicsWithValue(t, errClosed, func() { file.Contains([]byte("a")) })
		require.PanicsWithValue(t, errClosed, func() { file.ContainsString("a") })
		require.PanicsWithValue(t, errClosed, func() { file.ContainsHash(SumString("a")) })
		require.PanicsWithValue(t, errClosed, func() { file.M() })
	}
	require.NoError(t, os.Remove(path))
}

// TestLoadOrNew: the bits count, and what they are for is said.
func TestLoadOrNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := Must(New(1000, 0.01))
	f.AddString("a")
	f.SetInfo(Info{N: 1001, P: 0.01})
	require.NoError(t, f.SaveFile(path))
	require.True(t, Must(LoadOrNew(path, 1000, 0.01)).ContainsString("a"))
	_, err := LoadOrNew(path, 2000, 0.01)
	require.ErrorContains(t, err, "bloom.Filter(m=9600, k=7, Mitz64) made for n = 1001, p = 0.01, not what New makes for n = 2000, p = 0.01")
	for _, other := range []*Filter{Must(NewSize(9600, 8)), Must(NewWithStrategy(Mitz32, 1000, 0.01))} {
		require.Equal(t, f.M(), other.M())
		require.NoError(t, other.SaveFile(path))
		_, err = LoadOrNew(path, 1000, 0.01)
		require.ErrorIs(t, err, ErrMismatch)
	}
}

// TestFileBytes: what SaveFile and SaveFileInfo write can be embedded in a program, or
// read by hand.
func TestFileBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := smallFilter("a", "b")
	s := NewSyncFrom(f.Clone())
	for _, info := range []Info{{}, testInfo} {
		s.SetInfo(info)
		require.NoError(t, s.SaveFile(path))
		data := Must(os.ReadFile(path))
		var g Filter
		require.NoError(t, g.UnmarshalBinary(data))
		require.True(t, g.Equal(f))
		view := Must(NewView(data))
		require.True(t, view.ContainsString("a"))
		require.Equal(t, info, view.Info())
		form := int(f.SizeBytes())
		testkit.Damage(t, data, new(Filter).UnmarshalBinary, form)
		testkit.Damage(t, data, func(data []byte) error { _, err := NewView(data); return err }, form)
	}
}

func TestFileInfo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	long := Info{Hash: strings.Repeat("h", 255), Comment: strings.Repeat("c", 4096)}
	for _, f := range []*Filter{smallFilter("a"), Must(New(1e5, 0.01))} {
		f.AddString("b")
		for _, info := range []Info{{}, testInfo, {N: 1}, long} {
			f.SetInfo(info)
			require.NoError(t, f.SaveFile(path))
			g, err := LoadFile(path)
			require.NoError(t, err)
			require.Equal(t, info, g.Info())
			require.True(t, f.Equal(g))
			file, err := OpenFile(path)
			require.NoError(t, err)
			require.Equal(t, info, file.Info())
			require.NoError(t, file.Verify())
			sameAnswers(t, f, file.view, 1)
			require.NoError(t, file.Close())
			require.PanicsWithValue(t, errClosed, func() { file.Info() })
		}
		writeFile(t, path, Must(f.MarshalBinary()))
		require.Zero(t, Must(LoadFile(path)).Info(), "a bare form")
	}

	before := Must(os.ReadFile(path))
	for _, test := range []struct {
		info Info
		want string
	}{
		{Info{P: 1}, "bloom: Info.P = 1 is outside [0, 1)"},
		{Info{Comment: strings.Repeat("x", 4097)}, "bloom: Info.Comment has 4097 bytes, more than 4096"},
		{Info{Hash: strings.Repeat("x", 256)}, "bloom: Info.Hash has 256 bytes, more than 255"},
	} {
		f := smallFilter()
		f.SetInfo(test.info)
		require.EqualError(t, f.SaveFile(path), test.want)
	}
	require.ErrorIs(t, new(Filter).SaveFile(path), errNoForm)
	require.Equal(t, before, Must(os.ReadFile(path)), "the old file")
}

// TestOpenFileInfo: OpenFile reads no words, and notices damage to the Info all the
// same, or to the header.
func TestOpenFileInfo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := smallFilter("a", "b")
	f.SetInfo(testInfo)
	require.NoError(t, f.SaveFile(path))
	good := Must(os.ReadFile(path))
	for i := range good {
		if i >= form.HeaderSize && i < int(f.SizeBytes()) || i >= len(good)-4 {
			continue // Verify notices
		}
		bad := bytes.Clone(good)
		bad[i] ^= 1
		writeFile(t, path, bad)
		_, err := OpenFile(path)
		require.ErrorIs(t, err, ErrFormat, "byte %d", i)
	}
}
