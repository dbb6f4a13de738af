package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/flower"
)

// TestRecall compares what is found with the formula, at every age.
func TestRecall(t *testing.T) {
	const memory, recall, fpr = 2000, 0.9, 0.01
	d := newDetector(bloom.Must(flower.New(bloom.Must(flower.Optimal(memory, recall, fpr)))), memory)
	generate(100000, memory, d.event)
	for i, n := range d.recurred {
		if n == 0 {
			continue
		}
		p := d.formula[i] / float64(n)
		assert.InDelta(t, d.formula[i], d.found[i], 4.75*math.Sqrt(float64(n)*p*(1-p))+1, "age up to %v", d.ends[i])
	}
	news := float64(len(d.last))
	assert.LessOrEqual(t, float64(d.alarms), news*fpr+4.75*math.Sqrt(news*fpr))
}

func TestDistinct(t *testing.T) {
	var d distinct
	stream := strings.Split("a b c a a d b e c a", " ")
	last := map[string]int{}
	for i, name := range stream {
		if at, ok := last[name]; ok {
			kinds := map[string]bool{}
			for _, other := range stream[at+1 : i] {
				kinds[other] = true
			}
			assert.Equal(t, len(kinds), d.count(at+1), "between %d and %d", at, i)
			d.remove(at)
		}
		last[name] = i
		d.append()
	}
}

func TestRun(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "plot.svg")
	var out bytes.Buffer
	require.NoError(t, run([]string{"-n=2e4", "-t=1000", "-svg", plot}, nil, &out, nil))
	for _, want := range []string{"slots of 8 bits", "20000 events", "age up to", "formula", " 100.00%"} {
		assert.Contains(t, out.String(), want)
	}
	file, err := os.Open(plot)
	require.NoError(t, err)
	defer file.Close()
	dots := 0
	for d := xml.NewDecoder(file); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "circle" {
			dots++
		}
	}
	assert.GreaterOrEqual(t, dots, 8)
}

func TestLines(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"-"}, strings.NewReader("disk full\nno route\ndisk full\nno route\nno route\n"), &out, nil))
	assert.Contains(t, out.String(), "5 events, 2 of them new. 0.000 % of these were taken for recurring ones")
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ args, want string }{
		{"-t=0", "flower: t = 0 "},
		{"-recall=1", "flower: recall = 1 "},
		{"-fpr=NaN", "flower: fpr = NaN "},
		{"-n=-4", "not a whole number"},
		{"/no/such/file", "open /no/such/file: "},
		{"-n=10 -svg=" + dir, "open " + dir + ": is a directory"},
	} {
		assert.ErrorContains(t, run(strings.Fields(test.args), nil, io.Discard, nil), test.want)
	}
}
