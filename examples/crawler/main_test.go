package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// to returns a transport that takes every host for server, so that tests crawl
// the same URLs each time.
func to(t testing.TB, handler http.Handler) http.RoundTripper {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := &http.Transport{
		MaxIdleConnsPerHost: 16,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func testConfig(t testing.TB, handler http.Handler) config {
	return config{
		start:     "http://site.example",
		workers:   8,
		maxPages:  1 << 20,
		maxBody:   1 << 20,
		timeout:   10 * time.Second,
		expect:    10_000,
		rate:      1e-9,
		warn:      func(text string) { t.Error(text) },
		transport: to(t, handler),
	}
}

func TestEachPageOnce(t *testing.T) {
	for _, workers := range []int{1, 8, 64} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			const pages = 500
			s := newSite(pages)
			cfg := testConfig(t, s)
			cfg.workers = workers
			r, err := crawl(t.Context(), cfg)
			require.NoError(t, err)

			want := map[string]int{}
			for _, path := range s.urls() {
				want[path] = 1
			}
			require.Equal(t, want, s.hits)
			assert.Equal(t, len(want), r.fetched)
			assert.EqualValues(t, len(want), r.admitted)
			assert.Equal(t, pages+searches+1, r.pages)
			assert.Equal(t, pages/fileEvery, r.other)
			assert.Equal(t, pages/redirectEvery-1+3, r.redirects)
			assert.Equal(t, pages/missingEvery, r.failed)
			assert.Equal(t, r.links, r.duplicates+r.offSite+int(r.admitted)-1)
			assert.Equal(t, pages*4+1, r.offSite)
			assert.Zero(t, r.left)
			assert.Less(t, 100, r.longest)
			assert.Less(t, r.longest, r.fetched)
			assert.Less(t, r.missed, 1e-5)
			assert.ErrorContains(t, r.failure, "404 Not Found")
		})
	}
}

// A filter that is too small misses pages, as many as the report expects, and says
// so; no page is fetched twice all the same. One worker makes it the same crawl
// each time.
func TestSmallFilterWarnsAndMisses(t *testing.T) {
	s := newSite(1000)
	cfg := testConfig(t, s)
	cfg.workers = 1
	cfg.expect = 600
	cfg.rate = 0.01
	var warnings []string
	cfg.warn = func(text string) { warnings = append(warnings, text) }
	r, err := crawl(t.Context(), cfg)
	require.NoError(t, err)

	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0], "more than the 600 URLs")
	distinct, most := s.served()
	assert.Equal(t, 1, most)
	assert.Equal(t, r.fetched, distinct)
	missed := float64(len(s.urls()) - distinct)
	require.Positive(t, missed)
	// Rare and nearly independent, so nearly Poisson.
	assert.InDelta(t, r.missed, missed, 4.5*math.Sqrt(r.missed))
	var out bytes.Buffer
	r.write(&out)
	assert.Contains(t, out.String(), "more than the filter was sized for: raise -expect")
}

func TestStaysOnSite(t *testing.T) {
	mux := http.NewServeMux()
	var hosts []string
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		hosts = append(hosts, r.Host+r.URL.RequestURI())
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href=//Site.Example:80/a?>1<a href=http://other.example/b>2<a href=https://site.example/c>3
				<a href=http://site.example:81/d>4<a href=http://www.site.example/e>5<a href=/moved>6
				<a href=http://site.example@other.example/f>7<a href=http://me:secret@site.example/a#x>8`)
		case "/moved":
			w.Header().Set("Location", "http://other.example/g")
			w.WriteHeader(http.StatusMovedPermanently)
		}
	})
	cfg := testConfig(t, mux)
	cfg.start = "http://SITE.example:80/x/../#top"
	cfg.workers = 1
	r, err := crawl(t.Context(), cfg)
	require.NoError(t, err)
	assert.Equal(t, []string{"site.example/", "site.example/a", "site.example/moved"}, hosts)
	assert.Equal(t, 6, r.offSite)
	assert.Equal(t, 1, r.duplicates)
}

func TestLimits(t *testing.T) {
	endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/slow":
			<-r.Context().Done()
		case "/big":
			fmt.Fprint(w, `<a href="/in">`, strings.Repeat(" ", 5000-19), `<a href="/outside">`)
		case "/long":
			fmt.Fprintf(w, `<a href="/%s">`, strings.Repeat("x", maxURL))
		case "/broken":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `<a href="/in">`)
		case "/in":
		default:
			fmt.Fprintf(w, `<a href="%sa/"><a href="%sb/">`, r.URL.Path, r.URL.Path)
		}
	})
	for _, c := range []struct {
		path    string
		fetched int
		check   func(config, *report) bool
	}{
		{"/", 50, func(_ config, r *report) bool { return r.pages == 50 && r.left == 51 }},
		{"/big", 2, func(_ config, r *report) bool { return r.links == 1 && r.failed == 0 }},
		{"/long", 1, func(_ config, r *report) bool { return r.offSite == 1 }},
	} {
		cfg := testConfig(t, endless)
		cfg.start += c.path
		cfg.maxPages = 50
		cfg.maxBody = 5000
		r, err := crawl(t.Context(), cfg)
		require.NoError(t, err, c.path)
		assert.Equal(t, c.fetched, r.fetched, c.path)
		assert.True(t, c.check(cfg, r), "%s: %+v", c.path, r)
	}
	for _, path := range []string{"/slow", "/broken"} {
		cfg := testConfig(t, endless)
		cfg.start += path
		cfg.timeout = 200 * time.Millisecond
		_, err := crawl(t.Context(), cfg)
		assert.Error(t, err, path)
	}
}

// Interrupting ends requests that would never end, and crawl waits for its
// workers.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hanging := make(chan struct{}, 100)
	cfg := testConfig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			hanging <- struct{}{}
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := range 100 {
			fmt.Fprintf(w, "<a href=/%d>", i)
		}
	}))
	cfg.timeout = time.Hour
	go func() {
		for range cfg.workers {
			<-hanging
		}
		cancel()
	}()
	r, err := crawl(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, r.pages)
	assert.Equal(t, 1, r.fetched, "requests that were ended do not count")
	assert.Equal(t, 100, r.left)
}

func TestHrefs(t *testing.T) {
	for _, c := range []struct {
		page string
		want []string
	}{
		{"", nil},
		{"<", nil},
		{"<a", nil},
		{"no links < 3", nil},
		{`<a href="x">`, []string{"x"}},
		{`<a href="x"`, nil}, // cut off
		{`<a href="x`, nil},
		{`<a href=x`, nil},
		{`<a href='a"b'><A HREF=c/d>`, []string{`a"b`, "c/d"}},
		{"<a\n\tclass=\"<>\" \n href \n = \n 'x' >", []string{"x"}},
		{`<a href="x" href="y">`, []string{"x"}},
		{`<a href>`, nil},
		{`<a href="">`, []string{""}},
		{`<a href=>`, []string{""}},
		{`<a =href=x>`, nil},
		{`<a/href=x/>`, []string{"x/"}},
		{`<area href=x/>`, []string{"x/"}},
		{`<a data-href=x><ahref=y><abbr href=z><a1 href=1><link href=l>`, nil},
		{`<a href="?a=1&amp;b=2&lt=3&#x2F;">`, []string{"?a=1&b=2<=3/"}},
		{`<a href=" x ">`, []string{"x"}},
		{`</a href=x><!DOCTYPE a href=x><?a href=x?>`, nil},
		{`<!-- <a href=x> --><a href=y><!--<a href=z>`, []string{"y"}},
		{`<script>"<a href=x>"</Script><a href=y><style><a href=z></style`, []string{"y"}},
		{`<script>"</scrip><a href=x>"</script><a href=y>`, []string{"y"}},
		{`<title><a href=x></title><TextArea rows=1><a href=y></textarea><a href=z>`, []string{"z"}},
		{`1 < 2 <a href=x>`, []string{"x"}},
		{`<<a href=x>`, []string{"x"}},
		{"<a href=\xff\x00>", []string{"\xff\x00"}},
	} {
		assert.Equal(t, c.want, slices.Collect(hrefs([]byte(c.page))), "%q", c.page)
	}
	for range hrefs([]byte("<a href=x><a href=y>")) {
		break
	}
}

func FuzzHrefs(f *testing.F) {
	f.Add([]byte(`<a class="x" href='/y'>z</a><!-- --><script></script>`))
	f.Add([]byte(`<a href=/y><A/HREF = "/z"`))
	base, _ := url.Parse("http://site.example/a/b")
	f.Fuzz(func(t *testing.T, page []byte) {
		n := 0
		for href := range hrefs(page) {
			n++
			link, err := resolve(base, href)
			if err != nil {
				continue
			}
			again, err := resolve(base, link.String())
			if err == nil && again.String() != link.String() {
				t.Errorf("%q normalises to %q, and that to %q", href, link, again)
			}
		}
		if n > len(page)/7 {
			t.Errorf("%d links in %d bytes", n, len(page))
		}
	})
}

func TestResolve(t *testing.T) {
	base, err := url.Parse("http://site.example/a/b?c#d")
	require.NoError(t, err)
	for href, want := range map[string]string{
		"":                           "http://site.example/a/b?c",
		"#x":                         "http://site.example/a/b?c",
		"?":                          "http://site.example/a/b",
		"e":                          "http://site.example/a/e",
		"../../../e":                 "http://site.example/e",
		"./e/../f/.":                 "http://site.example/a/f/",
		"//other.example":            "http://other.example/",
		"HTTPS://Other.Example:443":  "https://other.example/",
		"http://site.example:443/":   "http://site.example:443/",
		"http://user:pass@site.test": "http://site.test/",
		"/a%2fb%20c d/{é}?q=é \"":    "http://site.example/a%2fb%20c%20d/%7B%C3%A9%7D?q=%C3%A9%20%22",
		"/a/\r\n\tb":                 "http://site.example/a/b",
		"mailto:me@site.example":     "mailto:me@site.example",
	} {
		link, err := resolve(base, href)
		require.NoError(t, err, href)
		if link.Scheme != "mailto" {
			assert.Equal(t, want, link.String(), href)
		}
	}
	for _, href := range []string{"%zz", "http://[::1", "http://a b/", "/" + strings.Repeat("x", maxURL)} {
		_, err := resolve(base, href)
		assert.Error(t, err, href)
	}
}

func TestRun(t *testing.T) {
	t.Run("own site", func(t *testing.T) {
		var out, warnings bytes.Buffer
		require.NoError(t, run(t.Context(), []string{"-p", "1e-9"}, &out, &warnings))
		assert.Contains(t, out.String(), "\nfetched     3503: 3051 pages, 120 of other types, 302 redirects, 30 failed\n")
		assert.Contains(t, out.String(), "\nThe site says: 3503 of its 3503 URLs were fetched, none more than 1 times.\n")
		assert.Empty(t, warnings.String())
	})
	t.Run("start", func(t *testing.T) {
		server := httptest.NewServer(newSite(100))
		defer server.Close()
		var out, warnings bytes.Buffer
		require.NoError(t, run(t.Context(), []string{"-start", server.URL, "-expect", "20"}, &out, &warnings))
		assert.Contains(t, out.String(), "\nfetched     ")
		assert.Contains(t, warnings.String(), "crawler: warning: met more than the 20 URLs ")
		assert.Equal(t, 1, strings.Count(warnings.String(), "\n"))
	})
	away := httptest.NewServer(http.RedirectHandler("https://www.site.example/", http.StatusMovedPermanently))
	defer away.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, c := range []struct {
		args string
		err  string
	}{
		{"-nonsense", "flag provided but not defined: -nonsense"},
		{"extra", `unexpected argument "extra"`},
		{"-workers 0", "workers = 0"},
		{"-max-pages 0", "max-pages = 0"},
		{"-max-pages -1", "not a whole number"},
		{"-state x", "-state needs -start"},
		{"-max-body 0", "max-body = 0"},
		{"-timeout -1s", "timeout = -1s"},
		{"-p NaN", "bloom: p = NaN"},
		{"-expect 1000000000000", "bloom: m = "},
		{"-start ftp://site.example/", `start = "ftp://site.example/"`},
		{"-start site.example", `start = "site.example"`},
		{"-start http:site.example", `start = "http:site.example"`},
		{"-start http://%zz", `parse "http://%zz"`},
		{"-start " + closed.URL, "connection refused"},
		{"-start " + away.URL, `redirects to "https://www.site.example/": start there`},
	} {
		err := run(t.Context(), strings.Fields(c.args), io.Discard, io.Discard)
		require.ErrorContains(t, err, c.err, c.args)
		assert.NotContains(t, err.Error(), "\n")
	}
}

// Each entry takes at least its string and the string's header, in an array that
// is at most seven eighths full and at least half as full as that. (The smallest
// maps have room for eight.)
func TestMapBytes(t *testing.T) {
	for _, n := range []uint64{1, 8, 1000, 10_000} {
		got := mapBytes(n, n*48)
		least := n * (48 + 2*strconv.IntSize/8)
		assert.GreaterOrEqual(t, got, least, "n = %d", n)
		assert.Less(t, got, 3*least+300, "n = %d", n)
	}
}
