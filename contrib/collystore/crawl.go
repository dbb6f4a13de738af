package collystore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gocolly/colly/v2"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/file"
)

// SavedSet is a set that can be saved. Every Filter and SyncFilter of module bloom is one, except
// in package cuckoo.
type SavedSet interface {
	bloom.Set
	SaveFile(path string) error
}

// Crawl is a crawl that continues after a restart. Besides the set of visited pages, a Crawl keeps
// the pages under way: the pages that [Crawl.Visit] was called for and that have not yet been
// fetched. Save writes both, and the next process continues with Resume:
//
//	visited, err := growing.LoadOrNew(path, 0, 1e-6)
//	if err != nil {
//		return err
//	}
//	c := colly.NewCollector(colly.Async(true))
//	crawl, err := collystore.NewCrawl(c, visited, path)
//	if err != nil {
//		return err
//	}
//	c.OnHTML("a[href]", func(e *colly.HTMLElement) { crawl.Visit(e.Request, e.Attr("href")) })
//	crawl.Resume()
//	crawl.Visit(nil, start)
//	c.Wait()
//	return crawl.Save()
//
// Visit the start page whatever Resume returns, because all pages under way may be on a dead host.
// If the set contains the start page, Visit returns colly's error.
//
// A crawl may be killed at any moment. If it is restarted until it finishes, it fetches every page,
// except for pages that the set mistakenly reports as visited. Pages that were fetched after the
// last Save are fetched again. Call Save every minute or so while the crawl runs.
//
// A page counts as fetched once its callbacks have returned. It also counts as fetched if its
// server refuses it, with a status such as 404, or if colly cannot request its URL or the URL that
// it redirects to, such as mailto:ada@example.org. A page stays under way until the next Resume if
// no answer arrives, or if the status is temporary: 304, 407, 408, 409, 421, 423, 424, 425, 429,
// any status of 500 or above, a 4xx that no standard registers, such as 420, or a 302, 303 or 307
// without a Location. If the collector's ParseHTTPErrorResponse is set, a page with such a status
// counts as fetched. A page also stays under way if a callback aborts the request before it is
// sent, or if the program's redirect handler refuses a redirect with an error of its own.
//
// A Crawl keeps the URL and the depth of each page under way, which needs a few hundred bytes in
// addition to the URL itself. Resume requests the page with GET, the collector's headers and
// OnRequest callbacks, and an empty Context. The request's own headers and the values in its
// Context are lost: put the data that a callback needs into the URL. A Crawl keeps no request that
// has a body or a method other than GET.
//
// A Crawl is safe for concurrent use if its set is. It must not be copied.
type Crawl struct {
	c       *colly.Collector
	path    string
	visited SavedSet
	saving  sync.RWMutex // read-locked while a page is being marked as visited
	ready   sync.Once

	mu    sync.Mutex
	pages map[string]*page  // the pages under way, by URL
	links map[uint32]string // the URLs of requests under way, by ID
}

type page struct {
	depth    int
	visits   int // the number of Visits that have not ended
	requests int // the number of requests that began
}

// NewCrawl returns a crawl of c, and calls c.SetStorage. Save writes the set of visited pages to
// the file at path, and the pages under way to path + ".pages". NewCrawl loads the pages under way,
// but not the set. NewCrawl returns an error if it cannot load the pages, or if they have no file
// and Save could not create it, for example because the directory of path does not exist. visited
// must not be nil.
//
// Register all callbacks of c before the first Visit or Resume. A collector can have one Crawl,
// which clones of the collector do not share.
func NewCrawl(c *colly.Collector, visited SavedSet, path string) (*Crawl, error) {
	w := &Crawl{
		c: c, path: path, visited: visited,
		pages: map[string]*page{}, links: map[uint32]string{},
	}
	if err := w.load(); err != nil {
		return nil, fmt.Errorf("collystore: loading: %w", err)
	}
	if err := c.SetStorage(&crawlStorage{New(visited), w}); err != nil {
		return nil, err
	}
	c.OnRequest(w.beginRequest)
	return w, nil
}

// crawlStorage is a Storage that marks no page as visited during Save.
type crawlStorage struct {
	*Storage
	w *Crawl
}

func (s *crawlStorage) Visited(requestID uint64) error {
	s.w.saving.RLock()
	defer s.w.saving.RUnlock()
	return s.Storage.Visited(requestID)
}

// Visit calls page.Visit(link), or the collector's Visit if page is nil, and returns its error. The
// page at link is under way from this call on, until it is fetched or refused.
func (w *Crawl) Visit(page *colly.Request, link string) error {
	depth, visit := 1, w.c.Visit
	if page != nil {
		depth, visit = page.Depth+1, page.Visit
	}
	link, err := absolute(page, link)
	if err != nil {
		return err
	}
	// The page is under way before colly marks it as visited, so a Save in between keeps it.
	return w.attempt(w.want(link, depth), link, func() error { return visit(link) })
}

// absolute returns the URL that a request for link will have. base may be nil if link is absolute.
func absolute(base *colly.Request, link string) (string, error) {
	if base == nil {
		u, err := url.Parse(link)
		if err != nil {
			return "", err
		}
		base = &colly.Request{URL: u}
	}
	for range 2 { // colly's parser may change what Go's parser wrote
		u, err := url.Parse(base.AbsoluteURL(link))
		if err != nil {
			return "", err
		}
		link = u.String()
		if link == "" {
			return "", colly.ErrMissingURL
		}
	}
	return link, nil
}

// Resume requests all pages under way, including the pages that NewCrawl loaded, and returns how
// many there are.
func (w *Crawl) Resume() int {
	w.mu.Lock()
	pages := maps.Clone(w.pages)
	w.mu.Unlock()
	for _, link := range slices.Sorted(maps.Keys(pages)) {
		p := pages[link]
		w.attempt(p, link, func() error {
			if _, err := absolute(nil, link); err != nil {
				return err
			}
			request := map[string]any{"URL": link, "Method": http.MethodGet, "Depth": p.depth}
			data, err := json.Marshal(request)
			if err != nil {
				return err
			}
			r, err := w.c.UnmarshalRequest(data)
			if err != nil {
				return err
			}
			err = r.Do()
			if errors.As(err, new(*colly.AlreadyVisitedError)) { // marked, but not fetched
				err = r.Retry()
			}
			return err
		})
	}
	return len(pages)
}

func (w *Crawl) want(link string, depth int) *page {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pages[link]
	if p == nil {
		p = &page{depth: depth}
		w.pages[link] = p
	}
	p.visits++
	return p
}

// attempt requests a page. If colly refuses the page before a request begins, no callback runs, so
// attempt ends the Visit itself.
func (w *Crawl) attempt(p *page, link string, visit func() error) error {
	// The Crawl's callbacks are registered last, so they run after all others: a page counts as
	// fetched only once the others have ended.
	w.ready.Do(func() {
		w.c.OnScraped(func(r *colly.Response) { w.endRequest(r.Request, true) })
		w.c.OnError(func(r *colly.Response, err error) {
			w.endRequest(r.Request, !mayPass(r.StatusCode) || refused(err))
		})
	})
	w.mu.Lock()
	before := p.requests
	w.mu.Unlock()
	err := visit()
	w.mu.Lock()
	defer w.mu.Unlock()
	// Without Async, a request that began has ended by now, and err may come from a redirect.
	if refused(err) && (w.c.Async || p.requests == before) {
		w.endVisit(link)
	}
	return err
}

// mayPass reports whether a request with this status may succeed later. Without an answer, the
// status is 0.
func mayPass(status int) bool {
	switch status {
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, // without a Location
		http.StatusNotModified,       // an answer to a conditional request
		http.StatusProxyAuthRequired, // the page's server was not asked
		http.StatusRequestTimeout,
		http.StatusConflict,
		http.StatusMisdirectedRequest, // another connection may reach the page
		http.StatusLocked,
		http.StatusFailedDependency,
		http.StatusTooEarly,
		http.StatusTooManyRequests:
		return true
	}
	unregistered := status >= 400 && http.StatusText(status) == ""
	return status == 0 || status >= 500 || unregistered
}

// refused reports whether err says that colly cannot or will not fetch a page, now or later.
func refused(err error) bool {
	if errors.As(err, new(*colly.AlreadyVisitedError)) || errors.As(err, new(*net.AddrError)) {
		return true
	}
	if slices.ContainsFunc(refusals, func(target error) bool { return errors.Is(err, target) }) {
		return true
	}
	var failed *url.Error
	if !errors.As(err, &failed) {
		return false
	}
	u, wrong := url.Parse(failed.URL)
	switch {
	case errors.As(failed.Err, new(net.Error)): // the user's own transport tried to fetch it
		return false
	case wrong == nil && u.Scheme == "": // perhaps a relative Location that the program refused
		return strings.HasPrefix(failed.Err.Error(), noScheme)
	case wrong != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return true
	}
	return strings.HasPrefix(failed.Err.Error(), badLocation)
}

// These are the beginnings of net/http's errors for a URL without a scheme, and for a Location that
// is not a URL. Only their texts tell them from other errors: they wrap nothing.
const (
	noScheme    = "unsupported protocol scheme"
	badLocation = "failed to parse Location header"
)

var refusals = []error{
	colly.ErrForbiddenDomain,
	colly.ErrForbiddenURL,
	colly.ErrNoURLFiltersMatch,
	colly.ErrMaxDepth,
	colly.ErrMissingURL,
	colly.ErrRobotsTxtBlocked,
	colly.ErrAbortedAfterHeaders,
}

func (w *Crawl) beginRequest(r *colly.Request) {
	body, ok := r.Body.(interface{ Len() int })
	hasBody := r.Body != nil && (!ok || body.Len() > 0) // Resume sends an empty body
	if r.Method != http.MethodGet || hasBody {
		return
	}
	link := r.URL.String() // a redirect changes r.URL later
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pages[link]
	if p == nil { // the caller did not use Crawl.Visit
		p = &page{depth: r.Depth, visits: 1}
		w.pages[link] = p
	}
	p.requests++
	w.links[r.ID] = link
}

func (w *Crawl) endRequest(r *colly.Request, fetched bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	link, ok := w.links[r.ID]
	delete(w.links, r.ID)
	if ok && fetched {
		w.endVisit(link)
	}
}

func (w *Crawl) endVisit(link string) {
	if p := w.pages[link]; p != nil {
		if p.visits--; p.visits <= 0 {
			delete(w.pages, link)
		}
	}
}

// Save saves the pages under way and then the set, each file atomically. The crawl continues during
// Save, but begins no new page. Save may be called at any time, even by a callback.
func (w *Crawl) Save() error {
	w.saving.Lock()
	defer w.saving.Unlock()
	// If Visit was called for a page in the saved set, the page was fetched or is in this list,
	// even if the process is killed between the two writes.
	if err := w.savePages(); err != nil {
		return fmt.Errorf("collystore: saving: %w", err)
	}
	return w.visited.SaveFile(w.path)
}

// savePages saves a line for each page: its depth, a space, its URL.
func (w *Crawl) savePages() error {
	var lines bytes.Buffer
	w.mu.Lock()
	for link, p := range w.pages {
		fmt.Fprintf(&lines, "%d %s\n", p.depth, link)
	}
	w.mu.Unlock()
	return file.Write(w.path+".pages", &lines)
}

func (w *Crawl) load() error {
	data, err := os.ReadFile(w.path + ".pages")
	if errors.Is(err, fs.ErrNotExist) {
		if w.path == "" {
			return errors.New("the path is empty")
		}
		if _, err = os.ReadDir(filepath.Dir(w.path)); err != nil {
			return err
		}
		// If Save cannot write the file, fail now and not after the crawl.
		if err := file.Write(w.path+".pages", new(bytes.Buffer)); err != nil {
			return fmt.Errorf("the crawl could not be saved: %w", err)
		}
		return os.Remove(w.path + ".pages")
	}
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		first, link, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		depth, err := strconv.Atoi(first)
		if err != nil || link == "" || !strings.HasSuffix(line, "\n") {
			return fmt.Errorf("%s.pages: line %d is not a page: %.80q", w.path, n, line)
		}
		w.pages[link] = &page{depth: depth, visits: 1}
	}
	return nil
}
