// Package collystore keeps the pages that a colly collector has visited in a Bloom filter. The
// filter needs a few bytes for each page, and a file keeps it until the next run.
//
// A [Crawl] is a crawl that continues after a restart, even if it was killed. It also keeps the
// pages that were requested but not yet fetched.
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
// A filter reports a few new pages as visited, in the program above one in a million, and a crawl
// omits these. A page that is in the filter is not fetched again.
//
// A later crawl does not fetch its start page again, so it finds no links there. Begin with new
// pages, or let the filter forget: with a window.Filter, a page can be fetched again after the
// window's span.
package collystore

import (
	"net/url"

	"github.com/gocolly/colly/v2/storage"

	"github.com/seed79a3ff49/bloom"
)

// Storage implements colly's storage.Storage. It keeps cookies in memory, as colly's own storage
// does; to keep them elsewhere, embed a Storage in your own type. Make it with [New].
//
// Many goroutines may use a Storage if they may use its set.
//
// Colly marks a page as visited before it fetches it. With a Storage, a page counts as visited
// even if its fetch failed, or if the program died during the fetch. Save after Collector.Wait, and
// use Request.Retry for pages that failed.
//
// Colly does not give a storage the URL, but a 64-bit FNV-1a hash of the normalised URL and the
// request's body. The filter's keys are [bloom.SumUint64] of that number: Collector.HasVisited
// finds a page in the filter, and ContainsString does not. Two pages with the same 64 bits are one
// page to colly, with any storage. A billion pages contain two with the same hash with a
// probability of 3 %, and the author of links can make such pages on purpose.
type Storage struct {
	visited bloom.Set
	cookies storage.InMemoryStorage
}

var _ storage.Storage = (*Storage)(nil)

// New returns a Storage that keeps visited pages in the given set. An asynchronous collector needs
// a set for many goroutines, such as a [bloom.SyncFilter] or a growing.Filter. If several
// collectors share a set, only one of them visits a page, unless several ask for it concurrently.
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

// key makes a 128-bit digest from 64 bits. With a second half of zero, a key would set a single
// bit.
func key(requestID uint64) bloom.Hash { return bloom.SumUint64(requestID) }
