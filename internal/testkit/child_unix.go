//go:build unix

package testkit

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	once     sync.Once
	emulated bool
)

// Child returns a command that runs one test of this binary in a process of its own, with
// one more variable in its environment.
func Child(t testing.TB, test, variable string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	once.Do(func() { emulated = errors.Is(exec.Command(exe, "-test.run=^$").Run(), syscall.ENOEXEC) })
	if emulated {
		t.Skip("this binary runs in an emulator, which a child process would be without")
	}
	cmd := exec.Command(exe, "-test.run=^"+strings.ReplaceAll(test, "/", "$/^")+"$")
	// Without a setting, a process with the race detector sleeps a second before it exits.
	cmd.Env = append(os.Environ(), variable, "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	return cmd
}

// Strace has a command that Child made run under strace with options. It skips t where
// there is none.
func Strace(t testing.TB, cmd *exec.Cmd, options ...string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("needs strace")
	}
	cmd.Path, cmd.Args = strace, slices.Concat([]string{strace, "-f"}, options, cmd.Args)
}

// Fail has a command that Child made run with system calls, a regular expression of their
// names, that fail with an error, such as EIO. With a path only those calls fail that are
// about the file there.
func Fail(t testing.TB, cmd *exec.Cmd, calls, with, path string) {
	t.Helper()
	Inject(t, cmd, calls, "error="+with, path)
}

// Inject is Fail with whatever strace may do to a call; see its option inject.
func Inject(t testing.TB, cmd *exec.Cmd, calls, what, path string) {
	t.Helper()
	calls = "/^(" + calls + ")(2|64)?$" // 32-bit machines have fstat64 and mmap2
	options := []string{"-o", os.DevNull, "-e", "trace=" + calls, "-e", "inject=" + calls + ":" + what}
	if path != "" {
		options = append(options, "-P", path)
	}
	Strace(t, cmd, options...)
}

// Failing runs t once more, in a process of its own in which calls fail as Fail says. That
// process, and only that one, calls do.
func Failing(t *testing.T, calls, with, path string, do func()) {
	t.Helper()
	const variable = "BLOOM_TEST_FAILING"
	if os.Getenv(variable) != "" {
		do()
		return
	}
	cmd := Child(t, t.Name(), variable+"=1")
	cmd.Args = append(cmd.Args, "-test.v")
	Fail(t, cmd, calls, with, path)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "the test did not run")
}
