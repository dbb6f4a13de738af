package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/window"
)

const logLines = `10.0.0.1 - - [17/May/2015:10:00:00 +0000] "GET /a HTTP/1.1" 200 1 "-" "agent"
10.0.0.1 - frank [17/May/2015:10:00:01 +0000] "GET /a HTTP/1.1" 200 1 "http://x/?q=\"[1]" "agent"
10.0.0.2 - - [17/May/2015:10:00:00 +0000] "GET /a HTTP/1.1" 200 1 "-" "agent"
10.0.0.1 - - [17/May/2015:12:00:00 +0200] "GET /b\"c HTTP/1.1" 200 1 "-" "agent"
not a click

10.0.0.1 - - [17/May/2015:10:59:59 +0000] "GET /b\"c HTTP/1.1" 200 1 "-" "agent"
10.0.0.1 - - [17/May/2015:12:10:00 +0000] "GET /a HTTP/1.1" 200 1 "-" "agent"
10.0.0.3 - - [17/May/2015:12:09:59 +0000] "GET /a HTTP/1.1" 200 1 "-" "agent"
10.0.0.1 - - [99/May/2015:12:10:00 +0000] "GET /a HTTP/1.1" 200 1 "-" "agent"
`

func runOutput(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(args, strings.NewReader(stdin), &out, nil))
	return out.String()
}

func wantLines(t *testing.T, got string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		assert.Contains(t, "\n"+got, "\n"+line+"\n")
	}
}

func TestLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "access.log")
	require.NoError(t, os.WriteFile(name, []byte(logLines), 0o600))
	for _, arg := range []string{"-", name} {
		got := runOutput(t, logLines, "-span=1h", "-n=100", arg)
		wantLines(t, got,
			"7 clicks, 3 lines that are none",
			"from 2015-05-17T10:00:00Z to 2015-05-17T12:10:00Z",
			"5 counted, 2 dropped as repeats within 1h0m0s",
			"0 repeats missed, 0 new clicks dropped by mistake: 0.0000 %",
		)
		assert.NotContains(t, got, "warning")
	}
}

func TestLongLine(t *testing.T) {
	long := strings.Replace(logLines, "agent", strings.Repeat("x", 3<<20), 1)
	wantLines(t, runOutput(t, long, "-"), "6 clicks, 4 lines that are none")
}

func TestEmpty(t *testing.T) {
	wantLines(t, runOutput(t, "", "-"), "0 clicks, 0 lines that are none")
}

func TestOverCapacity(t *testing.T) {
	var log strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&log, "10.0.0.1 - - [17/May/2015:10:00:00 +0000] \"GET /%d HTTP/1.1\" 200 1\n", i)
	}
	assert.Contains(t, runOutput(t, log.String(), "-n=1000", "-"), "warning: the window holds more")
}

func TestGenerated(t *testing.T) {
	const n = 30000
	d, err := newDeduper(window.Config{Capacity: n, FPR: 0.001, Span: 24 * time.Hour})
	require.NoError(t, err)
	require.NoError(t, d.read(generate(n)))
	assert.Zero(t, d.unparsed)
	assert.Zero(t, d.missed)
	assert.InEpsilon(t, 1.1*n, d.clicks, 0.02)
	assert.Equal(t, d.clicks-len(d.exact), d.dropped-d.wrong, "repeats")
	assert.LessOrEqual(t, d.wrong, n/500) // FPR is 1 in 1000 when full
	var out bytes.Buffer
	d.report(&out)
	assert.NotContains(t, out.String(), "warning")
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"-span=0s -", "window: Span = 0s "},
		{"-p=2 -", "window: FPR = 2 "},
		{"-n=0 -", "window: Capacity = 0 "},
		{"-n=-4 -", "not a whole number"},
		{"/no/such/file", "open /no/such/file: "},
	} {
		assert.ErrorContains(t, run(strings.Fields(test.args), strings.NewReader(logLines), io.Discard, nil), test.want)
	}
}
