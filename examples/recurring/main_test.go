package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/examples/internal/cli"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestRecall compares what is found with the formula, at every age.
func TestRecall(t *testing.T) {
	const memory, recall, fpr = 2000, 0.9, 0.01
	config, err := flower.Optimal(memory, recall, fpr)
	if err != nil {
		t.Fatal(err)
	}
	d := newDetector(bloom.Must(flower.New(config)), memory)
	generate(100000, memory, d.event)
	for i, n := range d.recurred {
		if n == 0 {
			continue
		}
		p := d.formula[i] / float64(n)
		bound := 4.75*math.Sqrt(float64(n)*p*(1-p)) + 1
		if got, want := float64(d.found[i]), d.formula[i]; math.Abs(got-want) > bound {
			t.Errorf("age up to %v: found %v of %d, formula %.1f +- %.1f", d.ends[i], got, n, want, bound)
		}
	}
	news := float64(len(d.last))
	if float64(d.alarms) > news*fpr+4.75*math.Sqrt(news*fpr) {
		t.Errorf("%d of %v new events taken for recurring ones", d.alarms, news)
	}
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
			if got := d.count(at + 1); got != len(kinds) {
				t.Errorf("%d others between %d and %d, want %d", got, at, i, len(kinds))
			}
			d.remove(at)
		}
		last[name] = i
		d.append()
	}
}

func TestRun(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "plot.svg")
	var out bytes.Buffer
	if err := run([]string{"-n=2e4", "-t=1000", "-svg", plot}, nil, &out, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"slots of 8 bits", "20000 events", "age up to", "formula", " 100.00%"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	file, err := os.Open(plot)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	dots := 0
	for d := xml.NewDecoder(file); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "circle" {
			dots++
		}
	}
	if dots < 8 {
		t.Errorf("%d dots", dots)
	}
}

func TestLines(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-"}, strings.NewReader("disk full\nno route\ndisk full\nno route\nno route\n"), &out, nil); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("5 events, 2 of them new, of which %.3f %%", 0.0)
	if !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, &out)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ args, want string }{
		{"-t=0", "flower: t = 0 "},
		{"-recall=1", "flower: recall = 1 "},
		{"-fpr=NaN", "flower: fpr = NaN "},
		{"-n=-4", "not a whole number"},
		{"/no/such/file", "open /no/such/file: "},
		{dir, "read " + dir + ": is a directory"},
		{"-n=10 -svg=" + dir, "open " + dir + ": is a directory"},
	} {
		err := run(strings.Fields(test.args), nil, io.Discard, nil)
		require.ErrorContains(t, err, test.want)
		assert.LessOrEqual(t, strings.Count(err.Error(), dir), 1, "%v", err)
	}
	full := errors.New("full")
	assert.ErrorIs(t, cli.Run(run, []string{"-n=0"}, nil, &testkit.LimitedWriter{N: 100, Err: full}, nil), full)
}
