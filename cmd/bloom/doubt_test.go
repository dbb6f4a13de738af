package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/dustin/go-humanize"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// users returns lines whose fields are separated by sep.
func users(from, to int, sep string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "user%d%smail%d@x.org%sx\n", i, sep, i, sep)
	}
	return b.String()
}

// names returns the first fields of users.
func names(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "user%d\n", i)
	}
	return b.String()
}

// TestDoubtGoesByTheRate: who looks up lines that cannot be keys is warned, though some are found
// by mistake. Lines that may be keys need no warning, whether or not they are found.
func TestDoubtGoesByTheRate(t *testing.T) {
	t.Chdir(t.TempDir())
	const made = " was made with -f 1, but there is "
	const mistaken = " lines that do not look like keys, no more were found than of any lines: "
	for name, flags := range map[string]string{
		"colon": "--sep :", "tab": "", "guava": "--sep : -n 10000", "small": "--sep : -n 2000",
		"blocked": "--sep : --type blocked",
		"growing": "--sep : --type growing", "cuckoo": "--sep : --type cuckoo",
	} {
		sep := ":"
		if name == "tab" {
			sep = "\t"
		}
		in := users(0, 10_000, sep)
		_, stderr, status := bloomRun(t, in, "build -f 1 -o "+name+" "+flags)
		require.Zero(t, status, stderr)
		second := "check -v -f 2 " + name
		if sep == ":" {
			second += " --sep :"
		}
		none := name + made + "no -f now: of "
		for line, says := range map[string]string{
			"check " + name: none, "check -c " + name: none, "check -v " + name: none,
			"check -cv " + name: none, "check -qv " + name: none, second: name + made + "-f 2 now: of ",
			"check -v -f 1 --sep @ " + name: name + ` was made with --sep ":", but keys have it now: of `,
		} {
			if name == "tab" && strings.Contains(line, "@") { // a field may have tabs, in a file with commas
				continue
			}
			asked, level, number := in, "warning: ", "10,000"
			if strings.Contains(line, "q") { // it ends after few lines, of which one is a false positive
				asked, level, number = users(20, 10_000, sep), "", "9,980"
			}
			stdout, stderr, status := bloomRun(t, asked, line)
			found := "..."
			if line == "check -c "+name {
				n, err := strconv.Atoi(strings.TrimSpace(stdout))
				require.NoError(t, err)
				found = humanize.Comma(int64(n))
			}
			requireError(t, stderr, level+says+number+mistaken+found)
			require.Equal(t, level == "", status == 2, "%s: %d", line, status)
		}
		// Some lines are names, and some of those are found.
		_, stderr, _ = bloomRun(t, names(0, 1000)+users(1000, 2000, sep), "check "+name)
		requireError(t, stderr, "warning: "+none+"1,000"+mistaken+"...")
		for _, in := range []string{
			names(0, 10_000), names(20_000, 30_000), names(9_000, 11_000), users(0, 10_000, ";"), "",
		} {
			_, stderr, _ := bloomRun(t, in, "check -v "+name)
			require.Empty(t, stderr, "%s: %.40q", name, in)
		}
		_, stderr, _ = bloomRun(t, in, "check -v -f 1 "+name)
		require.Empty(t, stderr, name)
	}

	// A value in quotes may have the separator. Those that are found show that such values are meant.
	var quoted, values strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&quoted, "\"Doe, John %d\",x\n", i)
		fmt.Fprintf(&values, "Doe, John %d\n", i)
	}
	good(t, quoted.String(), "build -f 1 -o quoted")
	require.Equal(t, "1000\n", good(t, values.String(), "check -c quoted"))
	good(t, values.String()+users(0, 10, ","), "check quoted")
	saying(t, 1, "...none of the lines was found", users(0, 3, ","), "check quoted")
	saying(t, 1, "", "\"Doe, Jane\",x\n", "check -f 1 quoted") // it is such a value, and is new

	// The files of shards are one list.
	for i := range 2 {
		good(t, users(0, 10_000, ":"),
			fmt.Sprintf("build -f 1 --sep : -n 1000 -p 0.1 --shard %d/2 -o shard%d --force", i, i)+
				" --type growing")
	}
	_, stderr, _ := bloomRun(t, users(0, 1000, ":"), "check -v shard0 shard1")
	requireError(t, stderr, "warning: shard0"+made+"no -f now: of 1,000"+mistaken+"...")
}

// TestQuietIsUnderstood: check -q gives the certain answer only to lines that it understands. To
// others it says why not, with status 2. "Perhaps" needs no understanding.
func TestQuietIsUnderstood(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a:1\nb:2\n", "build -n 1000 -p 1e-9 -f 1 --sep : -o colon")
	good(t, "\"Doe, 1\",x\n\"Doe, 2\",x\n", "build -n 1000 -p 1e-9 -f 1 -o quoted")
	good(t, "a\nb\n", "build -n 1000 -p 1e-9 -o whole")
	good(t, "a:1\n", "build -n 1000 -p 1e-9 -f 1 --sep : -o mixed")
	good(t, "b\n", "add --force mixed")
	theirs := bloom.Must(bloom.LoadFile("whole"))
	theirs.UpdateInfo(func(i *bloom.Info) { i.Hash = "by hand" })
	require.NoError(t, theirs.SaveFile("theirs"))
	write(t, "a", "a\n")
	many := strings.Repeat("Doe, 3\n", 100_000) // several batches
	const colon, mixed = "...colon was made with -f 1, ...", "mixed has keys of several fields, ..."
	const foreign, whole = `...theirs says that its keys are "by hand"...`,
		"...the whole line was taken as..."
	for _, test := range []struct {
		line, in string
		status   int
		says     string // an error or, if the status is not 2, a warning
	}{
		{"-q colon", "a\n", 0, ""},
		{"-q colon", "c\n", 1, ""},
		{"-q colon", "", 1, ""},
		{"-q colon", "c\na:1\n", 2, colon},
		{"-q colon", "a:1\na\n", 0, colon},
		{"-qv colon", "a\nc\n", 0, ""},
		{"-qv colon", "a:1\n", 2, colon},
		{"-qv colon", "a\nb\n", 1, ""},
		{"-q colon none", "", 2, "none: no such file or directory"},
		{"-q colon -f 1", "c\n", 2, whole},
		{"-qv colon -f 1", "c\n", 2, whole},
		{"-q colon -f 1", "a\n", 0, whole},
		{"-q colon -f 1 --sep :", "c\n", 1, ""}, // they are one column
		{"-q quoted", "Doe, 3\n", 2, "...none of the lines was found"},
		{"-qv quoted", many + "Doe, 1\n", 0, ""}, // a value may have commas
		{"-qv quoted", many, 2, "...none of the lines was found"},
		{"-q mixed", "a\n", 0, ""},
		{"-q mixed", "c\n", 2, mixed},
		{"-q mixed", "", 1, ""},
		{"-qv mixed", "c\n", 2, mixed},
		{"-qv mixed", "a\n", 1, ""},
		{"-q theirs", "a\n", 0, foreign},
		{"-q theirs", "c\n", 2, foreign},
		{"-q theirs", "", 1, foreign},
		{"-qv theirs", "c\n", 2, foreign},
		{"-qv theirs", "a\n", 1, foreign},
		{"-q theirs -f 1", "c\n", 2, whole},
	} {
		stdout, stderr, status := bloomRun(t, test.in, "check "+test.line)
		assert.Equal(t, test.status, status, "%s %.20q: %s", test.line, test.in, stderr)
		assert.Empty(t, stdout, "%s %.20q", test.line, test.in)
		if test.says == "" {
			assert.Empty(t, stderr, "%s %.20q", test.line, test.in)
			continue
		}
		requireError(t, stderr, test.says)
		assert.NotEqual(t, test.status == 2, strings.Contains(stderr, "warning"),
			"%s %.20q: %s", test.line, test.in, stderr)
	}
	// The first line that decides ends it.
	for line, in := range map[string]string{"-q colon": "a:1\na\n", "-qv colon": "c\n"} {
		cmd := command(t, "check "+line)
		stdin, _ := start(t, cmd)
		send(t, stdin, in)
		require.NoError(t, cmd.Wait(), line)
	}
}

// TestQuietEnds: check -qv reads on only if later lines may show that the first ones were understood.
func TestQuietEnds(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -n 1000 -p 1e-9 -o theirs")
	theirs := bloom.Must(bloom.LoadFile("theirs"))
	theirs.UpdateInfo(func(i *bloom.Info) { i.Hash = "by hand" })
	require.NoError(t, theirs.SaveFile("theirs"))
	cmd := command(t, "check -qv theirs")
	in, _ := start(t, cmd)
	send(t, in, "b\n")
	cmd.Wait()
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
}

// TestDoubtAfterMixing: the list of several fields says so whatever is not found, and that of
// several separators knows each of them.
func TestDoubtAfterMixing(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a:1\n", "build -n 1000 -p 1e-9 -f 1 --sep : -o colon")
	good(t, "b;1\n", "build -n 1000 -p 1e-9 -f 1 --sep ; -o semicolon")
	good(t, "c,1\n", "build -n 1000 -p 1e-9 -f 1 -o comma")
	good(t, "", "merge -o all colon semicolon comma")
	require.Equal(t, "a\nb\nc\n", good(t, "a\nb\nc\nd\n", "check all"))
	for _, line := range []string{"a:1\n", "b;1\n", "c,1\n", "c\t1\n"} {
		saying(t, 1,
			"warning: all was made with -f 1, but there is no -f now: none of the lines was found",
			line, "check all")
	}
	good(t, "d:2\n", "add -f 1 all") // by the separator of the first list
	good(t, "e;2\n", "add -f 1 --sep ; all")
	require.Equal(t, "d\ne\n", good(t, "d\ne\n", "check all"))
	require.Equal(t, "field=1&sep=%3A&sep=%3B&sep=%09%2C", metaOf(t, "all"))

	good(t, "x\n", "add --force all")
	const mixed = "warning: all has keys of several fields, or of fields and whole lines " +
		"(--force): this run looks lines up with "
	require.Equal(t, "x\n", good(t, "x\n", "check all"))
	require.Equal(t, "x\n", saying(t, 0, mixed+"no -f", "x\na:1\n", "check all"))
	saying(t, 0, mixed+"-f 2", "a:1\n", "check -v -f 2 --sep : all")
	good(t, "", "merge -o more all colon --force")
	saying(t, 1, "warning: more has keys of several fields, or of fields and whole lines "+
		"(--force): this run looks lines up with no -f", "y\n", "check more")

	b := bloom.Must(bloom.LoadFile("colon"))
	b.UpdateInfo(func(i *bloom.Info) { i.Hash = "several ways" })
	require.NoError(t, b.SaveFile("ways"))
	saying(t, 0, `warning: ways says that its keys are "several ways", but bloom looks lines up `+
		`as the flags say`, "a\n", "check ways")
}

// TestBankDoubts: bank which warns if no more files are named than by mistake, and of a Hash that
// no command makes, whatever it names.
func TestBankDoubts(t *testing.T) {
	t.Chdir(t.TempDir())
	var files []string
	for i := range 300 {
		files = append(files, write(t, fmt.Sprint("f", i),
			fmt.Sprintf("\"a,%d\",x\nboth,x\n\"b,b\",x\n", i)))
	}
	good(t, "", "bank build -n 10 -p 0.01 -f 1 -o bank", files...)
	require.Equal(t, 300, strings.Count(good(t, "", "bank which bank both"), "\n"))
	require.Equal(t, 300, strings.Count(good(t, "", "bank which bank b,b"), "\n"))
	require.Equal(t, 300, strings.Count(good(t, "", "bank which bank --all b,b both"), "\n"))
	_, stderr, _ := bloomRun(t, "", "bank which bank both,x")
	requireError(t, stderr, "warning: bank was made with -f 1: a LINE is the value of that field")
	_, stderr, _ = bloomRun(t, "", "bank which bank --all both,x both")
	requireError(t, stderr, "warning: bank was made with -f 1: a LINE is the value of that field")
	_, stderr, _ = bloomRun(t, "", "bank which bank absent")
	require.Empty(t, stderr)
}

// TestServeDoubts: serve refuses lines that cannot be keys of the list, as bank which does, and
// lines that are hardly keys if no more of them are found than by mistake.
func TestServeDoubts(t *testing.T) {
	_, colon := serving(t, users(0, 10_000, ":"), "-f 1 --sep :")
	_, tab := serving(t, users(0, 10_000, "\t"), "-f 1")
	_, hex := serving(t, "ff:x\n", "-f 1 --sep : --hex")
	quoted := ""
	for i := range 100 {
		quoted += fmt.Sprintf("\"Doe, %d\",x\n", i)
	}
	_, comma := serving(t, quoted, "-f 1")
	const says = "keys of the list are field 1 of lines: ask for that alone, not for "
	for _, test := range []struct {
		url, body string
		status    int
		want      string
	}{
		{colon.URL + "/contains?v=1", users(0, 3, ":"), 400, "line 1: " + says + `"user0:mail0@x.org:x"`},
		{colon.URL + "/contains", "user0\n" + users(0, 10_000, ":"), 400, "line 2: " + says},
		{colon.URL + "/contains", "user0\nx;y\n", 200, "user0\n"},
		{colon.URL + "/contains?v=1", "user0\nx,y\n", 200, "x,y\n"},
		{tab.URL + "/contains", users(0, 10_000, "\t"), 400, "line 1: " + says},
		{tab.URL + "/contains?v=1", users(0, 3, ","), 400, "line 1: " + says},
		{tab.URL + "/contains", "user0\nuser1:\n", 200, "user0\n"},
		{comma.URL + "/contains?v=1", "Doe, 1\nDoe, 2\nRoe, 3\n", 200, "Roe, 3\n"},
		{comma.URL + "/contains?v=1", "Roe, 3\n", 400, says},
		{hex.URL + "/contains", "ff\n", 200, "ff\n"},
		{colon.URL + "/contains?key=user0%3Amail0", "", 400, says + `"user0:mail0"`},
		{colon.URL + "/contains?key=user0", "", 200, "true\n"},
		{colon.URL + "/contains?key=absent", "", 200, "false\n"},
		{tab.URL + "/contains?key=user0%09mail0", "", 400, says},
		{comma.URL + "/contains?key=Doe,+1", "", 200, "true\n"},
		{comma.URL + "/contains?key=Roe,+1", "", 400, says},
		{colon.URL + "/?key=user0%3Amail0", "", 200, "ask for that alone"},
	} {
		method := "POST"
		if test.body == "" {
			method = "GET"
		}
		answer, resp := ask(t, method, test.url, test.body)
		assert.Equal(t, test.status, resp.StatusCode, "%s: %.80q", test.url, answer)
		if resp.StatusCode == http.StatusOK && !strings.Contains(answer, "<html") {
			assert.Equal(t, test.want, answer)
		} else {
			assert.Contains(t, answer, test.want)
			assert.NotContains(t, answer, "certainly not in the list</")
		}
	}
}

// TestNoSeparator: if no line has the byte between fields, and none was named, field 1 is hardly
// what was meant. Each command says so, once.
func TestNoSeparator(t *testing.T) {
	t.Chdir(t.TempDir())
	const says = "warning: no line has a tab or a comma: the whole line was taken as field 1 " +
		"(--sep)"
	write(t, "in", "a;1\na;2\nb;3\n")
	write(t, "two", "c,1\n")
	write(t, "none", "")
	require.Equal(t, "a;1\na;2\nb;3\n", saying(t, 0, says, "", "dedupe -f 1 in in"))
	saying(t, 0, says, "", "dedupe -f 1 --state seen in")
	saying(t, 0, says, "", "build -f 1 -o list in")
	saying(t, 0, says, "", "build -n 10 -f 1 --type counting -o list --force in none")
	saying(t, 0, says, "", "add -f 1 list in")
	saying(t, 0, says, "", "remove -f 1 list in")
	saying(t, 0, says, "", "check -f 1 list in")
	saying(t, 0, says, "", "bank build -f 1 -o bank in")
	good(t, "", "dedupe -f 1 in two") // one of the files has fields
	good(t, "", "dedupe -f 1 none")
	good(t, "", "dedupe in")
	require.Equal(t, "a;1\nb;3\n", good(t, "", "dedupe -f 1 --sep ; in"))
	good(t, "", "dedupe -f 1 --sep , in") // a file of one column
	good(t, "", "build -f 1 --sep : -o colon -n 10 two")
	saying(t, 0, `warning: no line has ":": the whole line was taken as field 1 (--sep)`, "",
		"add -f 1 colon in")
}
