package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestControlGroup: a filter that does not fit into the memory of a control group, which limits a
// group above the one of the process, is refused. Without the error the system would kill the
// process.
func TestControlGroup(t *testing.T) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	require.NoError(t, err)
	own, limit := "", "memory.max"
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case fields[1] == "memory":
			own, limit = filepath.Join("/sys/fs/cgroup/memory", fields[2]), "memory.limit_in_bytes"
		case own == "":
			own = filepath.Join("/sys/fs/cgroup", fields[2])
		}
	}
	outer := filepath.Join(own, fmt.Sprint("bloom-test-", os.Getpid()))
	inner := filepath.Join(outer, "inner")
	defer os.Remove(outer)
	defer os.Remove(inner)
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Skip("no control group can be made here: ", err)
	}
	if err := os.WriteFile(filepath.Join(outer, limit), []byte("256M"), 0o644); err != nil {
		t.Skip("no control group can be limited here: ", err)
	}
	for lines, status := range map[string]string{"1e8": "0", "1.32e8": "1", "1e9": "1"} {
		script := "echo $$ > " + inner + "/cgroup.procs; cd " + t.TempDir() + "; " +
			"bloom build --force -n " + lines + " -o list </dev/null; echo status $?"
		out, err := child(t, "sh", "-c", script).CombinedOutput()
		require.NoError(t, err)
		require.Contains(t, string(out), "status "+status, "%s: %s", lines, out)
		if status != "0" {
			require.Contains(t, string(out),
				"of memory, but there are only 268 MB, of which bloom itself needs 34 MB")
		}
	}
}
