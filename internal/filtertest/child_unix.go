//go:build unix

package filtertest

import (
	"errors"
	"os"
	"os/exec"
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

// Child returns a command that runs one test of this binary in a new process. variable, such as
// NAME=value, is added to its environment.
func Child(t testing.TB, test, variable string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	once.Do(func() { emulated = errors.Is(exec.Command(exe, "-test.run=^$").Run(), syscall.ENOEXEC) })
	if emulated {
		t.Skip("this binary runs in an emulator, which a child process would be without")
	}
	cmd := exec.Command(exe, "-test.run=^"+strings.ReplaceAll(test, "/", "$/^")+"$")
	// By default, a process with the race detector sleeps for a second before it exits.
	cmd.Env = append(os.Environ(), variable, "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	return cmd
}
