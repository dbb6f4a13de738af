package main

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// rangeFlags are the flags that set parameters of filters.
var rangeFlags = []string{"-n", "-p", "--span", "--size", "--shard"}

// failed returns the error of the command, run in this process. It must be one of usage.
func failed(t *testing.T, line string) error {
	t.Helper()
	err := run(t.Context(), newRoot(), strings.Fields(line))
	require.Error(t, err, line)
	require.True(t, errors.As(err, new(usageError)), "%s: %v", line, err)
	return err
}

// TestInputFlagsAreChecked: each command that reads lines refuses flags that make no sense, and
// changes no file.
func TestInputFlagsAreChecked(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "in", "a\n")
	good(t, "a\n", "build --type counting -n 10 -o list")
	good(t, "a\n", "dedupe --state state")
	for _, line := range []string{
		"dedupe", "dedupe --state state", "dedupe --state new", "build -o new", "build -o list",
		"check list", "add list", "remove list", "bank build -n 10 -o new",
	} {
		for flags, says := range map[string]string{
			"-f 0":              "-f 0: fields are counted from 1",
			"-f -1":             "-f -1: fields are counted from 1",
			"--json=":           `--json "" is not the name of a value`,
			"--json=\xff":       `--json "\xff" is not the name of a value`,
			"--json a -f 1":     "--json and -f cannot be used together",
			"--sep ab -f 1":     `--sep "ab" is not one byte`,
			`--sep \u0100 -f 1`: "is not one byte",
			"--sep ,":           "--sep needs -f",
			"--long 9":          "--long 9 is outside [10, 31]",
			"--long 32":         "--long 32 is outside [10, 31]",
			"--json " + strings.Repeat("n", maxName+1): "--json has 513 bytes, but may have only 512",
		} {
			before := []string{read(t, "list"), read(t, "state")}
			require.ErrorContains(t, failed(t, line+" "+flags+" in"), says, line)
			require.Equal(t, before, []string{read(t, "list"), read(t, "state")}, "%s %s", line, flags)
			requireBeside(t, "in", "list", "state")
		}
	}
	// The values beside those are taken.
	name := strings.Repeat("n", maxName)
	write(t, "json", `{"`+name+`":"a"}`+"\n")
	for _, flags := range []string{"--long 10", "--long 31"} {
		require.Equal(t, "a\n", good(t, "", "check list in "+flags), flags)
	}
	require.Equal(t, read(t, "json"), good(t, "", "dedupe json --json "+name))
}

// TestTooLittleMemory: what does not fit into the machine's memory is refused before it is made or
// loaded.
func TestTooLittleMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	defer func(old func() uint64) { machine = old }(machine)
	machine = func() uint64 { return 64 << 20 }
	write(t, "in", "a\n")
	good(t, "a\n", "build -n 10 -o list")
	write(t, "large", read(t, "list"))
	require.NoError(t, os.Truncate("large", 64<<20))
	for _, line := range []string{
		"build -n 1e8 -o new in", "build -n 1e8 --type growing -o new in", "dedupe -n 1e8 in",
		"dedupe -n 1e8 --span 1h in", "bank build -n 1e8 -o new in",
		"check large in", "add large in", "info large", "merge -o new large list",
	} {
		err := run(t.Context(), newRoot(), strings.Fields(line))
		require.ErrorContains(t, err, " of memory, but there are only 67 MB, of which bloom itself", line)
		requireBeside(t, "in", "large", "list")
	}
}

// TestFits: what takes all memory but the command's own fits, and a byte more does not.
func TestFits(t *testing.T) {
	defer func(old func() uint64) { machine = old }(machine)
	machine = func() uint64 { return ownMemory + 1000 }
	require.NoError(t, fits("it", 1000))
	require.EqualError(t, fits("it", 1001), "it takes 1.0 kB of memory, but there are only 34 MB, "+
		"of which bloom itself needs 34 MB")
}

// TestUnescaped: --sep takes a byte, or an escape for one. A letter of several bytes is none.
func TestUnescaped(t *testing.T) {
	for s, want := range map[string]string{
		"": "", ",": ",", "\t": "\t", `\t`: "\t", `\0`: "\x00", `\x00`: "\x00", `\x1f`: "\x1f",
		`\xff`: "\xff", `\\`: `\`, `\`: `\`, "é": "é", `\u20ac`: `\u20ac`, "ab": "ab",
		`\tx`: `\tx`, `\q`: `\q`,
	} {
		require.Equal(t, want, unescaped(s), "%q", s)
	}
}

// TestCompletionOfTypes: a shell completes the value of --type with each type that build makes.
func TestCompletionOfTypes(t *testing.T) {
	stdout, _, status := bloomRun(t, "", "__complete build --type", "")
	require.Zero(t, status)
	require.Equal(t, "blocked\ncounting\ncuckoo\ngrowing\nguava\n:4\n", stdout)
}

// TestOutOfRange: the error for a value that is out of range names the flag with its range, and
// advises only what the command can do.
func TestOutOfRange(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "in", "a\n")
	blocked := "; --type blocked allows more"
	if strconv.IntSize == 32 {
		blocked = ""
	}
	const (
		keys    = " is outside [1, #] at a rate of #"
		guava   = "; --type guava allows lower ones"
		hashes  = " is too low: it needs # hashes, and the limit is 255"
		least9  = " is below 1e-09, the lowest possible rate"
		least12 = " is below 1e-12, the lowest possible rate"
		upTo1   = " is outside (0, 1)"
	)
	for _, c := range []struct{ line, flag, says string }{
		{"build -o x", "-n 100000000000", keys + blocked},
		{"build -o x --type counting", "-n 10000000000", keys + blocked},
		{"build -o x", "-n 1000000000000000", keys},
		{"build -o x -p 1e-12", "-n 100000000000", keys + blocked},
		{"build -o x -p 1e-13", "-n 100000000000", keys},
		{"build -o x --shard 0/1", "-n 1000000000000000", keys},
		{"build -o x --never in", "-n 100000000000", keys},
		{"build -o x --type counting", "-n 1000000000000000", keys},
		{"build -o x --type blocked", "-n 1000000000000000", keys},
		{"build -o x --type cuckoo", "-n 1000000000000000", keys},
		{"build -o x --type growing", "-n 1000000000000000", " is outside [0, 1099511627776]"},
		{"build -o x", "-p 1e-80", hashes},
		{"build -o x -n 1000000000000000", "-p 1e-80", hashes},
		{"build -o x --type counting -n 10", "-p 1e-80", hashes},
		{"build -o x --type blocked", "-p 1e-13", least12 + guava},
		{"build -o x --type blocked", "-p 1e-80", least12},
		{"build -o x --type growing", "-p 1e-10", least9 + guava},
		{"build -o x --type cuckoo", "-p 1e-10", least9 + guava},
		{"build -o x --type cuckoo -n 1000000000000000", "-p 1e-10", least9},
		{"dedupe", "-n 1000000000000000", keys},
		{"dedupe --span 1h", "-n 1000000000000000", keys},
		{"dedupe", "-p 1e-10", least9 + "; with -n it is 1e-12"},
		{"dedupe -n 10", "-p 1e-13", least12},
		{"dedupe -n 10", "--span 1ms", " is outside [7ms, 36 years)"},
		{"dedupe -n 10", "--span 350400h0m0s", " is outside [7ms, 36 years)"},
		{"dedupe -n 10", "--span 0s", " must be longer than 0"},
		{"dedupe -n 10", "--span -1h0m0s", " must be longer than 0"},
		{"bank build -o x in", "-n 1000000000000", keys},
		{"bank build -o x in", "-p 1e-80", hashes},
		{"bank build -o x in -n 1000000000000", "-p 1e-80", hashes},
		{"bank build -o x in -n 10", "-p 1e-30", " is too low: double hashing alone exceeds it, " +
			"even in the largest filter"},
		{"plan -n 10", "-p 1e-16", " is below 1e-15, the lowest possible rate"},
	} {
		err := failed(t, c.line+" "+c.flag)
		pattern := strings.ReplaceAll(regexp.QuoteMeta(c.flag+c.says), "#", `[0-9.e-]+`)
		require.Regexp(t, "^"+pattern+"$", err.Error(), c.line)
		if strings.Contains(c.says, " is outside ") && c.says != upTo1 {
			require.True(t, errors.As(err, new(*bloom.ParamError)), c.line)
		}
	}
	for _, line := range []string{"build -o x", "build -o x --type growing", "dedupe",
		"dedupe --span 1h -n 10", "bank build -o x in", "plan -n 10"} {
		for _, p := range []string{"0", "-1", "1", "2", "+Inf", "-Inf", "NaN"} {
			require.EqualError(t, failed(t, line+" -p "+p), "-p "+p+upTo1, line)
		}
	}
	require.Regexp(t, `^the share of --shard 0/8 in -n 1000000000000000, \d+, is `+
		`outside \[1, \d+\] at a rate of 0\.001$`, failed(t, "build -o x -n 1e15 --shard 0/8").Error())
	require.Regexp(t, `^the share of --shard 7/8 in -n 1000000000000000, \d+, is `+
		`outside \[1, \d+\] at a rate of 1e-06$`, failed(t, "dedupe -n 1e15 --shard 7/8").Error())
	counted := (&filterFlags{p: 0.01}).outside(&bloom.ParamError{Param: "N", Value: "9e9", Bound: "outside [1, 9]"}, shard{})
	require.EqualError(t, counted, "the number of different lines, 9e9, is outside [1, 9]")
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, entries, 1, "a file was made")
}

// TestErrorsSpeakOfFlags: no error of a command for one of rangeFlags has a name of a Go program,
// or of a flag that the command lacks.
func TestErrorsSpeakOfFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "in", "a\n")
	lines := map[string][]string{
		"dedupe":     {"dedupe", "dedupe -n 10", "dedupe -n 10 --span 1h"},
		"bank build": {"bank build -o x in", "bank build -o x in -n 10"},
		"plan":       {"plan -n 10", "plan"},
	}
	for _, k := range kinds {
		if k.flag != "" {
			lines["build"] = append(lines["build"], "build -o x -n 10 --type "+k.flag)
		}
	}
	values := map[string][]string{
		"-n":      {"0", "NaN", "1e15", "1e30"},
		"-p":      {"0", "NaN", "2", "1e-80"},
		"--span":  {"0", "NaN", "1ms", "350400h"},
		"--size":  {"0", "-1", "NaN"},
		"--shard": {"0", "8/8", "NaN"},
	}
	taken := []string{"plan -n 10 -n 1e15", "plan -n 1e15", "dedupe -n 10 --span 1h -p 1e-80"}
	foreign := regexp.MustCompile(`Config|NewSize|N and P|Span =|\b[nNpPm] = |` +
		`\b(blocked|growing|counting|cuckoo|bank|window|form)[.:]`)
	aFlag := regexp.MustCompile(`(?:^|[ ("])(--?[a-z][a-z-]*)`)
	for name, c := range commands() {
		if c.HasSubCommands() || c.Hidden {
			continue
		}
		for _, flag := range rangeFlags {
			flags := c.Flags()
			has := flags.Lookup(strings.TrimLeft(flag, "-")) != nil ||
				len(flag) == 2 && flags.ShorthandLookup(flag[1:]) != nil
			if !has {
				err := failed(t, name+" "+flag+" 1")
				require.Regexp(t, "^unknown (shorthand )?flag: ", err.Error())
				continue
			}
			require.NotEmpty(t, lines[name], "the test has no line for %s", name)
			for _, value := range values[flag] {
				for _, line := range lines[name] {
					line += " " + flag + " " + value
					if slices.Contains(taken, line) {
						continue
					}
					err := run(t.Context(), newRoot(), strings.Fields(line))
					require.Error(t, err, line)
					require.NotRegexp(t, foreign, err.Error(), line)
					for _, found := range aFlag.FindAllStringSubmatch(err.Error(), -1) {
						known := flags.Lookup(strings.TrimLeft(found[1], "-")) != nil ||
							len(found[1]) == 2 && flags.ShorthandLookup(found[1][1:]) != nil
						require.True(t, known, "%s: %v", line, err)
					}
				}
			}
		}
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() != "in"
	}), "a file was made")
}
