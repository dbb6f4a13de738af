package main

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
)

// metaOf returns the Meta of the filter in the file at path.
func metaOf(t *testing.T, path string) string {
	t.Helper()
	f, err := load(path)
	require.NoError(t, err)
	return f.Info().Meta
}

// TestCommentIsNoFact: whatever the Comment of a list says, no command acts on it, and no command
// changes it.
func TestCommentIsNoFact(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, comment := range []string{
		"this list has the empty line",
		"has the empty line",
		"keys are field 1 of the lines",
		"keys are whole lines",
		"dedupe -o: 0 bytes, lines end with 0x0a, digest 0000000000000000",
		"blank=1&field=2&shard=0/2",
		strings.Repeat("c", 4096),
	} {
		good(t, "x\n", "build --force -n 1000 -o list --comment", comment)
		require.Empty(t, metaOf(t, "list"))
		require.Equal(t, "\ny\n", good(t, "\ny\n", "dedupe --state list"), comment)
		require.Empty(t, good(t, "\ny\n", "dedupe --state list"), comment)
		good(t, "z\n", "add --blank list")
		require.Equal(t, comment, bloom.Must(bloom.LoadFile("list")).Info().Comment)
		require.Equal(t, "blank=1", metaOf(t, "list"))
	}
	saying(t, 2, "--comment has 4,097 bytes: it must be UTF-8, and no longer than 4,096 bytes", "a\n",
		"build -f 1 -o list --comment "+strings.Repeat("c", 4097))
}

// TestDamagedFacts: facts that no command writes count as none.
func TestDamagedFacts(t *testing.T) {
	f := bloom.Must(bloom.New(10, 0.01))
	for meta, sizeIsKnown := range map[string]bool{
		"field=0&out.size=0&out.delim=10&out.digest=0":    true,
		"field=-1&out.size=-1&out.delim=10&out.digest=0":  false,
		"field=1.0&out.size=0&out.delim=256&out.digest=0": false,
		"field=&out.size=0&out.delim=10&out.digest=x":     false,
	} {
		f.UpdateInfo(func(i *bloom.Info) { i.Meta = meta })
		_, known := placeOf(f)
		require.Equal(t, sizeIsKnown, known, meta)
		_, known = outRecordOf(f)
		require.Equal(t, sizeIsKnown, known, meta)
	}
}

// TestFactsOfABuild: a list says what its later users need, beside the facts of other programs,
// which stay.
func TestFactsOfABuild(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"build -o list":                                  "",
		"build -f 2 -o list":                             "field=2",
		"build -f 1 --sep : -o list":                     "field=1&sep=%3A",
		"build -f 1 --sep \\t --shard 1/2 -o list":       "field=1&sep=%09&shard=1%2F2",
		"build --blank -o list":                          "blank=1",
		"build --blank --type growing -n 9 -o list":      "blank=1",
		"bank build -n 9 -o list -":                      "",
		"bank build -n 9 -f 2 --sep , -o list -":         "field=2&sep=%2C",
		"dedupe --shard 0/1 --span 1h -n 9 --state list": "field=0&shard=0%2F1",
	} {
		os.Remove("list")
		bloomRun(t, "\na,b\nc:\td\n", line+" --skip-bad")
		out := good(t, "", strings.Replace("info --json list", "info", infoOf(line), 1))
		if want == "" {
			require.NotContains(t, out, "meta", line)
		} else {
			require.Contains(t, out, `"meta":"`+strings.ReplaceAll(want, "&", `\u0026`)+`"`, line)
		}
	}

	f := bloom.Must(counting.New(1000, 0.01))
	theirs := url.Values{"source": {"a b"}, "day": {"1", "2"}}
	f.UpdateInfo(func(i *bloom.Info) { i.Meta = theirs.Encode() })
	require.NoError(t, f.SaveFile("theirs"))
	good(t, "a\n\n", "add --blank theirs")
	require.Equal(t, "blank=1&day=1&day=2&field=0&source=a+b", metaOf(t, "theirs"))
	good(t, "b\n", "dedupe --state theirs -o out")
	require.Equal(t, "blank=1&day=1&day=2&field=0&out.delim=10&out.digest=", metaOf(t, "theirs")[:52])
	require.Contains(t, metaOf(t, "theirs"), "&out.size=2&source=a+b")
}

func infoOf(line string) string {
	if strings.HasPrefix(line, "bank") {
		return "bank info"
	}
	return "info"
}

// TestFieldIsKept: a list of one field takes no keys of another, and whoever looks up others is
// told.
func TestFieldIsKept(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "w1", "apple:3\npear:1\n")
	good(t, "", "build --type counting -n 100 -p 1e-6 -f 1 --sep : -o list w1")
	before := read(t, "list")
	const made = "list was made with -f 1, but there is "
	for flags, now := range map[string]string{"": "no -f now", " -f 2 --sep :": "-f 2 now"} {
		for _, line := range []string{"add list w1", "remove list w1", "dedupe --state list w1"} {
			saying(t, 2, made+now+", so its keys would be mixed; --force continues anyway", "", line+flags)
			require.Equal(t, before, read(t, "list"), line)
		}
		says := made + now + ": none of the lines was found"
		saying(t, 1, "warning: "+says, "", "check list w1"+flags)
		saying(t, 1, "warning: "+says, "", "check -c list w1"+flags)
		saying(t, 2, says, "", "check -q list w1"+flags)
		saying(t, 2, says, "", "check -qv list w1"+flags)
		require.NotEmpty(t, saying(t, 0, "warning: "+says, "", "check -v list w1"+flags))
	}
	saying(t, 1, "", "", "check list") // there was no line
	require.Equal(t, "apple\n", good(t, "apple\n", "check list"))
	saying(t, 1, "", "kiwi\n", "check list") // the value of a field needs no -f
	require.Equal(t, "kiwi\n", good(t, "kiwi\n", "check -v list"))

	// --sep need not be given again. Another file may have another.
	require.Equal(t, "apple:3\n", good(t, "apple:3\nplum:1\n", "check -f 1 list"))
	good(t, "plum:7\n", "add -f 1 list")
	good(t, "fig\t8\n", `add -f 1 --sep \t list`)
	require.Equal(t, "plum\nfig\n", good(t, "plum\nfig\nkiwi\n", "check list"))
	good(t, "plum:0\n", "remove -f 1 list")
	require.Equal(t, "fig\n", good(t, "plum\nfig\n", "check list"))
	require.Equal(t, "field=1&sep=%3A&sep=%09", metaOf(t, "list"))
	for _, line := range []string{"plum:7\n", "fig\t8\n"} {
		saying(t, 1, "warning: "+made+"no -f now: none of the lines was found", line,
			"check list")
	}

	// --force goes on, and the list does not say any more what its keys are.
	good(t, "kiwi:1\n", "add --force list")
	require.Equal(t, "field=several", metaOf(t, "list"))
	require.Equal(t, "kiwi:1\n", good(t, "kiwi:1\n", "check list"))
	good(t, "a:b\n", "add -f 2 --sep : list")
	saying(t, 1, "warning: list has keys of several fields, or of fields and whole lines "+
		"(--force): this run looks lines up with no -f", "x\n", "check list")
	saying(t, 1, "warning: list has keys of several fields, or of fields and whole lines "+
		"(--force): this run looks lines up with -f 2", "x:y\n", "check list -f 2 --sep :")

	// A list or a state of whole lines takes no fields.
	good(t, "a\n", "dedupe --state lines")
	good(t, "a\n", "build --type counting -n 100 -p 1e-6 -o whole")
	for _, name := range []string{"lines", "whole"} {
		before := read(t, name)
		for _, line := range []string{"add", "remove", "dedupe --state"} {
			if line == "remove" && name == "lines" { // it is no counting filter
				continue
			}
			saying(t, 2, name+" was made with no -f, but there is -f 1 now, so its keys would be "+
				"mixed; --force continues anyway", "a,1\n", line+" "+name+" -f 1")
			require.Equal(t, before, read(t, name), line)
		}
		require.Equal(t, "a,1\n", good(t, "a,1\n", "check -f 1 "+name), "values may be looked up")
		good(t, "b,1\n", "add --force -f 1 "+name)
		require.Equal(t, "a,2\nb,2\n", good(t, "a,2\nb,2\n", "check -f 1 "+name))
	}

	// The list of another program says nothing, until the command has added keys of one kind.
	for first, then := range map[string]string{"": "-f 2", "-f 2": "", "-f 1 --sep :": "-f 2"} {
		f := bloom.Must(counting.New(100, 1e-6))
		for _, key := range []string{"a", "x,a:1", "a:1", "x,a"} {
			f.AddString(key)
		}
		require.NoError(t, f.SaveFile("theirs"))
		require.Equal(t, "a\n", good(t, "a\n", "check theirs"))
		require.Equal(t, "a,1\n", good(t, "a,1\n", "check theirs -f 1 --sep ,"))
		good(t, "x,a:1\n", "remove theirs --skip-bad "+first)
		require.Empty(t, metaOf(t, "theirs"), "no key was added")
		good(t, "x,y:1\n", "add theirs "+first)
		saying(t, 2, "theirs was made with ..., but there is ... now, so its keys would be mixed; "+
			"--force continues anyway", "x,y:1\n", "add theirs "+then)
		saying(t, 2, "theirs was made with ..., but there is ... now, so its keys would be mixed; "+
			"--force continues anyway", "x,y:1\n", "dedupe --state theirs "+then)
		good(t, "x,y:1\n", "add theirs "+first)
	}

	good(t, "", "bank build -n 100 -f 1 --sep : -o bank w1")
	require.Equal(t, "w1\n", good(t, "", "bank which bank apple"))
	saying(t, 2, `bank: it was made with -f 1 --sep ":": a LINE is the value of that field, `+
		`and "apple:3" has the separator`,
		"", "bank which bank apple apple:3")
	saying(t, 1, "", "", "bank which bank kiwi")
	// A value in quotes may have a comma, or have come from a file with tabs.
	write(t, "w2", "\"a,b\",1\n")
	good(t, "", "bank build -n 100 -f 1 -o bank --force w2")
	require.Equal(t, "w2\n", good(t, "", "bank which bank a,b"))
	saying(t, 1, "warning: bank was made with -f 1: a LINE is the value of that field", "",
		"bank which bank a,b,1")
}

// TestMergeJoinsFacts: a union says what its filters said, or refuses.
func TestMergeJoinsFacts(t *testing.T) {
	const shards = ": they have different shards, or one of them has all lines: bloom check reads " +
		"the files of all shards"
	t.Chdir(t.TempDir())
	const size = " -n 1000 -p 1e-6 -o "
	for name, line := range map[string]string{
		"plain": "build", "field1": "build -f 1", "field1sep": "build -f 1 --sep ;",
		"field2": "build -f 2",
		"shard0": "build --shard 0/2", "shard1": "build --shard 1/2",
		"blank": "build --blank --comment one",
	} {
		in := "a,b\n"
		if name == "blank" {
			in = "a\n\n"
		}
		good(t, in, line+size+name)
	}
	good(t, "a,b\n", "build -f 1"+size+"several")
	good(t, "a,b\n", "add -f 2 --force several")
	plain := bloom.Must(bloom.LoadFile("plain"))
	theirs := bloom.Must(bloom.NewSize(plain.M(), plain.K())) // says nothing
	require.NoError(t, theirs.SaveFile("theirs"))
	for _, test := range []struct{ names, meta, says string }{
		{"plain plain", "", ""},
		{"plain blank", "blank=1", ""},
		{"blank plain", "blank=1", ""},
		{"field1 field1", "field=1", ""},
		{"field1sep field1sep", "field=1&sep=%3B", ""},
		{"field1 field1sep", "field=1&sep=%09%2C&sep=%3B", ""},
		{"field1sep field1", "field=1&sep=%3B&sep=%09%2C", ""},
		{"field1sep field1 field1sep", "field=1&sep=%3B&sep=%09%2C", ""},
		{"field1 field2", "",
			"field1 and field2: keys made with -f 1 and keys made with -f 2 do not mix"},
		{"field1 plain", "",
			"field1 and plain: keys made with -f 1 and keys made with no -f do not mix"},
		{"plain field1", "",
			"plain and field1: keys made with no -f and keys made with -f 1 do not mix"},
		{"shard0 shard1", "", "shard0 and shard1" + shards},
		{"shard0 plain", "", "shard0 and plain" + shards},
		{"shard0 shard0", "shard=0%2F2", ""},
		{"theirs plain", "", ""},
		{"field1sep theirs", "field=1&sep=%3B", ""},
		{"theirs field1sep", "field=1&sep=%3B", ""},
		{"theirs theirs", "", ""},
		{"several field1sep", "field=several", ""},
		{"field1sep several", "field=several", ""},
		{"several plain", "field=several", ""},
		{"several several", "field=several", ""},
	} {
		if test.says != "" {
			saying(t, 1, test.says, "", "merge -o all "+test.names)
			require.NoFileExists(t, "all", test.names)
			continue
		}
		good(t, "", "merge --force -o all "+test.names)
		require.Equal(t, test.meta, metaOf(t, "all"), test.names)
		require.NoError(t, os.Remove("all"))
	}
	// A union has the blank line that one of its filters has.
	good(t, "", "merge -o all plain blank")
	require.Equal(t, "z\n", good(t, "\nz\n", "dedupe --state all"))

	// The facts of other programs stay, with the values of both. The union of a state goes on with
	// its OUT.
	f := bloom.Must(bloom.LoadFile("plain"))
	f.UpdateInfo(func(i *bloom.Info) { i.Meta = "from=x&of=both" })
	require.NoError(t, f.SaveFile("x"))
	f.UpdateInfo(func(i *bloom.Info) { i.Meta = "from=y&of=both" })
	require.NoError(t, f.SaveFile("y"))
	good(t, "q\n", "dedupe --state y -o out")
	good(t, "", "merge -o all x y")
	require.Regexp(t, `^from=x&from=y&of=both&out\.delim=10&out\.digest=[0-9a-f]{16}&out\.size=2$`,
		metaOf(t, "all"))
	good(t, "r\n", "dedupe --state all -o out")
	require.Equal(t, "q\nr\n", read(t, "out"))
	good(t, "", "merge -o three all y")
	require.Equal(t, "from=x&from=y&of=both&out.size=several", metaOf(t, "three"),
		"they have two states of OUT")

	// So does a union that has no other facts. Whatever is merged into it, it goes on with no OUT.
	for _, name := range []string{"a", "b", "c"} {
		good(t, name+"\n", "build"+size+name)
		good(t, name+"1\n", "dedupe --state "+name+" -o out."+name)
	}
	good(t, "", "merge -o ab a b")
	good(t, "", "merge -o abc ab c")
	good(t, "", "merge -o cab c ab")
	for _, name := range []string{"ab", "abc", "cab"} {
		require.Equal(t, "out.size=several", metaOf(t, name))
		for _, out := range []string{"out.a", "out.c"} {
			saying(t, 1, out+" is not as a run with --state "+name+" left it, and stays as it is: "+
				"append to it with >> instead of -o, name another OUT, or remove it", "new\n",
				"dedupe --state "+name+" -o "+out)
		}
	}
	good(t, "new\n", "dedupe --state ab -o out.ab")
	require.Equal(t, "new\n", read(t, "out.ab"))
	good(t, "newer\n", "dedupe --state ab -o out.ab")
}

// TestRemovedBlankLineIsNew: a filter whose blank line was removed does not record it, and dedupe
// writes the next one.
func TestRemovedBlankLineIsNew(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n\n", "build --type counting -n 1000 --blank -o list")
	good(t, "\n", "add --blank list")
	good(t, "\n", "remove --blank list")
	require.Equal(t, "blank=1", metaOf(t, "list"), "it was added twice")
	good(t, "a\n", "remove list")
	require.Equal(t, "blank=1", metaOf(t, "list"))
	good(t, "\n", "remove list")
	require.Equal(t, "blank=1", metaOf(t, "list"), "it was left out")
	good(t, "\n", "remove --blank list")
	require.Equal(t, "", metaOf(t, "list"))

	good(t, "\n", "build --type counting -n 1000 --blank -o blank")
	for _, names := range []string{"list blank", "blank list"} {
		good(t, "", "merge -o both "+names)
		require.Equal(t, "blank=1", metaOf(t, "both"), names)
		require.NoError(t, os.Remove("both"))
	}
	require.Equal(t, "\n", good(t, "\n\n", "dedupe --state list"))
	require.Empty(t, good(t, "\n", "dedupe --state list"))
	require.Equal(t, "blank=1", metaOf(t, "list"))
}

// TestBlankLineOnce: with -o or without, the blank line comes once, however often a run sees it.
func TestBlankLineOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "in", "a\n\nb\n")
	for range 3 {
		good(t, "", "dedupe --state s -o out in")
	}
	require.Equal(t, "a\n\nb\n", read(t, "out"))
	good(t, "\nc\n", "add --blank s")
	good(t, "\nc\nd\n", "dedupe --state s -o out")
	require.Equal(t, "a\n\nb\nd\n", read(t, "out"))
	// The blank line of add counts, too.
	good(t, "x\n", "dedupe --state t -o out2")
	good(t, "\n", "add --blank t")
	good(t, "\ny\n", "dedupe --state t -o out2")
	require.Equal(t, "x\ny\n", read(t, "out2"))
	// One that add left out does not.
	good(t, "x\n", "dedupe --state u -o out3")
	good(t, "z\n\n", "add u")
	good(t, "\ny\n", "dedupe --state u -o out3")
	require.Equal(t, "x\n\ny\n", read(t, "out3"))
}
