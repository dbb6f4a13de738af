package blocked

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestViews: a View and a File answer as the Filter does whose bytes they have, wherever
// the bytes lie.
func TestViews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filter")
	for lines := 1; lines <= maxLines; lines++ {
		f := bloom.Must(NewSize(1000*256, lines))
		f.SetInfo(bloom.Info{N: 7, Hash: "SumString"})
		keys := testkit.Digests[bloom.Hash](1, 5000)
		f.AddBatch(nil, keys)
		f.AddString("key")
		require.NoError(t, f.SaveFile(path))
		probes := append(keys, testkit.Digests[bloom.Hash](2, 5000)...)
		want := f.ContainsBatch([]bool{true}, probes)
		file, err := OpenFile(path)
		require.NoError(t, err)
		type lookups interface {
			bloomView
			Contains([]byte) bool
			ContainsString(string) bool
			ContainsHash(bloom.Hash) bool
			ContainsBatch([]bool, []bloom.Hash) []bool
		}
		views := map[string]lookups{"blocked.File": file}
		data := make([]byte, 0, f.SizeBytes()+8)
		for shift := range 8 {
			data = append(data[:shift], bloom.Must(f.MarshalBinary())...)
			views["blocked.View"+strings.Repeat(" ", shift)] = bloom.Must(NewView(data[shift:]))
			for _, v := range views {
				require.Equal(t, want, v.ContainsBatch([]bool{true}, probes))
				for i, h := range probes {
					testkit.Equal(t, want[1+i], v.ContainsHash(h))
				}
				require.True(t, v.Contains([]byte("key")) && v.ContainsString("key"))
				require.False(t, v.Contains([]byte("another")) || v.ContainsString("another"))
				require.Equal(t, f.M(), v.M())
				require.Equal(t, lines, v.Lines())
				require.Equal(t, f.SizeBytes(), v.SizeBytes())
				require.Equal(t, f.Stats(), v.Stats())
				require.Equal(t, f.Info(), v.Info())
				require.NoError(t, v.Verify())
				require.Regexp(t, fmt.Sprintf(`^blocked\.(View|File)\(m=256000, lines=%d\)$`, lines), fmt.Sprint(v))
			}
			clear(views)
		}
		require.NoError(t, file.Close())
	}
	var zero View
	require.False(t, zero.Contains(nil) || zero.ContainsString("key") || zero.ContainsHash(bloom.Hash{}))
	require.Equal(t, []bool{false}, zero.ContainsBatch(nil, make([]bloom.Hash, 1)))
	require.Zero(t, zero.Stats())
	require.NoError(t, zero.Verify())
}

// bloomView is what a View has besides look-ups.
type bloomView interface {
	M() uint64
	Lines() int
	SizeBytes() int64
	Stats() bloom.Stats
	Info() bloom.Info
	Verify() error
}

// TestFileUnread opens a file whose words nobody can have read: it is 64 GiB long, and
// has no blocks on disk.
func TestFileUnread(t *testing.T) {
	if maxBlocks < 1<<31 {
		t.Skip("larger than the address space")
	}
	path := filepath.Join(t.TempDir(), "filter")
	const blocks = 1<<31 + 1
	form := bloom.Must(form.Blocked.Append(nil, []uint64{blocks, 2, 0}, nil, form.Info{}))
	sparse, err := os.Create(path)
	require.NoError(t, err)
	bloom.Must(sparse.Write(form[:32]))
	bloom.Must(sparse.WriteAt(form[32:], 32+32*blocks))
	require.NoError(t, sparse.Close())
	var file *File
	taken := testkit.Allocated(func() { file, err = OpenFile(path) })
	if err != nil {
		require.NotErrorIs(t, err, bloom.ErrFormat)
		t.Skip(err) // a system, or an emulator, may not map that much
	}
	require.Less(t, taken, uint64(64<<10))
	defer file.Close()
	require.False(t, file.ContainsString("key"))
	require.EqualValues(t, uint64(256*blocks), file.M())
}

func TestFileErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filter")
	_, err := OpenFile(path)
	require.ErrorIs(t, err, os.ErrNotExist)

	f := bloom.Must(New(10, 1e-6))
	f.AddString("key")
	good := bloom.Must(f.MarshalBinary())
	testkit.Damage(t, good, func(data []byte) error {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		file, err := OpenFile(path)
		if err != nil {
			require.ErrorContains(t, err, path)
			return err
		}
		defer file.Close()
		return file.Verify()
	})

	require.NoError(t, os.WriteFile(path, good, 0o600))
	file, err := OpenFile(path)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NoError(t, file.Close())
	for _, closed := range []*File{file, new(File)} {
		for name, use := range map[string]func(){
			"Contains":       func() { closed.Contains(nil) },
			"ContainsString": func() { closed.ContainsString("key") },
			"ContainsHash":   func() { closed.ContainsHash(bloom.Hash{}) },
			"ContainsBatch":  func() { closed.ContainsBatch(nil, nil) },
			"M":              func() { closed.M() },
			"Lines":          func() { closed.Lines() },
			"SizeBytes":      func() { closed.SizeBytes() },
			"Info":           func() { closed.Info() },
			"Stats":          func() { closed.Stats() },
			"Verify":         func() { _ = closed.Verify() },
		} {
			require.PanicsWithValue(t, errClosed, use, name)
		}
		require.Equal(t, "blocked.File(closed)", fmt.Sprint(closed))
	}
}
