package main

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	lim := limits{rounds: 4, keys: 2000}
	r := report{
		tables: []table{
			compare(kinds[0], 1000, rate, libraries, nil, lim),
			compareLarge(5000, rate, only(func(l library) bool { return !l.static })),
		},
		shared: []table{compare(kinds[0], 1000, rate, shared(), nil, lim)},
		built:  compareBuilt(1),
	}
	r.tables[0].n = 1e5 // the table that In short takes
	text := r.markdown("../docs")
	for _, lib := range libraries {
		assert.Contains(t, text, "\n| "+lib.name+" | ")
	}
	for _, s := range sharers {
		assert.Contains(t, text, "\n| "+s.name+" | 1 | ")
	}
	for _, recipe := range recipes {
		assert.Contains(t, text, "\n| "+recipe.name+" | blocked.Filter | ")
	}
	assert.Contains(t, text, "| bits-and-blooms, `Add`, which reports nothing | ")
	assert.Contains(t, text, "\n4 rounds.", "as many as the limit")
	assert.Contains(t, text, "\n10 rounds.", "each tenth is one")
	assert.Contains(t, text, "](../docs/speed.svg)")
	assert.NotContains(t, text, "NaN")
	assert.NotContains(t, text, "%!")

	assert.Contains(t, r.raw(), "\nBenchmark/lib=bloom.Filter/op=add/n=1e5/p=0.01/key=8B/table=0 1 ")

	path := filepath.Join(t.TempDir(), "speed.svg")
	require.NoError(t, r.speed().write(path))
	assertXML(t, path)
}

// TestReadme: each row of the README's table is in RESULTS.md, which a run made.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(t, err)
	results, err := os.ReadFile("RESULTS.md")
	require.NoError(t, err)
	cells := func(row string) (all []string) {
		for _, cell := range strings.Split(row, "|") {
			cell, _, _ = strings.Cut(cell, " / ") // the least of the rounds
			all = append(all, strings.TrimSpace(cell))
		}
		return all
	}
	var made [][]string
	for row := range strings.Lines(string(results)) {
		made = append(made, cells(row))
	}
	_, table, _ := strings.Cut(string(readme), "| | add | present | absent | bits a key |\n|---|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	require.Contains(t, table, "`blocked.Filter`")
	for row := range strings.Lines(table) {
		assert.Contains(t, made, cells(row))
	}
}

// The pictures of the documentation are those that the libraries' functions give now.
func TestPictures(t *testing.T) {
	if testing.Short() || runtime.GOARCH != "amd64" {
		t.Skip("takes seconds, and other processors round otherwise")
	}
	dir := t.TempDir()
	require.NoError(t, drawPictures(dir))
	for _, name := range []string{"bits.svg", "rate.svg", "memory.svg"} {
		assertXML(t, filepath.Join(dir, name))
		want, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		have, err := os.ReadFile(filepath.Join("..", "docs", name))
		require.NoError(t, err)
		assert.True(t, string(want) == string(have), "%s is old: go run . -pictures", name)
	}
}

func assertXML(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "NaN")
	assert.NotContains(t, string(text), "Inf")
	for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
	}
}

func TestSpread(t *testing.T) {
	assert.Equal(t, "10.0 / 12.0", spread([]float64{15, 12, 10}))
	assert.Equal(t, "10.0 / 12.0 *", spread([]float64{10, 15.1, 12}))
	assert.Equal(t, "", spread([]float64{nan, nan}))
}

func TestQuantile(t *testing.T) {
	v := []float64{5, 1, 4, 2, 3}
	assert.Equal(t, []float64{1, 2, 3, 4, 5}, []float64{quantile(v, 0), quantile(v, 0.25), quantile(v, 0.5), quantile(v, 0.75), quantile(v, 1)})
}
