//go:build unix

package testkit

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Failing runs the test that calls it once more, in a process of its own in which all
// system calls of one name fail with an error, such as EIO. That process, and only that
// one, calls do. With a path only those calls fail that are about the file there.
func Failing(t *testing.T, call, with, path string, do func()) {
	t.Helper()
	const variable = "BLOOM_TEST_FAILING"
	if os.Getenv(variable) != "" {
		do()
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("needs strace")
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	if errors.Is(exec.Command(exe, "-test.run=^$").Run(), syscall.ENOEXEC) {
		t.Skip("this binary runs in an emulator, which another process would be without")
	}
	calls := "/^" + call + "(2|64)?$" // 32-bit machines have fstat64 and mmap2
	args := []string{"-f", "-o", os.DevNull, "-e", "trace=" + calls, "-e", "inject=" + calls + ":error=" + with}
	if path != "" {
		args = append(args, "-P", path)
	}
	cmd := exec.Command(strace, append(args, exe, "-test.v", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")...)
	cmd.Env = append(os.Environ(), variable+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "the test did not run")
}
