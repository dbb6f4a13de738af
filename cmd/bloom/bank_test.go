package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBank(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write(t, path("a.log"), "10.0.0.1,GET\n10.0.0.2,GET\n")
	write(t, path("b.log"), "10.0.0.2,PUT\r\n")
	write(t, path("empty.log"), "")
	logs := []string{path("a.log"), path("b.log"), path("empty.log")}
	for i := range 40 {
		name := path(fmt.Sprint(i, ".log"))
		write(t, name, fmt.Sprintf("10.1.%d.1,GET\n", i))
		logs = append(logs, name)
	}
	b := path("logs.bank")

	require.Empty(t, good(t, "", append([]string{"bank", "build", "-p", "1e-6", "-f", "1", "-o", b}, logs...)...))
	for _, test := range []struct {
		args string
		want []string
	}{
		{"10.0.0.1", []string{"a.log"}},
		{"10.0.0.2", []string{"a.log", "b.log"}},
		{"10.1.7.1 10.0.0.1", []string{"a.log", "7.log"}},
		{"-all 10.0.0.1 10.0.0.2", []string{"a.log"}},
		{"-all 10.0.0.1 10.1.7.1", nil},
		{"10.0.0.3", nil},
	} {
		args := strings.Fields(test.args)
		flags := 0
		if args[0] == "-all" {
			flags = 1
		}
		args = append(append([]string{"bank", "which"}, args[:flags]...), append([]string{b}, args[flags:]...)...)
		out, stderr, status := bloomRun(t, "", args...)
		require.Empty(t, stderr)
		want := ""
		for _, name := range test.want {
			want += path(name) + "\n"
		}
		require.Equal(t, want, out, "%v", args)
		require.Equal(t, len(test.want) == 0, status == 1)
	}

	// A bank says how its lines are compared.
	write(t, path("upper"), "HELLO\n")
	good(t, "", "bank", "build", "-fold-case", "-o", b, path("upper"))
	require.Equal(t, path("upper")+"\n", good(t, "", "bank", "which", b, "hEllo"))
	write(t, path("digests"), "0A0b\n")
	good(t, "", "bank", "build", "-hex", "-o", b, path("digests"))
	require.Equal(t, path("digests")+"\n", good(t, "", "bank", "which", b, "0a0B"))

	// Standard input is a file without a size. Standard output is one, too.
	data := good(t, "x\n", "bank", "build", "-n", "10", "-o", "-", "-")
	write(t, b, data)
	require.Equal(t, "-\n", good(t, "", "bank", "which", b, "x"))

	damaged := []byte(data)
	damaged[8] ^= 1
	write(t, path("damaged.bank"), string(damaged))
	for says, args := range map[string][]string{
		"bank needs build, info or which":   {"bank"},
		`"wich" is no command; is it which`: {"bank", "wich"},
		"bank build needs at least one":     {"bank", "build", "-o", b},
		"build needs -o FILE":               {"bank", "build", path("a.log")},
		"- can be read once only: say -n":   {"bank", "build", "-o", b, "-"},
		"-p 2 is outside (0, 1)":            {"bank", "build", "-p", "2", "-o", b, path("a.log")},
		"bank which needs the BANK":         {"bank", "which", b},
		"no such file":                      {"bank", "which", path("none"), "x"},
		"it starts with 31 30 2e":           {"bank", "which", path("a.log"), "x"},
		"invalid format":                    {"bank", "which", path("damaged.bank"), "x"},
		"is not an even number":             {"bank", "which", path("hex.bank"), "xyz"},
		"a LINE is empty":                   {"bank", "which", b, ""},
	} {
		good(t, "", "bank", "build", "-hex", "-o", path("hex.bank"), path("digests"))
		require.Empty(t, saying(t, 2, says, "", args...))
	}
	write(t, path("blank"), "\n\nx\n\r\n")
	good(t, "", "bank", "build", "-o", b, path("a.log"), path("blank"))
	require.Regexp(t, `(?s)bank.Bank\n.*files     2\n.*keys      about 3\n  made for  2 keys at a rate of 0.001\n.*checksum  right`, good(t, "", "bank", "info", b))
	require.Contains(t, good(t, "", "bank", "info", "-json", b), `"type":"bank.Bank","size":`)
	data = read(t, b)
	write(t, path("damaged.bank"), data[:len(data)-1]+string(data[len(data)-1]^1))
	saying(t, 1, "damaged.bank", "", "bank", "info", path("damaged.bank"))
	saying(t, 1, "a.log", "", "bank", "info", path("a.log"))
	saying(t, 2, "is no filter but a bank; see bloom help bank", "", "check", path("hex.bank"))
	saying(t, 0, "has about 11 different lines, and filters have room for 3", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "bank", "build", "-n", "3", "-o", b, "-")
}

// TestBankOfManyFiles: a small file costs what its lines cost.
func TestBankOfManyFiles(t *testing.T) {
	dir := t.TempDir()
	files := make([]string, 10_000)
	for i := range files {
		files[i] = filepath.Join(dir, fmt.Sprint(i))
		if i%100 > 0 { // some are empty
			write(t, files[i], fmt.Sprintf("line %d\nboth\n", i))
		}
	}
	for i := range files {
		if i%100 == 0 {
			write(t, files[i], "")
		}
	}
	t.Chdir(dir)
	took := func(args ...string) time.Duration { // of a processor, however busy the machine is
		cmd := command(t, append(args, files...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	require.Less(t, took("bank", "build", "-p", "1e-9", "-o", "b"), min(10*took("dedupe"), 3*time.Second))
	require.Equal(t, files[4321]+"\n", good(t, "", "bank", "which", "b", "line 4321"))
	require.Equal(t, 9_900, strings.Count(good(t, "", "bank", "which", "b", "both"), "\n"))
}
