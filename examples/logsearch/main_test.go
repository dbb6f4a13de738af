package main

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRun compares what the program prints, but for times, with what is true.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"-files", "500", "-ids", "10", "-p", "0.01"}, &out, nil))
	require.Regexp(t, `^500 files mention 10 requests each\. Their bank takes 0\.\d MB`, out.String())
	require.Regexp(t, `is in\n(  web\d\d/access\.log\.\d: (which is true|a false positive)\n)+`, out.String())
	require.Contains(t, out.String(), "which is true")
	require.Contains(t, out.String(), "and 0 that do were not named.")
	counts := regexp.MustCompile(`For 200 requests the bank named (\d+) files\. (\d+) of them`).FindStringSubmatch(out.String())
	require.Len(t, counts, 3)
	require.Contains(t, out.String(), "for the same answers.")
	require.ErrorContains(t, run([]string{"-files", "0"}, &out, nil), "must be at least 1")
}
