package testkit

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Portable runs tests, a regular expression of their names, once more without the parts of
// an amd64 processor that assembly needs, in a process of its own. So what is portable is
// tested by every go test, and not only where there is nothing else.
func Portable(t *testing.T, tests string) {
	t.Helper()
	if runtime.GOARCH != "amd64" || Race {
		t.Skip("all code is portable")
	}
	cmd := exec.Command(os.Args[0], "-test.run="+tests, "-test.short", "-test.v")
	cmd.Env = append(os.Environ(), "GODEBUG=cpu.avx2=off,"+os.Getenv("GODEBUG"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS", "no such tests")
}
