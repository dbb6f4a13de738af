//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	. "github.com/seed79a3ff49/bloom/internal/files"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestLockRefusesLinks: where another user may write, the name of a lock may lead anywhere. Lock
// creates, changes and locks nothing there, and takes nothing but a regular file.
func TestLockRefusesLinks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	key := filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(key, []byte("secret"), 0o600))
	for _, make := range []func(name string) error{
		func(name string) error { return os.Symlink(key, name) },
		func(name string) error { return os.Symlink(filepath.Join(dir, "created"), name) },
		func(name string) error { return syscall.Mkfifo(name, 0o666) },
		func(name string) error { return os.Mkdir(name, 0o777) },
	} {
		name := LockName(path)
		require.NoError(t, make(name))
		before := mode(t, name)
		_, _, err := Lock(filtertest.EndsInWait(t, func() { t.Error("Lock waits") }), path)
		require.ErrorContains(t, err, "lock "+name+": not a regular file, but of mode ")
		require.Equal(t, before, mode(t, name))
		require.NoError(t, os.Remove(name))
	}
	require.Equal(t, []string{"key"}, filtertest.Names(t, dir))
	require.Equal(t, fs.FileMode(0o600), mode(t, key))

	// The link comes after Lock has looked.
	require.NoError(t, os.Symlink(key, LockName(path)))
	_, err := OpenThere(LockName(path), os.O_RDWR, 0)
	require.Error(t, err)
}

// TestLockWhereNoFileIs: a directory that takes no new file is an error, and nothing to wait for.
func TestLockWhereNoFileIs(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip(err)
	}
	_, _, err := Lock(filtertest.EndsInWait(t, func() { t.Error("Lock waits") }), "/proc/f")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestLockMode: whoever created the file of a lock, others can lock it. A file that was there keeps
// its permissions.
func TestLockMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	old := syscall.Umask(0o077)
	_, unlock, err := Lock(tries(t), path)
	syscall.Umask(old)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o666), mode(t, LockName(path)))
	require.NoError(t, unlock())

	require.NoError(t, os.WriteFile(LockName(path), nil, 0o600))
	_, unlock, err = Lock(tries(t), path)
	require.NoError(t, err, "a process that was killed left it")
	require.Equal(t, fs.FileMode(0o600), mode(t, LockName(path)))
	require.NoError(t, unlock())
}

// TestForbiddenLock: the error of a lock that this user may not open is not that another process
// has it.
func TestForbiddenLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(LockName(path), nil, 0))
	require.NoError(t, os.Chmod(filepath.Dir(path), 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755))
	out, err := asNobody(t, "forbidden lock", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestLockWithoutPermissions: Lock waits for the permissions of a file that another process has
// just created, but not for those of a directory.
func TestLockWithoutPermissions(t *testing.T) {
	for what, perm := range map[string]fs.FileMode{"new lock": 0o777, "forbidden directory": 0o555} {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, perm))
		require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
		out, err := asNobody(t, what, filepath.Join(dir, "f")).CombinedOutput()
		require.NoError(t, err, "%s: %s", what, out)
		require.NoError(t, os.Chmod(dir, 0o755))
	}
}

// whileWaiting is a context that calls a function whenever code begins to wait for it.
type whileWaiting struct {
	context.Context
	then func()
}

func (w whileWaiting) Done() <-chan struct{} {
	w.then()
	return w.Context.Done()
}

// TestReleasedLock: a lock that was released takes no memory.
func TestReleasedLock(t *testing.T) {
	held := HeldLocks()
	require.NoError(t, lock(t, filepath.Join(t.TempDir(), "f"))())
	require.Equal(t, held, HeldLocks())
}

// TestLockFileGoesLocked: whoever gets the lock of a file after another finds the file gone. A file
// that was there and is removed a moment later would be locked by one, and created again by
// another.
func TestLockFileGoesLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for range 300 {
		_, unlock, err := Lock(tries(t), path)
		require.NoError(t, err)
		file, err := os.Open(LockName(path))
		require.NoError(t, err)
		gone := make(chan bool)
		go func() {
			for syscall.Flock(int(file.Fd()), syscall.LOCK_EX) != nil {
			}
			_, err := os.Lstat(LockName(path))
			gone <- os.IsNotExist(err)
		}()
		require.NoError(t, unlock())
		require.True(t, <-gone)
		require.NoError(t, file.Close())
	}
}

// TestLockOfAnother: a file that is not at its name any more is no lock, and the end of its lock
// does not remove the file that is there now.
func TestLockOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	_, first, err := Lock(tries(t), path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(LockName(path)))
	_, second, err := Lock(tries(t), path)
	require.NoError(t, err)
	require.NoError(t, first())
	require.FileExists(t, LockName(path))
	_, _, err = Lock(tries(t), path)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, second())
}

// TestLockOutlivesGarbage: a lock that nobody ends lasts as long as the process.
func TestLockOutlivesGarbage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	_, _, err := Lock(tries(t), path)
	require.NoError(t, err)
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	_, _, err = Lock(tries(t), path)
	require.ErrorIs(t, err, context.Canceled)
}

// TestLockOfProcesses: another process waits for the lock, and gets it when its holder is killed.
func TestLockOfProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	cmd := child(t, "lock", path)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 1)) // the child has the lock
	require.NoError(t, err)
	_, _, err = Lock(tries(t), path)
	assert.ErrorIs(t, err, context.Canceled)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.FileExists(t, LockName(path))
	_, unlock, err := Lock(tries(t), path)
	require.NoError(t, err)
	require.NoError(t, unlock())
	require.NoFileExists(t, LockName(path))
}
