//go:build unix

package bloom

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/testkit"
)

const childEnv = "BLOOM_TEST_CHILD"

// child returns a command that runs TestChild as what in dir.
func child(t testing.TB, what, dir string) *exec.Cmd {
	cmd := testkit.Child(t, "TestChild", childEnv+"="+what)
	cmd.Dir = dir
	return cmd
}

// TestChild is what the other tests run in processes of their own. Its working
// directory has filters a and b, and f, which starts as a.
func TestChild(t *testing.T) {
	what := os.Getenv(childEnv)
	if what == "" {
		t.Skip("not a child process")
	}
	a, b := Must(LoadFile("a")), Must(LoadFile("b"))
	switch what {
	case "save for ever":
		for {
			require.NoError(t, b.SaveFile("f"))
			require.NoError(t, a.SaveFile("f"))
		}
	case "save once":
		runtime.LockOSThread() // strace counts the calls of each thread
		require.NoError(t, b.SaveFile("f"))
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

// childDir returns a directory for child, and the filters in it.
func childDir(t testing.TB, m uint64) (dir string, a, b *Filter) {
	dir = t.TempDir()
	a, b = Must(NewSize(m, 3)), Must(NewSize(m, 3))
	for i := range m / 64 {
		a.AddHash(SumUint64(i))
		b.AddHash(SumUint64(i + m))
	}
	require.NoError(t, a.SaveFile(filepath.Join(dir, "a")))
	require.NoError(t, b.SaveFile(filepath.Join(dir, "b")))
	require.NoError(t, a.SaveFile(filepath.Join(dir, "f")))
	return dir, a, b
}

// TestSaveFileKilled kills processes that save, before each of the calls that may change a
// file.
func TestSaveFileKilled(t *testing.T) {
	dir, a, b := childDir(t, 1<<20)
	for _, calls := range []string{"write", "fsync", "rename|renameat"} {
		left, kills := 0, 0
		for ; ; kills++ {
			require.NoError(t, a.SaveFile(filepath.Join(dir, "f")))
			require.Equal(t, []string{"a", "b", "f"}, testkit.Names(t, dir), "what a dead process has left")
			cmd := child(t, "save once", dir)
			testkit.Inject(t, cmd, calls, fmt.Sprintf("signal=KILL:when=%d", kills+1), "")
			if err := cmd.Run(); err == nil {
				break // it makes fewer calls
			} else {
				require.ErrorContains(t, err, "killed")
			}
			f, err := LoadFile(filepath.Join(dir, "f"))
			require.NoError(t, err)
			require.True(t, f.Equal(a) || f.Equal(b), "neither the old filter nor the new one")
			if len(testkit.Names(t, dir)) > 3 {
				require.True(t, f.Equal(a), "not renamed yet")
				left++
			}
		}
		require.Positive(t, left, "%s: no kill hit a save", calls)
		t.Logf("%s: %d kills, %d of them before the file was in place", calls, kills, left)
	}
	f, err := LoadFile(filepath.Join(dir, "f"))
	require.NoError(t, err)
	require.True(t, f.Equal(b))
}

func TestSaveFileTwoProcesses(t *testing.T) {
	dir, a, b := childDir(t, 1<<20)
	for range 2 {
		cmd := child(t, "save for ever", dir)
		require.NoError(t, cmd.Start())
		defer cmd.Wait()
		defer cmd.Process.Kill()
	}
	found := map[bool]int{}
	for rounds := 0; rounds < 50 || found[true] == 0 || found[false] == 0; rounds++ {
		f, err := LoadFile(filepath.Join(dir, "f"))
		require.NoError(t, err)
		isA := f.Equal(a)
		require.True(t, isA || f.Equal(b), "a mixture")
		found[isA]++
	}
}

func TestSaveFileFullDisk(t *testing.T) {
	dir, a, _ := childDir(t, 1<<20)
	out, err := child(t, "full disk", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, []string{"a", "b", "f"}, testkit.Names(t, dir))
	require.True(t, Must(LoadFile(filepath.Join(dir, "f"))).Equal(a))
}

// TestSaveFileSyncs watches the system calls: no test can pull the plug.
func TestSaveFileSyncs(t *testing.T) {
	dir, _, _ := childDir(t, 1<<20)
	cmd := child(t, "save once", dir)
	log := filepath.Join(t.TempDir(), "log")
	testkit.Strace(t, cmd, "-y", "-o", log, "-e", "trace=write,fsync,rename,renameat,renameat2")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	calls, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Regexp(t, `(?s)write\([^)]*\.bloom-tmp-.*fsync\([^)]*\.bloom-tmp-.*rename.*\.bloom-tmp-.*fsync\(\d+<`+regexp.QuoteMeta(dir)+`>`, string(calls))
	assert.NotRegexp(t, `(?s)fsync.*write\([^)]*\.bloom-tmp-`, string(calls))
}

func TestOpenFileOutlivesPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, smallFilter("a").SaveFile(path))
	file, err := OpenFile(path)
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, smallFilter("b").SaveFile(path))
	require.True(t, file.ContainsString("a") && !file.ContainsString("b"))
	require.NoError(t, os.Remove(path))
	require.NoError(t, file.Verify())
	require.True(t, file.ContainsString("a"))
}
