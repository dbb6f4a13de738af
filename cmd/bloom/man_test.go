package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/require"
)

// TestMan compares the manual with the help that it is made from. With BLOOM_MAN=1 it writes the
// manual.
func TestMan(t *testing.T) {
	dir := t.TempDir()
	if os.Getenv("BLOOM_MAN") != "" {
		dir = "man"
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.Mkdir(dir, 0o777))
	}
	root := newRoot()
	root.DisableAutoGenTag = true
	for _, c := range root.Commands() {
		c.Long = strings.ReplaceAll(c.Long, "\n  ", "\n    ") // as Markdown wants what stays as it is
		if c.Name() == "completion" {
			c.RemoveCommand(c.Commands()...)
		}
	}
	header := &doc.GenManHeader{Section: "1", Source: "bloom", Date: new(time.Time)}
	require.NoError(t, doc.GenManTree(root, header, dir))
	for _, topic := range topics { // GenManTree leaves them out
		of := *header
		require.NoError(t, doc.GenManTree(find(root, topic), &of, dir))
	}
	made, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	kept, err := filepath.Glob("man/*")
	require.NoError(t, err)
	require.Len(t, kept, len(made))
	for _, path := range made {
		page := strings.Replace(read(t, path), `"Jan 0001"`, `""`, 1) // of no day
		if dir == "man" {
			write(t, path, page)
		}
		kept := filepath.Join("man", filepath.Base(path))
		require.True(t, read(t, kept) == page,
			"%s is not what the help says. Make a new manual: BLOOM_MAN=1 go test -run TestMan", kept)
	}
}
