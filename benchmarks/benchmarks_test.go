package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every row finds what was added and others at about the rate that it was asked for: none is fast
// by being wrong. What the tables are made of is written whole.
func TestWorkloads(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	// Of a million keys 1 % are 10,000 with a standard deviation of 100, and sizes vary.
	rates := map[string][2]int{
		"ristretto.z": {0, 10_500}, "bbloom": {0, 10_500}, "parquet-go": {11_300, 13_700},
		"blobloom":               {5500, 7500},
		"blobloom.SyncFilter, 1": {5500, 7500}, "blobloom.SyncFilter, 2": {5500, 7500},
		"xorfilter":      {3200, 4600},
		"growing.Filter": {100, 11_000}, "growing.Filter, batches": {100, 11_000},
		"seiflotfy/cuckoofilter": {1000, 30_000},
	}
	var r report
	filterKeys = 2000
	for _, w := range workloads(nil) {
		w.n = min(w.n, 20_000)
		if w.turn > 0 && w.turn < turnKeys { // a turn of a bank
			w.n = 1000
		}
		tables := w.measure(1)
		require.Len(t, tables, 1+len(w.orders))
		r.tables = append(r.tables, tables...)
		for _, res := range tables[0].results {
			if w.p != 0.01 || res.falses == 0 || strings.HasPrefix(res.name, "window.") {
				continue
			}
			limits, ok := rates[res.name]
			if !ok {
				limits = [2]int{500, 11_000}
			}
			assert.GreaterOrEqual(t, res.falses, limits[0], "%s: %s", w.title, res.name)
			assert.LessOrEqual(t, res.falses, limits[1], "%s: %s", w.title, res.name)
		}
	}
	dir := t.TempDir()
	require.NoError(t, drawSpeed(filepath.Join(dir, "speed.svg"), r.tables[0]))
	require.NoError(t, drawPictures(dir))
	for _, name := range []string{"speed", "bits", "rate", "memory"} {
		file, err := os.Open(filepath.Join(dir, name+".svg"))
		require.NoError(t, err)
		tags := 0
		decoder := xml.NewDecoder(file)
		for token, err := decoder.Token(); !errors.Is(err, io.EOF); token, err = decoder.Token() {
			require.NoError(t, err, name)
			if _, ok := token.(xml.StartElement); ok {
				tags++
			}
		}
		assert.Greater(t, tags, 20, name)
		file.Close()
	}
	assert.Contains(t, r.markdown(), "\n## The rows\n")
	var samples strings.Builder
	require.NoError(t, r.samples(&samples))
	const line = "\nBenchmarkFilter/table=In_the_cache/row=bloom.Filter_batches/op=absent 1 "
	assert.Contains(t, samples.String(), line)
}

// A process is asked in turns, each key of the file is named once while it fills its filter, and a
// process that fails is not measured.
func TestProcesses(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	const answers = `echo ready 2000; while read line; do echo $line >>%s; case $line in
		add*) echo 140000 0;; find*) echo 60000 100;; *) echo 0 0;; esac; done`
	good := process{name: "good", args: []string{"sh", "-c", fmt.Sprintf(answers, asked), "sh"}}
	bad := process{name: "bad", args: []string{"sh", "-c", "echo no", "sh"}}
	missing := process{name: "missing", args: []string{filepath.Join(t.TempDir(), "none")}}
	w := workload{kind: integers, n: 100, p: 1e-6, processes: []process{good, bad, missing}}
	results := w.measure(2)[0].results
	require.Len(t, results, 3)
	assert.Equal(t, 20.0, results[0].bitsPerKey)
	assert.Equal(t, []float64{1400, 1400}, results[0].times[add][0])
	assert.Equal(t, 600.0, results[0].time(absent, tenth))
	assert.True(t, math.IsNaN(results[0].time(remove, tenth)))
	assert.ErrorContains(t, results[1].err, `answered "no"`)
	assert.Error(t, results[2].err)
	lines, err := os.ReadFile(asked)
	require.NoError(t, err)
	want := strings.Repeat("empty\nadd 0 100 100\n", 2) +
		"find 0 100 100\nfind 100 100 0\nfind 0 100 100\nfind 200 100 100\n"
	assert.Equal(t, want, string(lines))
}

// Each turn of look-ups has the next keys, and keys beside them are looked up before.
func TestTurn(t *testing.T) {
	var asked []string
	f := filter{reset: func() {},
		prepare: func(ks keys) { asked = append(asked, fmt.Sprint("prepare ", ks.buf[0])) },
		count: func(ks keys) int {
			asked = append(asked, fmt.Sprint("count ", ks.buf[0]))
			return ks.len()
		}}
	w := workload{kind: kind{"a byte", 1, false, func(key []byte, id uint64) { key[0] = byte(id) }}}
	w.n, w.turn = 200, 100
	p := w.plan(10)
	c := row{"", "", func(int, float64) filter { return f }}.local(w, p)
	for range 3 {
		c.turn(p, absent)
	}
	// Absent keys have the ids from a multiple of 256 on.
	assert.Equal(t, strings.Fields(`prepare 100 count 100 prepare 0 count 0
		prepare 0 count 0 prepare 100 count 100
		prepare 100 count 100 prepare 200 count 200`), strings.Fields(strings.Join(asked, " ")))
	assert.Len(t, c.times[absent][0], 3)
}

// A filter is emptied before its first keys are added, and filled before they are removed again. Of
// a chunk that is longer than a turn, the first keys are not measured.
func TestBegin(t *testing.T) {
	var asked []string
	note := func(format string, args ...any) { asked = append(asked, fmt.Sprintf(format, args...)) }
	c := contestant{result: &result{}, empty: func() { note("empty") }}
	c.fill = func(op, first, n int) { note("fill %d %d-%d", op, first, first+n) }
	c.operate = func(op, first, n int) (float64, int) {
		note("%d %d-%d", op, first, first+n)
		return 20e6, n
	}
	p := plan{n: 200, turn: 100, chunks: 2}
	turns := func(n, op int) []string {
		asked = nil
		for range n {
			c.begin(p, op)
			c.turn(p, op)
		}
		return asked
	}
	assert.Equal(t, []string{"empty", "0 0-100", "0 100-200", "empty", "0 0-100"}, turns(3, add))
	assert.Len(t, c.times[add][0], 2)
	assert.Len(t, c.times[add][1], 1)
	want := []string{"3 0-100", "3 100-200", "empty", "fill 0 0-200", "3 0-100"}
	assert.Equal(t, want, turns(3, remove))
	p.turn, c.done = 10, [ops]int{}
	want = []string{"empty", "fill 0 0-90", "0 90-100", "fill 0 100-190", "0 190-200"}
	assert.Equal(t, want, turns(2, add))
	want = []string{"fill 3 0-90", "3 90-100", "fill 3 100-190", "3 190-200"}
	assert.Equal(t, want, turns(2, remove))
	c.done, c.whole = [ops]int{}, true
	assert.Equal(t, []string{"empty", "0 0-200", "empty", "0 0-200"}, turns(3, add))
}

// A large filter is filled once, in chunks that cover all keys. Each ends with a turn.
func TestChunks(t *testing.T) {
	w := workload{kind: integers, n: 1_000_003, p: 0.01}
	assert.Equal(t, 123, w.plan(300).chunks)
	assert.Equal(t, parts, w.plan(1).chunks)
	p := w.plan(50)
	assert.Equal(t, 50, p.chunks)
	end := 0
	for i := range p.fills(7) {
		first, n := p.chunk(i)
		assert.Equal(t, end, first)
		end = first + n
		first, n = p.keys(add, i)
		assert.Equal(t, turnKeys, n)
		assert.Equal(t, end, first+n)
	}
	assert.Equal(t, p.n, end)
	assert.Equal(t, 12, plan{chunks: 4}.fills(11))
}

// Contestants that begin at the same time add all keys of their chunks but those of the turns.
func TestFillsTogether(t *testing.T) {
	const n = 20_000
	var all []contestant
	w := workload{kind: built, n: n, p: 1e-9, turn: 500}
	p := w.plan(parts)
	own := row{"own", "", func(int, float64) filter {
		return filter{reset: func() {}, add: func(keys) {}, count: keys.len,
			fill: func(ks keys) {
				assert.NotSame(t, &p.all.scratch[0], &ks.scratch[0], "one scratch for all")
			}}
	}}
	for _, row := range append(slices.Clone(ours), removers[0], own) {
		all = append(all, row.local(w, p))
	}
	contestants{all: all, random: rand.New(rand.NewPCG(1, 1))}.rounds(parts, p, add)
	for _, c := range all {
		_, found := c.operate(present, 0, n)
		assert.Equal(t, n, found, c.name)
	}
}

// The keys of a bank's turns are in members of their own: each member has the keys of one.
func TestBanks(t *testing.T) {
	const n = 1000
	w := workload{kind: integers, n: n, p: 0.01, turn: 4}
	p := w.plan(100)
	for _, row := range banks {
		c := row.local(w, p)
		for range p.chunks {
			c.begin(p, add)
			c.turn(p, add)
		}
		_, found := c.operate(present, 0, n)
		assert.Equal(t, n, found, row.name)
		_, found = c.operate(absent, n, n)
		assert.Less(t, found, n/5, row.name)
	}
}

// The figure is the tenth percentile, of additions the mean over the parts of a fill: a filter that
// is slow once it is full does not look fast.
func TestPercentiles(t *testing.T) {
	var values []float64
	for i := range 101 {
		values = append(values, float64(100-i))
	}
	assert.Equal(t, 10.0, percentile(values, tenth))
	assert.Equal(t, 50.0, percentile(values, half))
	assert.True(t, math.IsNaN(percentile(nil, half)))
	var r, other result
	r.times[add] = [parts][]float64{{10, 10}, {30, 30}}
	other.times[add] = [parts][]float64{{5}, {5}}
	assert.Equal(t, 20.0, r.time(add, tenth))
	assert.Equal(t, 4.0, r.ratio(&other, add))
	assert.True(t, math.IsNaN(r.ratio(&other, present)))
}

// Answers are counted as with a branch.
func TestTrues(t *testing.T) {
	for n := range 20 {
		answers := make([]bool, n)
		for i := range answers {
			answers[i] = i%3 == 1
		}
		assert.Equal(t, (n+1)/3, trues(answers), n)
	}
	assert.Equal(t, 1, one(true))
	assert.Zero(t, one(false))
}

// A build without assembly speaks the protocol and answers as this one.
func TestServe(t *testing.T) {
	found, _ := builds(t.TempDir(), "", true)
	processes := pure(found)
	require.Len(t, processes, len(ours))
	w := workload{kind: uuids, n: 1000, p: 0.01, rows: slices.Clone(ours), processes: processes}
	for i, res := range w.measure(1)[0].results {
		require.NoError(t, res.err, res.name)
		if i >= len(ours) {
			break
		}
		assert.Positive(t, res.time(add, tenth))
	}
}

// The first output of SplitMix64 from seed 0 is e220a8397b1dcdaf.
func TestKeys(t *testing.T) {
	assert.Equal(t, "e220a839-7b1d-cdaf-61bc-8ea8124999d4", string(uuids.make(1, 1).buf))
	seen := 0
	built.make(1, 5).forEach(func(key []byte) {
		assert.Equal(t, string(uuids.make(uint64(1+seen), 1).buf), string(key))
		seen++
	})
	assert.Equal(t, 5, seen)
}

// The README has the figures of the last run, whatever it had before.
func TestReadme(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	data, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	made := func(name string, ns float64) *result {
		r := &result{name: name, bitsPerKey: 9}
		for op := range r.times {
			r.times[op][0] = []float64{ns}
		}
		return r
	}
	var tables []table
	for factor := range 3 {
		unit := float64(1 + factor)
		var cached table
		for i, row := range readmeRows {
			cached.results = append(cached.results, made(row.name, unit*float64(10+i)))
		}
		base := made(ours[0].name, 2)
		growing := table{results: []*result{base, made("growing.Filter", 7*unit)}}
		removal := table{results: []*result{
			made("cuckoo.Filter", 30*unit), made("counting.Filter", 50*unit), made(seiflotfy.name, 10),
		}}
		tables = []table{cached, growing, removal}
		require.NoError(t, updateReadme(path, tables))
		data, err = os.ReadFile(path)
		require.NoError(t, err)
		text := strings.Join(strings.Fields(string(data)), " ")
		for _, want := range []string{
			"become 1.4 to 1.4 times as fast",
			fmt.Sprintf("`growing` takes %.1f times as long", 7*unit/2),
			fmt.Sprintf("`counting` %.1f to %.1f times as long", 3*unit, 5*unit),
			fmt.Sprintf("|---| | `bloom.Filter` | %.1f | %.1f |", 10*unit, 10*unit),
			fmt.Sprintf("| bits-and-blooms, `Add` | %.1f | | | 9.0 | ![Nanoseconds", 15*unit),
			"cores, with " + runtime.Version() + ".",
		} {
			assert.True(t, strings.Contains(text, want), want) // Contains would print all of the text
		}
	}
	require.NoError(t, os.WriteFile(path, data[:1000], 0o600))
	assert.ErrorContains(t, updateReadme(path, tables), "0 times")
}
