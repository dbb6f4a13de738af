package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// A visitor that keeps its cookie is shown nearly all pages, and none twice.
func TestNoPageTwice(t *testing.T) {
	server := httptest.NewServer(newServer(cookies{[]byte("a key for nothing but these tests")},
		catalogue()))
	defer server.Close()
	client := &http.Client{Jar: bloom.Must(cookiejar.New(nil))}
	seen := map[string]bool{}
	for visit := 0; ; visit++ {
		response, err := client.Get(server.URL)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		require.NoError(t, err)
		shown := regexp.MustCompile(`<li><a href="([^"]*)">`).FindAllStringSubmatch(string(body), -1)
		if len(shown) == 0 {
			break
		}
		require.True(t, visit > 0 || len(shown) == perVisit)
		for _, m := range shown {
			require.False(t, seen[m[1]], "%s again", m[1])
			seen[m[1]] = true
		}
	}
	assert.Greater(t, len(seen), 110, "of 120")
}

// A visitor without a cookie of this server's is new, whatever it sends.
func TestOnlySealedCookiesCount(t *testing.T) {
	c := cookies{[]byte("a key for nothing but these tests")}
	server := newServer(c, catalogue())
	visit := func(value string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if value != "" {
			r.AddCookie(&http.Cookie{Name: "seen", Value: value})
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code)
		return w
	}
	first := visit("")
	value := first.Result().Cookies()[0].Value
	assert.Contains(t, first.Body.String(), "story/001")
	assert.NotContains(t, visit(value).Body.String(), "story/001")
	text, signature, _ := strings.Cut(value, ".")
	other, err := cookies{[]byte("another key")}.seal(bloom.Must(bloom.New(n, p)), false)
	require.NoError(t, err)
	for _, wrong := range []string{
		"x", text, text + ".", "." + signature, "A" + value, value + "A", other.Value,
		strings.Repeat("A", 4000),
	} {
		assert.Contains(t, visit(wrong).Body.String(), "story/001", wrong)
	}
	r := httptest.NewRequest(http.MethodHead, "/", nil)
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	assert.Empty(t, w.Result().Cookies(), "a HEAD shows nothing")
	assert.LessOrEqual(t, len(text), maxValue)
	assert.Len(t, text, 168)
}
