package files_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/seed79a3ff49/bloom/internal/files"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// tries returns a context that is done: Lock tries once.
func tries(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// lock locks path, or skips the test on a system without locks.
func lock(t *testing.T, path string) (unlock func() error) {
	t.Helper()
	_, unlock, err := Lock(tries(t), path)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return unlock
}

// TestLock: one Lock of a path succeeds at a time, and nothing is left after the last one.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	unlock := lock(t, path)
	require.FileExists(t, filepath.Join(dir, ".f.bloom-lock"))
	_, _, err := Lock(tries(t), path)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, path+" is locked by another process")
	other := lock(t, filepath.Join(dir, "g"))
	require.NoError(t, other())

	got := make(chan error)
	go func() {
		_, second, err := Lock(t.Context(), path) // waits
		if err == nil {
			err = second()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatal("two have the lock: ", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, unlock())
	require.NoError(t, unlock(), "the second call does nothing")
	require.NoError(t, <-got)
	require.Empty(t, filtertest.Names(t, dir))

	_, _, err = Lock(tries(t), filepath.Join(dir, "missing", "f"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, _, err = Lock(tries(t), "")
	require.ErrorContains(t, err, "the path is empty")
}

// TestLockOfMany: the file that is locked is the one at its name, however often it is removed.
func TestLockOfMany(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, lock(t, path)())
	var holders, locked atomic.Int32
	filtertest.AtOnce(4, func(int) {
		for locked.Load() < 1000 {
			unlock, err := TryLock(LockName(path)) // Lock waits between two tries
			if err == nil && unlock == nil {
				continue
			}
			if !assert.NoError(t, err) {
				return
			}
			locked.Add(1)
			assert.EqualValues(t, 1, holders.Add(1))
			runtime.Gosched()
			holders.Add(-1)
			assert.NoError(t, unlock())
		}
	})
	require.Empty(t, filtertest.Names(t, dir))
}

// TestLockName: every path has a lock of its own, however long its name is, and the name of that
// lock is one that a file system takes.
func TestLockName(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]string{}
	for _, size := range []int{1, 100, 199, 200, 201, 211, 212, 230, 250, 255} {
		for _, last := range []string{"x", "y"} {
			path := filepath.Join(dir, strings.Repeat("a", size-1)+last)
			unlock := lock(t, path)
			names := filtertest.Names(t, dir)
			require.Equal(t, []string{filepath.Base(LockName(path))}, names)
			require.LessOrEqual(t, len(names[0]), 255)
			require.Empty(t, seen[names[0]], path)
			seen[names[0]] = path
			require.NoError(t, unlock())
		}
	}
	name := LockName(strings.Repeat("ü", 127))
	require.Equal(t, strings.ToValidUTF8(name, "?"), name)
	// Files of earlier releases and other programs depend on these.
	require.Equal(t, filepath.Join("a", ".b.bloom-lock"), LockName(filepath.Join("a", "b")))
	require.Equal(t, "."+strings.Repeat("a", 200)+".bloom-lock", LockName(strings.Repeat("a", 200)))
	require.Equal(t, "."+strings.Repeat("a", 180)+"-"+hashOf250+".bloom-lock",
		LockName(strings.Repeat("a", 250)))
}

// hashOf250 is the FNV-1a of 250 letters a.
const hashOf250 = "924785600b73a84f"

// TestLockFollows: all names of a file have one lock.
func TestLockFollows(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "far"), 0o777))
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join("far", "f"), link); err != nil {
		t.Skip(err)
	}
	unlock := lock(t, link)
	require.FileExists(t, filepath.Join(dir, "far", ".f.bloom-lock"))
	_, _, err := Lock(tries(t), filepath.Join(dir, "far", "f"))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, unlock())

	deep := filepath.Join(dir, "far", "deep")
	require.NoError(t, os.Mkdir(deep, 0o777))
	require.NoError(t, os.Symlink(filepath.Join("..", "f"), filepath.Join(deep, "up")))
	require.NoError(t, os.Symlink(deep, filepath.Join(dir, "near")))
	unlock = lock(t, filepath.Join(dir, "near", "up"))
	require.FileExists(t, filepath.Join(dir, "far", ".f.bloom-lock"), "not beside the link near")
	require.NoError(t, unlock())

	whole := filepath.Join(dir, "whole")
	require.NoError(t, os.Symlink(filepath.Join(dir, "far", "f"), whole))
	unlock = lock(t, whole)
	require.FileExists(t, filepath.Join(dir, "far", ".f.bloom-lock"))
	require.NoError(t, unlock())

	round := filepath.Join(dir, "round")
	require.NoError(t, os.Symlink("round", round))
	_, _, err = Lock(tries(t), round)
	require.ErrorContains(t, err, "too many symbolic links")
}
