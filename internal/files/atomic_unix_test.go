//go:build unix

package files_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/seed79a3ff49/bloom/internal/files"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	info, err := os.Lstat(path)
	require.NoError(t, err)
	return info.Mode()
}

// TestPermissions: a new file has the permissions that os.Create gives. A file that replaces
// another has the permissions of that one.
func TestPermissions(t *testing.T) {
	dir := t.TempDir()
	model, path := filepath.Join(dir, "model"), filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(model, nil, 0o666))
	require.NoError(t, Write(path, text("new")))
	require.Equal(t, mode(t, model), mode(t, path))
	for _, perm := range []fs.FileMode{0o600, 0o640, 0o666, 0o400} {
		require.NoError(t, os.Chmod(path, perm))
		require.NoError(t, Write(path, text("newer")))
		require.Equal(t, perm, mode(t, path))
	}
	require.Equal(t, []string{"f", "model"}, filtertest.Names(t, dir))
}

// TestPrivateUntilWhole looks at the temporary file while it is written. A user who may not read
// the old file must not be able to read the new one at any moment.
func TestPrivateUntilWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, perm := range []fs.FileMode{0o600, 0o640, 0o644} {
		require.NoError(t, os.WriteFile(path, nil, perm))
		require.NoError(t, os.Chmod(path, perm))
		require.NoError(t, Write(path, func(w io.Writer) error {
			require.Equal(t, fs.FileMode(0o600), mode(t, w.(*os.File).Name()))
			return nil
		}))
		require.Equal(t, perm, mode(t, path))
	}
}

// TestOwner: root keeps the owner. If another user cannot keep the group, the new group gets no
// more permissions than others had, and others no more than the old group had.
func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, nil, 0o664))
	require.NoError(t, os.Chmod(path, 0o664))
	require.NoError(t, os.Chown(path, 12345, 23456))
	require.NoError(t, Write(path, text("new")))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.EqualValues(t, 12345, info.Sys().(*syscall.Stat_t).Uid)
	require.EqualValues(t, 23456, info.Sys().(*syscall.Stat_t).Gid)
	require.Equal(t, fs.FileMode(0o664), info.Mode())

	require.NoError(t, os.Chmod(filepath.Dir(path), 0o777))
	require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755))
	for _, test := range []struct {
		group        int
		before, want fs.FileMode
	}{
		{23456, 0o664, 0o644},
		{23456, 0o640, 0o600},
		{23456, 0o604, 0o600},
		{65534, 0o664, 0o664}, // the user nobody can keep this group
		{65534, 0o604, 0o604},
	} {
		require.NoError(t, os.Chown(path, 12345, test.group))
		require.NoError(t, os.Chmod(path, test.before))
		out, err := asNobody(t, "write", path).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, test.want, mode(t, path), "%v", test)
	}
}

const childEnv = "BLOOM_ATOMICFILE_CHILD"

// asNobody is like child, for the user nobody, if root runs this process.
func asNobody(t *testing.T, what, path string) *exec.Cmd {
	cmd := child(t, what, path)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		dir, err := os.MkdirTemp("", "atomicfile-test-")
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		require.NoError(t, os.Chmod(dir, 0o755)) // the user nobody must be able to enter it
		data, err := os.ReadFile(cmd.Path)
		require.NoError(t, err)
		cmd.Path = filepath.Join(dir, "test")
		require.NoError(t, os.WriteFile(cmd.Path, data, 0o755))
	}
	cmd.Dir = "/"
	return cmd
}

// child returns a command that runs TestChild with what and path.
func child(t *testing.T, what, path string) *exec.Cmd {
	return filtertest.Child(t, "TestChild", childEnv+"="+what+": "+path)
}

func TestChild(t *testing.T) {
	what, path, _ := strings.Cut(os.Getenv(childEnv), ": ")
	switch what {
	case "":
		t.Skip("not a child process")
	case "write":
		require.NoError(t, Write(path, text("by a child")))
	case "refused":
		require.ErrorIs(t, Write(path, text("by a child")), fs.ErrPermission)
		require.ErrorIs(t, Replaceable(path), fs.ErrPermission)
		require.ErrorIs(t, Replaceable(path+".new"), fs.ErrPermission)
	case "sticky":
		err := Replaceable(path)
		require.ErrorIs(t, err, fs.ErrPermission)
		require.ErrorContains(t, err, "sticky directory")
		require.NoError(t, Replaceable(path+".new"))
		require.EqualError(t, Write(path, func(io.Writer) error {
			panic("written before it was refused")
		}), err.Error())
	case "forbidden lock":
		_, _, err := Lock(tries(t), path)
		require.ErrorIs(t, err, fs.ErrPermission)
		RetryTwice()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_, _, err = Lock(ctx, path)
		require.ErrorIs(t, err, fs.ErrPermission)
		require.NoError(t, ctx.Err(), "Lock tries until ctx ends")
	case "forbidden directory":
		_, _, err := Lock(filtertest.EndsInWait(t, func() { t.Error("Lock waits") }), path)
		require.ErrorIs(t, err, fs.ErrPermission)
	case "new lock": // another process has created it, and not yet set its permissions
		require.NoError(t, os.WriteFile(LockName(path), nil, 0))
		permit := func() { _ = os.Chmod(LockName(path), 0o600) }
		_, unlock, err := Lock(whileWaiting{filtertest.Minute(t), permit}, path)
		require.NoError(t, err)
		require.NoError(t, unlock())
	case "lock":
		_, _, err := Lock(t.Context(), path)
		require.NoError(t, err)
		os.Stdout.WriteString("locked\n")
		time.Sleep(time.Minute)
	case "killed":
		_ = Write(path, func(io.Writer) error {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		})
	}
}

// TestUnreadableDirectory: a directory that cannot be opened cannot be synced, so Write refuses
// before it changes anything. It also refuses if it may not create files.
func TestUnreadableDirectory(t *testing.T) {
	for _, perm := range []fs.FileMode{0o333, 0o555} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
		require.NoError(t, os.Chmod(dir, perm))
		require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
		defer os.Chmod(dir, 0o755)
		out, err := asNobody(t, "refused", path).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NoError(t, os.Chmod(dir, 0o755))
		require.Equal(t, []string{"f"}, filtertest.Names(t, dir))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "old", string(data))
	}
}

// TestStickyDirectory: what the rename would refuse is refused before anything is written. The
// owner of the file, the owner of the directory and root may replace it.
func TestStickyDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	const nobody = 65534
	for _, test := range []struct {
		what       string
		dir, owner int
	}{
		{"sticky", 12345, 12346}, {"write", nobody, 12346}, {"write", 12345, nobody},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		require.NoError(t, os.WriteFile(path, nil, 0o666))
		require.NoError(t, os.Chown(path, test.owner, test.owner))
		require.NoError(t, os.Chown(dir, test.dir, test.dir))
		require.NoError(t, os.Chmod(dir, 0o777|fs.ModeSticky))
		require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
		out, err := asNobody(t, test.what, path).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NoError(t, Write(path, text("by root")))
	}
}

// TestNoDirectory: a directory that is missing is called that, not one without permissions.
func TestNoDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	err := Replaceable(filepath.Join(dir, "f"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "it needs the directory "+dir+": no such file or directory")
	require.ErrorIs(t, SyncDir(filepath.Join(dir, "f")), fs.ErrNotExist)
}

// TestIrregular: Write replaces only regular files and links.
func TestIrregular(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	folder := filepath.Join(dir, "folder")
	link := filepath.Join(dir, "link")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	require.NoError(t, os.Mkdir(folder, 0o700))
	for _, path := range []string{fifo, folder, os.DevNull} {
		before := mode(t, path)
		require.ErrorContains(t, Write(path, text("x")),
			"replace "+path+": not a regular file, but of mode ")
		require.Equal(t, before, mode(t, path))
	}
	for _, to := range []string{"nowhere", "folder"} {
		require.NoError(t, os.Symlink(to, link))
		require.NoError(t, Write(link, text("x")))
		require.True(t, mode(t, link).IsRegular())
		require.Equal(t, []string{"fifo", "folder", "link"}, filtertest.Names(t, dir))
		require.NoError(t, os.Remove(link))
	}

	// A program that names such a link means what it leads to.
	loop := filepath.Join(dir, "loop")
	require.NoError(t, os.Symlink("loop", loop))
	for _, target := range []string{os.DevNull, "fifo", "loop"} {
		require.NoError(t, os.Symlink(target, link))
		require.Error(t, Write(link, text("x")), target)
		require.Error(t, Replaceable(link), target)
		require.NotZero(t, mode(t, link)&fs.ModeSymlink, target)
		require.NoError(t, os.Remove(link))
	}
	require.NoError(t, os.Remove(loop))

	// The new file replaces the link. It has the permissions of the file that the link led to.
	private := filepath.Join(dir, "private")
	require.NoError(t, os.WriteFile(private, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(private, 0o640))
	require.NoError(t, os.Symlink("private", link))
	require.NoError(t, Write(link, text("new")))
	require.Equal(t, fs.FileMode(0o640), mode(t, link))
	data, err := os.ReadFile(private)
	require.NoError(t, err)
	require.Equal(t, "old", string(data))

	require.ErrorContains(t, Write("", text("x")), "lstat : no such file") // and Write begins no file
}

// TestFails: a Write that fails leaves no file and keeps the old one.
func TestFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, Write(path, text("old")))
	broken := errors.New("broken")
	require.ErrorIs(t, Write(path, func(w io.Writer) error {
		_ = text("half")(w)
		return broken
	}), broken)
	require.Equal(t, []string{"f"}, filtertest.Names(t, dir))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(data))
}

// TestDeadFiles: Write removes the temporary files that killed processes left for its path. It does
// not remove files that living processes write, nor files for other paths.
func TestDeadFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	path, other := filepath.Join(dir, "f"), filepath.Join(dir, "g")
	for _, p := range []string{path, path, other} {
		require.Error(t, asNobody(t, "killed", p).Run())
	}
	// The second one has removed what the first one left.
	left := filtertest.Names(t, dir)
	require.Len(t, left, 2)
	before := len(filtertest.Names(t, "/dev/fd"))
	require.NoError(t, Write(path, func(io.Writer) error {
		require.NoError(t, Write(path, text("inner")))
		require.Len(t, filtertest.Names(t, dir), 3, "f, one being written, and g's")
		return nil
	}))
	require.Len(t, filtertest.Names(t, "/dev/fd"), before, "every file is closed")
	left = filtertest.Names(t, dir)
	require.Len(t, left, 2)
	require.True(t, strings.HasPrefix(left[0], ".g.bloom-tmp-"))
	require.Equal(t, "f", left[1])
}

// TestNotDead: a pipe that has the name of a temporary file is not removed.
func TestNotDead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	pipe := Temporary(path, 0)
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	reader, err := OpenThere(pipe, os.O_RDONLY, 0) // opening it for writing does not fail then
	require.NoError(t, err)
	defer reader.Close()
	require.NoError(t, Write(path, text("x")))
	require.NotZero(t, mode(t, pipe)&fs.ModeNamedPipe)
}

// TestDeadFileOfMany: Write finds a dead file with a high number, among files in use. Many Writes
// in parallel leave such a file. Write does not list the directory to find it.
func TestDeadFileOfMany(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	dead := Temporary(path, Cleaned-1)
	require.NoError(t, os.WriteFile(dead, nil, 0o600))
	var inner func(depth int) error
	inner = func(depth int) error {
		return Write(path, func(io.Writer) error {
			if depth == 0 {
				require.NoFileExists(t, dead)
			}
			if depth == Cleaned+3 {
				return nil
			}
			return inner(depth + 1)
		})
	}
	require.NoError(t, inner(0))
	require.Equal(t, []string{"f"}, filtertest.Names(t, dir))
}

// TestNameless: a file that is open has no name once it is removed.
func TestNameless(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	defer file.Close()
	for _, removed := range []bool{false, true} {
		if removed {
			require.NoError(t, os.Remove(file.Name()))
		}
		info, err := file.Stat()
		require.NoError(t, err)
		require.Equal(t, removed, Nameless(info))
	}
}

func TestLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("n", 255))
	require.NoError(t, Write(path, text("x")))
	require.NoError(t, Write(path, text("y")))
}
