//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/files"
)

// transcriptLines are the commands of the transcript, each with the flags that change what it reads
// or writes. FLAG stands for nothing, and then for each of them. The file whose state changes from
// column to column is list.
var transcriptLines = []struct {
	made, line string // what makes the good file, and what is run
	flags      []string
}{
	{"build -n 100 -p 0.01", "dedupe FLAG --wait 0s --state list in", append(inputFlagNames,
		"--force", "-n 100", "-p 0.01", "-n 100 --span 1h", "--shard 0/2", "-o out")},
	{"build -n 100 -p 0.01", "build FLAG --wait 0s -o list in", append(inputFlagNames,
		"--blank", "--force", "-n 100", "-p 0.1", "--shard 0/2", "--comment text",
		"--type blocked", "--type growing", "--type counting", "--type cuckoo", "--never names")},
	{"build -n 100 -p 0.01", "check FLAG list in", append(inputFlagNames,
		"--blank", "-v", "-c", "-q", "-cv", "-qv")},
	{"build -n 100 -p 0.01", "add FLAG --wait 0s list in",
		append(inputFlagNames, "--blank", "--force")},
	{"build -n 100 -p 0.01 --type counting", "remove FLAG --wait 0s list in",
		append(inputFlagNames, "--blank", "--force")},
	{"build -n 100 -p 0.01", "merge FLAG --wait 0s -o list other", []string{"--force"}},
	{"build -n 100 -p 0.01", "merge FLAG -o out list other", []string{"--force"}},
	{"build -n 100 -p 0.01", "diff FLAG --wait 0s -o list other other", []string{"--force"}},
	{"build -n 100 -p 0.01", "diff FLAG -o out list other", []string{"--force"}},
	{"build -n 100 -p 0.01", "patch FLAG --wait 0s list patch", nil},
	{"build -n 100 -p 0.01", "info FLAG list", []string{"--json"}},
	{"bank build -n 100", "bank build FLAG --wait 0s -o list in", append(inputFlagNames,
		"--blank", "--force", "-n 100", "-p 0.1", "--comment text")},
	{"bank build -n 100", "bank info FLAG list", []string{"--json"}},
	{"bank build -n 100", "bank which FLAG list apple,1", []string{"--all"}},
	{"build -n 100 -p 0.01", "serve FLAG --addr 127.0.0.1:0 list",
		[]string{"--fold-case", "--hex", "--keep-cr", "--blank", "--host example.org"}},
}

var inputFlagNames = []string{
	"-0", "-z", "-f 2", "-f 1 --sep ,", "--fold-case", "--hex", "--keep-cr", "-f 9 --skip-bad",
	"--long 28", "--json url",
}

// transcriptStates are the columns: each puts list into the present directory. good makes the good
// file with further flags.
var transcriptStates = []struct {
	name string
	put  func(t *testing.T, good func(flags string) string, bank bool) (release func())
}{
	{"good", func(t *testing.T, good func(string) string, _ bool) func() {
		write(t, "list", good(""))
		return nil
	}},
	{"missing", func(*testing.T, func(string) string, bool) func() { return nil }},
	{"empty", func(t *testing.T, _ func(string) string, _ bool) func() {
		write(t, "list", "")
		return nil
	}},
	{"text", func(t *testing.T, _ func(string) string, _ bool) func() {
		write(t, "list", "https://example.org/\n")
		return nil
	}},
	{"gzip", func(t *testing.T, good func(string) string, _ bool) func() {
		write(t, "list", gzipped(good("")))
		return nil
	}},
	{"type", func(t *testing.T, good func(string) string, bank bool) func() {
		write(t, "list", madeBy(t, map[bool]string{
			false: "build -n 100 --type cuckoo", true: "build -n 100"}[bank]))
		return nil
	}},
	{"bank", func(t *testing.T, _ func(string) string, bank bool) func() {
		write(t, "list", madeBy(t, map[bool]string{
			false: "bank build -n 100", true: "build -n 100 --type growing"}[bank]))
		return nil
	}},
	{"field", func(t *testing.T, good func(string) string, _ bool) func() {
		write(t, "list", good("-f 2"))
		return nil
	}},
	{"newer", func(t *testing.T, good func(string) string, _ bool) func() {
		b := []byte(good(""))
		b[len(b)-5] = 2 // the version of the trailer
		sum := crc32.Checksum(b[:len(b)-4], crc32.MakeTable(crc32.Castagnoli))
		binary.BigEndian.PutUint32(b[len(b)-4:], sum)
		write(t, "list", string(b))
		return nil
	}},
	{"read only", func(t *testing.T, good func(string) string, _ bool) func() {
		write(t, "list", good(""))
		require.NoError(t, os.Chmod("list", 0o444))
		return nil
	}},
	{"link", func(t *testing.T, good func(string) string, _ bool) func() {
		write(t, "far", good(""))
		require.NoError(t, os.Symlink("far", "list"))
		return nil
	}},
	{"locked", func(t *testing.T, good func(string) string, _ bool) func() {
		write(t, "list", good(""))
		_, unlock, err := files.Lock(t.Context(), "list")
		require.NoError(t, err)
		return func() { unlock() }
	}},
}

// madeBy returns the file that a command line makes of the lines of the transcript.
func madeBy(t *testing.T, line string) string {
	if cached, ok := madeFiles[line]; ok {
		return cached
	}
	const in = "apple,1\nbanana,2\ncherry,3\n"
	dir := t.TempDir()
	file := filepath.Join(dir, "made")
	cmd := command(t, line, "-o", file, write(t, filepath.Join(dir, "in"), in))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", line, out)
	madeFiles[line] = read(t, file)
	return madeFiles[line]
}

var madeFiles = map[string]string{}

// TestTranscript runs each command with each flag that changes what it reads or writes, and with
// its file in each state, and compares with testdata/transcript.txt how that ended. A cell has the
// exit status; e after an error and w after a warning; the number of lines on standard output; and
// what became of list: nothing if it is as it was, and otherwise *, + if it was made, or - if it is
// gone; and + out if there is a file out. A server that starts is ended by SIGTERM; it answers
// first, as serveRun says. What each command writes to standard error, whatever its flags and the
// state of its file, is in testdata/messages.txt, word for word. With BLOOM_TRANSCRIPT=1 the test
// writes new files.
func TestTranscript(t *testing.T) {
	const golden = "testdata/transcript.txt"
	const goldenMessages = "testdata/messages.txt"
	defaultSignals(t)
	home, err := os.Getwd()
	require.NoError(t, err)
	anew := os.Getenv("BLOOM_TRANSCRIPT") != ""
	want := map[string]string{}
	if !anew {
		for line := range strings.Lines(read(t, golden)) {
			command, cells, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			want[command] = cells
		}
	}
	messages := map[string]bool{}
	known := slices.Collect(strings.Lines(read(t, goldenMessages)))
	var all strings.Builder
	row := func(command string, cells []string) {
		fmt.Fprintf(&all, "%s\t%s\n", command, strings.Join(cells, "\t"))
	}
	var names []string
	for _, state := range transcriptStates {
		names = append(names, state.name)
	}
	row("command", names)
	number := 0
	for _, test := range transcriptLines {
		for _, flag := range append([]string{""}, test.flags...) {
			line := strings.Join(strings.Fields(strings.Replace(test.line, "FLAG", flag, 1)), " ")
			number++
			if testing.Short() && !anew && number%5 != 0 {
				delete(want, line)
				continue
			}
			var cells []string
			for _, state := range transcriptStates {
				t.Chdir(t.TempDir())
				cell, stderr := transcriptCell(t, test.made, line, state.put)
				cells = append(cells, cell)
				for says := range strings.Lines(stderr) {
					message := strings.Fields(line)[0] + "\t" + says
					messages[message] = true
					if !anew {
						ok := slices.Contains(known, message)
						assert.True(t, ok, "%s, with list %s: %s", line, state.name, says)
					}
				}
			}
			row(line, cells)
			if !anew {
				got := strings.Join(cells, "\t")
				assert.Equal(t, want[line], got, "%s, with list\n%s", line, strings.Join(names, "\t"))
				delete(want, line)
			}
		}
	}
	t.Chdir(home)
	if anew {
		write(t, golden, all.String())
		write(t, goldenMessages, strings.Join(slices.Sorted(maps.Keys(messages)), ""))
		return
	}
	if !testing.Short() {
		assert.Equal(t, known, slices.Sorted(maps.Keys(messages)))
	}
	delete(want, "command")
	assert.Empty(t, want, "lines of the transcript that no test runs")
}

func transcriptCell(t *testing.T, made, line string,
	put func(*testing.T, func(string) string, bool) func(),
) (cell, stderr string) {
	isBank := strings.HasPrefix(line, "bank")
	write(t, "in", "apple,1\nbanana,2\ndate,4\n\n")
	write(t, "names", "zebra\n")
	write(t, "other", madeBy(t, "build -n 100 -p 0.01"))
	write(t, "patch", transcriptPatch(t))
	good := func(flags string) string { return madeBy(t, strings.TrimSpace(made+" "+flags)) }
	if release := put(t, good, isBank); release != nil {
		defer release()
	}
	before, errBefore := os.ReadFile("list")
	_, wasLink := os.Readlink("list")
	answers := ""
	stdout, status := "", 0
	if strings.HasPrefix(line, "serve ") {
		answers, stderr, status = serveRun(t, line)
	} else {
		stdout, stderr, status = bloomRun(t, "", line)
	}
	after, errAfter := os.ReadFile("list")
	_, isLink := os.Readlink("list")
	cell = fmt.Sprint(status)
	for says := range strings.Lines(stderr) {
		if strings.HasPrefix(says, "bloom: warning: ") {
			cell += "w"
		} else {
			cell += "e"
		}
	}
	if n := strings.Count(stdout, "\n"); n > 0 {
		cell += fmt.Sprintf(" %d", n)
	}
	cell += answers
	switch {
	case errors.Is(errBefore, fs.ErrNotExist) && errAfter == nil:
		cell += "+"
	case errBefore == nil && errAfter != nil:
		cell += "-"
	case !bytes.Equal(before, after):
		cell += "*"
	}
	if wasLink == nil && isLink != nil {
		cell += " no link"
	}
	if exists("out") {
		cell += " + out"
	}
	return cell, stderr
}

// serveRun starts a server and ends it by SIGTERM. answers are what it says of a line, of the empty
// line, and of a line for another host; the number of lines of in that it finds; and the statuses
// of /info and /filter. Another status than 200 is in the place of an answer. There is no answer
// if the server does not start.
func serveRun(t *testing.T, line string) (answers, stderr string, status int) {
	cmd := command(t, line)
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	log := bufio.NewReader(pipe)
	for {
		says, err := log.ReadString('\n')
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		_, url, serving := strings.Cut(says, "serving list at ")
		if !serving {
			stderr += says
			continue
		}
		url = strings.TrimSuffix(url, "\n")
		for _, request := range []struct{ method, path, body, host string }{
			{"GET", "/contains?key=apple,1", "", ""},
			{"GET", "/contains?key=", "", ""},
			{"GET", "/contains?key=apple,1", "", "example.org"},
			{"POST", "/contains", read(t, "in"), ""},
			{"GET", "/info", "", ""},
			{"GET", "/filter", "", ""},
		} {
			answer, resp := ask(t, request.method, url+request.path, request.body, "Host", request.host)
			switch {
			case resp.StatusCode != 200 || request.path == "/info" || request.path == "/filter":
				answers += fmt.Sprint(" ", resp.StatusCode)
			case request.method == "POST":
				answers += fmt.Sprint(" ", strings.Count(answer, "\n"))
			default:
				answers += " " + strings.TrimSpace(answer)
			}
		}
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	}
	if err := cmd.Wait(); err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return answers, stderr, cmd.ProcessState.ExitCode()
}

// transcriptPatch returns a patch for the good filter.
func transcriptPatch(t *testing.T) string {
	if madeFiles["patch"] == "" {
		dir := t.TempDir()
		a := write(t, filepath.Join(dir, "a"), madeBy(t, "build -n 100 -p 0.01"))
		b := write(t, filepath.Join(dir, "b"), madeBy(t, "build -n 100 -p 0.01"))
		good(t, "fig\n", "add", b)
		good(t, "", "diff -o", filepath.Join(dir, "p"), a, b)
		madeFiles["patch"] = read(t, filepath.Join(dir, "p"))
	}
	return madeFiles["patch"]
}

// TestTranscriptHasFlags: a flag of a command is in the transcript, or only shows how it goes on.
func TestTranscriptHasFlags(t *testing.T) {
	elsewhere := map[string]bool{
		"help": true, "wait": true, "output": true, "state": true,
		"save-every": true, // TestAutosave
		"addr":       true,
	}
	for name, c := range commands() {
		var lines string
		for _, test := range transcriptLines {
			if strings.HasPrefix(test.line, name+" FLAG") {
				lines += " " + test.line + " " + strings.Join(test.flags, " ") + " "
			}
		}
		if name == "" || lines == "" {
			continue // it has no file
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			long := strings.Contains(lines, " --"+f.Name+" ")
			short := f.Shorthand != "" && strings.Contains(lines, " -"+f.Shorthand+" ")
			assert.True(t, long || short || elsewhere[f.Name], "%s --%s", name, f.Name)
		})
	}
}
