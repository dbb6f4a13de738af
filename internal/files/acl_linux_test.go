package files_test

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/seed79a3ff49/bloom/internal/files"
)

const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
	nobodyElse  = ^uint32(0)
)

type entry struct {
	tag, perm uint16
	id        uint32
}

func listOf(entries ...entry) []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	return list
}

// forUser lets user 1000 read, and the group do what it is given. The mode shows that the group
// may read.
func forUser(group, others uint16) []byte {
	return listOf(entry{1, 6, nobodyElse}, entry{2, 4, 1000}, entry{4, group, nobodyElse},
		entry{0x10, 4, nobodyElse}, entry{0x20, others, nobodyElse})
}

func setList(t *testing.T, path, name string, list []byte) {
	t.Helper()
	if err := syscall.Setxattr(path, name, list, 0); err == syscall.EOPNOTSUPP {
		t.Skip("no access-control lists on this file system")
	} else {
		require.NoError(t, err)
	}
}

func getList(path string) []byte {
	data := make([]byte, 1024)
	n, err := syscall.Getxattr(path, accessList, data)
	if err != nil {
		return nil
	}
	return data[:n]
}

// TestAccessList: the new file has the list of the old one, also through a link. A list that its
// directory gives to new files is not added to it.
func TestAccessList(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	setList(t, path, accessList, forUser(0, 0))
	require.NoError(t, os.Symlink("f", link))
	for _, name := range []string{path, link} {
		require.NoError(t, Write(name, text("new")))
		require.Equal(t, forUser(0, 0), getList(name), name)
		require.Equal(t, fs.FileMode(0o640), mode(t, name), name)
	}

	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o644))
	require.NoError(t, os.Chmod(plain, 0o644))
	setList(t, dir, defaultList, forUser(4, 0))
	require.NoError(t, Write(plain, text("new")))
	require.Nil(t, getList(plain), "user 1000 got nothing by name before")
	require.Equal(t, fs.FileMode(0o644), mode(t, plain))
	require.NoError(t, Write(path, text("new")))
	require.Equal(t, forUser(0, 0), getList(path))
	created := filepath.Join(dir, "created")
	require.NoError(t, Write(created, text("new")))
	require.Equal(t, forUser(4, 0)[:12], getList(created)[:12], "as os.Create does")
}

// TestAccessListOfAnotherGroup: if a file cannot keep its group, the new group has no more than
// others had, and others have no more than the old group had.
func TestAccessListOfAnotherGroup(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(filepath.Dir(path), 0o777))
	require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755))
	for _, test := range []struct{ group, others, both uint16 }{{4, 0, 0}, {0, 4, 0}, {4, 4, 4}} {
		setList(t, path, accessList, forUser(test.group, test.others))
		require.NoError(t, os.Chown(path, 12345, 23456))
		out, err := asNobody(t, "write", path).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, forUser(test.both, test.both), getList(path), "%v", test)
	}
}

// TestWithoutList: a file that cannot have its list gives nobody more.
func TestWithoutList(t *testing.T) {
	user := func(perm uint16) entry { return entry{2, perm, 1000} }
	group := func(perm uint16) entry { return entry{8, perm, 1000} }
	own := func(perm uint16) entry { return entry{4, perm, nobodyElse} }
	for _, test := range []struct {
		perm, want fs.FileMode
		entries    []entry
	}{
		{0o640, 0o600, []entry{user(4), own(0)}},
		{0o664, 0o644, []entry{user(6), own(4)}},
		// the user may be in the group, or is one of the others
		{0o644, 0o600, []entry{user(0), own(4)}},
		{0o644, 0o640, []entry{group(0), own(4)}}, // its members are others
		{0o640, 0o640, []entry{own(6)}},           // the mask
		{0o640, 0o640, nil},
	} {
		require.Equal(t, test.want, WithoutList(listOf(test.entries...), test.perm), "%v", test)
	}
}
