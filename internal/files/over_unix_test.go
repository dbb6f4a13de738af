//go:build unix

package files_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestBase: what another program saves between the reading of a file and the last step of its
// replacement stays, however it was saved.
func TestBase(t *testing.T) {
	inWrite := func(t *testing.T, change func()) func(io.Writer) error {
		return func(w io.Writer) error {
			change()
			return text("newer")(w)
		}
	}
	inLastStep := func(t *testing.T, change func()) func(io.Writer) error {
		AfterSync(t, change)
		return text("newer")
	}
	for _, way := range filtertest.Replacements(t) {
		for when, write := range map[string]func(*testing.T, func()) func(io.Writer) error{
			"while it is written": inWrite, "after it is written": inLastStep,
		} {
			t.Run(way.Name+" "+when, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "f")
				way.Begin(t, path, []byte("first"))
				base, err := BaseOf(path)
				require.NoError(t, err)
				require.NoError(t, base.Write(path, text("ours.")))
				require.NoError(t, base.Write(path, text("later")), "its own file is no other")
				if way.Name == "link switched" { // Write has replaced the link
					way.Begin(t, path+"2", []byte("later"))
					require.NoError(t, os.Rename(path+"2", path))
				}
				other := func() { way.Replace(t, path, []byte("other")) }
				require.ErrorIs(t, base.Write(path, write(t, other)), ErrChanged)
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, "other", string(data))
			})
		}
	}
}

// TestBaseOfNothing: a file that was not there, and is made by another program, stays. A file that
// was removed, or whose bytes are the same, is replaced.
func TestBaseOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	none, err := BaseOf(path)
	require.NoError(t, err)
	same, gone := none, none
	require.NoError(t, same.Write(path, text("first")))
	require.ErrorIs(t, none.Write(path, text("second")), ErrChanged)
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Link(path, path+".link"))
	require.NoError(t, same.Write(path, text("second")))
	require.NoError(t, os.Remove(path))
	require.NoError(t, same.Write(path, text("third")))
	require.NoError(t, os.Remove(path))
	require.NoError(t, gone.Write(path, text("fourth")))
	require.NoError(t, gone.Write(path, func(w io.Writer) error {
		require.NoError(t, os.Remove(path))
		return text("fourth again")(w)
	}))
	broken := errors.New("broken disk")
	require.ErrorIs(t, gone.Write(path, func(io.Writer) error { return broken }), broken)
	require.NoError(t, gone.Write(path, text("fifth")), "nothing was written in between")
}
