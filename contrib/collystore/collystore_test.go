package collystore_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/contrib/collystore"
	"github.com/seed79a3ff49/bloom/growing"
)

// site serves the given number of pages. Page i links to pages 2i and 2i+1, to its parent and to
// itself. The start page is page 1.
func site(pages int, fetched *atomic.Int64) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
		w.Header().Set("Content-Type", "text/html")
		var i int
		fmt.Sscanf(r.URL.Path, "/%d", &i)
		for _, to := range []int{2 * i, 2*i + 1, i / 2, i} {
			if 0 < to && to <= pages {
				fmt.Fprintf(w, `<a href="/%d">page</a>`, to)
			}
		}
	}))
}

// limit is how long a request may take, also on a busy machine.
const limit = time.Minute

// collector returns one that follows all links.
func collector(t testing.TB, set bloom.Set) *colly.Collector {
	c := colly.NewCollector(colly.Async(true))
	c.SetRequestTimeout(limit)
	require.NoError(t, c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 4}))
	require.NoError(t, c.SetStorage(collystore.New(set)))
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = e.Request.Visit(e.Attr("href")) })
	return c
}

func TestCrawlTwice(t *testing.T) {
	const pages = 1000
	var fetched atomic.Int64
	server := site(pages, &fetched)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "visited.bloom")
	start := server.URL + "/1"

	first := bloom.NewSyncFrom(bloom.Must(bloom.LoadOrNew(path, pages, 1e-15)))
	c := collector(t, first)
	require.NoError(t, c.Visit(start))
	c.Wait()
	// Colly asks and adds in two steps, so two links to one new page that are met at the
	// same moment may both be followed. Here each new page is linked from its parent alone.
	assert.EqualValues(t, pages, fetched.Load())
	require.NoError(t, first.SaveFile(path))

	loaded := bloom.NewSyncFrom(bloom.Must(bloom.LoadFile(path)))
	c = collector(t, loaded)
	for i := 1; i <= pages; i++ {
		err := c.Visit(fmt.Sprintf("%s/%d", server.URL, i))
		require.ErrorAs(t, err, new(*colly.AlreadyVisitedError), "page %d", i)
	}
	c.Wait()
	assert.EqualValues(t, pages, fetched.Load())
	visited, err := c.HasVisited(server.URL + "/1001")
	require.NoError(t, err)
	assert.False(t, visited)
}

// TestRate: the rate is the one that the filter promises. If keys were H1 alone, it would be the
// fill.
func TestRate(t *testing.T) {
	set := bloom.Must(bloom.New(10_000, 1e-4))
	s := collystore.New(set)
	for id := range uint64(10_000) {
		require.NoError(t, s.Visited(id))
	}
	found := 0
	for id := range uint64(200_000) {
		visited, err := s.IsVisited(1<<32 + id)
		require.NoError(t, err)
		if visited {
			found++
		}
	}
	assert.InDelta(t, 20, found, 5*4.5) // 5 sigma
}

func TestCookies(t *testing.T) {
	var fetched atomic.Int64
	server := site(3, &fetched)
	defer server.Close()
	c := collector(t, bloom.Must(bloom.NewSync(100, 0.01)))
	require.NoError(t, c.Visit(server.URL))
	c.Wait()
	require.Len(t, c.Cookies(server.URL), 1)
	assert.Equal(t, "session=1", c.Cookies(server.URL)[0].String())
	assert.Empty(t, c.Cookies("http://example.org"))
}

func TestNilPanics(t *testing.T) {
	const nothing = "collystore: New without a set"
	assert.PanicsWithValue(t, nothing, func() { collystore.New(nil) })
	assert.PanicsWithValue(t, nothing, func() {
		_, _ = collystore.NewCrawl(colly.NewCollector(), nil, filepath.Join(t.TempDir(), "f"))
	})
	assert.PanicsWithValue(t, "collystore: use of a zero Storage: make it with New", func() {
		_ = new(collystore.Storage).Init()
	})
}

// Without a number of pages that is known, take a filter that grows.
func Example() {
	server := site(100, new(atomic.Int64))
	defer server.Close()

	visited := bloom.Must(growing.New(0, 1e-6))
	c := colly.NewCollector()
	if err := c.SetStorage(collystore.New(visited)); err != nil {
		panic(err)
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = e.Request.Visit(e.Attr("href")) })
	if err := c.Visit(server.URL + "/1"); err != nil {
		panic(err)
	}
	fmt.Println(visited.Stats().ApproxCount, "pages")
	fmt.Println(c.HasVisited(server.URL + "/100"))
	fmt.Println(c.HasVisited(server.URL + "/101"))
	// Output:
	// 100 pages
	// true <nil>
	// false <nil>
}
