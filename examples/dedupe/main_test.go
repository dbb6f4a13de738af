package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDedupe(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	long := strings.Repeat("x", 1<<20)
	for i, test := range []struct{ in, out string }{
		{"b\na\nb\n\n\nlast", "b\na\n\nlast\n"},
		{"c\na\n" + long + "\nlast\n" + long, "c\n" + long + "\n"},
		{"a\nb\nc\n\nlast\n" + long, ""},
	} {
		in := filepath.Join(dir, "in")
		require.NoError(t, os.WriteFile(in, []byte(test.in), 0o666))
		var out bytes.Buffer
		require.NoError(t, dedupe(&out, state, []string{in, in}))
		require.True(t, test.out == out.String(), "run %d", i)
	}

	// A run that fails leaves the state as it was.
	before, err := os.ReadFile(state)
	require.NoError(t, err)
	in := filepath.Join(dir, "new")
	require.NoError(t, os.WriteFile(in, []byte("new"), 0o666))
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	defer full.Close()
	require.Error(t, dedupe(full, state, []string{in}))
	require.Error(t, dedupe(new(bytes.Buffer), state, []string{in, filepath.Join(dir, "missing")}))
	after, err := os.ReadFile(state)
	require.NoError(t, err)
	require.Equal(t, before, after)
}
