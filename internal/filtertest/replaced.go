package filtertest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Replacement is one way to replace the content of the file at a path.
type Replacement struct {
	Name string
	// Begin creates the file.
	Begin func(t testing.TB, path string, data []byte)
	// Replace gives the file new content. It may be called several times.
	Replace func(t testing.TB, path string, data []byte)
}

// Replacements returns several ways to replace a file: another file is renamed to path, the file is
// written in place, it is removed and created again, or a link at path is switched to another file.
// Each way comes in two variants: the file gets the current time, or keeps its modification time,
// as with "cp -p" and "rsync -t".
func Replacements(t testing.TB) (all []Replacement) {
	write := func(t testing.TB, path string, data []byte) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
	renamed := func(t testing.TB, path string, data []byte) {
		t.Helper()
		write(t, path+".new", data)
		require.NoError(t, os.Rename(path+".new", path))
	}
	removed := func(t testing.TB, path string, data []byte) {
		t.Helper()
		require.NoError(t, os.Remove(path))
		write(t, path, data)
	}
	link := func(t testing.TB, path string, data []byte) {
		t.Helper()
		file, err := os.CreateTemp(filepath.Dir(path), "target")
		require.NoError(t, err)
		_, err = file.Write(data)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.NoError(t, os.Symlink(file.Name(), path+".new"))
		require.NoError(t, os.Rename(path+".new", path))
	}
	type act = func(t testing.TB, path string, data []byte)
	for _, way := range []struct {
		name           string
		begin, replace act
	}{
		{"renamed", write, renamed},
		{"written in place", write, write},
		{"removed and made", write, removed},
		{"link switched", link, link},
	} {
		all = append(all, Replacement{way.name, way.begin, way.replace})
		old := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
		keeping := func(replace act) act {
			return func(t testing.TB, path string, data []byte) {
				t.Helper()
				replace(t, path, data)
				require.NoError(t, os.Chtimes(path, old, old))
			}
		}
		all = append(all, Replacement{way.name + " with its old time", keeping(way.begin),
			keeping(way.replace)})
	}
	return all
}
