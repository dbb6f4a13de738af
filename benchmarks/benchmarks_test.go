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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func repeatNothing(t *testing.T) {
	old := leastTime
	leastTime = 0
	t.Cleanup(func() { leastTime = old })
}

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
		"growing.Filter": {100, 11_000}, "seiflotfy/cuckoofilter": {1000, 30_000},
	}
	var r report
	filterKeys = 2000
	repeatNothing(t)
	for _, w := range workloads(nil) {
		w.n, w.lookups = min(w.n, 20_000), min(w.lookups, 10)
		if w.lookups > 0 {
			w.n = 1000
		}
		r.add(table{w, w.measure(1), 1})
		for _, res := range r.tables[len(r.tables)-1].results {
			if w.p != 0.01 || w.lookups > 0 || w.order != nil || res.falses == 0 || strings.HasPrefix(res.name, "window.") {
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
		add*) echo 140000000 0;; find*) echo 60000000 100;; *) echo 0 0;; esac; done`
	good := process{name: "good", args: []string{"sh", "-c", fmt.Sprintf(answers, asked), "sh"}}
	bad := process{name: "bad", args: []string{"sh", "-c", "echo no", "sh"}}
	missing := process{name: "missing", args: []string{filepath.Join(t.TempDir(), "none")}}
	w := workload{kind: integers, n: 100, p: 1e-4, processes: []process{good, bad, missing}}
	results := w.measure(3)
	require.Len(t, results, 3)
	assert.Equal(t, 20.0, results[0].bitsPerKey)
	assert.Equal(t, 100, results[0].falses)
	assert.Equal(t, []float64{1.4e6, 1.4e6, 1.4e6}, results[0].times[add])
	assert.Equal(t, 6e5, results[0].median(absent))
	assert.Empty(t, results[0].times[remove])
	assert.ErrorContains(t, results[1].err, `answered "no"`)
	assert.Error(t, results[2].err)
	lines, err := os.ReadFile(asked)
	require.NoError(t, err)
	want := strings.Repeat("empty\nadd 0 100\n", 3) + "find 100 1000000\n"
	for turn := range 3 { // of three repetitions
		want += strings.Repeat("find 0 100\n", 3)
		for i := range 3 {
			want += fmt.Sprintf("find %d 100\n", 100+100*(3*turn+i))
		}
	}
	assert.Equal(t, want, string(lines))
}

// A turn repeats an operation for its time, look-ups each time with the next keys. A repetition
// that was disturbed does not count.
func TestTurn(t *testing.T) {
	took := []float64{5e6, 22e6, 4e6, 11e6, 12e6, 13e6}
	var asked []int
	c := contestant{result: &result{}, empty: func() { asked = append(asked, -1) }}
	c.do = func(_, from, n int) (float64, int) {
		asked = append(asked, from)
		ns := took[0]
		took = took[1:]
		return ns, n
	}
	p := plan{n: 300, absent: 300, window: 100, chunks: 1, turn: 30 * time.Millisecond}
	c.turn(p, absent)
	c.turn(p, absent)
	assert.Equal(t, []int{300, 400, 500, 300, 400, 500}, asked)
	assert.Equal(t, []float64{5e4, 12e4}, c.times[absent])
}

// A filter is emptied before its first keys are added and filled before its first are removed. The
// chunks of a large one are added once.
func TestEmptied(t *testing.T) {
	var asked []string
	c := contestant{result: &result{}, empty: func() { asked = append(asked, "empty") }}
	c.do = func(op, from, n int) (float64, int) {
		asked = append(asked, fmt.Sprintf("%d %d-%d", op, from, from+n))
		return 20e6, n
	}
	for range 3 {
		c.turn(plan{n: 200, chunks: 2, turn: time.Second}, add)
	}
	assert.Equal(t, []string{"empty", "0 0-100", "0 100-200", "empty", "0 0-100"}, asked)
	asked = nil
	c.turn(plan{n: 200, chunks: 1, turn: 30 * time.Millisecond}, remove)
	again := []string{"empty", "0 0-200", "3 0-200"}
	assert.Equal(t, append(again, again...), asked)
}

// A large filter is filled once, in chunks that cover all keys.
func TestChunks(t *testing.T) {
	p := workload{kind: integers, n: 7_000_003, p: 0.01}.plan(7)
	assert.Equal(t, 7, p.chunks)
	end := 0
	for turn := range p.turns(7) {
		from, n := p.keys(add, turn)
		assert.Equal(t, end, from)
		end = from + n
	}
	assert.Equal(t, p.n, end)
	small := workload{kind: integers, n: 1_000_000, p: 0.01}.plan(11)
	assert.Equal(t, 1, small.chunks)
	assert.Equal(t, 12, plan{chunks: 4}.turns(11))
}

// A ratio is the median of the ratios within rounds, however the machine's speed drifts.
func TestRatio(t *testing.T) {
	var r, other result
	for i := range 9 {
		drift := float64(1 + i)
		r.times[add] = append(r.times[add], 3*drift)
		other.times[add] = append(other.times[add], 2*drift)
	}
	assert.InDelta(t, 1.5, r.ratio(&other, add), 1e-12)
	assert.Equal(t, [3]float64{9, 15, 21}, quartiles(r.times[add]))
	assert.True(t, r.disturbed())
	assert.True(t, math.IsNaN(r.ratio(&other, present)))
	even := result{times: [ops][]float64{{10, 11, 12, 12.4}}}
	assert.False(t, even.disturbed())
}

// A build without assembly speaks the protocol and answers as this one.
func TestServe(t *testing.T) {
	found, _ := builds(t.TempDir(), "", true)
	processes := pure(found)
	repeatNothing(t)
	require.Len(t, processes, len(ours))
	w := workload{kind: uuids, n: 1000, p: 0.01, rows: slices.Clone(ours), processes: processes}
	for i, res := range w.measure(1) {
		require.NoError(t, res.err, res.name)
		if i >= len(ours) {
			break
		}
		assert.Positive(t, res.median(add))
	}
}

// The first output of SplitMix64 from seed 0 is e220a8397b1dcdaf.
func TestKeys(t *testing.T) {
	assert.Equal(t, "e220a839-7b1d-cdaf-61bc-8ea8124999d4", string(uuids.make(1, 1).buf))
	seen := 0
	built.make(1, 5).each(func(key []byte) {
		assert.Equal(t, string(uuids.make(uint64(1+seen), 1).buf), string(key))
		seen++
	})
	assert.Equal(t, 5, seen)
}
