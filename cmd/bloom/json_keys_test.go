package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJSONKeys: with --json each command compares the value of a name, and writes lines as they
// came.
func TestJSONKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	const in = `{"id":12345678901234567890,"url":"a","price":1.10}` + "\n" +
		` {"url" : "\u0061", "id":2 }` + "\r\n" +
		`{"id":3,"url":"b"}` + "\n" +
		`{"id":3,"url":"a"}` + "\n"
	lines := strings.SplitAfter(in, "\n")
	require.Equal(t, lines[0]+lines[2], good(t, in, "dedupe --json url"))
	require.Equal(t, lines[0]+lines[1]+lines[2], good(t, in, "dedupe --json id"))
	require.Equal(t, lines[0]+lines[2], good(t, gzipped(in), "dedupe --json url"))
	require.Equal(t, `{"a":{"b":"x"}}`+"\n",
		good(t, `{"a":{"b":"x"}}`+"\n"+`{"a":{"b":"x","c":1}}`+"\n", "dedupe --json a.b"))
	require.Equal(t, `{"a":"É"}`+"\n",
		good(t, `{"a":"É"}`+"\n"+`{"a":"é"}`+"\n", "dedupe --json a --fold-case"))
	require.Equal(t, `{"a":"FF"}`+"\n",
		good(t, `{"a":"FF"}`+"\n"+`{"a":"ff"}`+"\n", "dedupe --json a --hex"))
	require.Equal(t, "{\"a\":\n1}\x00", good(t, "{\"a\":\n1}\x00{\"a\":1}\x00", "dedupe --json a -0"))

	good(t, in, "build --type counting -n 100 -p 1e-9 --json url -o list")
	require.Equal(t, "json=url", metaOf(t, "list"))
	require.Equal(t, "a\nb\n", good(t, "a\nb\nc\n", "check list"), "values may be looked up")
	require.Equal(t, `{"url":"b"}`+"\n",
		good(t, `{"url":"b"}`+"\n"+`{"url":"c"}`+"\n", "check --json url list"))
	good(t, `{"url":"c"}`+"\n", "add --json url list")
	good(t, `{"url":"b"}`+"\n", "remove --json url list")
	require.Equal(t, "a\nc\n", good(t, "a\nb\nc\n", "check list"))
	before := read(t, "list")
	for flags, now := range map[string]string{
		"": "no -f", " --json id": "--json id", " -f 1": "-f 1",
	} {
		for _, command := range []string{"add list", "remove list", "dedupe --state list"} {
			saying(t, 2, "list was made with --json url, but there is "+now+
				" now, so its keys would be mixed; --force continues anyway", `{"id":"a"}`+"\n", command+flags)
			require.Equal(t, before, read(t, "list"))
		}
	}
	for _, line := range []string{"check list", "check -v list", "check list --json id"} {
		_, stderr, _ := bloomRun(t, in, line)
		requireError(t, stderr, "warning: list was made with --json url, but there is ...")
	}
	good(t, in, "build --type counting -n 100 -p 1e-9 --json id -o other")
	saying(t, 1,
		"list and other: keys made with --json url and keys made with --json id do not mix", "",
		"merge -o all list other")
	good(t, "", "merge -o all list list")
	require.Equal(t, "json=url", metaOf(t, "all"))
	good(t, `{"id":7}`+"\n", "add --force --json id list")
	require.Equal(t, "field=several", metaOf(t, "list"))

	// A state of whole lines, or of another name, is no state of these.
	require.Equal(t, lines[0]+lines[2], good(t, in, "dedupe --json url --state seen"))
	require.Empty(t, good(t, in, "dedupe --json url --state seen"))
	require.Equal(t, "json=url", metaOf(t, "seen"))
	saying(t, 2, "seen was made with --json url, but there is --json id now, so its keys would "+
		"be mixed; --force continues anyway", in,
		"dedupe --json id --state seen")
	good(t, "x\n", "dedupe --state whole")
	saying(t, 2, "whole was made with no -f, but there is --json id now, so its keys would be "+
		"mixed; --force continues anyway", in,
		"dedupe --json id --state whole")

	write(t, "a.jsonl", `{"url":"a"}`+"\n")
	write(t, "b.jsonl", `{"url":"b"}`+"\n")
	good(t, "", "bank build --json url -p 1e-9 -o bank a.jsonl b.jsonl")
	require.Equal(t, "b.jsonl\n", good(t, "", "bank which bank b"))
	saying(t, 1, "warning: bank was made with --json url: a LINE is the value of that name", "",
		"bank which bank", `{"url":"b"}`)
	require.Contains(t, good(t, "", "info other"), "json=id")

	_, web := serving(t, in, "--json url")
	answer, _ := ask(t, "GET", web.URL+"/contains?key=a", "")
	require.Equal(t, "true\n", answer)
	answer, resp := ask(t, "POST", web.URL+"/contains?v=1", in)
	require.Equal(t, 400, resp.StatusCode)
	require.Contains(t, answer,
		`keys of the list are the values of "url" in JSON objects: ask for that alone`)
}

// TestJSONErrors: a line that is no object, or lacks the name, is an error that says which, or is
// left out and counted.
func TestJSONErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, says := range map[string]string{
		`{"b":1}`:         `in: line 2: it has no "a" (--json)`,
		`{"a":1} {"a":1}`: "in: line 2: it is not a JSON object: text follows it",
		`{"a":1`:          "in: line 2: it is not a JSON object: it ends too early",
		`[1]`:             "in: line 2: it is not a JSON object",
		``:                "in: line 2: it is not a JSON object",
		`{"a":1,"a":2}`:   `in: line 2: it has "a" twice`,
	} {
		write(t, "in", `{"a":0}`+"\n"+line+"\n"+`{"a":9}`+"\n")
		require.Equal(t, `{"a":0}`+"\n", saying(t, 1, says, "", "dedupe --json a in"))
		saying(t, 1, says, "", "build -n 10 --json a -o list in")
		require.NoFileExists(t, "list")
		require.Equal(t, `{"a":0}`+"\n"+`{"a":9}`+"\n",
			saying(t, 0, "warning: left out 1 line (--skip-bad), the first of them is "+says, "",
				"dedupe --skip-bad --json a in"))
	}
	for flags, says := range map[string]string{
		"--json a -f 1":                      "--json and -f cannot be used together",
		"--json=":                            `--json "" is not the name of a value`,
		"--json \xff":                        `--json "\xff" is not the name of a value`,
		"--json a --sep ,":                   "--sep needs -f",
		"--json " + strings.Repeat("a", 513): "--json has 513 bytes, but may have only 512",
	} {
		saying(t, 2, says, "{}\n", "dedupe "+flags)
	}
	// A line may be longer than what is read at a time.
	long := fmt.Sprintf(`{"x":"%s","a":"%s"}`+"\n", strings.Repeat("x", 3<<20),
		strings.Repeat("y", 1<<20))
	require.True(t, long == good(t, long+long, "dedupe --json a"))
}
