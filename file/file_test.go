package file_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/file"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestLock: a program that loads a filter, adds to it and saves it loses no key of others who do
// the same under the lock.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, bloom.Must(bloom.New(1000, 1e-9)).SaveFile(path))
	if _, unlock, err := file.Lock(t.Context(), path); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else {
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err := file.Lock(ctx, path)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "file: locking: "+path+" is locked by another process")
		require.NoError(t, unlock())
	}
	filtertest.AtOnce(4, func(i int) {
		target, unlock, err := file.Lock(t.Context(), path)
		if !assert.NoError(t, err) {
			return
		}
		f := bloom.Must(bloom.LoadFile(target))
		f.AddString(strconv.Itoa(i))
		assert.NoError(t, f.SaveFile(target))
		assert.NoError(t, unlock())
	})
	f := bloom.Must(bloom.LoadFile(path))
	for i := range 4 {
		require.True(t, f.ContainsString(strconv.Itoa(i)))
	}
	require.Equal(t, []string{"f"}, filtertest.Names(t, filepath.Dir(path)))
}

// TestLockFollows: a file has one lock under all its names. target is where links lead, even if no
// file is there yet, so SaveFile leaves the link.
func TestLockFollows(t *testing.T) {
	dir := t.TempDir()
	path, link, far := filepath.Join(dir, "f"), filepath.Join(dir, "link"), filepath.Join(dir, "far")
	require.NoError(t, os.Symlink("f", link))
	require.NoError(t, os.Symlink(link, far))
	for range 2 { // at first, the links lead to nothing
		target, unlock, err := file.Lock(t.Context(), far)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		require.NoError(t, err)
		require.Equal(t, path, target)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err = file.Lock(ctx, path)
		require.ErrorIs(t, err, context.Canceled, "another name of the file")
		f, err := bloom.LoadOrNew(target, 100, 0.01)
		require.NoError(t, err)
		require.NoError(t, f.SaveFile(target))
		require.NoError(t, unlock())
	}
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	_, _, err = file.Lock(t.Context(), "")
	require.EqualError(t, err, "file: locking: the path is empty")
}

// failing writes half and fails.
type failing struct{}

func (failing) WriteTo(w io.Writer) (int64, error) {
	n, _ := io.WriteString(w, "half")
	return int64(n), io.ErrUnexpectedEOF
}

// TestWrite: the file is replaced as a whole, or stays as it is.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.EqualError(t, file.Write(path, nil), "file: Write without a WriterTo")
	require.NoError(t, file.Write(path, strings.NewReader("old")))
	err := file.Write(path, failing{})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, "file: writing: ")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(data))
	require.NoError(t, file.Write(path, strings.NewReader("new")))
	data, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
	require.Equal(t, []string{"f"}, filtertest.Names(t, filepath.Dir(path)))
}
