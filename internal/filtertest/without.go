package filtertest

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without runs the tests that match a regular expression once more, in a process that does not use
// one feature of the amd64 processor, such as avx2. The process skips tests of encodings and files.
// Without skips t on other architectures and with the race detector.
func Without(t *testing.T, feature, tests string) {
	t.Helper()
	if runtime.GOARCH != "amd64" || Race {
		t.Skip("all code is portable")
	}
	const others = "(Damage|Files|Info|LoadOrNew|Newer|NothingStaysOpen|Readers|Writers)$"
	cmd := exec.Command(os.Args[0], "-test.run="+tests, "-test.skip=//"+others+"|///"+others,
		"-test.short", "-test.v")
	cmd.Env = append(os.Environ(), "GODEBUG=cpu."+feature+"=off,"+os.Getenv("GODEBUG"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS", "no such tests")
}
