package collystore_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/contrib/collystore"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// open returns a crawl that goes on where the one in the file left off.
func open(c *colly.Collector, path string) *collystore.Crawl {
	c.SetRequestTimeout(limit)
	crawl := bloom.Must(collystore.NewCrawl(c, bloom.Must(growing.LoadOrNew(path, 0, 1e-9)), path))
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = crawl.Visit(e.Request, e.Attr("href")) })
	return crawl
}

// start begins a crawl, or goes on with it.
func start(crawl *collystore.Crawl, url string) {
	crawl.Resume()
	_ = crawl.Visit(nil, url)
}

// TestMain is the crawler of TestKilled if it is told so.
func TestMain(m *testing.M) {
	url := os.Getenv("COLLYSTORE_TEST_CRAWL")
	if url == "" {
		os.Exit(m.Run())
	}
	c := colly.NewCollector(colly.Async(true))
	bloom.Must(0, c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 8}))
	crawl := open(c, os.Getenv("COLLYSTORE_TEST_PATH"))
	var scraped atomic.Int64
	c.OnScraped(func(*colly.Response) {
		if scraped.Add(1)%7 == 0 {
			bloom.Must(0, crawl.Save())
		}
	})
	start(crawl, url)
	c.Wait()
	bloom.Must(0, crawl.Save())
}

// TestKilled: a crawl that is killed at random ends with every page fetched.
func TestKilled(t *testing.T) {
	const pages = 400
	rnd := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	fetched := map[string]int{}
	left := 0 // requests until the crawler is killed; 0 for never
	var crawler *exec.Cmd
	var links http.Handler = site(pages, new(atomic.Int64)).Config.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		fetched[r.URL.Path]++
		if left--; left == 0 {
			_ = crawler.Process.Kill()
		}
		mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "0") { // every tenth page is behind a redirect
			http.Redirect(w, r, r.URL.Path+"/", http.StatusFound)
			return
		}
		links.ServeHTTP(w, r)
	}))
	defer server.Close()

	path := filepath.Join(t.TempDir(), "visited.bloom")
	kills := 0
	for {
		crawler = exec.Command(os.Args[0])
		crawler.Env = append(os.Environ(), "COLLYSTORE_TEST_CRAWL="+server.URL+"/1",
			"COLLYSTORE_TEST_PATH="+path)
		crawler.Stderr = os.Stderr
		mu.Lock()
		left = 0
		if kills < 25 {
			left = 1 + rnd.IntN(60)
		}
		err := crawler.Start()
		mu.Unlock()
		require.NoError(t, err)
		if crawler.Wait() == nil {
			break
		}
		kills++
	}
	require.Greater(t, kills, 5)
	requests := 0
	mu.Lock()
	defer mu.Unlock()
	for i := 1; i <= pages; i++ {
		page := fmt.Sprintf("/%d", i)
		if i%10 == 0 {
			page += "/"
		}
		require.Positive(t, fetched[page], page)
		requests += fetched[page]
	}
	t.Logf("%d kills, %d requests for %d pages", kills, requests, pages)

	c := colly.NewCollector()
	require.Zero(t, open(c, path).Resume(), "nothing is under way after the end")
}

// TestCrawlStops: what has no answer stays under way, and what was refused does not.
func TestCrawlStops(t *testing.T) {
	statuses := map[string]int{"/ok": 200, "/gone": 404, "/slower": 429, "/fails": 500,
		"/away": 302, "/dead": 0, "/headers": 200}
	var busy atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/ok")
		switch status := statuses[r.URL.Path]; {
		case status > 0:
			w.WriteHeader(status)
		case r.URL.Path == "/busy" && busy.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /robots")
		case r.URL.Path != "/busy":
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	for _, async := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "visited.bloom")
		c := colly.NewCollector(colly.Async(async), colly.MaxDepth(1),
			colly.DisallowedDomains("example.org"),
			colly.URLFilters(regexp.MustCompile("^[^?]*$")),
			colly.DisallowedURLFilters(regexp.MustCompile("/no$")))
		c.IgnoreRobotsTxt = false
		crawl := open(c, path)
		var tooDeep error
		var saved []byte
		c.OnScraped(func(r *colly.Response) {
			if tooDeep = crawl.Visit(r.Request, "/deep"); saved == nil {
				assert.NoError(t, crawl.Save())
				saved = bloom.Must(os.ReadFile(path + ".pages"))
			}
		})
		c.OnResponseHeaders(func(r *colly.Response) {
			if r.Request.URL.Path == "/headers" {
				r.Request.Abort()
			}
		})
		busy.Store(true)
		for _, page := range []string{
			"/ok", "/gone", "/busy", "/slower", "/fails", "/away", "/dead", "/ok", "/busy", "/headers",
		} {
			_ = crawl.Visit(nil, server.URL+page)
			c.Wait()
		}
		require.Contains(t, string(saved), "/ok", "as long as its callbacks run")
		require.ErrorIs(t, tooDeep, colly.ErrMaxDepth)
		for link, refusal := range map[string]error{"http://example.org/": colly.ErrForbiddenDomain,
			"/no":     colly.ErrForbiddenURL,
			"/?query": colly.ErrNoURLFiltersMatch, "/robots": colly.ErrRobotsTxtBlocked,
			"": colly.ErrMissingURL} {
			if strings.HasPrefix(link, "/") {
				link = server.URL + link
			}
			require.ErrorIs(t, crawl.Visit(nil, link), refusal)
		}
		require.Error(t, crawl.Visit(nil, "http://%/"))
		require.NoError(t, crawl.Save())
		data := bloom.Must(os.ReadFile(path + ".pages"))
		assert.ElementsMatch(t,
			[]string{"1 " + server.URL + "/busy", "1 " + server.URL + "/slower",
				"1 " + server.URL + "/fails",
				"1 " + server.URL + "/dead", ""}, strings.Split(string(data), "\n"))

		busy.Store(false)
		c = colly.NewCollector(colly.Async(async))
		crawl = open(c, path)
		require.Equal(t, 4, crawl.Resume())
		c.Wait()
		require.NoError(t, crawl.Save())
		data = bloom.Must(os.ReadFile(path + ".pages"))
		assert.NotContains(t, string(data), "/busy")
	}
}

// TestStatuses: a page stays under way after a status that may pass, and after no other.
func TestStatuses(t *testing.T) {
	passing := map[int]bool{
		302: true, 303: true, 304: true, 307: true, // without a Location
		407: true, 408: true, 409: true, 421: true, 423: true, 424: true, 425: true, 429: true,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(bloom.Must(strconv.Atoi(r.URL.Path[1:])))
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "visited.bloom")
	crawl := open(colly.NewCollector(), path)
	statuses := []int{299, 399, 999}
	for status := 200; status < 600; status++ {
		if status >= 400 || http.StatusText(status) != "" {
			statuses = append(statuses, status)
		}
	}
	for _, status := range statuses {
		_ = crawl.Visit(nil, fmt.Sprintf("%s/%d", server.URL, status))
	}
	require.NoError(t, crawl.Save())
	saved := string(bloom.Must(os.ReadFile(path + ".pages")))
	for _, status := range statuses {
		stays := strings.Contains(saved, fmt.Sprintf("/%d\n", status))
		unregistered := status >= 400 && http.StatusText(status) == ""
		assert.Equal(t, passing[status] || unregistered || status >= 500, stays, status)
	}
}

// TestNeverFetched: a link that no later attempt can fetch does not stay under way, neither on a
// page nor behind a redirect nor in a list of pages from before.
func TestNeverFetched(t *testing.T) {
	bad := []string{"mailto:ada@example.org", "mailto:a b?subject=c d", "tel:+41",
		"javascript:void(0)", "javascript:alert(1)//%zz",
		"data:text/html,hello #part", "blob:x", "about:blank", "ftp://example.org/",
		"irc://example.org:/x", "x:", "HTTPX://a", "MAILTO:a@b",
		"http://[::1", "http://a b/", "http:///", "//", "http://a:99999/", "https://",
		"mailto:/%2F\\|@$^", "", "#part", "file:///etc/motd"}
	// Colly's parser and Go's write these in different ways.
	good := []string{"/a|b/%2F..", "..%2F^", "/x%2F./{y}", "/é%zz/|%2F..?%zz=|"}
	var redirects []string
	for _, link := range bad {
		if link != "" && link != "#part" {
			redirects = append(redirects, link)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /robots")
		case "/":
			for _, link := range append(bad, good...) {
				fmt.Fprintf(w, `<a href="%s">`, html.EscapeString(link))
			}
			for i := range redirects {
				fmt.Fprintf(w, `<a href="/to/%d"><a href="/to/to/%d">`, i, i)
			}
		default:
			var i int
			if _, err := fmt.Sscanf(r.URL.Path, "/to/to/%d", &i); err == nil {
				w.Header().Set("Location", fmt.Sprintf("/from/%d", i))
				w.WriteHeader(http.StatusFound)
			} else if _, err := fmt.Sscanf(path.Base(r.URL.Path), "%d", &i); err == nil {
				w.Header().Set("Location", redirects[i])
				w.WriteHeader(http.StatusMovedPermanently)
			}
		}
	}))
	defer server.Close()
	for _, async := range []bool{false, true} {
		for _, robots := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "visited.bloom")
			require.NoError(t, os.WriteFile(path+".pages",
				[]byte("2 mailto:old@example.org\n2 http://%zz/\n2 http://[::1\n"), 0o666))
			c := colly.NewCollector(colly.Async(async))
			c.IgnoreRobotsTxt = !robots
			crawl := open(c, path)
			assert.Equal(t, 3, crawl.Resume())
			require.NoError(t, crawl.Visit(nil, server.URL))
			for _, link := range append(bad, good...) {
				_ = crawl.Visit(nil, link)
			}
			c.Wait()
			require.NoError(t, crawl.Save())
			data := bloom.Must(os.ReadFile(path + ".pages"))
			assert.Empty(t, string(data), "async %v, robots %v", async, robots)
		}
	}
}

// dead is a transport whose connections all break.
type dead struct{}

func (dead) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
}

// TestOtherSchemes: a page of a scheme that the collector's own transport knows stays under way if
// its connection breaks.
func TestOtherSchemes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "visited.bloom")
	c := colly.NewCollector()
	c.WithTransport(dead{})
	crawl := open(c, path)
	require.Error(t, crawl.Visit(nil, "ftp://example.org/"))
	require.NoError(t, crawl.Save())
	assert.Equal(t, "1 ftp://example.org/\n", string(bloom.Must(os.ReadFile(path+".pages"))))
}

// TestCertificate: a page stays under way if its server has a certificate that nobody trusts now.
func TestCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	path := filepath.Join(t.TempDir(), "visited.bloom")
	crawl := open(colly.NewCollector(), path)
	require.ErrorContains(t, crawl.Visit(nil, server.URL+"/"), "certificate")
	require.NoError(t, crawl.Save())
	assert.Equal(t, "1 "+server.URL+"/\n", string(bloom.Must(os.ReadFile(path+".pages"))))
}

// TestRefusedRedirect: a page stays under way if the program refuses its redirect with an error of
// its own, whether the Location is relative or absolute.
func TestRefusedRedirect(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", map[string]string{
			"/path": "/other", "/name": "other", "/host": "//" + r.Host + "/other",
			"/whole": "http://" + r.Host + "/other",
		}[r.URL.Path])
		w.WriteHeader(http.StatusFound)
	}))
	defer server.Close()
	for _, link := range []string{"/path", "/name", "/host", "/whole"} {
		path := filepath.Join(t.TempDir(), "visited.bloom")
		c := colly.NewCollector()
		c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return errors.New("not now") })
		crawl := open(c, path)
		require.ErrorContains(t, crawl.Visit(nil, server.URL+link), "not now")
		require.NoError(t, crawl.Save())
		want := "1 " + server.URL + link + "\n"
		assert.Equal(t, want, string(bloom.Must(os.ReadFile(path+".pages"))), link)
	}
}

// TestDaily: a crawl over a window begins at its start page each day, although a link leads to a
// host that is dead.
func TestDaily(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	var fetched atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a href="/1"><a href="%s/x"><a href="mailto:ada@example.org">`, dead.URL)
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "visited.bloom")
	for day := range 3 {
		fetched.Store(0)
		now := func() time.Time { return time.Unix(int64(day)*86400, 0) }
		visited, err := window.LoadOrNew(path,
			window.Config{N: 100, P: 1e-9, Span: 20 * time.Hour, Now: now})
		require.NoError(t, err)
		c := colly.NewCollector()
		crawl := bloom.Must(collystore.NewCrawl(c, visited, path))
		c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = crawl.Visit(e.Request, e.Attr("href")) })
		start(crawl, server.URL+"/")
		require.NoError(t, crawl.Save())
		assert.EqualValues(t, 2, fetched.Load(), "day %d", day)
		assert.Equal(t, "3 "+dead.URL+"/x\n", string(bloom.Must(os.ReadFile(path+".pages"))))
	}
}

// What Resume asks for: see Crawl.
func TestResume(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	busy := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, fmt.Sprintf("%s %s %q %q %q %q", r.Method, r.URL,
			r.Header["Collectors"], r.Header["Callbacks"], r.Header["Own"], body))
		if busy && r.URL.Path != "/" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			fmt.Fprint(w, `<a href="/child?page=2">`)
		}
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "visited.bloom")
	crawl := func() (*colly.Collector, *collystore.Crawl) {
		c := colly.NewCollector(colly.Headers(map[string]string{"Collectors": "1"}))
		w := open(c, path)
		c.OnRequest(func(r *colly.Request) {
			r.Headers.Set("Callbacks", fmt.Sprint(r.Depth, r.Ctx.Get("key")))
		})
		return c, w
	}
	c, w := crawl()
	c.OnRequest(func(r *colly.Request) { r.Ctx.Put("key", "+key") })
	require.NoError(t, w.Visit(nil, server.URL))
	own := http.Header{"Own": {"1"}}
	assert.Error(t, c.Request("GET", server.URL+"/own", nil, nil, own))
	assert.Error(t, c.Request("GET", server.URL+"/body", strings.NewReader("body"), nil, nil))
	assert.Error(t, c.Request("GET", server.URL+"/stream",
		io.MultiReader(strings.NewReader("body")), nil, nil))
	assert.Error(t, c.Post(server.URL+"/post", map[string]string{"a": "b"}))
	assert.Error(t, c.Head(server.URL+"/head"))
	require.NoError(t, w.Save())
	assert.Equal(t, []string{
		`GET / ["1"] ["1"] [] ""`,
		`GET /child?page=2 ["1"] ["2+key"] [] ""`,
		`GET /own [] ["1"] ["1"] ""`,
		`GET /body ["1"] ["1"] [] "body"`,
		`GET /stream ["1"] ["1"] [] "body"`,
		`POST /post ["1"] ["1"] [] "a=b"`,
		`HEAD /head ["1"] ["1"] [] ""`,
	}, asked)

	for _, busy = range []bool{true, false} {
		asked = nil
		_, w = crawl()
		assert.Equal(t, 2, w.Resume())
		require.NoError(t, w.Save())
		assert.Equal(t, []string{`GET /child?page=2 ["1"] ["2"] [] ""`,
			`GET /own ["1"] ["1"] [] ""`}, asked)
	}
	_, w = crawl()
	assert.Zero(t, w.Resume())
}

// savingSet is a set that is saved while a page is added to it.
type savingSet struct {
	*bloom.SyncFilter
	save    func() error
	adding  atomic.Bool
	began   chan struct{} // SaveFile
	between bool          // whether a page was being added when it began
}

func (s *savingSet) AddHash(h bloom.Hash) bool {
	s.adding.Store(true)
	go func() { _ = s.save() }()
	select {
	case <-s.began:
		s.began <- struct{}{}
	case <-time.After(50 * time.Millisecond): // time to begin too early
	}
	isNew := s.SyncFilter.AddHash(h)
	s.adding.Store(false)
	return isNew
}

func (s *savingSet) SaveFile(string) error {
	s.between = s.adding.Load()
	s.began <- struct{}{}
	return nil
}

// TestSaveWaits: no page is in the set that is neither fetched nor in the list that Save
// wrote before.
func TestSaveWaits(t *testing.T) {
	server := site(1, new(atomic.Int64))
	defer server.Close()
	set := &savingSet{SyncFilter: bloom.Must(bloom.NewSync(100, 0.01)), began: make(chan struct{}, 1)}
	c := colly.NewCollector()
	crawl := bloom.Must(collystore.NewCrawl(c, set, filepath.Join(t.TempDir(), "visited.bloom")))
	set.save = crawl.Save
	require.NoError(t, crawl.Visit(nil, server.URL+"/1"))
	select {
	case <-set.began:
	case <-time.After(time.Minute):
		require.Fail(t, "Save does not begin")
	}
	assert.False(t, set.between)
}

func TestCrawlFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "visited.bloom")
	long := "2 " + strings.Repeat("x", 100)
	for content, says := range map[string]string{
		"http://example.org\n":             `line 1 is not a page: "http://example.org\n"`,
		"x http://example.org\n":           `line 1 is not a page: "x http://example.org\n"`,
		"1 a\n2 b\n1 \n3 c\n":              `line 3 is not a page: "1 \n"`,
		"1 http://a\n1 http://example.org": `line 2 is not a page: "1 http://example.org"`,
		long:                               "line 1 is not a page: \"" + long[:80] + "\"",
	} {
		require.NoError(t, os.WriteFile(path+".pages", []byte(content), 0o666))
		_, err := collystore.NewCrawl(colly.NewCollector(), bloom.Must(growing.New(0, 0.01)), path)
		require.EqualError(t, err, "collystore: loading: "+path+".pages: "+says)
		require.Equal(t, content, string(bloom.Must(os.ReadFile(path+".pages"))), "the file is changed")
	}
	// Where Save would fail, after the crawl.
	for _, bad := range []string{
		"", filepath.Join(t.TempDir(), "missing", "visited.bloom"),
		filepath.Join(path+".pages", "visited.bloom"),
	} {
		_, err := collystore.NewCrawl(colly.NewCollector(), bloom.Must(growing.New(0, 0.01)), bad)
		require.ErrorContains(t, err, "collystore: loading: ", "%q", bad)
	}
	path = filepath.Join(t.TempDir(), "visited.bloom")
	crawl := open(colly.NewCollector(), path)
	require.NoError(t, os.Mkdir(path+".pages", 0o777))
	require.ErrorContains(t, crawl.Save(), "collystore: saving: ")
	require.NoFileExists(t, path, "a set without its pages would lose them")
}

// A crawl of 100 pages is interrupted after 40, and goes on in another process, which a
// second collector plays here.
func ExampleCrawl() {
	server := site(100, new(atomic.Int64))
	defer server.Close()
	dir, _ := os.MkdirTemp("", "crawl")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "visited.bloom")

	fetched := map[string]bool{}
	crawl := func(ctx context.Context, count int, interrupt func()) {
		visited := bloom.Must(growing.LoadOrNew(path, 0, 1e-6))
		c := colly.NewCollector(colly.StdlibContext(ctx))
		crawl, err := collystore.NewCrawl(c, visited, path)
		if err != nil {
			panic(err)
		}
		c.OnHTML("a[href]", func(e *colly.HTMLElement) { crawl.Visit(e.Request, e.Attr("href")) })
		c.OnScraped(func(r *colly.Response) {
			if fetched[r.Request.URL.Path] = true; len(fetched) == count {
				interrupt()
			}
		})
		crawl.Resume()
		crawl.Visit(nil, server.URL+"/1")
		if err := crawl.Save(); err != nil {
			panic(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	crawl(ctx, 40, cancel)
	fmt.Println("all after the first run:", len(fetched) == 100)
	crawl(context.Background(), 0, nil)
	fmt.Println("all after the second run:", len(fetched) == 100)
	// Output:
	// all after the first run: false
	// all after the second run: true
}
