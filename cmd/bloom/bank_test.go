package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

func TestBank(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.log", "10.0.0.1,GET\n10.0.0.2,GET\n")
	write(t, "b.log", "10.0.0.2,PUT\r\n")
	logs := []string{"a.log", "b.log", write(t, "empty.log", "")}
	for i := range 40 {
		logs = append(logs, write(t, fmt.Sprint(i, ".log"), fmt.Sprintf("10.1.%d.1,GET\n", i)))
	}
	good(t, "", "bank build -p 1e-6 -f 1 -o logs.bank", logs...)
	for _, test := range []struct{ args, want string }{
		{"logs.bank 10.0.0.1", "a.log\n"},
		{"logs.bank 10.0.0.2", "a.log\nb.log\n"},
		{"logs.bank 10.1.7.1 10.0.0.1", "a.log\n7.log\n"},
		{"--all logs.bank 10.0.0.1 10.0.0.2", "a.log\n"},
		{"--all logs.bank 10.0.0.1 10.1.7.1", ""},
		{"logs.bank 10.0.0.3", ""},
	} {
		status := 0
		if test.want == "" {
			status = 1
		}
		require.Equal(t, test.want, saying(t, status, "", "", "bank which "+test.args), test.args)
	}

	// A bank says how its lines are compared.
	write(t, "upper", "HELLO\n")
	good(t, "", "bank build --fold-case -o upper.bank upper")
	require.Equal(t, "upper\n", good(t, "", "bank which upper.bank hEllo"))
	write(t, "digests", "0A0b\n")
	good(t, "", "bank build --hex -o hex.bank digests")
	require.Equal(t, "digests\n", good(t, "", "bank which hex.bank 0a0B"))

	// Standard input is a file without a size. Standard output is one, too.
	data := good(t, "x\n", "bank build -n 10 -o - -")
	write(t, "x.bank", data)
	require.Equal(t, "-\n", good(t, "", "bank which x.bank x"))

	good(t, "x\n", "build -o a.filter")
	write(t, "damaged.bank", data[:8]+string(data[8]^1)+data[9:])
	for line, says := range map[string]string{
		"bank":                 "bank needs build, info or which; see bloom help bank",
		"bank wich":            `"wich" is not a command: did you mean which; see bloom help bank`,
		"bank build -o x.bank": "bank build needs at least one FILE; see bloom help bank build",

		"bank build a.log":                   "build needs -o FILE; see bloom help build",
		"bank build -o x.bank " + os.DevNull: os.DevNull + " can be read only once: give -n",
		"bank build -o x.bank -":             "- can be read only once: give -n",
		"bank build -p 2 -o x.bank a.log":    "-p 2 is outside (0, 1)",
		"bank which":                         "bank which needs the BANK; see bloom help bank which",
		"bank build -n 1 -o y a.log ./a.log": "./a.log is given twice",
		"bank which none x":                  "none: no such file or directory",
		"bank which a.log x.bank": `a.log is not a bank: it begins with "10.0.0.1" (the bank ` +
			`comes first, then lines: bloom bank which BANK LINE)`,
		"bank which a.filter x": "a.filter is a bloom.Filter, not a bank: bloom " +
			"check looks lines up in it",
		"bank which damaged.bank x": "damaged.bank: bank: invalid format: 512 bytes too many",
		"bank which hex.bank xyz":   `hex.bank: "xyz" is not an even number of hexadecimal digits`,
		"bank which . x":            ".: is a directory",
		"check hex.bank":            "hex.bank is a bank, not a filter; see bloom help bank",
	} {
		require.Empty(t, saying(t, 2, says, "", line))
	}
	require.Empty(t, saying(t, 2,
		"x.bank: a LINE is empty, but banks have no blank lines", "", "bank which x.bank", ""))
	write(t, "blank", "\n\nx\n\r\n")
	good(t, "", "bank build -o x.bank a.log blank")
	require.Regexp(t, `(?s)bank.Bank\n.*files     2\n.*keys      about 3\n  made for  2 keys at a rate of 0.001\n.*checksum  right`, good(t, "", "bank info x.bank"))
	data = read(t, "x.bank")
	require.Contains(t, good(t, "", "bank info --json x.bank"),
		fmt.Sprintf(`"type":"bank.Bank","size":%d,"files":2,"m":128,"k":3,`, len(data)))
	if err := os.Symlink("a.log", "a.link"); err == nil {
		saying(t, 2, "a.link is given twice", "", "bank build -n 1 -o y a.log a.link")
	}
	write(t, "damaged.bank", data[:len(data)-1]+string(data[len(data)-1]^1))
	for path, says := range map[string]string{
		"damaged.bank": "bank: invalid format: checksum is ..., should be ... (in damaged.bank)",
		"a.log":        `a.log is not a bank: it begins with "10.0.0.1"`,
		"a.filter":     "a.filter is a bloom.Filter, not a bank: bloom info shows it",
		"missing":      "missing: no such file or directory",
	} {
		saying(t, 1, says, "", "bank info", path)
	}
	saying(t, 1, "nothing was read: none: no such file or directory", "", "bank build -o y none")
	good(t, "x\r\n", "bank build -n 1 --keep-cr -o cr.bank -")
	saying(t, 1, "", "", "bank which cr.bank x")
	require.Equal(t, "-\n", good(t, "", "bank which cr.bank", "x\r"))
	good(t, "1\n2\n3\n4\n", "bank build --force -n 3 -o x.bank -") // the count is an estimate
	saying(t, 0, "warning: - has about 5 different lines, but filters have room for 3: bank "+
		"which names it for other lines at a rate of ...", "1\n2\n3\n4\n5\n",
		"bank build --force -n 3 -o x.bank -")
	saying(t, 0, "warning: - has about 11 different lines, but filters have room for 3: bank "+
		"which names it for other lines at a rate of 0.002",
		"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "bank build -n 3 -o x.bank -")
}

// TestBankOfManyFiles: a small file costs what its lines cost.
func TestBankOfManyFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	files := make([]string, 2000)
	for i := range files {
		text := fmt.Sprintf("line %d\nboth\n", i)
		if i%100 == 0 { // some are empty
			text = ""
		}
		files[i] = write(t, fmt.Sprint(i), text)
	}
	took := func(line string) time.Duration { // of a processor, however busy the machine is
		cmd := command(t, line, files...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	built, deduped := took("bank build -p 1e-9 -o b"), took("dedupe")
	if !filtertest.Race { // it takes more time for some memory than for other
		require.Less(t, built, 10*deduped)
	}
	require.Equal(t, files[1321]+"\n", good(t, "", "bank which b", "line 1321"))
	require.Equal(t, 1980, strings.Count(good(t, "", "bank which b", "both"), "\n"))
}

// TestBankMeasuresWhatItReads: without -n, bank build counts the lines that it then adds, whatever
// the flags of the input: the bank is that of the right -n.
func TestBankMeasuresWhatItReads(t *testing.T) {
	t.Chdir(t.TempDir())
	fields, halves, digits := "", "", ""
	for i := range 1000 {
		fields += fmt.Sprintf("%d;%d,%d;x\n", i, i%100, i%50)
		halves += fmt.Sprintf("LINE %d\nline %d\n", i, i)
		digits += fmt.Sprintf("%04X\n%04x\n", i, i)
	}
	for _, test := range []struct {
		flags, in string
		n         int
	}{
		{"", numbers(0, 1000), 1000},
		{"-0", strings.ReplaceAll(numbers(0, 1000), "\n", "\x00"), 1000},
		{"-f 2", fields, 50},
		{"-f 2 --sep ;", fields, 100},
		{"--fold-case", halves, 1000},
		{"--hex", digits, 1000},
		{"--keep-cr", numbers(0, 100) + strings.ReplaceAll(numbers(0, 100), "\n", "\r\n"), 200},
		{"--skip-bad -f 2", "bad\n1,a\n2,b\n", 2},
		{"--long 28", "\x28\xb5\x2f\xfd\x00\x90\x09\x00\x00a", 1},
		{"--blank", "\na\nb\n", 3},
		{"", "\na\nb\n", 2},
	} {
		write(t, "in", test.in)
		const build = "bank build -p 1e-9 -o %s in %s"
		_, stderr, status := bloomRun(t, "", fmt.Sprintf(build, "counted", test.flags))
		require.Zero(t, status, "%s: %s", test.flags, stderr)
		bloomRun(t, "", fmt.Sprintf(build+" -n %d", "told", test.flags, test.n))
		require.True(t, read(t, "told") == read(t, "counted"), test.flags)
	}
}

// TestBankWhichReadsLines: without a LINE, bank which reads them from standard input. A name of two
// lines is shown as one.
func TestBankWhichReadsLines(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "", "bank build -n 10 -p 1e-9 -o bank", write(t, "a", "x\n"), write(t, "b", "y\n"),
		write(t, "c\nd", "z\n"))
	require.Equal(t, "a\nb\n", good(t, "x\r\n\ny", "bank which bank"))
	require.Equal(t, "b\n", good(t, gzipped("y\n"), "bank which bank"))
	require.Equal(t, `"c\nd"`+"\n", good(t, "z\n", "bank which bank"))
	saying(t, 1, "", "", "bank which bank")
	saying(t, 1, "", "x\ny\n", "bank which --all bank")
	saying(t, 2, "standard input: it is a tar archive: unpack it first: tar -xOf",
		tarred(t, "a", "x\n"), "bank which bank")
	// Of lines that break off there is no answer.
	cut := gzipped("x\n")
	for says, lines := range map[string]string{
		"standard input: unexpected EOF":                                       cut[:len(cut)-4],
		"standard input: 1 byte follows its gzip data: neither gzip nor zeros": cut + "x",
	} {
		require.Empty(t, saying(t, 2, says, lines, "bank which bank"))
	}
	saying(t, 2, `"uniq" is not a command: did you mean dedupe; see bloom help`, "", "uniq")
}

// TestBankThatSaysNothing: if a bank does not say how its keys were made, a line is a key as it
// is, with its carriage return.
func TestBankThatSaysNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	b := bloom.Must(bank.New(10, 1e-9))
	for i, key := range []string{"a", "a\r"} {
		b.AddString(b.Append(), key)
		b.SetName(i, fmt.Sprintf("%q", key))
	}
	require.NoError(t, b.SaveFile("bank"))
	for i, key := range []string{"a", "a\r"} {
		want := b.Name(i) + "\n"
		require.Equal(t, want, good(t, "", "bank which bank", key))
		require.Equal(t, want, good(t, key+"\n", "bank which bank"))
	}
}
