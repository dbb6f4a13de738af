package main

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/linestest"
)

// tried has the flags that the rounds of TestModels gave each command.
type tried map[string]map[string]bool

// notTried lists the flags that have tests of their own.
var notTried = []string{"help", "never", "wait"}

// TestModels: of any files, with any flags, dedupe, build, check, add, bank build and bank which
// write what maps of the same lines give.
func TestModels(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a goroutine of a command that failed may keep a file open, which cannot be removed")
	}
	rounds := uint64(150)
	switch {
	case os.Getenv("BLOOM_LONG") != "":
		rounds = 600 // a command that failed keeps its batches, of a megabyte
	case testing.Short():
		rounds = 50
	}
	all := tried{}
	for seed := range rounds {
		passed := t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Chdir(t.TempDir())
			m := &model{T: t, rnd: rand.New(rand.NewPCG(seed, 3)), tried: all}
			m.rule = linestest.RandomRule(m.rnd)
			m.listRound()
			m.dedupeRound()
			m.bankRound()
		})
		if !passed {
			return
		}
	}
	for name, c := range commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if all[name] != nil && !slices.Contains(notTried, f.Name) {
				assert.True(t, all[name][f.Name], "no round has %s --%s", name, f.Name)
			}
		})
	}
	require.Len(t, all, 6)
}

// model is one round: random files for commands, and what they hold.
type model struct {
	*testing.T
	rnd   *rand.Rand
	tried tried
	rule  linestest.Rule
	files int // how many the round has made
}

func (m *model) oneOf(n int) bool { return m.rnd.IntN(n) == 0 }

// keySet has the keys of a list.
type keySet map[string]bool

func (s keySet) add(all []linestest.Line) {
	for _, line := range all {
		s[line.Key] = true
	}
}

// input is what a command reads.
type input struct {
	args, shown []string // the names of the files, as arguments and in messages
	texts       []string
	stdin       string
}

// input returns one to three files with random texts, the first of which may be standard input.
// Some texts repeat a part of those of like.
func (m *model) input(rule linestest.Rule, like ...string) (in input) {
	for i := range 1 + m.rnd.IntN(3) {
		text := rule.Text(m.rnd)
		if len(like) > 0 && !m.oneOf(3) {
			part := like[m.rnd.IntN(len(like))]
			part = part[m.rnd.IntN(len(part)+1):]
			text = part[:m.rnd.IntN(len(part)+1)] + text
		}
		_, err := lines.Decompress(strings.NewReader(text), lines.DefaultWindow, rule.Delim)
		if err != nil { // it begins like a text in UTF-16
			text = ""
		}
		in.texts = append(in.texts, text)
		packed := text
		switch m.rnd.IntN(16) {
		case 0:
			packed = gzipped(text)
		case 1:
			packed = zstded(text)
		}
		if i == 0 && m.oneOf(3) {
			in.stdin = packed
			in.args = append(in.args, "-")
			in.shown = append(in.shown, "standard input")
			continue
		}
		m.files++
		name := write(m, fmt.Sprint("in", m.files), packed)
		in.args = append(in.args, name)
		in.shown = append(in.shown, name)
	}
	return in
}

// commandLine is a command with its arguments.
type commandLine struct {
	*model
	name string
	args []string
}

func (m *model) command(name string) *commandLine {
	if m.tried[name] == nil {
		m.tried[name] = map[string]bool{}
	}
	return &commandLine{m, name, strings.Fields(name)}
}

// flag adds a flag, with a value or without.
func (l *commandLine) flag(name string, value ...any) *commandLine {
	l.tried[l.name][name] = true
	l.args = append(l.args, "--"+name)
	for _, v := range value {
		l.args = append(l.args, fmt.Sprint(v))
	}
	return l
}

// maybe adds a flag, or not.
func (l *commandLine) maybe(name string, value ...any) bool {
	given := l.oneOf(3)
	if given {
		l.flag(name, value...)
	}
	return given
}

// place adds the flags that say which part of a line is its key.
func (l *commandLine) place(rule linestest.Rule) *commandLine {
	if rule.JSON != "" {
		l.flag("json", rule.JSON)
	}
	if rule.Field > 0 {
		l.flag("field", rule.Field)
	}
	return l
}

// keys adds the flags that a file records.
func (l *commandLine) keys(rule linestest.Rule) *commandLine {
	if rule.Separator != "" && rule.Field > 0 {
		l.flag("sep", rule.Separator)
	}
	for name, on := range map[string]bool{
		"hex": rule.Hex, "fold-case": rule.FoldCase, "keep-cr": rule.KeepCR,
	} {
		if on {
			l.flag(name)
		}
	}
	return l
}

// reads adds the flags that say which lines are read.
func (l *commandLine) reads(rule linestest.Rule) *commandLine {
	if rule.Delim == 0 {
		l.flag([]string{"null", "null-data"}[l.rnd.IntN(2)])
	}
	if rule.SkipBad {
		l.flag("skip-bad")
	}
	if rule.Blank && l.name != "dedupe" {
		l.flag("blank")
	}
	l.maybe("long", 23+l.rnd.IntN(9))
	return l
}

// runs runs the command in this process with further arguments. It must end with the status and
// write messages that begin with says. Not compared are doubts about look-ups and, if a line ended
// reading, what was seen of the lines after it.
func (l *commandLine) runs(want int, says []string, stdin string, more ...string) (stdout string) {
	l.Helper()
	l.args = append(l.args, more...)
	stdout, stderr, got := inProcess(l, stdin, l.args...)
	badLine := len(says) > 0 && strings.Contains(says[len(says)-1], ": line ") &&
		!strings.HasPrefix(says[len(says)-1], "warning: ")
	var messages []string
	for message := range strings.Lines(stderr) {
		isDoubt := strings.HasPrefix(message, "bloom: warning: ") &&
			strings.Contains(message, " was made with ")
		if !isDoubt && !(badLine && strings.HasPrefix(message, "bloom: warning: no line has ")) {
			messages = append(messages, strings.TrimSuffix(message, "\n"))
		}
	}
	require.Equal(l, want, got, "%q: %s", l.args, stderr)
	require.Len(l, messages, len(says), "%q: %s", l.args, stderr)
	for i, message := range messages {
		require.True(l, strings.HasPrefix(message, "bloom: "+says[i]),
			"%q: %s, not %q", l.args, message, says[i])
	}
	return stdout
}

// inProcess is like bloomRun, in this process. It leaves three files in the directory.
func inProcess(t testing.TB, stdin string, args ...string) (stdout, stderr string, ended int) {
	t.Helper()
	open := func(name, data string) *os.File {
		file, err := os.OpenFile(write(t, name, data), os.O_RDWR, 0)
		require.NoError(t, err)
		return file
	}
	in, out, errs := os.Stdin, os.Stdout, os.Stderr
	os.Stdin, os.Stdout, os.Stderr = open("stdin", stdin), open("stdout", ""), open("stderr", "")
	defer func() {
		for _, file := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
			file.Close()
		}
		stdout, stderr = read(t, "stdout"), read(t, "stderr")
		os.Stdin, os.Stdout, os.Stderr = in, out, errs
	}()
	return "", "", status(run(t.Context(), newRoot(), args), 0)
}

// warnings returns how the messages of a command begin that has read what got says. named is true
// if it was given --sep.
func warnings(rule linestest.Rule, got linestest.Reading, named bool) (says []string) {
	if got.Bad > 0 {
		says = append(says, fmt.Sprintf(
			"warning: left out %s (--skip-bad), the first of them is %s",
			counted(uint64(got.Bad), "line"), got.FirstBad))
	}
	if rule.Field == 1 && got.Keys > 0 && !got.Parted && !named && got.Err == "" {
		says = append(says, "warning: no line has ")
	}
	if got.Err != "" {
		says = append(says, got.Err)
	}
	return says
}

// endsAfter returns the status for an error, or 0.
func endsAfter(got linestest.Reading, status int) int {
	if got.Err == "" {
		return 0
	}
	return status
}

// again returns a rule for other lines of the same keys.
func (m *model) again() linestest.Rule {
	rule := m.rule
	rule.SkipBad = !m.oneOf(4)
	rule.Blank = m.oneOf(2)
	if m.oneOf(6) {
		rule.Delim = '\n' - rule.Delim
	}
	return rule
}

// recorded returns rule as a file records it: a key in hexadecimal has neither case nor CR.
func recorded(rule linestest.Rule) linestest.Rule {
	if rule.Hex {
		rule.FoldCase = false
		rule.KeepCR = false
	}
	return rule
}

// restKeys adds the flags that a file records, or leaves them out, and returns the rule that
// holds.
func (l *commandLine) restKeys(rule linestest.Rule) (_ linestest.Rule, named bool) {
	if l.oneOf(2) {
		return recorded(rule), false
	}
	l.keys(rule)
	return rule, rule.Separator != ""
}

// contradicts adds a flag that makes other keys than rule.
func (l *commandLine) contradicts(rule linestest.Rule, places bool) *commandLine {
	if places && l.oneOf(2) {
		rule.Field++
		rule.JSON = ""
		return l.place(rule)
	}
	l.place(rule)
	switch {
	case !rule.Hex:
		l.flag("hex")
	case l.oneOf(2):
		l.flag("fold-case")
	default:
		l.flag("keep-cr")
	}
	return l
}

// listRound makes a list, perhaps of several shards, asks it, adds to it, and asks it again.
func (m *model) listRound() {
	rule := m.rule
	in := m.input(rule)
	got := rule.Read(in.shown, in.texts, nil)
	shards := []int{1, 1, 1, 1, 1, 2, 3}[m.rnd.IntN(7)]
	roomy := shards > 1 || m.oneOf(2)
	kinds := []string{"", "guava", "blocked", "growing", "counting", "cuckoo"}
	kind := kinds[m.rnd.IntN(len(kinds))]
	has := keySet{}
	has.add(got.Lines)
	if kind == "cuckoo" && (shards > 1 || len(got.Lines) > len(has)+len(has)/2) {
		kind = "" // it has no room for lines that come often
	}
	var lists []string
	for shard := range shards {
		list := fmt.Sprint("list", shard)
		lists = append(lists, list)
		was := ""
		if m.oneOf(4) {
			was = m.madeBefore(list)
		}
		l := m.command("build").flag("rate", 1e-9).flag("output", list)
		l.place(rule).keys(rule).reads(rule)
		l.maybe("comment", "a comment")
		forced := l.maybe("force")
		if shards > 1 || l.oneOf(8) {
			l.flag("shard", fmt.Sprintf("%d/%d", shard, shards))
		}
		if kind != "" {
			l.flag("type", kind)
		}
		if roomy {
			l.flag("lines", 1000+6*len(has))
		}
		ended, says := endsAfter(got, 1), warnings(rule, got, rule.Separator != "")
		keeps := got.Err != ""
		if was != "" && got.Keys == 0 && got.Err == "" && !forced {
			ended, keeps = 1, true
			says = append(says, "the input has no lines, so "+list+" stays as it is")
		}
		if slices.Equal(in.args, []string{"-"}) && l.oneOf(2) {
			require.Empty(m, l.runs(ended, says, in.stdin))
		} else {
			require.Empty(m, l.runs(ended, says, in.stdin, in.args...))
		}
		switch {
		case !keeps:
		case was == "":
			require.NoFileExists(m, list)
			return
		default:
			require.Equal(m, was, read(m, list))
			return
		}
	}
	m.check(lists, in, has)
	m.checkValues(lists, has)
	canAdd := kind == "growing" || kind != "cuckoo" && roomy
	if !canAdd {
		return
	}
	m.add(lists, in, has)
	m.check(lists, in, has)
	if shards == 1 {
		m.dedupeList(lists[0], in, has)
		m.check(lists, in, has)
	}
}

// madeBefore makes a list for another build to replace, and returns its bytes.
func (m *model) madeBefore(list string) string {
	l := m.command("build").flag("output", list).flag("lines", 9)
	require.Empty(m, l.runs(0, nil, "a line\n"))
	return read(m, list)
}

// blankSeen reports whether lists report the empty key, though it may have been left out: in
// some types it has a single bit, which other keys may have set.
func blankSeen(t testing.TB, lists []string) bool {
	blank := bloom.SumString("")
	for i, list := range lists {
		f, err := load(list)
		require.NoError(t, err)
		if shardOf(blank, uint64(len(lists))) == uint64(i) {
			return f.filter.(hashFilter).ContainsHash(blank)
		}
	}
	return false
}

// check asks for lines like those of a list with the keys of has.
func (m *model) check(lists []string, like input, has keySet) {
	l := m.command("check")
	ask := m.again()
	in := m.input(ask, like.texts...)
	l.place(ask)
	rule, named := l.restKeys(ask)
	l.reads(rule)
	m.checked(l, lists, in, rule, named, has)
	l = m.command("check").contradicts(m.rule, false)
	l.runs(2, []string{lists[0] + " was made with "}, "", lists...)
}

// checkValues asks for keys without the flag that says where they are in a line.
func (m *model) checkValues(lists []string, has keySet) {
	rule := recorded(m.rule)
	rule.Field, rule.JSON, rule.Separator = 0, "", ""
	text := ""
	for _, key := range append(slices.Sorted(maps.Keys(has)), "none", "4f4f") {
		if !m.oneOf(4) {
			text += m.value(key) + string(rule.Delim)
		}
	}
	in := input{args: []string{"-"}, shown: []string{"standard input"}, texts: []string{text},
		stdin: text}
	m.checked(m.command("check").reads(rule), lists, in, rule, false, has)
}

// value returns a line whose key is the given one, if there is one.
func (m *model) value(key string) string {
	switch {
	case m.rule.Hex && m.oneOf(2):
		return strings.ToUpper(hex.EncodeToString([]byte(key)))
	case m.rule.Hex:
		return " " + hex.EncodeToString([]byte(key))
	}
	return key
}

// checked runs check with random flags for what it writes.
func (m *model) checked(l *commandLine, lists []string, in input, rule linestest.Rule, named bool,
	has keySet,
) {
	got := rule.Read(in.shown, in.texts, nil)
	blank := rule.Blank && got.Blanks > 0 && (has[""] || blankSeen(m, lists))
	invert, quiet, count := l.maybe("invert"), l.maybe("quiet"), l.maybe("count")
	want, found := "", 0
	for _, line := range got.Lines {
		present := has[line.Key] && line.Key != "" || blank && line.Key == ""
		if present != invert {
			want += line.Text
			found++
		}
	}
	ended, says := endsAfter(got, 2), warnings(rule, got, named)
	if found == 0 && ended == 0 {
		ended = 1
	}
	args := slices.Clone(lists)
	m.rnd.Shuffle(len(args), func(i, k int) { args[i], args[k] = args[k], args[i] })
	args = append(args, in.args...)
	missing := m.oneOf(8)
	if missing {
		args = append(args, "missing")
		says = append([]string{"missing: "}, says...)
		ended = 2
	}
	if quiet {
		l.checkedQuiet(rule, got, named, missing, invert, found > 0, in.stdin, args...)
		return
	}
	switch {
	case count && (got.Err != "" || ended == 2 && !missing):
		want = ""
	case count:
		want = fmt.Sprintln(found)
	}
	require.Equal(m, want, l.runs(ended, says, in.stdin, args...), "%q", l.args)
}

// checkedQuiet runs check -q. It reports an error in place of an answer that lines are certainly
// not in the list, if they may have been understood otherwise. Which those are is not modelled, but
// for lines that are all of one field.
func (l *commandLine) checkedQuiet(rule linestest.Rule, got linestest.Reading,
	named, missing, invert, found bool, stdin string, args ...string,
) {
	stdout, stderr, ended := inProcess(l, stdin, append(l.args, args...)...)
	require.Empty(l, stdout)
	unparted := rule.Field == 1 && !got.Parted && !named
	doubted := strings.Contains(stderr, " was made with ")
	certain := len(got.Lines) > 0 && invert == found
	want := []int{1}
	switch {
	case found && certain && got.Err != "": // it may end before that error
		want = []int{0, 2}
	case found && !certain:
		want = []int{0}
	case certain && (unparted || doubted), missing && !found, got.Err != "":
		want = []int{2}
	case found:
		want = []int{0}
	}
	require.Contains(l, want, ended, "%q: %s", l.args, stderr)
}

// add adds lines to each of the lists, and their keys to has.
func (m *model) add(lists []string, like input, has keySet) {
	ask := m.again()
	in := m.input(ask, like.texts...)
	for _, list := range lists {
		was := read(m, list)
		l := m.command("add").contradicts(m.rule, true)
		l.runs(2, []string{list + " was made with "}, "", list)
		require.Equal(m, was, read(m, list))

		l = m.command("add").place(ask)
		rule, named := l.restKeys(ask)
		l.reads(rule)
		l.maybe("force")
		got := rule.Read(in.shown, in.texts, nil)
		args := append([]string{list}, in.args...)
		require.Empty(m, l.runs(endsAfter(got, 1), warnings(rule, got, named), in.stdin, args...))
		if got.Err != "" {
			require.Equal(m, was, read(m, list), "%q", l.args)
		} else {
			has.add(got.Lines)
		}
	}
}

// dedupeList runs dedupe with a list as its state, and adds the keys of its lines to has.
func (m *model) dedupeList(list string, like input, has keySet) {
	ask := m.again()
	ask.Blank = true
	in := m.input(ask, like.texts...)
	l := m.command("dedupe").place(ask)
	rule, named := l.restKeys(ask)
	l.reads(rule).flag("state", list)
	l.maybe("shard", "0/1")
	got := rule.Read(in.shown, in.texts, nil)
	want := ""
	for _, line := range got.Lines {
		if !has[line.Key] {
			want += line.Text
		}
		has[line.Key] = true
	}
	wrote := l.runs(endsAfter(got, 1), warnings(rule, got, named), in.stdin, in.args...)
	require.Equal(m, want, wrote, "%q", l.args)
}

// dedupeRound runs dedupe two or three times, with or without a state, in one or several shards.
func (m *model) dedupeRound() {
	shards := []int{1, 1, 1, 2, 3}[m.rnd.IntN(5)]
	hasState := m.oneOf(2)
	hasOut := hasState && m.oneOf(2)
	var size []any // the flags that make the filter
	switch m.rnd.IntN(3) {
	case 0:
		size = []any{"lines", 20_000}
	case 1:
		size = []any{"lines", 40_000, "span", "24h"}
	}
	seen := keySet{}
	in := m.input(m.rule)
	for range 2 + m.rnd.IntN(2) {
		ask := m.again()
		ask.Delim = m.rule.Delim
		ask.Blank = true
		in = m.input(ask, in.texts...)
		var got linestest.Reading
		var outs []string
		for shard := range shards {
			l := m.command("dedupe").place(ask)
			state, out := fmt.Sprint("state", shard), fmt.Sprint("out", shard)
			rule, named := ask, ask.Separator != ""
			isNew := !exists(state)
			if isNew {
				l.keys(rule)
			} else {
				rule, named = l.restKeys(rule)
			}
			l.reads(rule)
			if isNew || l.oneOf(2) {
				l.flag("rate", 1e-9)
				for i := 0; i < len(size); i += 2 {
					l.flag(size[i].(string), size[i+1])
				}
			}
			if shards > 1 {
				l.flag("shard", fmt.Sprintf("%d/%d", shard, shards))
			}
			before := ""
			if hasState {
				l.flag("state", state)
				l.maybe("save-every", "1ms")
				l.maybe("force")
			}
			if hasOut {
				l.flag("output", out)
				if exists(out) {
					before = read(m, out)
				}
			}
			got = rule.Read(in.shown, in.texts, nil)
			wrote := l.runs(endsAfter(got, 1), warnings(rule, got, named), in.stdin, in.args...)
			if hasOut {
				require.Empty(m, wrote)
				var ok bool
				wrote, ok = strings.CutPrefix(read(m, out), before)
				require.True(m, ok)
			}
			outs = append(outs, wrote)
			if exists(state) {
				was := read(m, state)
				l := m.command("dedupe").contradicts(m.rule, true).flag("state", state)
				if shards > 1 {
					l.flag("shard", fmt.Sprintf("%d/%d", shard, shards))
				}
				l.runs(2, []string{state + " was made with "}, "")
				require.Equal(m, was, read(m, state))
			}
		}
		if !hasState {
			seen = keySet{}
		}
		for _, line := range got.Lines {
			if seen[line.Key] {
				continue
			}
			seen[line.Key] = true
			writer := slices.IndexFunc(outs, func(out string) bool {
				return strings.HasPrefix(out, line.Text)
			})
			require.GreaterOrEqual(m, writer, 0, "%q is next, and not in %.999q", line.Text, outs)
			outs[writer] = strings.TrimPrefix(outs[writer], line.Text)
		}
		require.Equal(m, make([]string, shards), outs, "more was written")
	}
}

// bankRound makes a bank of files, and asks it for some of their keys.
func (m *model) bankRound() {
	rule := m.rule
	in := m.input(rule)
	got := rule.Read(in.shown, in.texts, nil)
	has := make([]keySet, len(in.args))
	all := keySet{}
	all.add(got.Lines)
	for i := range has {
		has[i] = keySet{}
	}
	for _, line := range got.Lines {
		has[line.File][line.Key] = true
	}
	l := m.command("bank build").flag("rate", 1e-9).flag("output", "bank")
	l.place(rule).keys(rule).reads(rule)
	l.maybe("comment", "a comment")
	l.maybe("force")
	if in.args[0] == "-" || l.oneOf(2) {
		l.flag("lines", 100+len(all))
	}
	require.Empty(m, l.runs(endsAfter(got, 1), warnings(rule, got, rule.Separator != ""), in.stdin,
		in.args...))
	if got.Err != "" {
		require.NoFileExists(m, "bank")
		return
	}
	keys := slices.Sorted(maps.Keys(all))
	keys = append(keys, "none", "4f4f", "")
	for range 4 {
		m.which(in.args, has, keys)
	}
}

// which asks a bank with the given files for some of keys.
func (m *model) which(names []string, has []keySet, keys []string) {
	rule := recorded(m.rule)
	named := ""
	if rule.Field > 0 && !rule.Hex {
		named = strings.Trim(rule.Separator, ",")
	}
	rule.Field, rule.JSON, rule.Separator, rule.Delim = 0, "", "", '\n'
	var asked []string
	for range 1 + m.rnd.IntN(3) {
		asked = append(asked, m.value(keys[m.rnd.IntN(len(keys))]))
	}
	l := m.command("bank which")
	all := l.maybe("all")
	args, stdin := append([]string{"bank", "--"}, asked...), ""
	if m.oneOf(2) {
		stdin = strings.Join(asked, "\n") + "\n"
		args = args[:1]
		asked, _ = rule.Split(stdin)
		asked = slices.DeleteFunc(asked, func(line string) bool {
			return strings.TrimSuffix(line, "\r") == ""
		})
	}
	var asksFor []string
	for _, line := range asked {
		key, ok := rule.Key(line, 0)
		if !ok || key == "" || named != "" && strings.Contains(line, named) {
			stdout, stderr, ended := inProcess(m, stdin, append(l.args, args...)...)
			require.Equal(m, 2, ended, "%q: %s", l.args, stderr)
			requireError(m, stderr, "...")
			require.Empty(m, stdout)
			return
		}
		asksFor = append(asksFor, key)
	}
	want, ended := "", 1
	for i, name := range names {
		hasKey := func(key string) bool { return has[i][key] }
		hasNot := func(key string) bool { return !has[i][key] }
		may := slices.ContainsFunc(asksFor, hasKey)
		if all {
			may = !slices.ContainsFunc(asksFor, hasNot)
		}
		if may {
			want += name + "\n"
			ended = 0
		}
	}
	require.Equal(m, want, l.runs(ended, nil, stdin, args...), "%q", l.args)
}
