package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program is the command: the binary of these tests, by another name.
var program string

// watchdog is how long these tests wait for anything: a process, an answer, or what ends shows. A
// busy machine needs some seconds, and only what hangs needs as long.
const watchdog = time.Minute

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "bloom" {
		main()
	}
	http.DefaultClient.Timeout = watchdog
	os.Exit(testsInFolder(m))
}

// testsInFolder runs the tests with a $TMPDIR of their own, and fails if a command left a file
// there.
func testsInFolder(m *testing.M) (status int) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	dir, err := os.MkdirTemp("", "bloom-test-*")
	must(err)
	defer os.RemoveAll(dir)
	tests, err := os.Executable()
	must(err)
	program = filepath.Join(dir, "bloom")
	must(os.Symlink(tests, program))
	must(os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")))
	temporary := filepath.Join(dir, "tmp")
	must(os.Mkdir(temporary, 0o777))
	must(os.Setenv("TMPDIR", temporary))
	status = m.Run()
	left, err := os.ReadDir(temporary)
	must(err)
	for _, entry := range left {
		fmt.Fprintln(os.Stderr, "FAIL: a command left in $TMPDIR:", entry.Name())
		status = 1
	}
	return status
}

// ends requires that do ends.
func ends(t testing.TB, do func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		do()
	}()
	select {
	case <-ended:
	case <-time.After(watchdog):
		t.Fatal("it hangs")
	}
}

// becomes requires that what is asked becomes true.
func becomes(t testing.TB, asked func() bool) {
	t.Helper()
	for began := time.Now(); !asked(); time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(began), watchdog, "it does not become true")
	}
}

// child prepares a process that is killed when it hangs.
func child(t testing.TB, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second // for the processes that it started
	return cmd
}

// command prepares a run of the program with the words of line and more.
func command(t testing.TB, line string, more ...string) *exec.Cmd {
	return child(t, program, append(strings.Fields(line), more...)...)
}

// bloomRun runs the program to its end.
func bloomRun(
	t testing.TB, stdin, line string, more ...string,
) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t, line, more...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// good is a run that must succeed, in silence.
func good(t testing.TB, stdin, line string, more ...string) (stdout string) {
	t.Helper()
	return saying(t, 0, "", stdin, line, more...)
}

// saying is a run that must end with the status, and with the one line of requireError, or in
// silence.
func saying(t testing.TB, want int, says, stdin, line string, more ...string) (stdout string) {
	t.Helper()
	stdout, stderr, status := bloomRun(t, stdin, line, more...)
	require.Equal(t, want, status, "%s %q: %s", line, more, stderr)
	if says == "" {
		require.Empty(t, stderr, "%s %q", line, more)
	} else {
		requireError(t, stderr, says)
	}
	return stdout
}

// start starts cmd, and returns the other ends of the pipes that it gets where it has no
// input or output yet.
func start(t testing.TB, cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	var err error
	if cmd.Stdin == nil {
		in, err = cmd.StdinPipe()
		require.NoError(t, err)
	}
	if cmd.Stdout == nil {
		out, err = cmd.StdoutPipe()
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Start())
	return in, out
}

func send(t testing.TB, in io.Writer, text string) {
	t.Helper()
	_, err := io.WriteString(in, text)
	require.NoError(t, err)
}

// receive requires that out goes on with text.
func receive(t testing.TB, out io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	_, err := io.ReadFull(out, got)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

// peak returns how much memory cmd, which runs, has taken, in kilobytes.
func peak(t *testing.T, cmd *exec.Cmd) (kilobytes int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Skip("only Linux says how much memory a process takes")
	}
	_, status, _ = bytes.Cut(status, []byte("VmHWM:"))
	_, err = fmt.Sscan(string(status), &kilobytes)
	require.NoError(t, err)
	return kilobytes
}

// defaultSignals has the command handle signals. What these tests were started with, nohup
// perhaps, ignores them for the command, too. A program that this one starts gets the
// defaults for what this one handles.
func defaultSignals(t *testing.T) {
	handled := make(chan os.Signal, 4)
	signal.Notify(handled, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	t.Cleanup(func() { signal.Stop(handled) })
}

// requireError requires one line that says what is wrong, word for word, after "bloom: ". In says,
// "..." stands for any text.
func requireError(t testing.TB, stderr, says string) {
	t.Helper()
	pattern := strings.ReplaceAll(regexp.QuoteMeta(says), `\.\.\.`, `[^\n]*`)
	require.Regexp(t, "^bloom: "+pattern+"\n$", stderr)
}

// requireAlone fails if anything lies beside path.
func requireAlone(t testing.TB, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, filepath.Base(path), entries[0].Name())
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func write(t testing.TB, path, data string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(data), 0o666))
	return path
}

func gzipped(data string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, data)
	w.Close()
	return b.String()
}

func zstded(data string) string {
	var b bytes.Buffer
	w, _ := zstd.NewWriter(&b)
	io.WriteString(w, data)
	w.Close()
	return b.String()
}

// numbers is the lines "line from" to "line to-1".
func numbers(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// distinct is what dedupe does, with a map.
func distinct(in string) string {
	var out strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(in) {
		line = strings.TrimSuffix(line, "\n") + "\n"
		if !seen[line] {
			out.WriteString(line)
		}
		seen[line] = true
	}
	return out.String()
}

// lengths returns lines of lengths around those of buffers.
func lengths() string {
	const buffer = 64 << 10
	rnd := rand.New(rand.NewPCG(1, 2))
	var in strings.Builder
	for range 500 {
		length := rnd.IntN(100)
		if rnd.IntN(4) == 0 {
			length = rnd.IntN(5)*buffer + rnd.IntN(5) + buffer - 3
		}
		in.WriteString(strings.Repeat(string('a'+rune(rnd.IntN(3))), length) + "\n")
	}
	return in.String()
}

// TestUsage looks at the exit status of wrong command lines, and at their one line.
func TestUsage(t *testing.T) {
	number := func(value string) string {
		return `invalid argument "` + value + `" for "-n, --lines" flag: "` + value +
			`" is not a number of lines, such as 1000, 1e6 or 10M; see bloom help dedupe`
	}
	span := func(value string) string {
		return `invalid argument "` + value + `" for "--span" flag: must be a duration like ` +
			`"90m", "24h", "7d" or "1w"; see bloom help dedupe`
	}
	for _, test := range []struct {
		args string
		says string
	}{
		{"", "no command; see bloom help"},
		{"sort", `"sort" is not a command; see bloom help`},
		{"dedup", `"dedup" is not a command: did you mean dedupe; see bloom help`},
		{"-x", "unknown flag -x: the command comes first; see bloom help"},
		{"- x", "unknown flag -: the command comes first; see bloom help"},
		{"-check F list", "unknown flag -check: the command comes first; see bloom help"},
		{"bank", "bank needs build, info or which; see bloom help bank"},
		{"bank sort", `"sort" is not a command; see bloom help bank`},
		{"-V", "unknown flag -V: the command comes first; see bloom help"},
		{"sort -x", `"sort" is not a command; see bloom help`},
		{"dedupe -n 1,0000", number("1,0000")},
		{"dedupe -p one", `invalid argument "one" for "-p, --rate" flag: "one" is not a rate, ` +
			`such as 0.001, 1e-6 or 1%; see bloom help dedupe`},
		{"dedupe -p 100%", "-p 1 is outside (0, 1)"},
		{"dedupe -f 1 --sep ab", `--sep "ab" is not one byte`},
		{"dedupe --state -", "- is not a file: bloom can change only files"},
		{"add -", "- is not a file: bloom can change only files"},
		{"dedupe -x", "unknown shorthand flag: 'x' in -x; see bloom help dedupe"},
		{"bank build --frobnicate", "unknown flag: --frobnicate; see bloom help bank build"},
		{"check -f abc", `invalid argument "abc" for "-f, --field" flag: must be an integer; see ` +
			`bloom help check`},
		{"dedupe --span 1x", span("1x")},
		{"dedupe -n 9 --span d", span("d")},
		{"dedupe -n 9 --span 1d1w", span("1d1w")},
		{"dedupe -n 9 --span 1h7d", span("1h7d")},
		{"dedupe -n 9 --span 1d-1h", span("1d-1h")},
		{"dedupe -n 9 --span 1e3d", span("1e3d")},
		{"dedupe -n 9 --span -1d", span("-1d")},
		{"dedupe -n 9 --span=", span("")},
		{"dedupe -n 9 --span 2562047h47m16.854775807s",
			`invalid argument "2562047h47m16.854775807s" for "--span" flag: ` +
				`"2562047h47m16.854775807s" is longer than 292 years; see bloom help dedupe`},
		{"dedupe -n 9 --span 106752d", `invalid argument "106752d" for "--span" flag: "106752d" ` +
			`is longer than 292 years; see bloom help dedupe`},
		{"check -v=x", `invalid argument "x" for "-v, --invert" flag: must be true or false; see ` +
			`bloom help check`},
		{"dedupe -p 1e-20",
			"-p 1e-20 is below 1e-09, the lowest possible rate; with -n it is 1e-12"},
		{"dedupe -n 10 -p 1e-20", "-p 1e-20 is below 1e-12, the lowest possible rate"},
		{"build --type blocked -p 1e-13 -o x",
			"-p 1e-13 is below 1e-12, the lowest possible rate; --type guava allows lower ones"},
		{"serve --addr 99999 x",
			`--addr "99999" is not an address, such as :8080 or localhost:8080`},
		{"dedupe -n 0", number("0")},
		{"dedupe -n 1.5", number("1.5")},
		{"dedupe -n -1", number("-1")},
		{"dedupe -n 10X", number("10X")},
		{"dedupe -n 9223372036854775808e0", number("9223372036854775808e0")}, // 2^63
		{"dedupe -p 1", "-p 1 is outside (0, 1)"},
		{"dedupe -f -1", "-f -1: fields are counted from 1"},
		{"dedupe --sep ,", "--sep needs -f"},
		{"dedupe --save-every 1s",
			"--save-every needs --state: without it there is no file to save"},
		{"dedupe -n 10 --wait 1s", "--wait needs --state: without it there is no file to save"},
		{"dedupe --force", "--force needs --state: without it there is no file to save"},
		{"build x", "build needs -o FILE; see bloom help build"},
		{"build -o x --type y", `--type "y" is not guava, blocked, growing, counting or cuckoo`},
		{"build -o x -p 0", "-p 0 is outside (0, 1)"},
		{"check", "check needs the filter's FILE; see bloom help check"},
		{"merge -o x", "merge needs at least one FILE to read; see bloom help merge"},
		{"info", "info needs at least one FILE; see bloom help info"},
		{"plan", "plan needs -n N; see bloom help plan"},
		{"plan -n 10 x", "plan takes no arguments; see bloom help plan"},
		{"plan -n 10 -p 2", "-p 2 is outside (0, 1)"},
		{"dedupe -n 10 --span 0", "--span 0s must be longer than 0"},
		{"dedupe -n 10 --span -1h", "--span -1h0m0s must be longer than 0"},
		{"help sort", `"sort" is not a command; see bloom help`},
		{"help check fast", `"check fast" is not a command; see bloom help`},
		{"completion", "completion needs bash, fish, powershell or zsh; see bloom help completion"},
		{"completion csh",
			`"csh" is not a command: did you mean bash or zsh or fish; see bloom help completion`},
		{"completion bash now",
			`unknown command "now" for "bloom completion bash"; see bloom help completion bash`},
	} {
		require.Empty(t, saying(t, 2, test.says, "a\n", test.args), test.args)
	}
}

// commands returns every command of the program, with the words that name it.
func commands() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		c.InitDefaultVersionFlag()
		all[strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "bloom"), " ")] = c
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
	return all
}

// TestFlagForms: a long name has two dashes and a short one has one, and a value follows its flag
// or stands in it.
func TestFlagForms(t *testing.T) {
	values := map[string]string{
		"N": "7", "P": "0.25", "int": "3", "string": "-n", "stringArray": "-state", "duration": "7m",
		"i/n": "1/3", "S": "64000000", "bool": "",
	}
	for name, c := range commands() {
		words := strings.Fields(name)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			value, ok := values[f.Value.Type()]
			require.True(t, ok, "%s --%s: %s", name, f.Name, f.Value.Type())
			long, short := "--"+f.Name, "-"+f.Shorthand
			forms := [][]string{{long + "=" + cmp.Or(value, "true")}}
			if value == "" {
				forms = append(forms, []string{long})
			} else {
				forms = append(forms, []string{long, value})
			}
			switch {
			case f.Shorthand == "":
			case value == "":
				forms = append(forms, []string{short}, []string{short + "=true"})
			default:
				forms = append(forms, []string{short, value}, []string{short + value},
					[]string{short + "=" + value})
			}
			for _, form := range forms {
				root := newRoot()
				args := slices.Concat(words, form)
				found, err := checkFlags(root, args)
				require.NoError(t, err, args)
				_, rest, err := root.Find(args)
				require.NoError(t, err)
				require.NoError(t, found.ParseFlags(rest), args)
				got := found.Flags().Lookup(f.Name)
				require.True(t, got.Changed, args)
				want := commands()[name].Flags()
				require.NoError(t, want.Set(f.Name, cmp.Or(value, "true")))
				require.Equal(t, want.Lookup(f.Name).Value.String(), got.Value.String(), args)
			}
		})
	}
	t.Chdir(t.TempDir())
	good(t, "a\na\n", "build -n10 -p0.25 -o list --comment --type --type=blocked")
	info := good(t, "", "info list")
	require.Contains(t, info, "blocked.Filter\n")
	require.Contains(t, info, "made for  10 keys at a rate of 0.25\n")
	require.Contains(t, info, "comment   --type\n")
	require.Equal(t, "2\n", good(t, "b\na\nc\n", "check -cv list"))
	require.Equal(t, "x,a\n", good(t, "x,a\n", "check -f2 list"))
	require.Equal(t, "2\n", good(t, "", "check -c list --", write(t, "-count", "a\na\n")))
	good(t, "a\n", "build -o -output --comment -state")
	require.Equal(t, "a\n", good(t, "a\n", "check -- -output"))
	good(t, "a\n", "dedupe --state -state -n1e6")
	require.FileExists(t, "-state")
}

// TestOneDash: a long name with one dash is an error that says two, in every command, also where
// it could be joined short flags. Another command's long name is an error, too.
func TestOneDash(t *testing.T) {
	all := commands()
	names := map[string]bool{}
	for _, c := range all {
		c.Flags().VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
	}
	t.Chdir(t.TempDir())
	write(t, "list", "a\n")
	for command, c := range all {
		for name := range names {
			own := command != "" && c.Flags().Lookup(name) != nil
			if !own && name == "host" {
				continue // -h is help, whatever is joined to it
			}
			for _, args := range [][]string{
				{"-" + name}, {"-" + name + "=x"}, {"-" + name, "list"}, {"list", "-" + name},
			} {
				line := append(strings.Fields(command), args...)
				err := run(t.Context(), newRoot(), line)
				require.ErrorAs(t, err, &usageError{}, "%q", line)
				if own {
					require.ErrorContains(t, err, "two: --"+name+"; see bloom help", "%q", line)
				}
			}
		}
	}
	oneDash := func(name, see string) string {
		return fmt.Sprintf("-%s has one dash, but long names have two: --%[1]s; %s", name, see)
	}
	for line, says := range map[string]string{
		"dedupe -n 10 -state s":       oneDash("state", "see bloom help dedupe"),
		"dedupe --lines 10 -state s":  oneDash("state", "see bloom help dedupe"),
		"dedupe --state s -n10 -null": oneDash("null", "see bloom help dedupe"),
		"dedupe -0o -n -output list":  oneDash("output", "see bloom help dedupe"),
		"build -output f":             oneDash("output", "see bloom help build"),
		"build -zn 5 -output=f":       oneDash("output", "see bloom help build"),
		"bank build -output f list":   oneDash("output", "see bloom help bank build"),
		"check -hex list":             oneDash("hex", "see bloom help check"),
		"check -count list":           oneDash("count", "see bloom help check"),
		"info -help":                  oneDash("help", "see bloom help info"),
		"-help":                       oneDash("help", "see bloom help"),
		"-version":                    oneDash("version", "see bloom help"),
		"-state s dedupe":             "unknown flag -state: the command comes first; see bloom help",
		"serve -hex list":             oneDash("hex", "see bloom help serve"),
	} {
		require.Empty(t, saying(t, 2, says, "a\n", line), line)
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "a\n", read(t, "list"))
}

// TestNumbers: how numbers of lines, and rates, may be written.
func TestNumbers(t *testing.T) {
	for s, want := range map[string]count{
		"1": 1, "1e0": 1, "1000000": 1e6, "1e6": 1e6, "10M": 1e7, "2.5k": 2500, "1G": 1e9, "1b": 1e9,
		"3T": 3e12, "1_000": 1000, "1,000,000": 1e6, "12,345": 12345,
		"9007199254740993": 1<<53 + 1, "9223372036854774784e0": 1<<63 - 1024,
		"18446744073709551615": math.MaxUint64,
	} {
		var c count
		require.NoError(t, c.Set(s), s)
		require.Equal(t, want, c, s)
	}
	for s, want := range map[string]rate{
		"0.01": 0.01, "1e-6": 1e-6, "1%": 0.01, "0.7 %": 0.007, "0.0001%": 1e-6,
	} {
		var r rate
		require.NoError(t, r.Set(s), s)
		require.Equal(t, want, r, s)
	}
}

// TestHelp runs the first example of every command in an empty directory.
func TestHelp(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if c.Example == "" {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			var example string
			for line := range strings.Lines(strings.TrimSpace(c.Example)) {
				example += line
				if !strings.HasSuffix(line, "&&\n") {
					break
				}
			}
			help := good(t, "", "help", c.Name())
			require.Contains(t, help, example)
			if c.Name() == "serve" {
				return // TestServe does; this one would stay
			}
			sh := child(t, "sh", "-ec", example)
			sh.Dir = t.TempDir()
			out, err := sh.CombinedOutput()
			require.NoError(t, err, "%s", out)
			switch c.Name() {
			case "dedupe":
				require.Equal(t, "b\na\n", string(out))
			case "check":
				require.Equal(t, "banana\n", string(out))
			}
		})
	}
	require.Contains(t, good(t, "", "completion", "bash", "--no-descriptions"), "__completeNoDesc")
	require.Contains(t, good(t, "", "help", "completion", "zsh"), "zsh")
	require.Regexp(t, `^bloom version \S+\n$`, good(t, "", "--version"))
	require.Equal(t, good(t, "", "--version"), good(t, "", "version"))
	require.Equal(t, good(t, "", "--version"), good(t, "", "--version=true"))
	require.Equal(t, good(t, "", "--help"), good(t, "", "-h=true"))
	for typed, suggests := range map[string]string{
		"bank build -": "to store in the file", "dedupe -": "that remembers lines",
		"che": "check\t", "build --type ": "blocked\ncounting\ncuckoo\ngrowing\nguava\n:4\n",
	} {
		suggested, _, _ := bloomRun(t, "", "__complete", strings.Split(typed, " ")...)
		require.Contains(t, suggested, suggests)
	}
}

// TestHelpFitsATerminal: help has 80 columns.
func TestHelpFitsATerminal(t *testing.T) {
	for name := range commands() {
		if strings.HasPrefix(name, "completion ") {
			continue // these are cobra's texts
		}
		for line := range strings.Lines(good(t, "", "help "+name)) {
			columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
			require.LessOrEqual(t, columns, 80, "%s: %s", name, line)
		}
	}
	require.Contains(t, good(t, "", "help build"), "--field N")
	require.Contains(t, good(t, "", "help build"), "--comment text")
	require.NotRegexp(t, `(?m)^  [a-z]+ +[A-Z]`, good(t, "", "help"))
}

// TestHelpBeginsWithExamples: few words stand before a command's examples, every page that help
// names exists, and every page is named.
func TestHelpBeginsWithExamples(t *testing.T) {
	named := map[string]bool{}
	for name, c := range commands() {
		if c.Example == "" {
			continue
		}
		before, _, _ := strings.Cut(good(t, "", "help "+name), "Examples:")
		assert.Less(t, len(strings.Fields(before)), 125, name)
		_, pages, _ := strings.Cut(strings.Join(strings.Fields(c.Long), " "), "bloom help ")
		pages = regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(strings.TrimSuffix(pages, "."), "")
		for page := range strings.SplitSeq(pages, ",") {
			if page = strings.TrimSpace(page); page != "" {
				named[page] = true
			}
		}
	}
	for _, topic := range topics {
		assert.True(t, named[topic], "no command's help names %s", topic)
		assert.Contains(t, good(t, "", "help"), "bloom "+topic)
		assert.NotEmpty(t, good(t, "", "help "+topic))
		delete(named, topic)
	}
	assert.Empty(t, named, "help names a page that does not exist")
}

// TestReadme runs the README's first commands, which write what it shows, and then every line of
// its table of commands, in a directory with the files that they name.
func TestReadme(t *testing.T) {
	readme := read(t, "README.md")
	_, shown, _ := strings.Cut(readme, "```console\n")
	shown, _, _ = strings.Cut(shown, "```")
	script := regexp.MustCompile(`(?m)^\$ .*\n`).FindAllString(shown, -1)
	require.Len(t, script, 7)
	for i, line := range script {
		script[i] = fmt.Sprintf("cat <<'EOF'\n%sEOF\n%s", line, line[2:])
	}
	cmd := child(t, "bash", "-c", "set -e -o pipefail; "+strings.Join(script, ""))
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	out = regexp.MustCompile(`(?m) +$`).ReplaceAll(out, nil)
	require.Equal(t, shown, string(out))

	_, table, _ := strings.Cut(readme, "| command | |")
	table, _, _ = strings.Cut(table, "\n\n")
	dir := t.TempDir()
	in := numbers(0, 100) + numbers(50, 150)
	const hash = "8846F7EAEE8FB117AD06BDD830B7586C"
	for name, text := range map[string]string{
		"urls.txt": in, "urls-0.zst": zstded(in), "log": in, "a.log": in, "corpus.jsonl": `{"url":"a"}`,
		"hashes.txt": hash + "\n", "ours.txt": "ours\n", "pwned.txt.gz": gzipped(hash + ":7\n"),
	} {
		write(t, filepath.Join(dir, name), text)
	}
	ran := 0
	for _, code := range regexp.MustCompile("`((?:bloom|tail)[^`]*)`").FindAllStringSubmatch(table,
		-1) {
		// What has no end gets one, and what takes gigabytes less.
		line := strings.NewReplacer(`tail -f`, "cat", `\|`, "|", "1e10", "1e4").Replace(code[1])
		switch {
		case len(strings.Fields(line)) == 2 && !strings.Contains(line, "."):
			continue // a name
		case strings.Contains(line, "serve"):
			continue // TestServe
		case strings.Contains(line, "bloom diff"):
			line = "bloom build -n 200 -o old.bloom log && bloom build -n 200 -o new.bloom log && " + line
		case strings.HasPrefix(line, "bloom patch"):
			line = "bloom diff -o day.patch old.bloom new.bloom && " + line
		case strings.Contains(line, "dedupe --span"):
			line += " < log"
		case strings.Contains(line, "which"):
			line = strings.Replace(line, "LINE", "'line 7'", 1)
		}
		cmd := child(t, "bash", "-c", "set -e -o pipefail; "+line)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", line, out)
		ran++
	}
	require.Equal(t, 16, ran)
}
