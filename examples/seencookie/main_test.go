package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// What the built-in visitor sees.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run("", &out))
	assert.Contains(t, out.String(), "visit  1: 10 pages\n")
	assert.Regexp(t, `1[12]\d of 120 pages shown, none twice\.`, out.String())
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
	for _, wrong := range []string{"x", text, text + ".", "." + signature, "A" + value, value + "A", other.Value, strings.Repeat("A", 4000)} {
		assert.Contains(t, visit(wrong).Body.String(), "story/001", wrong)
	}
	r := httptest.NewRequest(http.MethodHead, "/", nil)
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	assert.Empty(t, w.Result().Cookies(), "a HEAD shows nothing")
	assert.LessOrEqual(t, len(text), maxValue)
	assert.Len(t, text, 168)
}
