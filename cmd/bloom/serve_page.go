package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

//go:embed serve.html
var pageSource string

var pageTemplate = template.Must(template.New("").Parse(pageSource))

// pagePolicy lets a browser use the page's own style, and nothing else of anybody's.
var pagePolicy = func() string {
	_, style, _ := strings.Cut(pageSource, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	digest := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
		"'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// page is what the page for people shows.
type page struct {
	Name, Host string
	Hex, Plain bool
	Rows       []row
	Key        string
	Answer     *verdict
	Pasted     string
	Bad        string // what is wrong with what was pasted
	Answers    []verdict
	Found      int
}

// verdict is the answer for one key.
type verdict struct {
	Key    string
	Found  bool
	Others string // how many other keys get the same answer
	Bad    string // why there is no answer
}

// page answers with the page for people.
func (s *server) page(now *served, w http.ResponseWriter, r *http.Request) {
	p := page{Name: filepath.Base(now.report.File), Host: r.Host, Hex: now.key.Hex, Plain: now.plain != nil}
	p.Rows = append([]row{{"file", now.report.File}}, now.report.rows()...)
	p.Rows = append(p.Rows, row{"loaded", now.loaded.Format("2 January 2006, 15:04:05 MST")})
	ask := func(key string) verdict {
		found, err := s.has(now, []byte(key), new([]byte))
		if err != nil {
			return verdict{Key: key, Bad: err.Error()}
		}
		return verdict{Key: key, Found: found, Others: oneIn(now.report.Rate)}
	}
	if query := r.URL.Query(); query.Has("key") {
		p.Key = query.Get("key")
		answer := ask(p.Key)
		p.Answer = &answer
	}
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxPasted)
		if err := r.ParseForm(); err != nil {
			p.Bad = "This is more than the page checks at once. The shell lines below check any number."
		}
		p.Pasted = r.PostForm.Get("lines")
		for line := range strings.Lines(p.Pasted) {
			// Browsers end the lines of a form with CR LF.
			answer := ask(strings.TrimRight(line, "\r\n"))
			p.Answers = append(p.Answers, answer)
			if answer.Found {
				p.Found++
			}
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	pageTemplate.Execute(w, p)
}

// oneIn says how many other keys a filter of that rate reports.
func oneIn(rate float64) string {
	switch {
	case rate > 0.3:
		return "most"
	case rate < 1e-15:
		return "hardly any"
	}
	n, _ := strconv.ParseFloat(fmt.Sprintf("%.1e", 1/rate), 64) // two digits are enough
	return "one in " + humanize.Comma(int64(n))
}
