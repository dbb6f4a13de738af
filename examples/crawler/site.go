package main

import (
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// A site is a web site that is the same each time, and counts its visitors. Its
// pages link to each other, some thirty times each, in all the spellings that
// real ones use, and to what else a crawler meets: redirects (one pair of them
// to each other), files, queries, broken links and other sites.
type site struct {
	pages int
	mux   *http.ServeMux
	mu    sync.Mutex
	hits  map[string]int // by path and query
}

const (
	redirectEvery = 10 // pages link to /go/i, for i a multiple of this
	fileEvery     = 25
	missingEvery  = 100
	searches      = 50
)

func newSite(pages int) *site {
	s := &site{pages: pages, mux: http.NewServeMux(), hits: map[string]int{}}
	s.mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { s.page(w, r, 0) })
	s.mux.HandleFunc("/page/{i}", func(w http.ResponseWriter, r *http.Request) {
		if i, err := strconv.Atoi(r.PathValue("i")); err == nil && 0 < i && i < s.pages {
			s.page(w, r, i)
		} else {
			http.NotFound(w, r)
		}
	})
	s.mux.HandleFunc("/go/{i}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "../page/"+r.PathValue("i")+"#target", http.StatusFound)
	})
	s.mux.Handle("/loop/a", http.RedirectHandler("/loop/b", http.StatusMovedPermanently))
	s.mux.Handle("/loop/b", http.RedirectHandler("/loop/a", http.StatusTemporaryRedirect))
	s.mux.Handle("/away", http.RedirectHandler("http://elsewhere.example/", http.StatusSeeOther))
	s.mux.HandleFunc("/file/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, `not a link: <a href="/trap">`)
	})
	s.mux.HandleFunc("/search", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `You searched for %s. <a href="?#again">Empty search</a>`, html.EscapeString(r.FormValue("q")))
	})
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.hits[r.URL.RequestURI()]++
	s.mu.Unlock()
	s.mux.ServeHTTP(w, r)
}

// served returns how many URLs were fetched, and how often the most popular was.
func (s *site) served() (distinct, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.hits {
		most = max(most, n)
	}
	return len(s.hits), most
}

// urls returns all that a crawler should fetch, by path and query.
func (s *site) urls() []string {
	urls := []string{"/", "/loop/a", "/loop/b", "/away", "/search"}
	for i := range s.pages {
		if i > 0 {
			urls = append(urls, fmt.Sprint("/page/", i))
		}
		if i > 0 && i%redirectEvery == 0 {
			urls = append(urls, fmt.Sprint("/go/", i))
		}
		if i%fileEvery == 0 {
			urls = append(urls, fmt.Sprintf("/file/%d.txt", i))
		}
		if i%missingEvery == 0 {
			urls = append(urls, fmt.Sprint("/missing/", i))
		}
	}
	for i := range min(searches, s.pages) {
		urls = append(urls, fmt.Sprintf("/search?q=caf%%C3%%A9&n=%d", i))
	}
	return urls
}

// page writes page i. Its links form a tree, so that all pages can be reached, and
// then go anywhere.
func (s *site) page(w http.ResponseWriter, r *http.Request, i int) {
	rng := rand.New(rand.NewPCG(uint64(i), 0))
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html><title>Page %d <a href=/trap></title>\n", i)
	for child := 2*i + 1; child <= 2*i+2 && child < s.pages; child++ {
		fmt.Fprintf(&b, "<a href=\"/page/%d\">child</a>\n", child)
	}
	host := r.Host
	for range 24 {
		to := 1 + rng.IntN(s.pages-1)
		switch rng.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "<a class=x href='/page/%d#part'>another</a>\n", to)
		case 1:
			fmt.Fprintf(&b, "<A\n HREF = /page/%d>another</A>\n", to)
		case 2:
			fmt.Fprintf(&b, "<a href=\"HTTP://%s/page/%d\">another</a>\n", strings.ToUpper(host), to)
		case 3:
			fmt.Fprintf(&b, "<a href=\"//%s/page/../page/./%d\">another</a>\n", host, to)
		case 4:
			fmt.Fprintf(&b, "<area alt='>' href=\" &#x2F;page&sol;%d\n\"/>\n", to)
		default:
			fmt.Fprintf(&b, "<a href=\"/page/%d\">another</a>\n", to)
		}
	}
	fmt.Fprintf(&b, "<a href=/search?q=caf%%C3%%A9&amp;n=%d>search</a>\n", i%searches)
	if to := i - i%redirectEvery; to > 0 {
		fmt.Fprintf(&b, "<a href=/go/%d>moved</a>\n", to)
	}
	fmt.Fprintf(&b, "<a href=/file/%d.txt>text</a> <a href=/missing/%d>gone</a>\n", i-i%fileEvery, i-i%missingEvery)
	fmt.Fprint(&b, `<a href=/loop/a>round</a> <a href=/away>away</a> <a href="/">home</a>
<a href="http://elsewhere.example/page/1">other site</a> <a href="mailto:me@example.com">mail</a>
<a href="https://`+host+`/page/1">other scheme</a> <a name="no-link">no link</a> <a href="%zz">no URL</a>
<!-- <a href="/trap">not now</a> --><script>document.write('<a href="/trap">')</script>
<link href="/trap"><a data-href="/trap">no link</a>
`)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, b.String())
}
