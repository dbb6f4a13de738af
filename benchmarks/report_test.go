package main

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	results := compare(kinds[0], 1000, nil, limits{rounds: 4})
	r := report{tables: []table{{1000, kinds[0], results}}, scaling: []scaling{{1000, 30, 20}}}
	text := r.markdown()
	for _, lib := range libraries {
		assert.Contains(t, text, "\n| "+lib.name+" | ")
	}
	assert.Contains(t, text, "| 1e3 | 30.0 | 20.0 | 1.50 |")
	assert.Contains(t, text, "Medians of 3 rounds.", "the budget was none")
	assert.NotContains(t, text, "NaN")
	assert.NotContains(t, text, "%!")

	path := filepath.Join(t.TempDir(), "chart.svg")
	require.NoError(t, r.chart(path))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	for d := xml.NewDecoder(file); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
	}
}

func TestQuantile(t *testing.T) {
	v := []float64{5, 1, 4, 2, 3}
	assert.Equal(t, []float64{1, 2, 3, 4, 5}, []float64{quantile(v, 0), quantile(v, 0.25), quantile(v, 0.5), quantile(v, 0.75), quantile(v, 1)})
}
