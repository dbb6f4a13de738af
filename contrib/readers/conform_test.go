package readers

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConform: testdata/conform passes both readers, and notices a wrong answer, a file that is not
// refused, and a program that says nothing. .ci/run asks all files.
func TestConform(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs Go, and shell scripts that are programs")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "conform")
	build := exec.Command("go", "build", "-o", program, "../../testdata/conform")
	build.Env = append(os.Environ(), "GOOS=", "GOARCH=") // this machine's, also under an emulator
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	run := func(args ...string) (string, error) {
		out, err := exec.Command(program,
			append([]string{"-vectors", *folder}, args...)...).CombinedOutput()
		return string(out), err
	}
	for _, reader := range []string{"python3 bloom.py", "node bloom.mjs"} {
		command := strings.Fields(reader)
		if isMissing(t, command[0]) {
			continue
		}
		for _, only := range []string{"guava-1.bloom", "bank-3.bloom", "refused-info-zeros"} {
			out, err := run(append([]string{"-only", only, "--"}, command...)...)
			require.NoError(t, err, "%s", out)
		}
	}
	if _, err := exec.LookPath("python3"); err == nil {
		out, err := run("-patches", "-only", "patch-rice-a", "--", "python3", "bloom.py")
		require.NoError(t, err, "%s", out)
		require.Contains(t, out, "2 files asked") // a patch is no filter
	}
	for says, script := range map[string]string{
		`is "true\n", not "false\n"`:     "while read -r line; do echo true; done",
		"0 answers to 345 keys":          "exit 0",
		"status 3: no":                   "echo no >&2; exit 3",
		"it was not refused":             "exit 0",
		"it was refused after an answer": "echo false; exit 1",
	} {
		path := filepath.Join(dir, "reader.sh")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
		only := "guava-1.bloom"
		if strings.Contains(says, "refused") {
			only = "refused-info-zeros"
		}
		out, err := run("-only", only, "--", path)
		require.Error(t, err, says)
		require.Contains(t, out, says)
	}
	_, err = run("-only", "no file", "--", "true")
	require.Error(t, err)
}
