package promises

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// testSystemCalls: loading, opening and closing return the errors of the system.
func testSystemCalls(t *testing.T, typ Type) {
	paths := bloom.Must(filepath.Glob("testdata/v1.*"))
	require.Len(t, paths, 1)
	path := paths[0]
	load := func(path string) error { _, err := typ.Load(path); return err }
	open := func(path string) error { _, err := typ.Open(path); return err }
	for _, test := range []struct {
		call, with, only, says string
		do                     func(path string) error
		is                     error
	}{
		{"fstat", "EIO", path, "loading", load, syscall.EIO},
		{"fstat", "EIO", path, "opening", open, syscall.EIO},
		{"mmap", "ENODEV", path, "mapping", open, syscall.ENODEV},
		{"munmap", "EINVAL", "", "unmapping", func(path string) error {
			file := bloom.Must(typ.Open(path))
			err := file.Close()
			TestClosed(t, typ.pkg(), file)
			return err
		}, syscall.EINVAL},
	} {
		t.Run(test.says, func(t *testing.T) {
			switch {
			case typ.Open == nil:
				t.Skip("no file of it is opened")
			case testkit.Race && test.call == "munmap":
				t.Skip("the race detector's own calls would fail, too")
			}
			testkit.Failing(t, test.call, test.with, test.only, func() {
				err := test.do(path)
				require.ErrorIs(t, err, test.is)
				require.ErrorContains(t, err, typ.pkg()+": "+test.says+": ")
			})
		})
	}
}
