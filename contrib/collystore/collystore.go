// Package collystore remembers in a Bloom filter which pages a colly collector has visited. The
// filter needs a few bytes for each page, and a file keeps it until the next run.
//
// A [Crawl] continues after a restart, even if its process was killed. It also keeps the pages that
// were requested but not yet fetched.
//
// [New] returns only a storage for Collector.SetStorage. The caller loads and saves the filter:
//
//	visited, err := growing.LoadOrNew(path, 0, 1e-6)
//	if err != nil {
//		return err
//	}
//	c := colly.NewCollector()
//	c.SetStorage(collystore.New(visited))
//	c.Visit(start)
//	c.Wait()
//	return visited.SaveFile(path)
//
// A filter reports a few new pages as visited, at most one in a million in the program above, and
// the crawl skips them. By default, colly does not fetch a page in the filter again.
//
// A later crawl does not fetch its start page again, so it finds no links there. Start from new
// pages, or use a window.Filter: it forgets a page after its span, and the page can be fetched
// again.
package collystore

import (
	"net/url"

	"github.com/gocolly/colly/v2/storage"

	"github.com/seed79a3ff49/bloom"
)

// Storage implements colly's storage.Storage. It keeps cookies in memory, as colly's own storage
// does; to keep them elsewhere, embed a Storage in your own type. Make it with [New].
//
// A Storage is safe for concurrent use if its set is.
//
// Colly marks a page as visited before it fetches it. With a Storage, a page counts as visited
// even if its fetch failed, or if the program died during the fetch. Save after Collector.Wait, and
// use Request.Retry for pages that failed.
//
// Colly gives a storage a 64-bit FNV-1a hash of the normalised URL and the request's body, and not
// the URL itself. The filter's keys are [bloom.SumUint64] of that number: Collector.HasVisited
// finds a page in the filter, and ContainsString does not. Two pages with the same 64 bits are one
// page to colly, with any storage. Among a billion pages, two have the same hash with a probability
// of 3 %, and somebody who writes links can make such pages on purpose.
type Storage struct {
	visited bloom.Set
	cookies storage.InMemoryStorage
}

var _ storage.Storage = (*Storage)(nil)

// New returns a Storage that keeps visited pages in the given set. An asynchronous collector needs
// a set that is safe for concurrent use, such as a [bloom.SyncFilter] or a growing.Filter. If
// several collectors share a set, only one of them visits a page, unless several request it at the
// same time.
//
// It panics if visited is nil.
func New(visited bloom.Set) *Storage {
	if visited == nil {
		panic("collystore: New without a set")
	}
	return &Storage{visited: visited}
}

// Init is called by colly. It panics unless New made s.
func (s *Storage) Init() error {
	if s.visited == nil {
		panic("collystore: use of a zero Storage: make it with New")
	}
	return s.cookies.Init()
}

// Visited adds a request to the set. It never fails.
func (s *Storage) Visited(requestID uint64) error {
	s.visited.AddHash(key(requestID))
	return nil
}

// IsVisited reports whether the set contains a request. It never fails.
func (s *Storage) IsVisited(requestID uint64) (bool, error) {
	return s.visited.ContainsHash(key(requestID)), nil
}

// Cookies returns the cookies for u.
func (s *Storage) Cookies(u *url.URL) string { return s.cookies.Cookies(u) }

// SetCookies stores cookies for u's host.
func (s *Storage) SetCookies(u *url.URL, cookies string) { s.cookies.SetCookies(u, cookies) }

// key returns a digest in which both halves depend on requestID. If the second half were zero, a
// key would set a single bit of a bloom.Filter.
func key(requestID uint64) bloom.Hash { return bloom.SumUint64(requestID) }
