package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// browser is Chromium, to which a test speaks through pipes: JSON that ends with a zero byte.
type browser struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	last    int
	session string
}

// openBrowser starts Chromium without a window. It skips the test where there is none.
func openBrowser(t *testing.T) *browser {
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip(err)
	}
	// Its processes may write to its directory a little longer than the first of them lives.
	profile, err := os.MkdirTemp("", "chromium")
	require.NoError(t, err)
	t.Cleanup(func() { becomes(t, func() bool { return os.RemoveAll(profile) == nil }) })
	theirIn, ourOut, err := os.Pipe()
	require.NoError(t, err)
	ourIn, theirOut, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
		"--disable-background-networking", "--disable-component-update", "--disable-quic",
		"--disable-sync", "--no-first-run", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	require.NoError(t, cmd.Start())
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, in: ourOut, out: bufio.NewReader(ourIn)}
	t.Cleanup(func() {
		b.call("Browser.close", nil, nil)
		cmd.Wait()
		ourIn.Close()
		ourOut.Close()
	})
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true},
		&target)
	b.session = target.SessionID
	b.call("Page.enable", nil, nil)
	return b
}

// call sends a command and waits for its result.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	require.Empty(b.t, b.try(method, params, result), method)
}

// try is call, and returns the browser's error.
func (b *browser) try(method string, params map[string]any, result any) (refusal string) {
	b.t.Helper()
	b.last++
	if params == nil {
		params = map[string]any{}
	}
	message := map[string]any{"id": b.last, "method": method, "params": params}
	if b.session != "" && method != "Browser.close" {
		message["sessionId"] = b.session
	}
	data, err := json.Marshal(message)
	require.NoError(b.t, err)
	_, err = b.in.Write(append(data, 0))
	require.NoError(b.t, err)
	for {
		var answer struct {
			ID     int
			Error  json.RawMessage
			Result json.RawMessage
		}
		b.read(&answer)
		if answer.ID == b.last {
			if result != nil && len(answer.Error) == 0 {
				require.NoError(b.t, json.Unmarshal(answer.Result, result))
			}
			return string(answer.Error)
		}
	}
}

func (b *browser) read(to any) {
	b.t.Helper()
	line, err := b.out.ReadBytes(0)
	require.NoError(b.t, err)
	require.NoError(b.t, json.Unmarshal(line[:len(line)-1], to))
}

// eval returns the value of a JavaScript expression.
func (b *browser) eval(script string) any {
	b.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true,
		"awaitPromise": true}, &got)
	require.Empty(b.t, string(got.ExceptionDetails), script)
	return got.Result.Value
}

// becomes requires that the value of a JavaScript expression becomes want. The browser moves the
// focus some time after a page is there.
func (b *browser) becomes(want any, script string) {
	b.t.Helper()
	becomes(b.t, func() bool { return reflect.DeepEqual(want, b.eval(script)) })
}

// load waits until a page that is being loaded is there. The browser refuses to evaluate what a new
// page interrupts.
func (b *browser) load(do func()) {
	b.t.Helper()
	b.eval("window.old = true")
	do()
	const loaded = "!window.old && document.readyState == 'complete'"
	becomes(b.t, func() bool {
		var got struct{ Result struct{ Value any } }
		params := map[string]any{"expression": loaded, "returnByValue": true}
		return b.try("Runtime.evaluate", params, &got) == "" && got.Result.Value == true
	})
}

func (b *browser) open(url string) {
	b.load(func() { b.call("Page.navigate", map[string]any{"url": url}, nil) })
}

func (b *browser) insert(text string) {
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

func (b *browser) press(key string, code int) {
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key, "windowsVirtualKeyCode": code}
		if key == "Enter" && kind == "keyDown" {
			params["text"] = "\r"
		}
		b.call("Input.dispatchKeyEvent", params, nil)
	}
}

func (b *browser) shot(path string) {
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(path, data, 0o666))
}

// contrasts is an expression for the least contrast of a text, and of a box's border, with what is
// behind it, by the formula of WCAG 2.
const contrasts = `(() => {
	const rgba = c => { const v = c.match(/[\d.]+/g).map(Number); return v.length > 3 ? v : [...v, 1] }
	const over = (a, b) => a.slice(0, 3).map((v, i) => v * a[3] + b[i] * (1 - a[3]))
	const light = c => c.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0)
	const contrast = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05) }
	const canvas = document.createElement('div')
	canvas.style.color = 'Canvas'
	document.body.append(canvas)
	const page = rgba(getComputedStyle(canvas).color).slice(0, 3)
	canvas.remove()
	const behind = e => e ? over(rgba(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : page
	let text = 99, border = 99
	for (const e of document.querySelectorAll('body *')) {
		if ([...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) || e.value)
			text = Math.min(text, contrast(over(rgba(getComputedStyle(e).color), behind(e)), behind(e)))
		if (e.matches('input, textarea, button'))
			for (const b of [behind(e), behind(e.parentElement)])
				border = Math.min(border, contrast(over(rgba(getComputedStyle(e).borderTopColor), behind(e.parentElement)), b))
	}
	return [text, border]
})()`

// TestPageInBrowser: the page can be read and used on a phone and on a screen, by day and by night,
// with the keyboard alone, and by who hears it. With BLOOM_SHOTS=DIR it writes pictures there.
func TestPageInBrowser(t *testing.T) {
	b := openBrowser(t)
	const comment = "Fruit that is in season, from the market's own list"
	s, web := serving(t, "x\n", "")
	good(t, "apple\nbanana\n", "build --force -p 1e-6 -o", s.path, "--comment", comment)
	require.True(t, bloom.Must(s.reload()))
	for _, width := range []int{320, 390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			name := fmt.Sprint(width, " ", scheme)
			b.call("Emulation.setDeviceMetricsOverride",
				map[string]any{"width": width, "height": 844, "deviceScaleFactor": 1,
					"mobile": width < 500}, nil)
			b.call("Emulation.setEmulatedMedia",
				map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme",
					"value": scheme}}}, nil)
			looks := func(page string) {
				t.Helper()
				require.Equal(t, true, b.eval("document.documentElement.scrollWidth <= innerWidth"), name)
				got := b.eval(contrasts).([]any)
				require.GreaterOrEqual(t, got[0], 4.5, "text, %s, %s", page, name)
				require.GreaterOrEqual(t, got[1], 3.0, "border, %s, %s", page, name)
				if dir := os.Getenv("BLOOM_SHOTS"); dir != "" {
					b.shot(fmt.Sprintf("%s/%d-%s-%s.png", dir, width, scheme, page))
				}
			}
			b.open(web.URL)
			looks("empty")
			b.becomes("key", "document.activeElement.id") // the empty page waits for a key
			require.Equal(t, comment, b.eval("document.querySelector('h1').nextElementSibling.innerText"))
			require.Equal(t, []any{"Line", "Lines"}, b.eval(
				"[...document.querySelectorAll('input, textarea')].map(e => "+
					"e.labels[0].offsetHeight && e.labels[0].innerText)"))

			b.insert("apple")
			b.load(func() { b.press("Enter", 13) })
			looks("key")
			answered := func(title string) {
				t.Helper()
				require.Equal(t, title+" – fruit.bloom – bloom", b.eval("document.title"))
				b.becomes([]any{"answer", "status"},
					"[document.activeElement.id, document.activeElement.getAttribute('role')]")
			}
			answered("apple is probably in the list")
			b.press("Tab", 9)
			b.becomes("lines", "document.activeElement.id") // Tab goes on after the answer

			b.insert("banana\nplum\ngooseberry\n0123456789abcdef0123456789abcdef01234567")
			b.press("Tab", 9)
			b.load(func() { b.press("Enter", 13) })
			looks("lines")
			answered("1 of 4 lines are probably in the list")
			require.Equal(t, []any{1.0, 1.0, 1.0},
				b.eval(`[...document.querySelectorAll('#answers th')].slice(0, 3).map(e => {
				const range = document.createRange()
				range.selectNodeContents(e)
				return range.getClientRects().length
			})`), "words are broken, "+name)
			b.open(web.URL + "/?key=plum")
			require.Equal(t, "plum is certainly not in the list – fruit.bloom – bloom",
				b.eval("document.title"))
			require.Equal(t, 0.0, b.eval("document.querySelectorAll('[autofocus]').length"),
				"the focus leaves the answer")
		}
	}
}
