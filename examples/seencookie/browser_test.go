package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBrowser has a browser mark what it has seen: the script of /all says of each page
// what the filter on the server says.
func TestBrowser(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && browser == "" {
			browser = path
		}
	}
	if browser == "" && os.Getenv("BLOOM_REQUIRE_READERS") == "" {
		t.Skip("there is no browser: Debian has one in package chromium")
	}
	const n = 40
	c := mustCookies(t, n, 0.2)
	f := c.empty.Clone()
	pages := catalogue(n)
	recommend(pages[n/2:], f)
	recommend(pages[n/2:], f)
	cookie := c.seal(f, false)
	handler := newRecommender(c, pages)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.AddCookie(cookie) // as the visitor's browser would
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()

	cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=10000", "--dump-dom", server.URL+"/all")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.Output()
	require.NoError(t, err)
	items := regexp.MustCompile(`<li .*</li>`).FindAllString(string(out), -1)
	require.Len(t, items, n, "%s", out)
	seen := 0
	for i, item := range items {
		require.Contains(t, item, pages[i])
		want := f.Contains(keyOf(pages[i]))
		require.Equal(t, want, strings.Contains(item, "(seen)"), item)
		if want {
			seen++
		}
	}
	require.GreaterOrEqual(t, seen, n/2)
	require.Less(t, seen, n)
}
