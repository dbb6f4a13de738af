package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The bank names every file that mentions a request, as single filters do; run returns an error
// where it does not.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(1000, 1e-3, &out))
	assert.Contains(t, out.String(), "1000 files mention 60 requests each.")
	assert.Regexp(t, `For 2000 requests the bank named \d+ files, \d+ of them in error\.`, out.String())
	assert.ErrorContains(t, run(10, 2, &out), "p = 2")
}
