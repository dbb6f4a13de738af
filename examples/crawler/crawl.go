package main

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/sieve"
)

type config struct {
	start     string
	workers   int
	maxPages  int   // requests, of any outcome
	maxBody   int64 // bytes of a page that are searched for links
	timeout   time.Duration
	expect    uint64 // URLs
	rate      float64
	state     string // folder to save the crawl to, or empty
	warn      func(string)
	transport http.RoundTripper // nil for one that suits the number of workers
}

// check returns the URL to start from.
func (cfg *config) check() (*url.URL, error) {
	switch {
	case cfg.workers < 1:
		return nil, fmt.Errorf("workers = %d is less than 1", cfg.workers)
	case cfg.maxPages < 1:
		return nil, fmt.Errorf("max-pages = %d is less than 1", cfg.maxPages)
	case cfg.maxBody < 1:
		return nil, fmt.Errorf("max-body = %d is less than 1", cfg.maxBody)
	case cfg.timeout <= 0:
		return nil, fmt.Errorf("timeout = %v is not positive", cfg.timeout)
	}
	start, err := resolve(new(url.URL), cfg.start)
	if err != nil {
		return nil, err
	}
	if start.Scheme != "http" && start.Scheme != "https" || start.Host == "" {
		return nil, fmt.Errorf("start = %q is not an http or https URL", cfg.start)
	}
	return start, nil
}

// A report counts. Each URL fetched is counted once in pages, other, redirects
// or failed, and each link once in admitted (save the start), duplicates or
// offSite.
type report struct {
	fetched, pages, other, redirects, failed int
	failure                                  error // the first
	links, duplicates, offSite               int
	resumed, longest, left                   int     // URLs in the queue: at the start, at most and at the end
	known, admitted, urlBytes                uint64  // URLs in the filter at the start, and new ones
	missed                                   float64 // new URLs expected to have been dropped

	filter *bloom.Filter
	expect uint64
	rate   float64
}

// crawl fetches what can be reached from cfg.start without leaving its scheme and
// host. It ends when there is nothing left to fetch, when it has made
// cfg.maxPages requests, or when ctx ends; then it returns the report so far and
// ctx's error. It returns no report if nothing could be fetched at all.
//
// With cfg.state it goes on with the crawl that was saved there, if there is one,
// and saves it at the end. A request that ctx ended counts as not made.
//
// The calling goroutine owns the queue and the report, so neither needs a lock:
// it hands out URLs to the workers, and they hand back links.
func crawl(ctx context.Context, cfg config) (*report, error) {
	start, err := cfg.check()
	if err != nil {
		return nil, err
	}
	filter, err := bloom.New(cfg.expect, cfg.rate)
	if err != nil {
		return nil, err
	}
	left := &frontier{Start: start.String()}
	fresh := true
	if cfg.state != "" {
		saved, seen, err := state{cfg.state}.load()
		if err != nil {
			return nil, err
		}
		if fresh = saved == nil; !fresh {
			left = saved
		}
		if seen != nil {
			filter = seen
		}
		if left.Start != start.String() {
			return nil, fmt.Errorf("%s holds a crawl of %s", cfg.state, left.Start)
		}
	}
	r := &report{filter: filter, known: filter.ApproxCount(), expect: cfg.expect, rate: cfg.rate}
	queue := sieve.New(filter, bloom.SumString)
	push := func(link string) {
		rate := filter.FPR()
		if !queue.Push(link) {
			r.duplicates++
			return
		}
		// A new URL is admitted with probability 1-rate. So rate/(1-rate) are
		// missed for each one that is admitted.
		r.missed += rate / (1 - rate)
		r.admitted++
		r.urlBytes += uint64(len(link))
		if r.known+r.admitted == max(r.known, cfg.expect)+1 {
			cfg.warn(fmt.Sprintf("met more than the %d URLs that the filter is sized for; from here on it misses more new ones than 1 in %.3g", cfg.expect, 1/cfg.rate))
		}
	}
	if fresh {
		push(start.String())
	}
	for _, link := range left.Queued {
		queue.Requeue(link)
	}
	r.resumed = len(left.Queued)

	fetch := newFetcher(cfg, start)
	jobs := make(chan string)
	results := make(chan result)
	var workers sync.WaitGroup
	for range cfg.workers {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for link := range jobs {
				results <- fetch.fetch(ctx, link)
			}
		}()
	}
	defer workers.Wait()
	defer close(jobs)

	inHand := 0
	var interrupted []string
	for {
		// The oldest URL stays in the queue until a worker has taken it.
		var out chan string // nil, on which nothing is sent, while there is none
		next, ok := oldest(queue)
		if ok && ctx.Err() == nil && r.fetched < cfg.maxPages {
			out = jobs
		} else if inHand == 0 {
			break
		}
		r.longest = max(r.longest, queue.Len())
		select {
		case out <- next:
			queue.Pop()
			inHand++
			r.fetched++
		case got := <-results:
			inHand--
			if got.kind == failed && ctx.Err() != nil {
				interrupted = append(interrupted, got.url)
				r.fetched--
				continue
			}
			r.count(got)
			for _, link := range got.links {
				push(link)
			}
		}
	}
	left.Queued = slices.AppendSeq(interrupted, queue.All())
	r.left = len(left.Queued)
	if r.fetched == 1 && r.failed == 1 && fresh && ctx.Err() == nil {
		return nil, r.failure
	}
	if cfg.state != "" {
		if err := (state{cfg.state}).save(*left, filter); err != nil {
			return r, err
		}
	}
	return r, ctx.Err()
}

func oldest(queue *sieve.Queue[string]) (link string, ok bool) {
	for link := range queue.All() {
		return link, true
	}
	return "", false
}

// count adds what a worker has found, all but what the filter thinks of the links.
func (r *report) count(got result) {
	switch got.kind {
	case page:
		r.pages++
	case other:
		r.other++
	case redirect:
		r.redirects++
	case failed:
		r.failed++
		if r.failure == nil {
			r.failure = got.err
		}
	}
	r.links += len(got.links) + got.offSite
	r.offSite += got.offSite
}

// A result is what became of one URL.
type result struct {
	url     string
	kind    kind
	err     error    // if failed
	links   []string // to the same site, normalised
	offSite int      // other links
}

type kind int

const (
	failed kind = iota
	page
	other // not HTML
	redirect
)

type fetcher struct {
	client  *http.Client
	start   *url.URL
	maxBody int64
}

func newFetcher(cfg config, start *url.URL) *fetcher {
	transport := cfg.transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = cfg.workers
		transport = t
	}
	return &fetcher{
		client: &http.Client{
			Transport: transport,
			Timeout:   cfg.timeout,
			// A redirect is a page with one link, to be queued like any other:
			// that keeps it on the site, and its target from being fetched twice.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		start:   start,
		maxBody: cfg.maxBody,
	}
}

func (f *fetcher) fetch(ctx context.Context, link string) result {
	r := f.get(ctx, link)
	r.url = link
	return r
}

func (f *fetcher) get(ctx context.Context, link string) result {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return result{err: err}
	}
	request.Header.Set("User-Agent", "bloom-crawler-example/1.0")
	response, err := f.client.Do(request)
	if err != nil {
		return result{err: err}
	}
	defer response.Body.Close()

	location := response.Header.Get("Location")
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		r := result{kind: redirect}
		r.add(f.start, request.URL, location)
		if r.offSite > 0 && link == f.start.String() {
			return result{err: fmt.Errorf("%s redirects to %q: start there", link, location)}
		}
		return r
	default:
		return result{err: fmt.Errorf("%s: %s", link, response.Status)}
	}
	switch mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); mediaType {
	case "text/html", "application/xhtml+xml":
	default:
		return result{kind: other}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, f.maxBody))
	if err != nil {
		return result{err: fmt.Errorf("%s: %w", link, err)}
	}
	r := result{kind: page}
	for href := range hrefs(body) {
		r.add(f.start, request.URL, href)
	}
	return r
}

// add resolves href, found at base, and keeps it if it stays on start's site.
func (r *result) add(start, base *url.URL, href string) {
	link, err := resolve(base, href)
	if err != nil || link.Scheme != start.Scheme || link.Host != start.Host {
		r.offSite++
		return
	}
	r.links = append(r.links, link.String())
}
