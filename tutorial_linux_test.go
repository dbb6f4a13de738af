package bloom_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// TestTutorial follows docs/tutorial.md: it saves the programs under their names, runs the commands
// in a shell, and compares what they print. This module stands in for the one that go get fetches.
func TestTutorial(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	page := string(bloom.Must(os.ReadFile("docs/tutorial.md")))
	blocks := regexp.MustCompile("(?s)([^\n]*)\n\n?```(sh|go|text)\n(.*?)```")
	name := regexp.MustCompile("Save this as `(.*)`:")
	dir := t.TempDir()
	inside := filepath.Join(dir, "crawler")
	var printed string
	programs, commands, outputs := 0, 0, 0
	for _, block := range blocks.FindAllStringSubmatch(page, -1) {
		before, language, text := block[1], block[2], block[3]
		switch language {
		case "go":
			match := name.FindStringSubmatch(before)
			require.Len(t, match, 2, before)
			path := filepath.Join(inside, match[1])
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
			programs++
		case "sh":
			printed = runSteps(t, dir, text)
			dir = inside
			commands++
		case "text":
			assert.Equal(t, text, printed)
			outputs++
		}
	}
	assert.Equal(t, []int{2, 5, 3}, []int{programs, commands, outputs})
	log := string(bloom.Must(os.ReadFile(filepath.Join(inside, "log.txt"))))
	assert.Equal(t, 2, strings.Count(log, " pages fetched so far"), log)
}

// runSteps runs the commands in dir, and returns what they print.
func runSteps(t *testing.T, dir, steps string) string {
	const offline = `set -eo pipefail
go() {
	if [ "$1" != get ]; then command go "$@"; return; fi
	command go mod edit -require="$2@v0.0.0" -replace="$2@v0.0.0=$ROOT"
}
`
	cmd := exec.Command("bash", "-c", offline+steps)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "GONOSUMDB=*",
		"ROOT="+bloom.Must(os.Getwd()))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	require.NoError(t, err, "%s%s", steps, problems.String())
	return string(out)
}
