// Seencookie recommends pages that a visitor has not seen. It stores nothing about visitors: the
// pages that a visitor has seen are in a Bloom filter in the visitor's own cookie. A hundred URLs
// fit in 168 characters, and a signature needs 44 more. The MD5 digests of the URLs would need
// 3,200 hexadecimal characters; a browser keeps 4,096 characters in a cookie.
//
//	go run ./examples/seencookie    # and open http://127.0.0.1:8080/ several times
//
// The cookie is signed, so the server accepts only filters that it made. It makes a new key each
// time it starts, and ignores cookies that were signed with another key.
//
// A false positive hides a page that the visitor has not seen. Of two concurrent visits, only one
// counts. The cookie is not encrypted: every holder can look pages up in it with
// contrib/readers/bloom.mjs.
package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/seed79a3ff49/bloom"
)

const (
	perVisit = 10   // the largest number of pages in an answer
	n        = 100  // the number of pages that a cookie is made for
	p        = 0.01 // the rate of false positives with n pages
	maxValue = 512  // more than the length of the text in any cookie of this server
)

// cookies turns filters into cookies and back. A cookie is the filter's text, a dot, and a
// signature: the HMAC-SHA256 of the cookie's name and the text.
type cookies struct{ key []byte }

func (c cookies) sign(text string) string {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte("seen=" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (c cookies) seal(f *bloom.Filter, secure bool) (*http.Cookie, error) {
	text, err := f.MarshalText()
	return &http.Cookie{
		Name: "seen", Value: string(text) + "." + c.sign(string(text)), Path: "/",
		MaxAge:   int(30 * 24 * time.Hour / time.Second),
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	}, err
}

// open returns the filter in r's cookie, or an empty one if r has no cookie that seal made.
func (c cookies) open(r *http.Request) (*bloom.Filter, error) {
	for _, cookie := range r.CookiesNamed("seen") {
		text, signature, _ := strings.Cut(cookie.Value, ".")
		if len(text) > maxValue || !hmac.Equal([]byte(signature), []byte(c.sign(text))) {
			continue
		}
		f := new(bloom.Filter)
		return f, f.UnmarshalText([]byte(text))
	}
	return bloom.New(n, p)
}

// recommend returns up to perVisit pages that seen does not contain, and adds them to seen.
func recommend(pages []string, seen *bloom.Filter) (shown []string) {
	for _, page := range pages {
		if len(shown) < perVisit && seen.AddString(page) {
			shown = append(shown, page)
		}
	}
	return shown
}

var front = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><title>Not seen yet</title>
<ul>
{{range .Shown}}<li><a href="{{.}}">{{.}}</a></li>
{{else}}<li>You have seen everything.</li>
{{end}}</ul>
<p>Your cookie remembers about {{.Count}} pages in {{.Size}} characters.
It takes {{printf "%.2g" .Percent}} % of new pages for seen ones.</p></html>
`))

func newServer(c cookies, pages []string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return // HEAD shows no page, so no page counts as seen
		}
		seen, err := c.open(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		shown := recommend(pages, seen)
		cookie, err := c.seal(seen, r.TLS != nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		http.SetCookie(w, cookie)
		w.Header().Set("Cache-Control", "no-store")
		front.Execute(w, map[string]any{
			"Shown": shown, "Count": seen.ApproxCount(),
			"Size": len(cookie.Value), "Percent": 100 * seen.FPR(),
		})
	})
	return mux
}

func catalogue() []string {
	pages := make([]string, 120)
	for i := range pages {
		pages[i] = fmt.Sprintf("https://news.example/story/%03d", i+1)
	}
	return pages
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "serve at this `address`")
	flag.Parse()
	key := make([]byte, 32)
	rand.Read(key)
	server := &http.Server{
		Addr:              *addr,
		Handler:           newServer(cookies{key}, catalogue()),
		ReadHeaderTimeout: 5 * time.Second,
		MaxHeaderBytes:    64 << 10,
	}
	fmt.Printf("serving on http://%s/\n", *addr)
	log.Fatal(server.ListenAndServe())
}
