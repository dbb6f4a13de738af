package storage_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed79a3ff49/bloom/internal/form"
	. "github.com/seed79a3ff49/bloom/internal/storage"

	"github.com/stretchr/testify/require"
)

// TestLoadOr: if there is no file, and one can be saved later, LoadOr creates a value. If a file
// cannot be read, or if saving would fail, LoadOr returns an error.
func TestLoadOr(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	secret := in("secret")
	require.NoError(t, os.WriteFile(in("f"), []byte("content"), 0o600))
	require.NoError(t, os.WriteFile(secret, nil, 0))
	paths := map[string]bool{in("f"): false, in("none"): true, "": false, in("missing/f"): false,
		in("f/f"): false, dir: false, secret: false}
	if _, err := os.ReadFile(secret); err == nil {
		delete(paths, secret) // this user may read a file without permissions
	}
	if os.Symlink("nowhere", in("dangling")) == nil && os.Symlink("circle", in("circle")) == nil {
		paths[in("dangling")], paths[in("circle")] = false, false
	}
	for path, missing := range paths {
		created := false
		data, err := LoadOr(path, func(path string) (*[]byte, error) {
			data, err := os.ReadFile(path)
			return &data, err
		}, func() (*[]byte, error) {
			created = true
			return nil, nil
		}, func(*[]byte) error { return nil })
		require.Equal(t, missing, created, path)
		require.Equal(t, missing || path == in("f"), err == nil, path)
		require.True(t, path != in("f") || string(*data) == "content")
	}
	_, err := LoadOr(in("f"), func(string) (*int, error) {
		return nil, nil
	}, nil, func(*int) error { return form.ErrMismatch })
	require.EqualError(t, err, form.ErrMismatch.Error()+" (in "+in("f")+")")
}
