package files_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	. "github.com/seed79a3ff49/bloom/internal/files"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// become replaces the descriptor of the file that is open at path by that of other.
func become(t *testing.T, path string, other *os.File) {
	for _, name := range filtertest.Names(t, "/proc/self/fd") {
		if to, err := os.Readlink("/proc/self/fd/" + name); err == nil && to == path {
			fd, err := strconv.Atoi(name)
			require.NoError(t, err)
			require.NoError(t, syscall.Dup3(int(other.Fd()), fd, syscall.O_CLOEXEC))
			return
		}
	}
	t.Fatal("not open: ", path)
}

// TestNotSynced: if the new file does not reach the disk or does not get its name, Write returns an
// error and keeps the old file. If the name does not reach the disk, Write returns an error, too.
// If a file system does not sync directories, Write returns no error. The test replaces the file or
// the directory by a pipe, which cannot be synced, or by a descriptor that is only a path, which
// fsync refuses.
func TestNotSynced(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	path := filepath.Join(dir, "f")
	pipe, other, err := os.Pipe()
	require.NoError(t, err)
	defer pipe.Close()
	defer other.Close()
	const openPath = 0x200000 // O_PATH
	only, err := os.OpenFile("/", openPath, 0)
	require.NoError(t, err)
	defer only.Close()
	for _, test := range []struct {
		what  string
		do    func(file string)
		is    error
		after string
	}{
		{"file", func(file string) { become(t, file, other) }, syscall.EINVAL, "old"},
		{"name", func(file string) { require.NoError(t, os.Remove(file)) }, fs.ErrNotExist, "old"},
		{"directory", func(string) { become(t, dir, only) }, syscall.EBADF, "new"},
		{"directory without syncs", func(string) { become(t, dir, pipe) }, nil, "new"},
	} {
		require.NoError(t, Write(path, text("old")))
		err := Write(path, func(w io.Writer) error {
			test.do(w.(*os.File).Name())
			return text("new")(w)
		})
		require.True(t, errors.Is(err, test.is), "%s: %v", test.what, err)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, test.after, string(data), test.what)
		require.Equal(t, []string{"f"}, filtertest.Names(t, dir), test.what)
	}
}

// opened returns how often this process has files open whose paths begin with prefix.
func opened(t *testing.T, prefix string) (n int) {
	for _, name := range filtertest.Names(t, "/proc/self/fd") {
		if path, _ := os.Readlink("/proc/self/fd/" + name); strings.HasPrefix(path, prefix) {
			n++
		}
	}
	return n
}

// TestClosesFiles: a Write that fails and a lock that another process has leave no file open.
func TestClosesFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	path := filepath.Join(dir, "f")
	broken := errors.New("broken")
	require.ErrorIs(t, Write(path, func(io.Writer) error {
		require.Equal(t, 2, opened(t, dir), "the directory and the new file")
		return broken
	}), broken)
	require.Zero(t, opened(t, dir))
	unlock := lock(t, path)
	_, err = TryLock(LockName(path))
	require.NoError(t, err)
	require.Equal(t, 1, opened(t, dir))
	require.NoError(t, unlock())
	require.Zero(t, opened(t, dir))
}

// TestIdentifyUnreadable: a file that cannot be read whole has no identity.
func TestIdentifyUnreadable(t *testing.T) {
	const memory = "/proc/self/mem" // nothing is at its start
	if _, _, err := OpenRegular(memory); err != nil {
		t.Skip(err)
	}
	_, err := Identify(memory, Identity{})
	require.ErrorIs(t, err, syscall.EIO)
}

// TestAttributes: a directory in which chattr forbids renames is found out before anything is
// written, also for a new file and under another name.
func TestAttributes(t *testing.T) {
	const appendOnly = 0x20 // FS_APPEND_FL
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old"), nil, 0o600))
	file, err := os.Open(dir)
	require.NoError(t, err)
	defer file.Close()
	flags, err := unix.IoctlGetInt(int(file.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags|appendOnly)
	}
	if err != nil {
		t.Skip("this user or file system has no such attributes:", err)
	}
	defer unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags)
	for _, path := range []string{dir + "/old", dir + "/new", link + "/new"} {
		err := Replaceable(path)
		require.ErrorIs(t, err, fs.ErrPermission, path)
		require.ErrorContains(t, err, "chattr -ia "+filepath.Dir(path), path)
		require.EqualError(t, Write(path, func(io.Writer) error {
			panic("written before it was refused")
		}), err.Error())
	}
}
