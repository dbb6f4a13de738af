//go:build unix

package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// browser is a headless Chromium, which is spoken to by its pipe.
type browser struct {
	t       testing.TB
	to      io.Writer
	from    *bufio.Reader
	session string
	sent    int
	asked   []string // addresses that it asked for
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// startBrowser skips the test where there is no Chromium.
func startBrowser(t testing.TB) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"google-chrome", "chromium-browser", "chromium"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("there is no browser: Debian has one in package chromium")
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe")
	theirs, to, err := os.Pipe()
	require.NoError(t, err)
	from, theirOut, err := os.Pipe()
	require.NoError(t, err)
	cmd.ExtraFiles = []*os.File{theirs, theirOut} // 3 and 4
	require.NoError(t, cmd.Start())
	theirs.Close()
	theirOut.Close()
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil, nil)
		to.Close()
		io.Copy(io.Discard, from)
		from.Close()
		cmd.Wait()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call sends a command and waits for its answer.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.sent++
	command := map[string]any{"id": b.sent, "method": method}
	if params != nil {
		command["params"] = params
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	data, err := json.Marshal(command)
	require.NoError(b.t, err)
	_, err = b.to.Write(append(data, 0))
	require.NoError(b.t, err)
	id := b.sent
	got := b.until(func(m message) bool { return m.ID == id })
	require.Empty(b.t, string(got.Error), method)
	if result != nil {
		require.NoError(b.t, json.Unmarshal(got.Result, result))
	}
}

// until reads messages up to the wanted one, and notes what the others say.
func (b *browser) until(wanted func(message) bool) message {
	b.t.Helper()
	for {
		data, err := b.from.ReadBytes(0)
		require.NoError(b.t, err)
		var m message
		require.NoError(b.t, json.Unmarshal(data[:len(data)-1], &m))
		switch m.Method {
		case "Network.requestWillBeSent":
			var sent struct{ Request struct{ URL string } }
			require.NoError(b.t, json.Unmarshal(m.Params, &sent))
			b.asked = append(b.asked, sent.Request.URL)
		case "Log.entryAdded": // what its console would show, such as a policy that was broken
			b.t.Errorf("chromium: %s", m.Params)
		}
		if wanted(m) {
			return m
		}
	}
}

func (b *browser) loaded() {
	b.t.Helper()
	b.until(func(m message) bool { return m.Method == "Page.loadEventFired" })
}

// open opens an address.
func (b *browser) open(address string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": address}, nil)
	b.loaded()
}

// eval returns what an expression is on the page.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var got struct{ Result struct{ Value any } }
	b.call("Runtime.evaluate", map[string]any{"expression": expression}, &got)
	return fmt.Sprint(got.Result.Value)
}

// screen sets the size of the screen.
func (b *browser) screen(width, height int, dark bool) {
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// TestPage uses the page as people do. With BLOOM_SCREENSHOT=FILE it makes the README's picture.
func TestPage(t *testing.T) {
	b := startBrowser(t)
	s, web := serving(t, lines.Key{}, "apple\nbanana\n", "-n", "1000", "-p", "1e-6", "-comment", "what is <sold> here")
	t.Chdir(filepath.Dir(s.path))
	s.path = filepath.Base(s.path)
	require.NoError(t, s.load())
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.screen(360, 640, false)
	b.open(web.URL)
	for _, says := range []string{"bloom.Filter", "about 2", "made for", "1,000 keys at a rate of 1e-06", "what is <sold> here", "loaded"} {
		assert.Contains(t, b.eval("document.getElementById('filter').innerText"), says)
	}
	assert.Contains(t, b.eval("document.querySelector('pre').innerText"), "curl --data-binary @lines.txt "+web.URL+"/contains")
	assert.Equal(t, "360", b.eval("document.documentElement.scrollWidth"), "a phone need not scroll sideways")
	light := b.eval("getComputedStyle(document.documentElement).colorScheme + getComputedStyle(document.querySelector('h1')).color")
	b.screen(360, 640, true)
	assert.NotEqual(t, light, b.eval("getComputedStyle(document.documentElement).colorScheme + getComputedStyle(document.querySelector('h1')).color"))

	submit := func(field, text string) {
		b.eval("document.getElementsByName(" + quote(field) + ")[0].value = " + quote(text))
		b.eval("document.getElementsByName(" + quote(field) + ")[0].form.querySelector('button').click()")
		b.loaded()
	}
	submit("key", "apple")
	assert.Regexp(t, "^probably in the list; (one in .*|hardly any) others would be, too$", b.eval("document.getElementById('answer').innerText"))
	assert.Equal(t, web.URL+"/?key=apple", b.eval("location.href"))
	const hostile = `<script>document.title = "x"</script>&"'`
	submit("key", hostile)
	assert.Equal(t, "certainly not in the list", b.eval("document.getElementById('answer').innerText"))
	assert.Equal(t, hostile, b.eval("document.getElementsByName('key')[0].value"))
	submit("lines", "apple\nplum\n\nbanana")
	assert.Equal(t, "2 of 4 lines are probably in the list.", b.eval("document.getElementById('summary').innerText"))
	assert.Equal(t, "certainly not in the list", b.eval("document.querySelectorAll('#answers tr')[1].cells[1].innerText"))
	assert.Equal(t, "banana", b.eval("document.querySelectorAll('#answers tr')[3].cells[0].innerText"))

	for _, address := range b.asked {
		assert.True(t, strings.HasPrefix(address, web.URL+"/") || strings.HasPrefix(address, "data:,"), "%s", address)
	}
	if path := os.Getenv("BLOOM_SCREENSHOT"); path != "" {
		b.screen(480, 760, false)
		submit("key", "apple")
		var shot struct{ Data string }
		b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
		data, err := base64.StdEncoding.DecodeString(shot.Data)
		require.NoError(t, err)
		write(t, path, string(data))
	}
}

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestPageForms: what the page answers to what no browser sends.
func TestPageForms(t *testing.T) {
	_, web := serving(t, lines.Key{Hex: true}, "hi\n")
	for body, want := range map[string]string{
		"lines=6869%0d%0a6":                   "1 of 2 lines are probably in the list.",
		"lines=6869":                          "1 of 1 line is probably in the list.",
		"lines=6":                             "is not an even number of hexadecimal digits",
		"lines=" + strings.Repeat("6", 1<<20): "This is more than the page checks at once.",
	} {
		got, _ := ask(t, "POST", web.URL, body, "Content-Type", "application/x-www-form-urlencoded")
		require.Contains(t, got, want)
	}
	_, resp := ask(t, "GET", web.URL+"/?key=6", "")
	require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-")
}

// TestPageCurl runs the lines that the page has to copy.
func TestPageCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	_, web := serving(t, lines.Key{}, "apple\nbanana\n", "-p", "1e-9")
	page, _ := ask(t, "GET", web.URL, "")
	_, shell, _ := strings.Cut(html.UnescapeString(page), "<pre>")
	shell, _, _ = strings.Cut(shell, "</pre>")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "lines.txt"), "plum\nbanana\n")
	cmd := exec.Command("sh", "-ec", strings.ReplaceAll(shell, "curl ", "curl -sS "))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `^true\nbanana\nplum\n{"file":".*}\n$`, string(out))
	require.Equal(t, "apple\n", good(t, "apple\nplum\n", "check", filepath.Join(dir, "copy.bloom")))
}

func TestOneIn(t *testing.T) {
	for rate, want := range map[float64]string{0.9: "most", 0.301: "most", 0.3: "one in 3", 0.05: "one in 20", 0.01: "one in 100", 9.87e-4: "one in 1,000",
		1e-6: "one in a million", 3e-7: "one in 3.3 million", 1e-9: "one in a billion", 8e-12: "one in 130 billion", 1e-16: "hardly any", 0: "no"} {
		assert.Equal(t, want, oneIn(rate), rate)
	}
}
