package main

import (
	"crypto/md5"
	"fmt"
	"html/template"
	"net/http"

	"github.com/seed79a3ff49/bloom"
)

// perVisit is how many pages a visitor is shown at a time.
const perVisit = 10

// catalogue returns the URLs to recommend, best first.
func catalogue(n int) []string {
	pages := make([]string, n)
	for i := range pages {
		pages[i] = fmt.Sprintf("https://news.example/story/%03d", i+1)
	}
	return pages
}

// recommend returns the first perVisit pages that seen does not contain, and adds
// them to it. The keys are raw MD5 digests, so a page is the same key to any
// other program that shares the cookies, in Java with Guava's byteArrayFunnel.
func recommend(pages []string, seen *bloom.Filter) (shown []string) {
	for _, page := range pages {
		if len(shown) == perVisit {
			break
		}
		if key := md5.Sum([]byte(page)); seen.Add(key[:]) {
			shown = append(shown, page)
		}
	}
	return shown
}

var front = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><title>Not seen yet</title>
<h1>Not seen yet</h1>
{{if .Shown}}<ul>
{{range .Shown}}<li><a href="{{.}}">{{.}}</a></li>
{{end}}</ul>
{{else}}<p>You have seen everything.</p>
{{end}}<p>Your cookie remembers about {{.Count}} pages in {{.Size}} characters. It takes
{{printf "%.2g" .Percent}} % of new pages for seen ones.</p>
</html>
`))

// newRecommender returns a handler that shows each visitor pages at / that it has
// not shown to the same visitor before.
func newRecommender(c *cookies, pages []string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return // shows nothing, so must not count as shown
		}
		seen := c.open(r)
		shown := recommend(pages, seen)
		cookie := c.seal(seen, r.TLS != nil)
		http.SetCookie(w, cookie)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		front.Execute(w, struct {
			Shown   []string
			Count   uint64
			Size    int
			Percent float64
		}{shown, seen.ApproxCount(), len(cookie.Value), 100 * seen.FPR()})
	})
	return mux
}
