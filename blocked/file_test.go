package blocked

import (
	"math/bits"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestFile holds a File to what the Filter that was saved does.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filter")
	for lines := 1; lines <= maxLines; lines++ {
		f := bloom.Must(NewSize(1000*256, lines))
		keys := testkit.Digests[bloom.Hash](1, 5000)
		f.AddBatch(nil, keys)
		f.AddString("key")
		require.NoError(t, f.SaveFile(path))
		file, err := OpenFile(path)
		require.NoError(t, err)
		probes := append(keys, testkit.Digests[bloom.Hash](2, 5000)...)
		want := f.ContainsBatch(nil, probes)
		for i, h := range probes {
			require.Equal(t, want[i], file.ContainsHash(h))
		}
		require.True(t, file.Contains([]byte("key")))
		require.True(t, file.ContainsString("key"))
		require.False(t, file.ContainsString("another"))
		require.Equal(t, f.M(), file.M())
		require.Equal(t, lines, file.Lines())
		require.Equal(t, f.SizeBytes(), file.SizeBytes())
		require.Equal(t, f.Stats(), file.Stats())
		require.NoError(t, file.Verify())
		require.NoError(t, file.Close())

		for i, w := range f.words {
			f.words[i] = bits.ReverseBytes64(w)
		}
		for i, h := range probes {
			require.Equal(t, want[i], f.containsReversed(h))
		}
	}
}

// TestFileUnread opens a file whose words nobody can have read: it is 64 GiB long, and
// has no blocks on disk.
func TestFileUnread(t *testing.T) {
	if maxBlocks < 1<<31 {
		t.Skip("larger than the address space")
	}
	path := filepath.Join(t.TempDir(), "filter")
	const blocks = 1<<31 + 1
	head := bloom.Must(frame.Blocked.Append(nil, []uint64{blocks, 2, 0}, nil, format.Info{}))[:32]
	require.NoError(t, os.WriteFile(path, head, 0o600))
	require.NoError(t, os.Truncate(path, 36+32*blocks))
	var file *File
	var err error
	taken := testkit.Allocated(func() { file, err = OpenFile(path) })
	if err != nil {
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
		require.PanicsWithValue(t, errClosed, func() { closed.Contains(nil) })
		require.PanicsWithValue(t, errClosed, func() { closed.ContainsString("key") })
		require.PanicsWithValue(t, errClosed, func() { closed.ContainsHash(bloom.Hash{}) })
		require.PanicsWithValue(t, errClosed, func() { _ = closed.Verify() })
		require.PanicsWithValue(t, errClosed, func() { closed.Stats() })
		require.Zero(t, closed.SizeBytes())
	}
}
