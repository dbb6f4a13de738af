package main

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/readers"
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
		if seen.Add(keyOf(page)) {
			shown = append(shown, page)
		}
	}
	return shown
}

func keyOf(page string) []byte {
	key := md5.Sum([]byte(page))
	return key[:]
}

var front = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><title>Not seen yet</title>
<h1>Not seen yet</h1>
{{if .Shown}}<ul>
{{range .Shown}}<li><a href="{{.}}">{{.}}</a></li>
{{end}}</ul>
{{else}}<p>You have seen everything.</p>
{{end}}<p>Your cookie remembers about {{.Count}} pages in {{.Size}} characters. It takes
{{printf "%.2g" .Percent}} % of new pages for seen ones. <a href="/all">All pages</a></p>
</html>
`))

// all is the same for everybody: the browser asks the visitor's filter. So a cache may
// keep it.
var all = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><title>All pages</title>
<h1>All pages</h1>
<p id="count"></p>
<ul>
{{range .}}<li data-key="{{.Key}}"><a href="{{.Page}}">{{.Page}}</a></li>
{{end}}</ul>
<script type="module">
import {read} from "/bloom.mjs"
const filter = read(new Uint8Array(await (await fetch("/seen")).arrayBuffer()))
const pages = [...document.querySelectorAll("[data-key]")]
const bytes = hex => Uint8Array.from(hex.match(/../g), byte => parseInt(byte, 16))
const seen = pages.filter(page => filter.contains(bytes(page.dataset.key)))
for (const page of seen) page.append(" (seen)")
document.getElementById("count").textContent = "You have seen " + seen.length + " of " + pages.length + "."
</script>
</html>
`))

type listed struct{ Page, Key string }

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
	list := make([]listed, len(pages))
	for i, page := range pages {
		list[i] = listed{page, hex.EncodeToString(keyOf(page))}
	}
	mux.HandleFunc("GET /all", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		all.Execute(w, list)
	})
	mux.HandleFunc("GET /seen", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Cache-Control", "no-store")
		c.open(r).WriteTo(w)
	})
	mux.HandleFunc("GET /bloom.mjs", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Write(readers.JavaScript)
	})
	return mux
}
