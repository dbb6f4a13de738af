package main

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

var testKey = []byte("a key for nothing but these tests")

func mustCookies(t testing.TB, n uint64, p float64) *cookies {
	t.Helper()
	c, err := newCookies(testKey, n, p)
	require.NoError(t, err)
	return c
}

// The bytes that Guava's BloomFilter.create(byteArrayFunnel(), 10, 0.01) has after
// both digests are put.
func TestGuavaBytes(t *testing.T) {
	f := bloom.Must(bloom.New(10, 0.01))
	for _, url := range []string{"http://www.google.com", "http://www.yahoo.com"} {
		key := md5.Sum([]byte(url))
		f.Add(key[:])
	}
	value := mustCookies(t, 10, 0.01).seal(f, false).Value
	text, _, _ := strings.Cut(value, ".")
	assert.Equal(t, "AQcAAAACJBAAICAAICAAACAAASQQQQ==", text)
}

func TestCookieSizes(t *testing.T) {
	c := mustCookies(t, 100, 0.01)
	cookie := c.seal(c.empty, true)
	text, signature, _ := strings.Cut(cookie.Value, ".")
	assert.Len(t, text, 168)
	assert.Len(t, signature, 43)
	require.NoError(t, cookie.Valid())
	assert.Equal(t, "seen="+cookie.Value+"; Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax", cookie.String(),
		"no character of the value is quoted or dropped")

	fits, over := uint64(0), uint64(0)
	for n := uint64(2000); n < 3000; n += 10 {
		if c, err := newCookies(testKey, n, 0.01); err == nil {
			fits = n
			assert.LessOrEqual(t, len(c.seal(c.empty, true).String()), 4096)
		} else if over == 0 {
			over = n
			assert.ErrorContains(t, err, fmt.Sprintf("n = %d pages at p = 0.01", n))
		}
	}
	assert.Equal(t, fits+10, over)
	for _, n := range []uint64{1e6, 1 << 40, 1<<64 - 1} {
		_, err := newCookies(testKey, n, 0.01)
		assert.ErrorContains(t, err, "4096", "n = %d", n)
	}
	_, err := newCookies(testKey, 100, 1.5)
	assert.ErrorContains(t, err, "bloom: p = 1.5")
}

// sign returns the cookie value that a server with c's key would send for text.
func sign(c *cookies, text string) string {
	return text + "." + c.sign(text)
}

func serve(t testing.TB, c *cookies, pages int) (home string) {
	t.Helper()
	server := httptest.NewServer(newRecommender(c, catalogue(pages)))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// Two visitors each see as much of the catalogue as their filters let them, and
// nothing twice.
func TestVisitorsSeeNoRepeat(t *testing.T) {
	const pages = 100
	home := serve(t, mustCookies(t, pages, 0.01), pages)
	for range 2 {
		v, err := newVisitor(home)
		require.NoError(t, err)
		seen := map[string]bool{}
		for visits := 0; ; visits++ {
			shown, err := v.visit(t.Context())
			require.NoError(t, err)
			if len(shown) == 0 {
				break
			}
			require.LessOrEqual(t, len(shown), perVisit)
			require.Less(t, visits, pages)
			for _, page := range shown {
				require.False(t, seen[page], "%s in visit %d", page, visits)
				seen[page] = true
			}
			assert.Len(t, v.cookie(), 168+1+43)
		}
		// The i-th page is hidden with probability FPR(i), which sums to 0.1 over
		// a filter filled to its n; these pages are fixed, so is the outcome.
		assert.GreaterOrEqual(t, len(seen), pages-1)
	}
}

func TestBadCookieIsNoCookie(t *testing.T) {
	c := mustCookies(t, 100, 0.01)
	home := serve(t, c, 1000)
	v, err := newVisitor(home)
	require.NoError(t, err)
	first, err := v.visit(t.Context())
	require.NoError(t, err)
	require.Len(t, first, perVisit)
	good := v.cookie()
	second, err := v.visit(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, first, second)

	visitWith := func(value string) []string {
		v.setCookie(value)
		shown, err := v.visit(t.Context())
		require.NoError(t, err)
		return shown
	}
	require.Equal(t, second, visitWith(good), "the cookie itself")

	with := func(key []byte, n uint64, p float64) string {
		c, err := newCookies(key, n, p)
		require.NoError(t, err)
		return c.seal(c.empty, false).Value
	}
	text, signature, _ := strings.Cut(good, ".")
	_, another, _ := strings.Cut(c.seal(c.empty, false).Value, ".")
	bad := map[string]string{
		"empty":            "",
		"dot":              ".",
		"no signature":     text,
		"empty signature":  text + ".",
		"no filter":        "." + signature,
		"swapped":          signature + "." + text,
		"twice":            good + "." + good,
		"another's":        text + "." + another,
		"other key":        with([]byte("another key of enough bytes"), 100, 0.01),
		"smaller filter":   with(testKey, 10, 0.01),
		"larger filter":    with(testKey, 2000, 0.01),
		"another k":        with(testKey, 50, 0.0001),
		"not base64":       strings.Repeat("%", 168) + "." + signature,
		"hostile size":     "AQf/////" + good[8:],
		"long":             good + strings.Repeat("A", 5000),
		"over 4096":        strings.Repeat("A", 4097),
		"binary":           "\x01\x07\xff",
		"quoted and comma": `"a,b c"`,
	}
	for i := range good {
		other := "A"
		if good[i] == 'A' {
			other = "B"
		}
		bad[fmt.Sprint("changed at ", i)] = good[:i] + other + good[i+1:]
		bad[fmt.Sprint("cut at ", i)] = good[:i]
	}
	for name, value := range bad {
		require.Equal(t, first, visitWith(value), name)
	}
}

// What a proper signature covers but newCookies would not make is refused too: a
// key may have been in use with other parameters before.
func TestSignedButForeignFilter(t *testing.T) {
	c := mustCookies(t, 100, 0.01) // 960 bits, k = 7
	for name, f := range map[string]*bloom.Filter{
		"m":        bloom.Must(bloom.NewSize(1024, 7)),
		"k":        bloom.Must(bloom.NewSize(960, 6)),
		"strategy": bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 100, 0.01)),
	} {
		_, ok := c.parse(c.seal(f, false).Value)
		assert.False(t, ok, name)
	}
	for name, text := range map[string]string{"empty": "", "not base64": "====", "cut": "AQcAAAAC"} {
		f, ok := c.parse(sign(c, text))
		assert.False(t, ok, name)
		assert.Nil(t, f)
	}
	_, ok := c.parse(c.seal(c.empty, false).Value)
	assert.True(t, ok)

	long := sign(c, strings.Repeat("A", 5000))
	assert.Zero(t, testing.AllocsPerRun(10, func() { c.parse(long) }), "more than a cookie can hold is not even hashed")
}

func FuzzParse(f *testing.F) {
	c := mustCookies(f, 100, 0.01)
	good := c.seal(c.empty, false).Value
	f.Add(good, false)
	f.Add("AQcAAAACJBAAICAAICAAACAAASQQQQ==", true)
	f.Add("AQf/////JBAAICAAICAAACAAASQQQQ==", true)
	f.Fuzz(func(t *testing.T, value string, signed bool) {
		if signed {
			value = sign(c, value)
		}
		got, ok := c.parse(value)
		if ok && !signed && value != good {
			t.Errorf("%q is believed", value)
		}
		if ok && got.M() != c.empty.M() {
			t.Errorf("%q has %d bits", value, got.M())
		}
	})
}

// A cookie of the same name that someone planted beside the right one does not
// hide it.
func TestCookieHeaders(t *testing.T) {
	c := mustCookies(t, 100, 0.01)
	f := c.empty.Clone()
	f.AddString("seen")
	good := cookieName + "=" + c.seal(f, false).Value
	for header, want := range map[string]*bloom.Filter{
		good:                             f,
		"seen=planted; other=1; " + good: f,
		"":                               c.empty,
		"seen":                           c.empty,
		"seen=; seen=\x00\xff; =; ;;":    c.empty,
		"Seen" + good[4:]:                c.empty,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Cookie", header)
		assert.True(t, c.open(r).Equal(want), "%q", header)
	}
}

func TestOnlyShownPagesCount(t *testing.T) {
	home := serve(t, mustCookies(t, 100, 0.01), 100)
	for _, c := range []struct {
		method, path string
		status       int
		cookie       bool
	}{
		{"GET", "", 200, true},
		{"HEAD", "", 200, false},
		{"GET", "favicon.ico", 404, false},
		{"POST", "", 405, false},
	} {
		request, err := http.NewRequest(c.method, home+c.path, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		response.Body.Close()
		assert.Equal(t, c.status, response.StatusCode, "%s /%s", c.method, c.path)
		assert.Equal(t, c.cookie, len(response.Cookies()) > 0, "%s /%s", c.method, c.path)
	}
}

func TestRun(t *testing.T) {
	t.Run("client", func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, run(t.Context(), nil, "", &out))
		assert.Contains(t, out.String(), "100     3000     3200        168           217\n")
		assert.Contains(t, out.String(), "\n119 of 120 pages shown, none twice; false positives of the filter hid 1\n")
		assert.Contains(t, out.String(), "treated as no cookie, shown the first 10 again\n")
	})
	t.Run("too small a filter", func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, run(t.Context(), []string{"-n", "1", "-p", "0.5"}, "", &out))
		assert.Contains(t, out.String(), "nothing new")
	})
	t.Run("server", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- run(ctx, []string{"-addr", "127.0.0.1:0"}, string(testKey), w) }()
		var home string
		_, err := fmt.Fscanf(r, "serving on %s\n", &home)
		require.NoError(t, err)
		v, err := newVisitor(home)
		require.NoError(t, err)
		shown, err := v.visit(t.Context())
		require.NoError(t, err)
		assert.Len(t, shown, perVisit)

		_, ok := mustCookies(t, 100, 0.01).parse(v.cookie())
		assert.True(t, ok, "signed with SEENCOOKIE_KEY")
		cancel()
		select {
		case err := <-done:
			assert.NoError(t, err)
		case <-time.After(time.Minute):
			t.Error("still serving")
		}
	})
	for _, c := range []struct {
		args []string
		key  string
		err  string
	}{
		{[]string{"-nonsense"}, "", "flag provided but not defined: -nonsense"},
		{[]string{"extra"}, "", `unexpected argument "extra"`},
		{[]string{"-n", "-1"}, "", "not a whole number"},
		{[]string{"-p", "NaN"}, "", "bloom: p = NaN"},
		{[]string{"-n", "4000"}, "", "n = 4000"},
		{[]string{"-addr", "127.0.0.1:notaport"}, "", "listen tcp"},
		{nil, "short", "SEENCOOKIE_KEY has 5 bytes"},
	} {
		err := run(t.Context(), c.args, c.key, io.Discard)
		require.ErrorContains(t, err, c.err)
		assert.NotContains(t, err.Error(), "\n")
	}
	full := errors.New("full")
	err := run(t.Context(), []string{"-addr", "127.0.0.1:0"}, "", &testkit.LimitedWriter{N: 10, Err: full})
	assert.ErrorIs(t, err, full, "and it does not serve")
}
