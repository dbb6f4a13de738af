package blocked

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestFileSystemCalls: LoadFile, OpenFile and Close return the errors of the system.
func TestFileSystemCalls(t *testing.T) {
	const path = "testdata/v1.frame"
	t.Run("fstat", func(t *testing.T) {
		testkit.Failing(t, "fstat", "EIO", path, func() {
			_, err := LoadFile(path)
			require.ErrorIs(t, err, unix.EIO)
			require.ErrorContains(t, err, "blocked: loading: ")
			_, err = OpenFile(path)
			require.ErrorIs(t, err, unix.EIO)
			require.ErrorContains(t, err, "blocked: opening: ")
		})
	})
	t.Run("mmap", func(t *testing.T) {
		testkit.Failing(t, "mmap", "ENODEV", path, func() {
			_, err := OpenFile(path)
			require.ErrorIs(t, err, unix.ENODEV)
			require.ErrorContains(t, err, "blocked: mapping: ")
		})
	})
	t.Run("munmap", func(t *testing.T) {
		if testkit.Race {
			t.Skip("the race detector's own calls would fail, too")
		}
		testkit.Failing(t, "munmap", "EINVAL", "", func() {
			file := bloom.Must(OpenFile(path))
			err := file.Close()
			require.ErrorIs(t, err, unix.EINVAL)
			require.ErrorContains(t, err, "blocked: unmapping: ")
			require.PanicsWithValue(t, errClosed, func() { file.ContainsString("key") })
		})
	})
}

// TestCold measures look-ups in a file of 2 GiB that is not in memory, with OpenFile's
// advice to the kernel and without. BLOOM_COLD names a folder for the file. Where
// that is not on a disk, nothing is measured.
func TestCold(t *testing.T) {
	if os.Getenv("BLOOM_COLD") == "" {
		t.Skip("BLOOM_COLD is not set")
	}
	path := filepath.Join(os.Getenv("BLOOM_COLD"), "cold.bloom")
	defer os.Remove(path)
	f := bloom.Must(NewSize(1<<34, 2))
	for i := range f.words { // some 1e-3 of absent keys have their first line
		f.words[i] = rand.Uint64() & (rand.Uint64() | rand.Uint64()&rand.Uint64())
	}
	present := testkit.Digests[bloom.Hash](1, 2000)
	f.AddBatch(nil, present)
	require.NoError(t, f.SaveFile(path))

	for range 3 {
		for _, test := range []struct {
			name   string
			hs     []bloom.Hash
			advice int
		}{
			{"present, advised", present, unix.MADV_RANDOM}, {"present", present, unix.MADV_NORMAL},
			{"absent, advised", nil, unix.MADV_RANDOM}, {"absent", nil, unix.MADV_NORMAL},
		} {
			hs := test.hs
			if hs == nil {
				hs = testkit.Digests[bloom.Hash](rand.Uint64(), 2000)
			}
			cached, err := os.Open(path)
			require.NoError(t, err)
			require.NoError(t, unix.Fadvise(int(cached.Fd()), 0, 0, unix.FADV_DONTNEED))
			require.NoError(t, cached.Close())
			file, err := OpenFile(path)
			require.NoError(t, err)
			require.NoError(t, unix.Madvise(file.data, test.advice))
			blocks, start := read(t), time.Now()
			for _, h := range hs {
				file.ContainsHash(h)
			}
			t.Logf("%-17s %7.1f us a key, %4d MB read", test.name,
				float64(time.Since(start).Microseconds())/float64(len(hs)), (read(t)-blocks)*512/1e6)
			require.NoError(t, file.Close())
		}
	}
}

// read returns how many blocks of 512 bytes this process has read from disks.
func read(t *testing.T) int64 {
	var use unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &use))
	return int64(use.Inblock)
}
