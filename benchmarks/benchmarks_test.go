package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
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
		"ristretto.z": {0, 10_500}, "bbloom": {0, 10_500}, "parquet-go": {11_300, 13_700}, "blobloom": {5500, 7500},
		"blobloom.SyncFilter, 1": {5500, 7500}, "blobloom.SyncFilter, 2": {5500, 7500}, "xorfilter": {3200, 4600},
		"growing.Filter": {100, 11_000}, "growing.Filter, batches": {100, 11_000}, "seiflotfy/cuckoofilter": {1000, 30_000},
	}
	var r report
	filterKeys = 2000
	for _, w := range workloads(nil) {
		w.n = min(w.n, 20_000)
		if w.turn > 0 && w.turn < turnKeys { // a turn of a bank
			w.n = 1000
		}
		r.addTable(table{w, w.measure(1)})
		for _, res := range r.tables[len(r.tables)-1].results {
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
	results := w.measure(2)
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
	p := w.plan()
	p.absent = 200
	c := row{"", "", func(int, float64) filter { return f }}.local(w, p)
	for range 3 {
		c.turn(p, absent)
	}
	// Absent keys have the ids from a multiple of 256 on.
	assert.Equal(t, strings.Fields(`prepare 100 count 100 prepare 0 count 0
		prepare 0 count 0 prepare 100 count 100
		prepare 100 count 100 prepare 0 count 0`), strings.Fields(strings.Join(asked, " ")))
	assert.Len(t, c.times[absent][0], 3)
}

// A filter is emptied before its first keys are added and filled before its first are removed.
func TestEmptied(t *testing.T) {
	var asked []string
	c := contestant{result: &result{}, empty: func() { asked = append(asked, "empty") }}
	c.operate = func(op, first, n int) (float64, int) {
		asked = append(asked, fmt.Sprintf("%d %d-%d", op, first, first+n))
		return 20e6, n
	}
	p := plan{n: 200, turn: 100, chunks: 2}
	for range 3 {
		c.turn(p, add)
	}
	assert.Equal(t, []string{"empty", "0 0-100", "0 100-200", "empty", "0 0-100"}, asked)
	assert.Len(t, c.times[add][0], 2)
	assert.Len(t, c.times[add][1], 1)
	asked = nil
	c.turn(p, remove)
	assert.Equal(t, []string{"empty", "0 0-200", "3 0-100"}, asked)
	asked, c.done[add], c.whole = nil, 0, true
	for range 3 {
		c.turn(p, add)
	}
	assert.Equal(t, []string{"empty", "0 0-200", "empty", "0 0-200"}, asked)
}

// A large filter is filled once, in chunks that cover all keys.
func TestChunks(t *testing.T) {
	p := workload{kind: integers, n: 1_000_003, p: 0.01}.plan()
	assert.Equal(t, 123, p.chunks)
	end := 0
	for turn := range p.fills(7) {
		first, n := p.keys(add, turn)
		assert.Equal(t, end, first)
		assert.LessOrEqual(t, n, turnKeys)
		end = first + n
	}
	assert.Equal(t, p.n, end)
	assert.Equal(t, 12, plan{chunks: 4}.fills(11))
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
	for i, res := range w.measure(1) {
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
