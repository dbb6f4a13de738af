//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// shell runs a script in the present directory, and returns its output and its errors.
func shell(t *testing.T, script string) string {
	t.Helper()
	out, _ := child(t, "sh", "-c", script).CombinedOutput()
	return string(out)
}

// inputFlag is a flag that says how lines are read. in has the key ask with the flag, or without
// it.
type inputFlag struct {
	flag, others  string
	in, ask       string
	without, with string // found, absent or refused
}

var inputFlagsAndKeys = []inputFlag{
	{"-0", "", `a\nb\000c\000`, "c", "absent", "found"},
	{"-z", "", `a\nb\000c\000`, "c", "absent", "found"},
	{"-f 2", "", `1,a\n`, "a", "absent", "found"},
	{"--json a", "", `{"a":"y"}\n`, "y", "absent", "found"},
	{"--sep ';'", "-f 2", `1;a,x\n`, "a,x", "absent", "found"},
	{"--fold-case", "", `A\n`, "a", "absent", "found"},
	{"--hex", "", `FF\n`, "ff", "absent", "found"},
	{"--keep-cr", "", `a\r\n`, "a", "found", "absent"},
	{"--skip-bad", "-f 2", `bad\n1,a\n`, "a", "refused", "found"},
	{"--long 28", "", `\050\265\057\375\000\220\011\000\000a`, "a", "refused", "found"},
	{"--blank", "", `\n`, "", "absent", "found"},
}

// TestInputFlagsReachEveryCommand: what a command reads depends on each flag of its input. A flag
// that contradicts the filter's file is refused.
func TestInputFlagsReachEveryCommand(t *testing.T) {
	const check = "{ printf '%s\\n' 'ASK' | bloom check --blank list > found; s=$?; " +
		"case $s in 0) echo found;; 1) echo absent;; *) echo status $s;; esac; }"
	const which = "{ bloom bank which list 'ASK' > found; case $? in 0) echo found;; 1) echo " +
		"absent;; esac; }"
	scripts := map[string]string{
		"dedupe": "bloom dedupe -p 1e-9 --state list FLAGS < in > out && " + check,
		"build":  "bloom build -p 1e-9 -o list FLAGS < in && " + check,
		"add": "echo x | bloom build -n 10 -p 1e-9 -o list && " +
			"bloom add --force list FLAGS < in && " + check,
		"remove": "printf '%s\\n' 'ASK' | bloom build --blank --type counting -n 10 -p 1e-9 -o list && " +
			"bloom remove --force list FLAGS < in && " + check,
		"bank build": "bloom bank build -n 10 -p 1e-9 -o list FLAGS in && " + which,
	}
	contradicts := map[string]bool{"--fold-case": true, "--hex": true, "--keep-cr": true}
	for command := range scripts {
		for _, f := range inputFlagsAndKeys {
			script := scripts[command]
			switch {
			case f.flag == "--blank" && command == "dedupe":
				continue // it has no such flag
			case f.flag == "--blank" && command == "bank build":
				script = "bloom bank build -n 10 -p 1e-9 -o list FLAGS in && " +
					"(bloom bank info list | grep -q ' 0 % of' && echo absent || echo found)"
			}
			for _, given := range []bool{false, true} {
				want, flags := f.without, f.others
				if given {
					want, flags = f.with, f.others+" "+f.flag
				}
				if command == "remove" && want != "refused" { // what is found is removed
					want = map[string]string{"found": "absent", "absent": "found"}[want]
				}
				if given && contradicts[f.flag] && (command == "add" || command == "remove") {
					want = "refused"
				}
				t.Chdir(t.TempDir())
				out := shell(t, fmt.Sprintf("printf '%s' > in; ", f.in)+
					strings.NewReplacer("FLAGS", flags, "ASK", f.ask).Replace(script))
				last := out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:]
				got := strings.TrimSpace(last)
				if strings.HasPrefix(got, "bloom: ") && !strings.HasPrefix(got, "bloom: warning") {
					got = "refused"
				}
				require.Equal(t, want, got, "%s %s: %s", command, flags, out)
			}
		}
	}
}

// TestFlagsReachTheirPurpose: what a command does depends on each of its other flags. Of a script,
// FLAG is the flag, and then nothing.
func TestFlagsReachTheirPurpose(t *testing.T) {
	covered := map[string]bool{}
	for _, test := range []struct{ flag, script, with, without string }{
		{"dedupe -n 5", "seq 100 | bloom dedupe FLAG | tail -n 1", "more than 5 different", "100\n"},
		{"dedupe -p 0.01", "seq 100 | bloom dedupe -n 100 --state s FLAG > out; bloom info s",
			"at a rate of 0.01\n", "at a rate of 1e-06\n"},
		{"dedupe --state s", "seq 9 | bloom dedupe FLAG > a; seq 9 | bloom dedupe FLAG | wc -l",
			"0\n", "9\n"},
		{"dedupe -o out", "touch out; seq 9 | bloom dedupe --state s FLAG > a; cat out", "9\n", ""},
		{"dedupe --span 24h", "seq 9 | bloom dedupe -n 9 --state s FLAG > a; bloom info s",
			"window.Filter", "blocked.Filter"},
		{"dedupe --shard 0/2", "seq 9 | bloom dedupe FLAG | tr '\\n' ' '", "1 2 3 5 7 8 9 ",
			"1 2 3 4 5 6 7 8 9 "},
		{"dedupe --force", "echo text > s; seq 9 | bloom dedupe --state s FLAG | tail -n 1", "9\n",
			"is not a filter"},

		{"add --force", "seq 9 | bloom build -f 1 -o f; echo x,y | bloom add f FLAG; echo x,y | " +
			"bloom check f",
			"x,y\n", "its keys would be mixed"},
		{"remove --force", "echo x | bloom build --type counting -f 1 -o f; echo x | bloom " +
			"remove f FLAG; echo x | bloom check f -c",
			"0\n", "its keys would be mixed"},

		{"build -n 5", "seq 100 | bloom build -o f FLAG; bloom info f", "made for  5 keys",
			"made for  100 keys"},
		{"build -p 0.01", "seq 9 | bloom build -o f FLAG; bloom info f", "at a rate of 0.01\n",
			"at a rate of 0.001\n"},
		{"build -o f", "seq 9 | bloom build FLAG; test -e f && echo there", "there\n",
			"build needs -o FILE"},
		{"build --comment text", "seq 9 | bloom build -o f FLAG; bloom info f", "comment   text\n",
			"checksum"},
		{"build --type blocked", "seq 9 | bloom build -o f FLAG; bloom info f", "blocked.Filter",
			"bloom.Filter"},
		{"build --shard 0/2", "seq 9 | bloom build -o f FLAG; bloom info f",
			"meta      shard=0%2F2\n", "SumString\n  checksum"},
		{"build --never x", "echo x > x; echo x | bloom build -o f FLAG",
			"in the input and in x", ""},
		{"build --force", "echo text > f; seq 9 | bloom build -o f FLAG; bloom info f; :",
			"bloom.Filter", "is not a filter"},

		{"bank build -n 5", "seq 9 > a; bloom bank build -o f FLAG a; bloom bank info f",
			"made for  5 keys", "made for  9 keys"},
		{"bank build -p 0.01", "seq 9 > a; bloom bank build -o f FLAG a; bloom bank info f",
			"at a rate of 0.01\n", "at a rate of 0.001\n"},
		{"bank build -o f", "seq 9 > a; bloom bank build FLAG a; test -e f && echo there",
			"there\n", "build needs -o FILE"},
		{"bank build --comment text", "seq 9 > a; bloom bank build -o f FLAG a; bloom bank info f",
			"comment   text\n", "checksum"},
		{"bank build --force", "seq 9 > a; echo text > f; bloom bank build -o f FLAG a; bloom " +
			"bank which f 7",
			"a\n", "is not a filter"},

		{"merge -o f", "seq 9 | bloom build -o a; bloom merge FLAG a; test -e f && echo there",
			"there\n", "merge needs -o FILE"},
		{"merge --force", "seq 9 | bloom build -o a; echo text > f; bloom merge -o f FLAG a; " +
			"bloom info f",
			"bloom.Filter", "is not a filter"},
	} {
		words := strings.Fields(test.flag)
		flag := test.flag[strings.Index(test.flag, " -")+1:]
		t.Chdir(t.TempDir())
		with := shell(t, strings.ReplaceAll(test.script, "FLAG", flag))
		t.Chdir(t.TempDir())
		without := shell(t, strings.ReplaceAll(test.script, "FLAG", ""))
		require.Contains(t, with, test.with, test.flag)
		require.Contains(t, without, test.without, "without %s", test.flag)
		require.NotEqual(t, with, without, test.flag)
		command := strings.Join(words[:strings.Count(test.flag[:strings.Index(test.flag, " -")],
			" ")+1], " ")
		covered[command+" "+strings.Fields(flag)[0]] = true
	}
	for _, flag := range []string{
		// TestAutosave
		"dedupe --save-every",
		// TestInUse
		"dedupe --wait", "build --wait", "add --wait", "remove --wait", "merge --wait",
		"bank build --wait",
	} {
		covered[flag] = true
	}
	for _, command := range []string{"dedupe", "build", "add", "remove", "merge", "bank build"} {
		for _, f := range inputFlagsAndKeys {
			covered[command+" "+strings.Fields(f.flag)[0]] = true
		}
		flagsOf(t, command).VisitAll(func(f *pflag.Flag) {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand
			}
			require.True(t, covered[command+" "+name], "%s %s has no row in these tables", command, name)
		})
	}
}

// flagsOf returns the flags of a command.
func flagsOf(t *testing.T, command string) *pflag.FlagSet {
	t.Helper()
	var c *cobra.Command
	c, _, err := newRoot().Find(strings.Fields(command))
	require.NoError(t, err)
	return c.Flags()
}
