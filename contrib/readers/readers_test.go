// Package readers holds the readers of this library's formats in other languages to the
// library: bloom.py, and bloom.mjs for browsers and Node. docs/format.md describes the formats.
package readers

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/internal/alltypes"
)

var folder = flag.String("vectors", "../../testdata/vectors", "where the vectors are")
var update = flag.Bool("update", false, "write the vectors")

// vectors is vectors.json. A string of zeros and ones has one for each of Keys.
type vectors struct {
	Keys    []string `json:"keys"`
	Filters []vector `json:"filters"`
	Refused []string `json:"refused"` // files

	Patches        []patch        `json:"patches"`
	RefusedPatches []refusedPatch `json:"refused_patches"`
}

// patch is a patch of a filter in Guava's form.
type patch struct {
	File    string `json:"file"`
	From    string `json:"from"` // the file of the filter that it was made from
	Info    info   `json:"info"` // of the new filter
	Answers string `json:"answers"`
}

// refusedPatch is a file that changes no filter, that of From among them.
type refusedPatch struct {
	File     string `json:"file"`
	From     string `json:"from"`
	Mismatch bool   `json:"mismatch,omitempty"` // it is whole, and of another filter
}

type vector struct {
	File    string   `json:"file"`
	Type    string   `json:"type"`
	Info    info     `json:"info"`
	Added   string   `json:"added"`             // and not removed, forgotten or overwritten
	Now     int64    `json:"now,omitempty"`     // in nanoseconds since 1970, for a window
	Answers string   `json:"answers,omitempty"` // what a reader answers
	Members [][]int  `json:"members,omitempty"` // of a bank, that a reader reports for each key
	Names   [][]byte `json:"names,omitempty"`   // of a bank's members, in base64
}

type info struct {
	N       uint64  `json:"n"`
	P       float64 `json:"p"`
	Hash    string  `json:"hash"`
	Comment string  `json:"comment"`
	Meta    string  `json:"meta"`
}

func infoOf(i bloom.Info) info {
	return info{N: i.N, P: i.P, Hash: i.Hash, Comment: i.Comment, Meta: i.Meta}
}

// typeOf returns the row of a form, as vectors.json calls it.
func typeOf(kind string) alltypes.Type {
	typ, ok := alltypes.ByPackage(kind)
	if !ok {
		panic("no type " + kind)
	}
	return typ
}

// TestWrite writes the vectors, with -update.
func TestWrite(t *testing.T) {
	v, files := generate(t)
	var out bytes.Buffer
	out.WriteString("{\"keys\": " + string(bloom.Must(json.Marshal(v.Keys))) + ",\n\"filters\": [\n")
	for i, f := range v.Filters {
		out.Write(bloom.Must(json.Marshal(f)))
		out.WriteString(map[bool]string{true: "\n", false: ",\n"}[i == len(v.Filters)-1])
	}
	list := func(x any) string { return string(bloom.Must(json.MarshalIndent(x, "", " "))) }
	out.WriteString("],\n\"refused\": " + list(v.Refused) + ",\n\"patches\": " + list(v.Patches) +
		",\n\"refused_patches\": " + list(v.RefusedPatches) + "}\n")
	files["vectors.json"] = out.Bytes()
	if *update {
		readme, err := os.ReadFile(filepath.Join(*folder, "README.md"))
		require.NoError(t, os.RemoveAll(*folder))
		require.NoError(t, os.MkdirAll(*folder, 0o777))
		for name, data := range files {
			require.NoError(t, os.WriteFile(filepath.Join(*folder, name), data, 0o666))
		}
		if err == nil {
			require.NoError(t, os.WriteFile(filepath.Join(*folder, "README.md"), readme, 0o666))
		}
	}
	for name, data := range files {
		stored := bloom.Must(os.ReadFile(filepath.Join(*folder, name)))
		at := 0
		for at < min(len(data), len(stored)) && data[at] == stored[at] {
			at++
		}
		require.True(t, bytes.Equal(stored, data),
			"the bytes of %s differ from byte %d on (%d bytes, %d stored): "+
				"run go test ./contrib/readers -update only if docs/format.md was meant to change",
			name, at, len(data), len(stored))
	}
}

func load(t *testing.T) (v vectors) {
	require.NoError(t, json.Unmarshal(
		bloom.Must(os.ReadFile(filepath.Join(*folder, "vectors.json"))), &v))
	require.NotEmpty(t, v.Filters)
	return v
}

// TestGo reads the vectors with this module.
func TestGo(t *testing.T) {
	v := load(t)
	positives := 0
	for _, test := range v.Filters {
		data := bloom.Must(os.ReadFile(filepath.Join(*folder, test.File)))
		f := typeOf(test.Type).Decoder(test.Now)
		require.NoError(t, f.UnmarshalBinary(data), test.File)
		require.Equal(t, test.Info, infoOf(f.Info()), test.File)
		for i, answer := range alltypes.Answers(f, v.Keys) {
			key := v.Keys[i]
			if test.Members != nil {
				require.Equal(t, test.Members[i], answer, "%s: %q", test.File, key)
				continue
			}
			require.Equal(t, int(test.Answers[i]-'0'), answer, "%s: %q", test.File, key)
			if test.Added[i] == '1' {
				require.Equal(t, byte('1'), test.Answers[i], "%s: %q was added", test.File, key)
			} else if test.Answers[i] == '1' {
				positives++
			}
		}
	}
	for _, test := range v.Patches {
		f := bloom.Must(bloom.LoadFile(filepath.Join(*folder, test.From)))
		require.NoError(t, f.Patch(bloom.Must(os.ReadFile(filepath.Join(*folder, test.File)))), test.File)
		require.Equal(t, test.Info, infoOf(f.Info()), test.File)
		for i, key := range v.Keys {
			require.Equal(t, test.Answers[i] == '1', f.ContainsString(key), "%s: %q", test.File, key)
		}
	}
	for _, test := range v.RefusedPatches {
		f := bloom.Must(bloom.LoadFile(filepath.Join(*folder, test.From)))
		before := save(t, f)
		want := map[bool]error{true: bloom.ErrMismatch, false: bloom.ErrFormat}[test.Mismatch]
		require.ErrorIs(t, f.Patch(bloom.Must(os.ReadFile(filepath.Join(*folder, test.File)))),
			want, test.File)
		require.Equal(t, before, save(t, f), test.File)
	}
	require.Greater(t, positives, 500) // a reader that takes wrong bits answers otherwise
	for _, name := range v.Refused {
		data := bloom.Must(os.ReadFile(filepath.Join(*folder, name)))
		for _, typ := range alltypes.All {
			require.ErrorIs(t, typ.Decoder(0).UnmarshalBinary(data), bloom.ErrFormat, "%s as %s",
				name, typ.Name)
		}
	}
}

// A filter's bytes are refused by every other type.
func TestOtherTypesRefuse(t *testing.T) {
	for _, test := range load(t).Filters {
		data := bloom.Must(os.ReadFile(filepath.Join(*folder, test.File)))
		for _, typ := range alltypes.Forms() {
			if typ.Package() != test.Type {
				assert.ErrorIs(t, typ.Decoder(0).UnmarshalBinary(data), bloom.ErrFormat, "%s as %s",
					test.File, typ.Name)
			}
		}
	}
}

// TestReaders: the readers' own tests pass, which ask all keys of all files. TestConform runs the
// programs.
func TestReaders(t *testing.T) {
	for _, reader := range []struct{ command, file string }{
		{"python3", "bloom.py"}, {"node", "bloom.mjs"},
	} {
		t.Run(reader.file, func(t *testing.T) {
			if isMissing(t, reader.command) {
				t.SkipNow()
			}
			out, err := exec.Command(reader.command, filepath.Join("test", reader.file),
				*folder).CombinedOutput()
			require.NoError(t, err, "%s", out)
			t.Logf("%s", out)
		})
	}
}

// The programs make keys of lines as the command bloom made them, which the file's Info says. They
// end with an error where they do not know how: an answer would be wrong.
func TestReadersHashAsTheFileSays(t *testing.T) {
	digits := "00005c4c63fc062280f1e10887ac8a0473dae298"
	raw := bloom.Must(hex.DecodeString(digits))
	tests := []struct {
		hash, key, input string
		want             string // "" for an error, which says
		says             string
	}{
		{"Sum of the bytes given in hexadecimal", string(raw),
			digits + "\n" + strings.ToUpper(digits) + " \r\n00", "true\ntrue\nfalse\n", ""},
		{"Sum of the bytes given in hexadecimal", string(raw), "0\n", "",
			"0 is not an even number of hexadecimal digits"},
		{"Sum of the bytes given in hexadecimal", string(raw), "0g\n", "",
			"0g is not an even number of hexadecimal digits"},
		{"SumString", "é", "é\né\r\nÉ\n", "true\ntrue\nfalse\n", ""},
		{"SumString, with carriage returns", "é\r", "é\né\r\n", "false\ntrue\n", ""},
		{"SumString, case folded by Unicode 15.0.0", "éiσ", "ÉIΣ\néiς\r\néiσ\nÉİΣ\né",
			"true\ntrue\ntrue\nfalse\nfalse\n", ""},
		{"SumString, case folded by Unicode 15.0.0", "a\xff\xe2\x82é\xf0\x90",
			"A\xff\xe2\x82É\xf0\x90\na\xff\xe2\x82É\n", "true\nfalse\n", ""},
		{"SumString, case folded by Unicode 15.0.0", "\ufeff𐐨", "x\n\ufeff𐐀\n𐐀\n",
			"false\ntrue\nfalse\n", ""},
		{"SumString, case folded by Unicode 15.0.0, with carriage returns", "é\r", "É\r\nÉ\n",
			"true\nfalse\n", ""},
		{"", "é", "é\né\r\n", "true\nfalse\n", ""},
		{"", "é", "\ufeffé\né\n\ufeffé", "true\ntrue\nfalse\n", ""},
		{"SumString", "é", "\ufeffé", "true\n", ""},
		{"SumString", "", "\ufeff\n", "true\n", ""},
		{"Sum of the bytes given in hexadecimal", string(raw), "\ufeff" + digits + "\r\n", "true\n", ""},
		{"", "\xff\xfe", "\xff\n\xff\xfe", "false\ntrue\n", ""},
		{"SumString|shard=0%2F2", "é", "é\n", "",
			"the filter is shard 0/2 of a list: bloom check reads the files of all shards"},
		{"several ways", "é", "é\n", "",
			`keys cannot be made from lines, because info.hash is "several ways"`},
		{"SumUTF16", "é", "é\n", "", `"SumUTF16": make the keys in a program, and pass them to contains`},
	}
	dir := t.TempDir()
	var asked []question
	for i, test := range tests {
		f := bloom.Must(bloom.New(100, 1e-9))
		f.AddString(test.key)
		hash, meta, _ := strings.Cut(test.hash, "|")
		f.UpdateInfo(func(i *bloom.Info) {
			i.Hash = hash
			i.Meta = meta
		})
		path := filepath.Join(dir, strconv.Itoa(i))
		require.NoError(t, f.SaveFile(path))
		asked = append(asked, question{path, []byte(test.input)})
	}
	for reader, ask := range map[string]func(*testing.T, []question) []answer{
		"python3": askPython, "node": askNode,
	} {
		if isMissing(t, reader) {
			continue
		}
		answers := ask(t, asked)
		require.Len(t, answers, len(tests))
		for i, test := range tests {
			got := answers[i]
			about := fmt.Sprintf("%s, %q", reader, test.hash)
			if test.want != "" {
				assert.Equal(t, answer{Out: test.want}, got, about)
				continue
			}
			assert.True(t, got.Failed, about)
			assert.Contains(t, got.Message, test.says, about)
			assert.NotContains(t, got.Message, "Traceback", about)
			assert.Len(t, strings.Split(strings.TrimSpace(got.Message), "\n"), 1,
				"%s: lines of the message", about)
		}
	}
}

// question is a file, and the input of a program that reads it.
type question struct {
	File  string
	Input []byte
}

type answer struct {
	Out, Message string
	Failed       bool
}

// askPython runs the program in one interpreter, whose start takes longer than an answer.
func askPython(t *testing.T, asked []question) (answers []answer) {
	cmd := exec.Command("python3", "-c", `
import base64, contextlib, io, json, sys
with open("bloom.py", encoding="utf-8") as file:
    program = compile(file.read(), "bloom.py", "exec")
answers = []
for question in json.load(sys.stdin):
    sys.argv = ["bloom.py", question["File"]]
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(base64.b64decode(question["Input"]))))
    out, end = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(out):
            exec(program, {"__name__": "__main__"})
    except SystemExit as error:
        end = error.code
    answers.append({"Out": out.getvalue(), "Message": str(end or ""), "Failed": bool(end)})
print(json.dumps(answers))
`)
	cmd.Stdin = bytes.NewReader(bloom.Must(json.Marshal(asked)))
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &messages)
	require.NoError(t, json.Unmarshal(out, &answers))
	return answers
}

// askNode starts the program for each question. A second import of a module would not run it.
func askNode(t *testing.T, asked []question) (answers []answer) {
	for _, q := range asked {
		cmd := exec.Command("node", "bloom.mjs", q.File)
		cmd.Stdin = bytes.NewReader(q.Input)
		var messages bytes.Buffer
		cmd.Stderr = &messages
		out, err := cmd.Output()
		answers = append(answers, answer{string(out), messages.String(), err != nil})
	}
	return answers
}

// TestReadersTellFieldsFromLines: if no line is found in a list of fields, and lines have several
// fields, the programs warn. The value of a field alone needs no warning.
func TestReadersTellFieldsFromLines(t *testing.T) {
	for _, reader := range []struct{ command, file string }{
		{"python3", "bloom.py"}, {"node", "bloom.mjs"},
	} {
		if isMissing(t, reader.command) {
			continue
		}
		for _, test := range []struct {
			meta, input string
			warns       bool
		}{
			{"field=2", "x,é\n", true},
			{"field=2", "x\té\n", true},
			{"field=2", "x:é\n", false},
			{"field=2&sep=%3A", "x:é\n", true},
			{"field=2&sep=%3A", "x,é\n", false},
			{"field=2&sep=%FF", "x\xffé\n", true},
			{"field=2", "x\n", false},
			{"field=2", "x,é\né\n", true},
			{"field=2", "x\né\n", false},
			{"field=2&sep=%3A&sep=%3B", "x;é\n", true},
			{"field=2&sep=%3A&sep=%3B", "x,é\n", false},
			{"field=2&sep=%3B&sep=%09%2C", "x,é\n", true},
			{"field=2&sep=+", "x é\n", true},
			{"field=0", "x,é\n", false},
			{"", "x,é\n", false},
		} {
			f := bloom.Must(bloom.New(100, 1e-9))
			f.AddString("é")
			f.UpdateInfo(func(i *bloom.Info) {
				i.Hash = "SumString"
				i.Meta = test.meta
			})
			path := filepath.Join(t.TempDir(), "filter")
			require.NoError(t, f.SaveFile(path))
			cmd := exec.Command(reader.command, reader.file, path)
			cmd.Stdin = strings.NewReader(test.input)
			var messages bytes.Buffer
			cmd.Stderr = &messages
			require.NoError(t, cmd.Run(), "%s, %q", reader.file, test)
			if test.warns {
				assert.Contains(t, messages.String(),
					"its keys are field 2 of lines, but of the lines that do not look like keys, none "+
						"was found: look up only field 2\n", "%s, %q", reader.file, test)
			} else {
				assert.Empty(t, messages.String(), "%s, %q", reader.file, test)
			}
		}
	}
}

// TestReadersDoubtByTheRate: some of many whole lines are found by mistake in a list of fields,
// and the programs warn nevertheless, unless more are found than the rate explains. If keys are
// several parts of lines, or values of JSON, they say that.
func TestReadersDoubtByTheRate(t *testing.T) {
	var keys, whole, quoted strings.Builder
	f := bloom.Must(bloom.New(1000, 0.01))
	for i := range 1000 {
		f.AddString(fmt.Sprint("user", i))
		fmt.Fprintf(&keys, "user%d\n", i)
		fmt.Fprintf(&whole, "user%d,mail%d\n", i, i)
	}
	for i := range 1000 {
		fmt.Fprintf(&quoted, "Doe, %d\n", i)
		if i%2 == 0 {
			f.AddString(fmt.Sprint("Doe, ", i))
		}
	}
	require.Greater(t, f.FPR(), 0.05) // it is fuller than its Info says
	const mistaken = " of 1000 were found, probably by mistake: look up only field 1\n"
	dir := t.TempDir()
	for _, test := range []struct{ meta, input, says string }{
		{"field=1", keys.String(), ""},
		{"field=1", strings.ReplaceAll(keys.String(), "user", "other"), ""},
		{"field=1", whole.String(),
			"its keys are field 1 of lines, but of the lines that do not look like keys, "},
		{"field=1", keys.String() + whole.String(), mistaken},
		{"field=1", quoted.String(), ""},
		{"field=several", "user1\n", ""},
		{"field=several", "user1\nnobody\n",
			"its keys are several parts of lines: a part of a line that was not found may be a key"},
		{"json=a.b", "user1\nnobody\n", ""},
		{"json=a.b", "{\"a\":{\"b\":\"user1\"}}\n",
			"its keys are \"a.b\" of JSON objects, but of the lines that do not look like keys, none " +
				"was found: look up only \"a.b\"\n"},
	} {
		f.UpdateInfo(func(i *bloom.Info) { i.Hash, i.Meta = "SumString", test.meta })
		path := filepath.Join(dir, "filter")
		require.NoError(t, f.SaveFile(path))
		for _, reader := range [][]string{{"python3", "bloom.py"}, {"node", "bloom.mjs"}} {
			if isMissing(t, reader[0]) {
				continue
			}
			cmd := exec.Command(reader[0], reader[1], path)
			cmd.Stdin = strings.NewReader(test.input)
			var messages bytes.Buffer
			cmd.Stderr = &messages
			require.NoError(t, cmd.Run(), "%s: %s", reader[0], &messages)
			if test.says == "" {
				assert.Empty(t, messages.String(), "%s: %s, %.20q", reader[0], test.meta, test.input)
			} else {
				assert.Contains(t, messages.String(), test.says, "%s: %.20q", reader[0], test.input)
			}
		}
	}
}

// TestReadersRefuseKeys: a value that is no key is an error and not a key that is absent. The files
// have the longest Comment, Meta and name.
func TestReadersRefuseKeys(t *testing.T) {
	dir := t.TempDir()
	f := bloom.Must(bloom.New(100, 1e-9))
	for _, key := range []string{"key", "A", "\x01\x02", "\xff"} {
		f.AddString(key)
	}
	for _, key := range []uint64{0, 1, 1 << 63, 1<<64 - 1} {
		f.AddHash(bloom.SumUint64(key))
	}
	f.UpdateInfo(func(i *bloom.Info) {
		i.Comment = strings.Repeat("c", 4096)
		i.Meta = "m=" + strings.Repeat("m", 4096-2)
	})
	require.NoError(t, f.SaveFile(filepath.Join(dir, "filter")))
	b := bloom.Must(bank.New(100, 1e-9))
	require.NoError(t, onlyError(b.AppendFilter(f)))
	b.SetName(0, strings.Repeat("n", 65535))
	require.NoError(t, b.SaveFile(filepath.Join(dir, "bank")))
	for _, reader := range []struct{ command, program string }{
		{"python3", `
import array, decimal, fractions, sys, uuid
sys.dont_write_bytecode = True
import bloom, mmap
from enum import IntEnum
class Number(IntEnum): one = 1
for name in "filter", "bank":
    f = bloom.load(sys.argv[1] + "/" + name)
    ways = [f.contains, f.which] if name == "bank" else [f.contains]
    for key in ("key", b"key", bytearray(b"key"), memoryview(b"-key-")[1:4], array.array("B", b"key"),
                0, 1, Number.one, 2**63, 2**64 - 1, -1, -2**63):
        for ask in ways:
            assert ask(key), key
    for key in (None, True, False, 1.0, 1e300, float("nan"), 2**64, -2**63 - 1, uuid.UUID(int=1).int << 64, uuid.UUID(int=1),
                ["key"], [1, 2], (1, 2), [], {}, {1, 2}, range(2), array.array("I", [1]), memoryview(b"abcd").cast("I"),
                memoryview(b"1-2-")[::2], memoryview(b"\1\2").cast("B", (1, 2)), decimal.Decimal(1), fractions.Fraction(1), object, "\ud800"):
        for ask in ways:
            try:
                answer = ask(key)
            except (TypeError, ValueError):
                continue
            raise SystemExit("%r is %s in a %s" % (key, answer, name))
for line in (None, 1, True, 1.0, ["key"], [1, 2]):
    try:
        key = f.key(line)
    except TypeError:
        continue
    raise SystemExit("%r is the line of key %r" % (line, key))
`},
		{"node", `
import {read, make, digest} from "./bloom.mjs"
import {readFileSync} from "node:fs"
import {runInNewContext} from "node:vm"
for (const name of ["filter", "bank"]) {
	const f = read(new Uint8Array(readFileSync(process.argv[1] + "/" + name)))
	const key = new TextEncoder().encode("-key-").subarray(1, 4)
	const ways = name === "bank" ? ["contains", "which"] : ["contains"]
	for (const good of ["key", key, Buffer.from(key), runInNewContext("Uint8Array.of(1, 2)"), 0n, 1n, 2n ** 63n, 2n ** 64n - 1n, -1n, -(2n ** 63n)])
		for (const way of ways) if (![].concat(f[way](good)).some(x => x !== false)) throw Error(good + " is absent in " + name)
	for (const bad of [undefined, null, true, false, 0, 1, 1.5, NaN, 2n ** 64n, -(2n ** 63n) - 1n, [], [1, 2], ["key"], {}, new String("key"),
		new Number(1), Object(1n), Symbol("key"), new Date(0), key.buffer, new DataView(key.buffer), Uint16Array.of(1), Int8Array.of(1), BigUint64Array.of(1n),
		{length: 1, 0: 1}, {length: 3, [Symbol.toStringTag]: "Uint8Array"}, () => "key", "\ud800", "\udc00x"]) {
		for (const way of [...ways, "key"]) {
			if (way === "key" && typeof bad === "string") continue
			let answer
			try {
				answer = f[way](bad)
			} catch (error) {
				if (error instanceof TypeError || error instanceof RangeError) continue
				throw error
			}
			throw Error(way + " of " + String(bad) + " is " + answer)
		}
		let added
		try {
			added = make(64, 3).add(bad)
		} catch {
			continue
		}
		throw Error(String(bad) + " was added")
	}
}
for (const line of [1n, 0n]) {
	let key
	try {
		key = read(make(64, 3).bytes).key(line)
	} catch {
		continue
	}
	throw Error(line + " is a line")
}
for (const [m, k] of [[64, 1], [64, 255], [128, 255]]) {
	const f = make(m, k)
	if (f.m !== m || f.k !== k || !f.add("key") || !f.contains("key")) throw Error("no filter of " + m + " bits and " + k + " hashes")
}
const few = make(256, 3)
for (let i = 0; i < 100; i++) {
	const found = few.contains("key " + i)
	if (few.add("key " + i) === found) throw Error("key " + i + (found ? " was found, but is new" : " was absent, but is not new"))
}
for (const [m, k] of [[0, 3], [100, 3], [64, 0], [64, 256], [64, 1.5], [64], [-64, 3], ["64", 3], [64.5, 3]]) {
	try {
		make(m, k)
	} catch {
		continue
	}
	throw Error("made a filter of " + m + " bits and " + k + " hashes")
}
`},
	} {
		if isMissing(t, reader.command) {
			continue
		}
		args := []string{"-c", reader.program, dir}
		if reader.command == "node" {
			args = []string{"--input-type=module", "-e", reader.program, "--", dir}
		}
		out, err := exec.Command(reader.command, args...).CombinedOutput()
		assert.NoError(t, err, "%s: %s", reader.command, out)
	}
}

// isMissing reports whether the command of a reader is missing. With BLOOM_REQUIRE_READERS it
// returns false, so that the test fails when it runs the command.
func isMissing(t *testing.T, command string) bool {
	_, err := exec.LookPath(command)
	if err == nil || os.Getenv("BLOOM_REQUIRE_READERS") != "" {
		return false
	}
	t.Logf("without %s: %v", command, err)
	return true
}

func onlyError[T any](_ T, err error) error { return err }

// In a program, key takes a line as text, too: as the digits of a hash that a form has, for
// example.
func TestReadersTakeTextAsALine(t *testing.T) {
	var args []string // files and lines by turns
	dir := t.TempDir()
	for i, test := range []struct{ hash, key, line string }{
		{"Sum of the bytes given in hexadecimal", "\x00\x5c\xa2", "005cA2"},
		{"SumString, case folded by Unicode 15.0.0", "é", "É"},
		{"SumString", "é", "é"},
		{"", "é", "é"},
	} {
		f := bloom.Must(bloom.New(100, 1e-9))
		f.AddString(test.key)
		f.UpdateInfo(func(i *bloom.Info) { i.Hash = test.hash })
		path := filepath.Join(dir, strconv.Itoa(i))
		require.NoError(t, f.SaveFile(path))
		args = append(args, path, test.line)
	}
	for _, reader := range [][]string{
		{"python3", "-c", `import bloom, sys
for path, line in zip(sys.argv[1::2], sys.argv[2::2]):
    f = bloom.load(path)
    print(str(f.contains(f.key(line))).lower())`},
		{"node", "--input-type=module", "-e", `import {read} from "./bloom.mjs"
import {readFileSync} from "node:fs"
for (let i = 1; i < process.argv.length; i += 2) {
	const f = read(new Uint8Array(readFileSync(process.argv[i])))
	console.log(f.contains(f.key(process.argv[i + 1])))
}`, "--"},
	} {
		if isMissing(t, reader[0]) {
			continue
		}
		out, err := exec.Command(reader[0], append(reader[1:], args...)...).CombinedOutput()
		assert.NoError(t, err, "%s: %s", reader[0], out)
		assert.Equal(t, strings.Repeat("true\n", len(args)/2), string(out), reader[0])
	}
}

// TestReadersTakeTheLongestHash: an Info may have a Hash of 255 bytes.
func TestReadersTakeTheLongestHash(t *testing.T) {
	path, hash := filepath.Join(t.TempDir(), "filter"), strings.Repeat("h", 255)
	f := bloom.Must(bloom.New(1, 0.5))
	f.UpdateInfo(func(i *bloom.Info) { i.Hash = hash })
	require.NoError(t, f.SaveFile(path))
	for _, reader := range [][]string{
		{"python3", "-c", "import bloom, sys\nprint(bloom.load(sys.argv[1]).info.hash)", path},
		{"node", "--input-type=module", "-e", `import {load} from "./bloom.mjs"
console.log(load(process.argv[1]).info.hash)`, "--", path},
	} {
		if isMissing(t, reader[0]) {
			continue
		}
		out, err := exec.Command(reader[0], reader[1:]...).CombinedOutput()
		require.NoError(t, err, "%s: %s", reader[0], out)
		require.Equal(t, hash+"\n", string(out), reader[0])
	}
}
