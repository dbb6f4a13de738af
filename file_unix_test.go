//go:build unix

package bloom_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

const childEnv = "BLOOM_TEST_CHILD"

// child returns a command that runs TestInChildProcess in dir. what says what it does there.
func child(t testing.TB, what, dir string) *exec.Cmd {
	cmd := filtertest.Child(t, "TestInChildProcess", childEnv+"="+what)
	cmd.Dir = dir
	return cmd
}

// TestInChildProcess is run by other tests in processes of their own. Its working directory has
// filters a and b, and f, which is a copy of a at first.
func TestInChildProcess(t *testing.T) {
	what := os.Getenv(childEnv)
	if what == "" {
		t.Skip("not a child process")
	}
	a, b := bloom.Must(bloom.LoadFile("a")), bloom.Must(bloom.LoadFile("b"))
	switch what {
	case "save for ever":
		for {
			require.NoError(t, b.SaveFile("f"))
			require.NoError(t, a.SaveFile("f"))
		}
	case "full disk":
		signal.Ignore(syscall.SIGXFSZ)
		const size = 6 + 1<<17 // a trailer follows
		require.EqualValues(t, size, b.SizeBytes())
		for _, limit := range []syscall.Rlimit{
			{Cur: size + 9, Max: size + 9},
			{Cur: size, Max: size},
			{Cur: 100_000, Max: size},
			{Cur: 5, Max: size},
			{Cur: 0, Max: size},
		} {
			require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
			require.ErrorIs(t, b.SaveFile("f"), syscall.EFBIG, "room for %d bytes of %d", limit.Cur, size)
		}
	default:
		t.Fatal(what)
	}
}

// childDir returns a directory for child, and the filters a and b in it.
func childDir(t testing.TB, m uint64) (dir string, a, b *bloom.Filter) {
	dir = t.TempDir()
	a, b = bloom.Must(bloom.NewSize(m, 3)), bloom.Must(bloom.NewSize(m, 3))
	for i := range m / 64 {
		a.AddHash(bloom.SumUint64(i))
		b.AddHash(bloom.SumUint64(i + m))
	}
	require.NoError(t, a.SaveFile(filepath.Join(dir, "a")))
	require.NoError(t, b.SaveFile(filepath.Join(dir, "b")))
	require.NoError(t, a.SaveFile(filepath.Join(dir, "f")))
	return dir, a, b
}

// TestSaveFileKilled: if a process is killed while it saves, the file is one of the filters that it
// saved. The next SaveFile removes the temporary file that it left.
func TestSaveFileKilled(t *testing.T) {
	dir, a, b := childDir(t, 1<<20)
	path := filepath.Join(dir, "f")
	whole := func() (isA bool) {
		f, err := bloom.LoadFile(path)
		require.NoError(t, err)
		isA = f.Equal(a)
		require.True(t, isA || f.Equal(b), "a mixture")
		return isA
	}
	for range 10 {
		var saving []*exec.Cmd
		for range 2 {
			cmd := child(t, "save for ever", dir)
			require.NoError(t, cmd.Start())
			saving = append(saving, cmd)
		}
		found := map[bool]int{}
		for found[true] == 0 || found[false] == 0 {
			found[whole()]++
		}
		for _, cmd := range saving {
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
		}
		whole()
		require.NoError(t, a.SaveFile(path))
		require.Equal(t, []string{"a", "b", "f"}, filtertest.Names(t, dir),
			"what dead processes have left")
	}
}

func TestSaveFileFullDisk(t *testing.T) {
	dir, a, _ := childDir(t, 1<<20)
	out, err := child(t, "full disk", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, []string{"a", "b", "f"}, filtertest.Names(t, dir))
	require.True(t, bloom.Must(bloom.LoadFile(filepath.Join(dir, "f"))).Equal(a))
}

// TestPipesAreRefused: a file that is not a regular one is refused. To open a pipe could wait for
// ever.
func TestPipesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := bloom.LoadFile(path)
	require.EqualError(t, err, "bloom: loading: open "+path+": not a regular file")
	_, err = bloom.OpenFile(path)
	require.EqualError(t, err, "bloom: opening: open "+path+": not a regular file")
}

func TestOpenFileOutlivesPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, smallFilter("a").SaveFile(path))
	file, err := bloom.OpenFile(path)
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, smallFilter("b").SaveFile(path))
	require.True(t, file.ContainsString("a"))
	require.False(t, file.ContainsString("b"))
	require.NoError(t, os.Remove(path))
	require.NoError(t, file.Verify())
	require.True(t, file.ContainsString("a"))
}
