package main

import (
	"html"
	neturl "net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPageForms: what the page answers to what no browser sends.
func TestPageForms(t *testing.T) {
	s, web := serving(t, "6869\n", "--hex --comment <sold>")
	for body, want := range map[string]struct{ title, says string }{
		"":                  {"", "fruit.bloom"},
		"lines=6869%0d%0a6": {"1 of 2 lines are probably in the list – ", "in the list."},
		"lines=6869":        {"1 of 1 line is probably in the list – ", "in the list."},
		"lines=6": {"0 of 1 line is probably in the list – ",
			"is not an even number of hexadecimal digits"},
		"lines=" + strings.Repeat("6", 1<<20): {"This is more than the page checks in one go – ",
			"This is more than the page checks in one go. The shell commands"},
	} {
		got, _ := ask(t, "POST", web.URL, body, "Content-Type", "application/x-www-form-urlencoded")
		require.Contains(t, got, "<title>"+want.title+"fruit.bloom – bloom</title>")
		require.Contains(t, got, want.says)
		require.Contains(t, got, `<th scope="row">loaded</th><td>`+
			s.now.Load().loaded.Format("2 January 2006, 15:04"))
	}
	page, resp := ask(t, "GET", web.URL+"/?key="+neturl.QueryEscape(`<script>alert("x")</script>`), "")
	require.Contains(t, resp.Header.Get("Content-Security-Policy"),
		"default-src 'none'; style-src 'sha256-")
	require.NotContains(t, page, "<script")
	page, _ = ask(t, "GET", web.URL+"/?key=6869", "")
	require.Contains(t, page, "<title>6869 is probably in the list – fruit.bloom – bloom</title>")
	require.Regexp(t, "probably in the list</span>; (one in .*|hardly any) others would be, too", page)
	require.Contains(t, page, "<h1>fruit.bloom</h1>\n<p id=\"comment\">&lt;sold&gt;</p>")
}

// TestPageCurl runs the lines that the page has to copy.
func TestPageCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	for flags, test := range map[string]struct{ list, lines, want string }{
		"-p 1e-9":             {"apple\nbanana\n", "plum\nbanana\n", "true\nbanana\nplum\n"},
		"-p 1e-9 --fold-case": {"APPLE\nbanana\n", "plum\nBanana\n", "true\nBanana\nplum\n"},
		"-p 1e-9 --hex":       {"6170706c65\n00FF\n", "abcd\n00ff\n", "true\n00ff\nabcd\n"},
	} {
		t.Run(flags, func(t *testing.T) {
			_, web := serving(t, test.list, flags)
			page, _ := ask(t, "GET", web.URL, "")
			_, shell, _ := strings.Cut(html.UnescapeString(page), "<pre>")
			shell, _, _ = strings.Cut(shell, "</pre>")
			dir := t.TempDir()
			write(t, filepath.Join(dir, "lines.txt"), test.lines)
			cmd := child(t, "sh", "-ec", strings.ReplaceAll(shell, "curl ", "curl -sS "))
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			answers, info, _ := strings.Cut(string(out), "{")
			require.Equal(t, test.want, answers)
			require.Contains(t, info, `"type":"bloom.Filter"`)
			require.Equal(t, test.list, good(t, test.list, "check", filepath.Join(dir, "copy.bloom")),
				"the copy has what the list has")
		})
	}
}

func TestOneIn(t *testing.T) {
	for rate, want := range map[float64]string{
		0.9: "most", 0.3: "one in 3", 0.05: "one in 20", 9.87e-4: "one in 1,000",
		3e-7: "one in 3,300,000", 1e-16: "hardly any", 0: "hardly any",
	} {
		require.Equal(t, want, oneIn(rate), rate)
	}
}
