package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/window"
)

// addNumbers adds the lines of numbers.
func addNumbers(f bloom.Set, from, to int) {
	for i := from; i < to; i++ {
		f.AddHash(bloom.SumString(fmt.Sprintf("line %d", i)))
	}
}

// guava is the file that build makes for n keys of the lines of numbers.
func guava(t *testing.T, n uint64, p float64, from, to int) string {
	f := bloom.Must(bloom.New(roomFor(n, p), p))
	addNumbers(f, from, to)
	path := filepath.Join(t.TempDir(), "guava")
	f.UpdateInfo(func(i *bloom.Info) {
		i.N = n
		i.P = p
		i.Hash = "SumString"
	})
	require.NoError(t, f.SaveFile(path))
	return read(t, path)
}

// TestBuild compares what is built with the library's own filter. Without -n it is made for
// the number of different lines.
func TestBuild(t *testing.T) {
	t.Chdir(t.TempDir())
	in := numbers(0, 3000) + numbers(1000, 5000)
	good(t, in, "build -n 5k -p 0.01 -o out")
	require.Equal(t, guava(t, 5000, 0.01, 0, 5000), read(t, "out"))
	good(t, in, "build -p 0.01 -o out")
	require.Equal(t, guava(t, 5000, 0.01, 0, 5000), read(t, "out"))
	good(t, "", "build --force -o out")
	require.Equal(t, guava(t, 1, 0.001, 0, 0), read(t, "out"))
	saying(t, 0, "warning: the filter has about 3841 lines, more than it was made for: other "+
		"lines are reported at a rate of 0.74", in, "build -n 1000 -o out")
	requireAlone(t, "out")

	good(t, in, "build -n 5k -p 1e-6 --type blocked -o out")
	f := bloom.Must(blocked.New(5000, 1e-6))
	addNumbers(f, 0, 5000)
	require.True(t, f.Equal(bloom.Must(blocked.LoadFile("out"))))
}

// TestWarnsOfTooManyLines: build and add warn of lines beyond -n if they raise the rate, and of
// nothing else.
func TestWarnsOfTooManyLines(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, k := range kinds {
		if k.flag == "" || k.repeats { // a full cuckoo.Filter is an error
			continue
		}
		says := "warning: the filter has about ... lines, more than it was made for: " +
			"other lines are reported at a rate of ..."
		if k.keeps {
			says = ""
		}
		build := "build --force -p 0.01 -o f --type " + k.flag
		saying(t, 0, says, numbers(0, 1000), build+" -n 40")
		require.Equal(t, says == "", bloom.Must(load("f")).Stats().FPR <= 0.01, k.flag)
		good(t, numbers(0, 1000), build+" -n 1000")
		saying(t, 0, says, numbers(0, 1060), build+" -n 1000")
		good(t, numbers(0, 1000), build)
		saying(t, 0, says, numbers(0, 4000), "add f")
	}
}

// TestWarningsHaveTheRightNumbers: a warning of too many lines has the number of lines in the
// filter, not only of those that came now, and the filter's rate. A full cuckoo.Filter is named
// with the lines that it has.
func TestWarningsHaveTheRightNumbers(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "names", "name\n")
	const build = "build --force -p 0.001 -n 1000 -o f"
	for _, test := range []struct{ before, in, line string }{
		{"", numbers(0, 2000), build},
		{"", numbers(0, 2000), build + " --type blocked"},
		{"", numbers(0, 2000), build + " --type counting"},
		{"", numbers(0, 2000), build + " --never names"},
		{build, numbers(1000, 2000), "add f"},
		{build + " --type blocked", numbers(1000, 2000), "add f"},
		{build + " --type counting", numbers(1000, 2000), "add f"},
	} {
		if test.before != "" {
			good(t, numbers(0, 1000), test.before)
		}
		_, stderr, status := bloomRun(t, test.in, test.line)
		require.Zero(t, status, test.line)
		var lines, rate float64
		_, err := fmt.Sscanf(stderr, "bloom: warning: the filter has about %f lines, more than it was "+
			"made for: other lines are reported at a rate of %f\n", &lines, &rate)
		require.NoError(t, err, "%s: %s", test.line, stderr)
		require.InEpsilon(t, 2000, lines, 0.05, test.line)
		require.InEpsilon(t, bloom.Must(load("f")).Stats().FPR, rate, 0.05, test.line)
	}
	_, stderr, status := bloomRun(t, numbers(0, 2000), build+" --type cuckoo")
	require.Equal(t, 1, status)
	text, ok := strings.CutPrefix(stderr, "bloom: the filter is full with ")
	require.True(t, ok, stderr)
	text, _, _ = strings.Cut(text, " lines, ")
	lines, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	require.NoError(t, err, stderr)
	require.InDelta(t, 1050, lines, 50, stderr)
}

// TestCuckooOfRepeatedLines: without -n, build makes a filter that has each line as often as it
// comes. If there is none, it says that lines repeat, and what to do; so it does with -n and at
// add.
func TestCuckooOfRepeatedLines(t *testing.T) {
	t.Chdir(t.TempDir())
	for times := 1; times <= 4; times++ {
		in := strings.Repeat(numbers(0, 20_000), times)
		good(t, in+strings.Repeat("often\n", 250), "build --type cuckoo -o list")
		require.Contains(t, good(t, "", "info list"),
			"keys      about "+humanize.Comma(int64(20_000*times+250))+"\n")
		good(t, in, "remove list")
		require.Equal(t, "often\n", good(t, "often\nother\n", "check list"))
	}
	const says = "the filter is full because lines repeat, and each repetition takes a place, up " +
		"to eight; drop repeats first with bloom dedupe, or use --type counting: it has ... lines, " +
		"but was made for ...; no file was changed"
	in := strings.Repeat(numbers(0, 1000), 20)
	for _, flags := range []string{"", "-n 20k"} {
		saying(t, 1, says, in, "build --force --type cuckoo -o none "+flags)
		require.NoFileExists(t, "none")
	}
	good(t, "", "build --force -n 20k --type cuckoo -o list")
	saying(t, 1, says, in, "add list")
	good(t, good(t, in, "dedupe"), "build --type cuckoo -o list")
	good(t, in, "build --force --type counting -o list")
	saying(t, 1, "the filter is full with 1,086 lines, repeats included; no file was changed",
		numbers(0, 1000)+numbers(0, 1000), "build -n 1000 --type cuckoo -o none")
}

// TestRefused: a cuckoo filter that refuses a line has as many as it was made for, or repeats.
func TestRefused(t *testing.T) {
	f := bloom.Must(newCuckoo(10, 0.01))
	f.AddBatch(nil, []bloom.Hash{bloom.SumString("a"), bloom.SumString("b")})
	for n, repeat := range map[uint64]bool{1: false, 2: false, 3: true} {
		f.UpdateInfo(func(i *bloom.Info) { i.N = n })
		require.NoError(t, refused(f, 5, 5))
		require.Equal(t, repeat, errors.Is(refused(f, 4, 5), errRepeats), n)
	}
}

// TestMemoryForRepeats: without -n, a filter that is too large at once is an error, too.
func TestMemoryForRepeats(t *testing.T) {
	cfg := &lines.Config{Names: []string{write(t, filepath.Join(t.TempDir(), "in"), "a\n")},
		Delim: '\n', Counts: new(lines.Counts)}
	f, err := buildMeasured(t.Context(), cfg, true, func(uint64) (hashFilter, error) {
		return nil, memoryError{errors.New("it is too large")}
	})
	require.EqualError(t, err, "it is too large")
	require.Nil(t, f)
}

// TestErrorBeforeInterrupt: a signal hides no error.
func TestErrorBeforeInterrupt(t *testing.T) {
	cfg := &lines.Config{Names: []string{write(t, filepath.Join(t.TempDir(), "in"), "a\n")},
		Delim: '\n', Counts: new(lines.Counts)}
	ctx, cancel := context.WithCancel(t.Context())
	err := scan(ctx, cfg, "", func(*lines.Batch) (int, error) {
		cancel()
		return 0, errors.New("the filter is full")
	})
	require.EqualError(t, err, "the filter is full")
}

// TestSample compares the error of the estimate with its standard error, 1.2/sqrt(maxSample/2) at
// worst. An estimate is rarely too small.
func TestSample(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, maxSample, maxSample + 1, 300_000, 2_000_000} {
		var s sample
		for range n {
			h := bloom.NewHash(rnd.Uint64(), rnd.Uint64())
			s.addBatch([]bloom.Hash{h})
			if n < 1e6 {
				s.addBatch([]bloom.Hash{h})
			}
		}
		if n <= maxSample {
			require.EqualValues(t, n, s.count())
			continue
		}
		require.InEpsilon(t, n+n/100, s.count(), 4*1.2/181)
	}
	for i := range 20 { // n/100 is 3.2 standard errors
		const n = 100_000
		var s sample
		for range n {
			s.addBatch([]bloom.Hash{bloom.NewHash(rnd.Uint64(), rnd.Uint64())})
		}
		require.GreaterOrEqual(t, s.count(), uint64(n), "sample %d is too small", i)
	}
}

// TestCheck: every line is in one of check and check -v, in order, all types alike.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, kind := range []string{"guava", "blocked", "growing", "counting", "cuckoo"} {
		good(t, numbers(0, 20000), "build -n 21k -p 1e-9 -o list --type", kind)
		in := numbers(19000, 21000)
		require.Equal(t, numbers(19000, 20000), good(t, in, "check list"), kind)
		require.Equal(t, numbers(20000, 21000), good(t, in, "check -v list"), kind)

		good(t, numbers(20000, 20100), "add list")
		require.Equal(t, numbers(19000, 20100), good(t, in, "check list"), kind)
	}
	requireAlone(t, "list")
	saying(t, 1, "", "other\n", "check list")
	for _, args := range []string{"list missing", "missing", dir, "-x list", "/dev/null"} {
		saying(t, 2, "...", "", "check "+args)
	}

	for _, nothing := range []string{gzipped(""), zstded("")} {
		write(t, "packed", nothing)
		saying(t, 2, "packed is not a filter: it is empty", "x\n", "check packed")
	}

	// A filter may be compressed, but nothing is added to it then.
	for _, data := range []string{gzipped(read(t, "list")), zstded(read(t, "list"))} {
		write(t, "packed", data)
		require.Equal(t, "line 7\n", good(t, "line 7\nline x\n", "check packed"))
		require.Contains(t, good(t, "", "info --json packed"), fmt.Sprintf(`"size":%d,`, len(data)))
		saying(t, 1, "packed is compressed; decompress it first", "x\n", "add packed")
		require.Equal(t, data, read(t, "packed"))
	}
}

func TestMerge(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, kind := range []string{"guava", "blocked", "counting"} {
		build := func(in, out string) { good(t, in, "build -n 3000 -p 0.0001 --type "+kind+" -o", out) }
		build(numbers(0, 1000), "a")
		build(numbers(1000, 2000), "b")
		build(numbers(2000, 2500), "c")
		good(t, "", "merge -o out a b c")
		require.Equal(t, numbers(0, 2500), good(t, numbers(0, 2500), "check out"), kind)
		build(numbers(0, 2500), "a")
		require.Equal(t, read(t, "a"), read(t, "out"), kind)
	}
	for path, n := range map[string]uint64{"a": 1000, "b": 1001} { // of one size
		f := bloom.Must(bloom.NewSize(1<<14, 7))
		f.UpdateInfo(func(i *bloom.Info) {
			i.N = n
			i.P = 0.01
		})
		require.NoError(t, f.SaveFile(path))
	}
	good(t, "", "merge -o d a b")
	require.Equal(t, bloom.Info{N: 1000, P: 0.01}, bloom.Must(bloom.LoadFile("d")).Info(),
		"the first one's")
	_, err := unionOf(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = unionOf(interrupted, []string{"a", "b"})
	require.ErrorIs(t, err, errInterrupted)
}

// TestInterruptedAfterReading: a signal also ends the work that begins when all lines are read.
func TestInterruptedAfterReading(t *testing.T) {
	names := []string{write(t, filepath.Join(t.TempDir(), "in"), numbers(0, 10_000))}
	read := func() *lines.Config {
		return &lines.Config{Names: names, Delim: '\n', Counts: new(lines.Counts)}
	}
	never := write(t, filepath.Join(t.TempDir(), "never"), "x\n")
	for name, build := range map[string]func(
		context.Context, func(uint64) (hashFilter, error)) (hashFilter, error){
		"different lines": func(ctx context.Context, create func(uint64) (hashFilter, error),
		) (hashFilter, error) {
			return buildMeasured(ctx, read(), false, create)
		},
		"repeated lines": func(ctx context.Context, create func(uint64) (hashFilter, error),
		) (hashFilter, error) {
			return buildMeasured(ctx, read(), true, create)
		},
		"never": func(ctx context.Context, create func(uint64) (hashFilter, error),
		) (hashFilter, error) {
			n, err := readNever(ctx, never, read())
			require.NoError(t, err)
			return n.build(ctx, read(), 0, create)
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		made := 0
		k, _ := kindFor("guava")
		_, err := build(ctx, func(n uint64) (hashFilter, error) {
			made++
			cancel()
			return k.create(n, 1e-6)
		})
		require.ErrorIs(t, err, errInterrupted, name)
		require.Equal(t, 1, made, name)
	}
}

// TestMergeRefuses: filters that cannot be merged leave what was there, and the error says why they do
// not and, if their sizes differ, how to build some that do.
func TestMergeRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, line := range map[string]string{
		"a": "build -n 10", "large": "build -n 100", "blocked": "build -n 10 --type blocked",
		"growing": "build -n 10 --type growing", "cuckoo": "build -n 10 --type cuckoo",
	} {
		good(t, name+"\n", line+" -o", name)
	}
	same := func(name string, k int, hash string) {
		f := bloom.Must(bloom.NewSize(1<<10, k))
		f.AddString(name)
		f.UpdateInfo(func(i *bloom.Info) { i.Hash = hash })
		require.NoError(t, f.SaveFile(name))
	}
	same("k7", 7, "")
	same("k6", 6, "")
	same("ours", 7, "SumString")
	same("theirs", 7, "by hand")
	const differ = ": bloom: filters differ in m: ... and ...; build both with the same --type, " +
		"-n and -p"
	for _, test := range []struct{ names, says string }{
		{"a large", "a and large" + differ},
		{"large a", "large and a" + differ},
		{"a a large", "a and large" + differ},
		{"a missing", "missing: no such file or directory"},
		{"missing a", "missing: no such file or directory"},
		{"a blocked", "a and blocked: a bloom.Filter and a blocked.Filter cannot be merged"},
		{"growing growing", "growing and growing: filters of type growing.Filter cannot be merged"},
		{"cuckoo cuckoo", "cuckoo and cuckoo: filters of type cuckoo.Filter cannot be merged"},
		{"ours theirs", "ours and theirs: keys of SumString and keys of by hand do not mix"},
		{"k7 ours theirs", "k7 and theirs: keys of SumString and keys of by hand do not mix"},
		{"k7 k6", "k7 and k6: bloom: filters differ in k: 7 and 6"},
	} {
		before := read(t, "a")
		_, stderr, status := bloomRun(t, "", "merge --force -o a "+test.names)
		require.Equal(t, 1, status, test.names)
		requireError(t, stderr, test.says)
		require.Equal(t, before, read(t, "a"), test.names)
	}
	for _, names := range []string{"k7 ours", "ours k7", "ours ours"} {
		good(t, "", "merge -o union "+names)
		require.Equal(t, "SumString", bloom.Must(bloom.LoadFile("union")).Info().Hash, names)
	}
}

// TestInfo: every type is recognised by its bytes.
func TestInfo(t *testing.T) {
	const path = "filter"
	t.Chdir(t.TempDir())
	var r report
	info := func() {
		t.Helper()
		r = report{}
		require.NoError(t, json.Unmarshal([]byte(good(t, "", "info --json filter")), &r))
		require.Equal(t, path, r.File)
		require.EqualValues(t, len(read(t, path)), r.Size)
		text := good(t, "", "info filter")
		require.Contains(t, text, r.Type)
		require.Contains(t, text, r.Checksum)
		require.NotContains(t, text, " 1 cache lines")
	}
	for kind, name := range map[string]string{
		"guava": "bloom.Filter", "bloom": "bloom.Filter", "bloom.Filter": "bloom.Filter",
		"cuckoo.Filter": "cuckoo.Filter", "blocked": "blocked.Filter", "growing": "growing.Filter",
		"counting": "counting.Filter", "cuckoo": "cuckoo.Filter",
	} {
		good(t, numbers(0, 1000), "build -n 1000 -p 0.01 -o filter --type", kind)
		info()
		assert.Equal(t, name, r.Type)
		assert.InEpsilon(t, 1000, r.Keys, 0.1, kind)
		assert.InEpsilon(t, 1000, r.MadeFor, 0.02, kind)
		if kind != "growing" {
			assert.InDelta(t, 0.01, r.Rate, 0.003, kind)
			assert.Greater(t, r.Fill, 0.3, kind)
			assert.Greater(t, r.M, uint64(9000), kind)
		}
		assert.Equal(t, "CRC-32C", r.Checksum, kind)
	}
	f := bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 1000, 0.01))
	java, err := f.MarshalBinary()
	require.NoError(t, err)
	write(t, path, string(java))
	info()
	assert.Equal(t, "bloom.Filter Mitz32 7 none",
		fmt.Sprint(r.Type, " ", r.Strategy, " ", r.K, " ", r.Checksum))

	require.NoError(t, bloom.Must(window.New(window.Config{N: 100, P: 0.01, Span: 1e15,
		Generations: 3})).SaveFile(path))
	info()
	assert.Equal(t, "window.Filter", r.Type)
	require.NoError(t, bloom.Must(flower.New(flower.Config{Slots: 64, Ways: 4,
		Bits: 8})).SaveFile(path))
	info()
	assert.Equal(t, "flower.Filter", r.Type)

	// Of several, the good ones are shown.
	write(t, "bad", "BLMX")
	out := saying(t, 1, `bad is not a filter: it begins with "BLMX"`, "", "info bad filter")
	assert.Contains(t, out, "flower.Filter")
	// Each bad one is named, in order.
	for _, command := range []string{"info", "info --json", "bank info", "bank info --json"} {
		stdout, stderr, status := bloomRun(t, "", command+" bad none bad missing")
		assert.Empty(t, stdout, command)
		assert.Equal(t, 1, status, command)
		assert.Regexp(t, `^bloom: bad .*\nbloom: none: .*\nbloom: bad .*\nbloom: missing: .*\n$`,
			stderr, command)
	}
}

// TestTextsThatBeginLikeFilters: a file that is no filter is not replaced, whatever its first
// bytes.
func TestTextsThatBeginLikeFilters(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, text := range []string{
		"BLM list of members\n", "BLMA\nmembers\n", "BLMS\tmember\n", "BLM", "BLMB", "BLMBLM\n", "BLM\x01\x01", "\x01\x05 a text\n",
		"{\"a\": 1}\n",
		"\x00\x00\x00\x01\x00\x00\x00\x05\x00\x00\x00\x01 a longer video",
	} {
		for _, command := range []string{"build -o", "bank build -n 1 -o", "dedupe --state"} {
			_, stderr, status := bloomRun(t, "apple\n", command, write(t, "f", text), "-")
			require.NotZero(t, status, "%q: %s", text, stderr)
			require.Equal(t, text, read(t, "f"), "%s %q", command, text)
		}
	}
}

// TestInfoWords: info calls bits and checksums what they are in a type.
func TestInfoWords(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -n 10 --type cuckoo -o cuckoo")
	require.Contains(t, good(t, "", "info cuckoo"), " % of the bits are those of tags\n")
	write(t, "packed", gzipped(read(t, "cuckoo")))
	require.Contains(t, good(t, "", "info packed"), "checksum  right, that of the compression\n")
	f := bloom.Must(flower.New(bloom.Must(flower.Optimal(10, 0.9, 0.01))))
	require.NoError(t, f.SaveFile("flower"))
	require.Contains(t, good(t, "", "info flower"), " % of the slots are set\n")
}

// TestLongInfoIsReplaced: a filter in Guava's form is replaced, however long its Info is.
func TestLongInfoIsReplaced(t *testing.T) {
	t.Chdir(t.TempDir())
	f := bloom.Must(bloom.New(10, 0.01))
	f.UpdateInfo(func(i *bloom.Info) {
		i.Hash = strings.Repeat("h", 255)
		i.Comment = strings.Repeat("c", 4096)
		i.Meta = "a=" + strings.Repeat("m", 4094)
	})
	require.NoError(t, f.SaveFile("list"))
	good(t, "a\n", "build -o list")
	good(t, "", "check -q list", write(t, "in", "a\n"))
}

// TestInfoThatIsTooLong: a file whose Info would become too long to be read again stays as it is.
func TestInfoThatIsTooLong(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, kind := range []string{"guava", "blocked", "counting"} {
		for _, name := range []string{"a", "b"} {
			good(t, "x,y\n", "build --force -n 10 --type "+kind+" -o", name)
			f, err := load(name)
			require.NoError(t, err)
			f.UpdateInfo(func(i *bloom.Info) { i.Meta = name + "=" + strings.Repeat(name, 4090) })
			require.NoError(t, (&target{path: name}).save(f))
		}
		before := read(t, "a")
		for _, line := range []string{"merge -o a a b", "add --force -f 1 a"} {
			saying(t, 1, "a was not saved: ...", "x,z\n", line)
			require.Equal(t, before, read(t, "a"), line)
			requireBeside(t, "a", "b")
		}
		saying(t, 1, "...len(Info.Meta) = ...", "", "merge -o - a b")
	}
}

// TestFileInfo: what build says of a file stays with it.
func TestFileInfo(t *testing.T) {
	t.Chdir(t.TempDir())
	said := func(path string) bloom.Info { return bloom.Must(bloom.LoadFile(path)).Info() }
	want := bloom.Info{N: 6500, P: 0.01, Hash: "SumString", Comment: "numbers\tof 2026"}
	good(t, numbers(0, 1000), "build -n 6500 -p 0.01 -o filter --comment", want.Comment)
	require.Equal(t, want, said("filter"))
	text := good(t, "", "info filter")
	require.Contains(t, text, "made for  6,500 keys at a rate of 0.01\n")
	require.Contains(t, text, "hash      SumString\n")
	require.Contains(t, text, `comment   "numbers\tof 2026"`+"\n")
	require.Contains(t, good(t, "", "info --json filter"),
		`"hash":"SumString","comment":"numbers\tof 2026"`)

	good(t, numbers(1000, 2000), "add filter")
	require.Equal(t, want, said("filter"))
	good(t, numbers(2000, 2010), "dedupe --state filter")
	require.Equal(t, want, said("filter"))
	good(t, numbers(0, 1000), "build -n 6500 -p 0.01 --comment others -o other")
	good(t, "", "merge -o out filter other")
	merged := bloom.Info{N: 6500, P: 0.01, Hash: "SumString", Comment: "merged from several filters"}
	require.Equal(t, merged, said("out"))
	good(t, "00ff\n", "build --hex -o filter")
	require.Equal(t, bloom.Info{N: 1, P: 0.001, Hash: "Sum of the bytes given in hexadecimal"},
		said("filter"))
	good(t, "Ab\n", "build --fold-case -o filter")
	require.Equal(t, "SumString, case folded by Unicode 15.0.0", said("filter").Hash)
	for line, size := range map[string]string{
		"build -o filter --comment " + strings.Repeat("c", 4097): "4,097 bytes",
		"bank build --comment \xff -o filter filter":             "1 byte",
	} {
		saying(t, 2, "--comment has "+size+": it must be UTF-8, and no longer than 4,096 bytes",
			"a\n", line)
	}
}

// TestKeysAreMadeAsTheFileSays: no command looks for hexadecimal digits in a list of bytes.
func TestKeysAreMadeAsTheFileSays(t *testing.T) {
	t.Chdir(t.TempDir())
	const path = "list"
	for _, test := range []struct{ made, in, found string }{
		{"", "ff\nFF\nff\r\n", "ff\nff\r\n"},
		{"--hex", "FF\n0f\nff\r\n", "FF\nff\r\n"},
		{"--fold-case", "FF\n0f\nff\r\n", "FF\nff\r\n"},
		{"--keep-cr", "ff\nff\r\n", "ff\n"},
		{"--fold-case --keep-cr", "FF\nff\r\n", "FF\n"},
	} {
		build := "build --force --type counting -n 100 -p 1e-9 -o list " + test.made
		good(t, "ff\n", build)
		require.Equal(t, test.found, good(t, test.in, "check list"))
		require.Equal(t, test.found, good(t, test.in, "check list "+test.made))
		good(t, strings.SplitAfter(test.found, "\n")[0], "remove list")
		good(t, "", build)
		good(t, test.found, "add list")
		require.Equal(t, test.found, good(t, test.in, "check list"))
		require.True(t, has(t, serverOf(t, path), test.found[:2]))
		require.Empty(t, good(t, test.found, "dedupe --state list"))
		for _, runs := range []string{"--hex", "--fold-case", "--keep-cr", "--hex=false"} {
			if strings.Contains(test.made+" "+runs, "--fold-case --keep-cr") || runs == test.made ||
				test.made == "" && runs == "--hex=false" ||
				strings.HasPrefix(test.made, "-fold") && runs == "--hex=false" ||
				test.made == "--keep-cr" && runs == "--hex=false" {
				continue
			}
			before := read(t, path)
			for _, command := range []string{"check", "add", "remove", "dedupe --state", "serve"} {
				saying(t, 2, "list was made with...", "ff\n", command, path, runs)
			}
			require.Equal(t, before, read(t, path))
		}
	}
	// What a program says in its own words is not about flags.
	f := bloom.Must(bloom.New(1, 0.01))
	f.AddString("ff")
	f.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumString of the host" })
	require.NoError(t, f.SaveFile(path))
	const says = `warning: list says that its keys are "SumString of the host", ` +
		"but bloom looks lines up as the flags say"
	saying(t, 0, says, "ff\n", "check list")
	saying(t, 0, says, "ff\n", "check --fold-case list")
	saying(t, 1, says, "gg\n", "check list")
	require.Equal(t, "gg\n", saying(t, 0, says, "gg\n", "check -v list"))
	saying(t, 0, says, "gg\nff\n", "check -v list")
	before := read(t, path)
	saying(t, 2, `list says that its keys are "SumString of the host", so lines would be mixed `+
		`with other keys; --force continues anyway`, "ff\n", "dedupe --state list")
	require.Equal(t, before, read(t, path))
	require.Empty(t, good(t, "ff\n", "dedupe --force --state list"))
	hash := func() string { return bloom.Must(bloom.LoadFile(path)).Info().Hash }
	require.Equal(t, "several ways", hash(), "no one way finds all keys")
	require.NoError(t, f.SaveFile(path))
	saying(t, 0, `warning: list says that its keys are "SumString of the host", but bloom adds `+
		`lines as the flags say`, "gg\n", "add list")
	require.Equal(t, "several ways", hash())

	b := bloom.Must(bank.New(1, 0.01))
	b.Append()
	b.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumString of the host" })
	b.AddString(0, "ff")
	b.AddString(0, "gg\r")
	require.NoError(t, b.SaveFile(path))
	require.Equal(t, "member 0\n", saying(t, 0, says, "", "bank which list ff"))
	require.Equal(t, "member 0\n", saying(t, 0, says, "", "bank which list", "gg\r"),
		"a carriage return may be a part of its keys")
	saying(t, 1, says, "", "bank which list gg")
}

// TestInfoOfShortWindow: info says of a window that was given too many keys that it remembers less
// than its span.
func TestInfoOfShortWindow(t *testing.T) {
	t.Chdir(t.TempDir())
	f := bloom.Must(window.New(window.Config{N: 100, P: 0.01, Span: time.Hour}))
	addNumbers(f, 0, 10_000)
	require.NoError(t, f.SaveFile("state"))
	require.Regexp(t, "reach     too many keys came for 1h0m0s: "+
		`every key of only the last [0-9]+m?[0-9]*s is remembered\n`,
		good(t, "", "info state"))
}

// TestBlankLines: they are left out, as their key is found in half of the full filters. With
// --blank they are lines as others. dedupe knows exactly whether one came.
func TestBlankLines(t *testing.T) {
	t.Chdir(t.TempDir())
	found := 0
	for i := range 12 {
		in := numbers(200*i, 200*i+200)
		good(t, "\n"+in+"\r\n\n", "build -o list")
		require.EqualValues(t, 200, bloom.Must(bloom.LoadFile("list")).Info().N)
		require.Empty(t, saying(t, 1, "", "\n\r\n", "check list"))
		require.Empty(t, saying(t, 1, "", "\n\r\n", "check -v list"))
		if out, _, _ := bloomRun(t, "\n", "check --blank list"); out != "" {
			found++
		}
		require.Equal(t, "\nx\n", good(t, "\nx\n\r\n"+in, "dedupe --state list"),
			"the first empty line is new")
		require.Empty(t, good(t, in+"\nx\n", "dedupe --state list"))
		require.Contains(t, good(t, "", "info list"), "meta      blank=1\n")
	}
	require.Greater(t, found, 0, "what the rule is for")
	require.Less(t, found, 12)
	good(t, "a\n\n", "build --blank -o list")
	require.Equal(t, "\na\n", good(t, "\na\nb\n", "check --blank list"))
	require.Equal(t, "c\n", good(t, "\na\nc\n", "dedupe --state list"))
	good(t, "a\n", "build -o list")
	good(t, "b\n\n", "add --blank list")
	require.Equal(t, "c\n", good(t, "\na\nb\nc\n", "dedupe --state list"),
		"add --blank took the empty line")
	for i, flags := range []string{"", "-n 100", "-n 100 --span 1h"} {
		line := fmt.Sprint("dedupe ", flags, " --state ", i)
		require.Equal(t, "a\n\nb\n", good(t, "a\n\n\nb\n\n", line))
		require.Equal(t, "c\n", good(t, "\nc\n", line))
	}
}
