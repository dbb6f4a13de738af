package flower

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

func small() *Filter {
	f := bloom.Must(New(Config{Slots: 9, Ways: 2, Bits: 16}))
	f.AddString("old")
	f.AddString("new")
	return f
}

func TestEncoding(t *testing.T) {
	for _, c := range []Config{{1, 1, 8}, {2, 2, 8}, {9, 3, 8}, {100, 4, 16}, {7, 2, 32}, {100000, 3, 8}} {
		f := bloom.Must(New(c))
		for i := range 2 * c.Slots {
			f.AddHash(bloom.SumUint64(i))
		}
		var out bytes.Buffer
		wrote, err := f.WriteTo(&out)
		require.NoError(t, err)
		require.EqualValues(t, out.Len(), wrote)
		require.Equal(t, wrote, f.SizeBytes())
		data := bytes.Clone(out.Bytes())
		require.Equal(t, append([]byte("before"), data...), bloom.Must(f.AppendBinary([]byte("before"))))

		binary, stream, text := small(), new(Filter), new(Filter)
		require.NoError(t, binary.UnmarshalBinary(data))
		out.WriteString("after")
		read, err := stream.ReadFrom(iotest.HalfReader(&out))
		require.NoError(t, err)
		require.Equal(t, wrote, read)
		require.Equal(t, "after", out.String())
		require.NoError(t, text.UnmarshalText(bloom.Must(f.MarshalText())))
		path := filepath.Join(t.TempDir(), "flower")
		require.NoError(t, f.SaveFile(path))
		for _, got := range []*Filter{binary, stream, text, bloom.Must(LoadFile(path))} {
			require.Equal(t, f, got)
			require.Equal(t, c, got.Config())
		}
	}
}

func TestJSON(t *testing.T) {
	type record struct{ Recent *Filter }
	got := record{small()}
	require.NoError(t, json.Unmarshal(bloom.Must(json.Marshal(record{new(Filter)})), &got))
	require.Zero(t, got.Recent.SizeBytes())
	require.NoError(t, json.Unmarshal(bloom.Must(json.Marshal(record{small()})), &got))
	require.Equal(t, small(), got.Recent)
	require.ErrorIs(t, got.Recent.UnmarshalText([]byte("!")), bloom.ErrFormat)
}

func TestLoadOrNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flower")
	c := small().Config()
	f := bloom.Must(LoadOrNew(path, c))
	require.Equal(t, bloom.Must(New(c)), f)
	require.NoError(t, small().SaveFile(path))
	require.Equal(t, small(), bloom.Must(LoadOrNew(path, c)))

	_, err := LoadOrNew(path, Config{9, 3, 16})
	require.ErrorIs(t, err, bloom.ErrMismatch)
	require.ErrorContains(t, err, "flower: the filter has {Slots:9 Ways:2 Bits:16}, not {Slots:9 Ways:3 Bits:16}:")
	_, err = LoadOrNew(path, Config{})
	require.ErrorContains(t, err, "flower: Bits = 0 ")
	_, err = LoadOrNew(filepath.Join(path+" missing", "flower"), c)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o666))
	_, err = LoadOrNew(path, c)
	require.ErrorIs(t, err, bloom.ErrFormat)
}

func TestDamage(t *testing.T) {
	f := small()
	good := bloom.Must(f.MarshalBinary())
	testkit.Damage(t, good, f.UnmarshalBinary)
	require.Equal(t, small(), f, "errors changed the receiver")
	for _, params := range [][]uint64{
		{0, 2, 16}, {math.MaxUint64, 2, 16}, {1 << 40, 2, 16}, {13, 2, 16}, {9, 0, 16}, {9, 65, 16},
		{9, 1<<32 + 1, 16}, {9, math.MaxUint64, 16}, {1, 2, 16}, {9, 2, 0}, {9, 2, 7}, {9, 2, 1<<32 + 16}, {9, 2, math.MaxUint64},
	} {
		require.ErrorIs(t, f.UnmarshalBinary(bloom.Must(form.Flower.Append(nil, params, testkit.Words(3), form.Info{}))), bloom.ErrFormat, "%d", params)
	}
}

func FuzzFilter(f *testing.F) {
	good, err := small().MarshalBinary()
	require.NoError(f, err)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{})
	f.Add(bloom.Must(form.Flower.Append(nil, []uint64{2, 64, 32}, testkit.Words(1), form.Info{})))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := new(Filter).UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
		}
		data = testkit.Sealed(data)
		var f Filter
		if err := f.UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.Zero(t, f.SizeBytes())
			return
		}
		again, err := f.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, data, again)
		f.AddString("key")
		require.True(t, f.ContainsString("key"))
	})
}
