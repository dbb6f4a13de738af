package readers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// messages has the reasons for which the readers refuse the files of the vectors, by file and way
// of reading. It has only files that are refused in some way. A way without check is omitted where
// the reader says the same as with check.
type messages map[string]map[string]string

// String returns m as JSON, with a line for each file.
func (m messages) String() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, fmt.Sprintf("%q: %s", name, bloom.Must(json.Marshal(m[name]))))
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n}\n"
}

// TestReadersSayWhy: the readers refuse each file for the reason in test/messages.json, which
// -update rewrites. So each condition is checked in its place, also in a file that other conditions
// would refuse.
func TestReadersSayWhy(t *testing.T) {
	v := load(t)
	var asked struct{ Files, Patches [][2]string } // a patch has the file of its filter before it
	for _, f := range v.Filters {
		asked.Files = append(asked.Files, [2]string{f.File})
	}
	for _, name := range v.Refused {
		asked.Files = append(asked.Files, [2]string{name})
	}
	for _, p := range v.RefusedPatches {
		asked.Patches = append(asked.Patches, [2]string{p.From, p.File})
	}
	questions := bloom.Must(json.Marshal(asked))
	got := messages{}
	complete := true
	for _, reader := range [][]string{
		{"python3", "-c", `
import json, os, sys
sys.dont_write_bytecode = True
import bloom
asked, folder, found = json.load(sys.stdin), sys.argv[1], {}
def says(name, way, ask):
    try:
        ask()
        why = ""
    except ValueError as error:  # Python's own messages differ between its versions
        why = str(error) if type(error) is ValueError else type(error).__name__
    found.setdefault(name, {})[way] = why
def patched(old, patch):
    with open(os.path.join(folder, patch), "rb") as file:
        bloom.patched(bloom.load(os.path.join(folder, old)), file.read())
for name, _ in asked["Files"]:
    says(name, "py", lambda: bloom.load(os.path.join(folder, name)))
    says(name, "py unchecked", lambda: bloom.load(os.path.join(folder, name), check=False))
for old, patch in asked["Patches"]:
    says(patch + " of " + old, "py", lambda: patched(old, patch))
print(json.dumps(found))
`},
		{"node", "--input-type=module", "-e", `
import {FormatError, load} from "./bloom.mjs"
import {readFileSync} from "node:fs"
const asked = JSON.parse(readFileSync(0, "utf8")), found = {}
for (const [name] of asked.Files) {
	found[name] = {}
	for (const [way, check] of [["mjs", true], ["mjs unchecked", false]]) {
		let why = ""
		try {
			load(process.argv[1] + "/" + name, {check}).close?.()
		} catch (error) {
			if (!(error instanceof FormatError)) throw error
			why = error.message
		}
		found[name][way] = why
	}
}
console.log(JSON.stringify(found))
`, "--"},
	} {
		if isMissing(t, reader[0]) {
			complete = false
			continue
		}
		cmd := exec.Command(reader[0], append(reader[1:], *folder)...)
		cmd.Stdin = bytes.NewReader(questions)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s: %s", reader[0], &stderr)
		var found messages
		require.NoError(t, json.Unmarshal(out, &found))
		for name, ways := range found {
			if got[name] == nil {
				got[name] = map[string]string{}
			}
			for way, why := range ways {
				checked, unchecked := strings.CutSuffix(way, " unchecked")
				if unchecked && why != ways[checked] || !unchecked && why != "" {
					got[name][way] = why
				}
			}
			if len(got[name]) == 0 {
				delete(got, name)
			}
		}
	}
	path := filepath.Join("test", "messages.json")
	if *update && complete {
		require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o666))
	}
	var want messages
	require.NoError(t, json.Unmarshal(bloom.Must(os.ReadFile(path)), &want))
	if !complete {
		t.Skip("a reader is missing")
	}
	for name := range got {
		assert.Equal(t, want[name], got[name], name)
	}
	assert.Len(t, got, len(want))
}
