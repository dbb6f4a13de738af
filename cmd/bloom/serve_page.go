package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dustin/go-humanize"
)

//go:embed serve.html
var pageSource string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Parse(pageSource))
})

// pagePolicy lets a browser load nothing from outside the page.
var pagePolicy = sync.OnceValue(func() string {
	_, style, _ := strings.Cut(pageSource, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	digest := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
		"'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
})

// page has the values for pageTemplate.
type page struct {
	Name, Host string
	Comment    string
	Said       string // the answer, or what is wrong, for the title
	Hex        bool   // keys are given in hexadecimal
	Download   bool
	Rows       []row
	Key        string
	Answer     *verdict
	Pasted     string
	Bad        string // what is wrong with the pasted text
	Answers    []verdict
}

type verdict struct {
	Key    string
	Found  bool
	Others string // how many absent keys are reported as present, such as "one in 100"
	Bad    string // why there is no answer
}

func (s *server) getPage(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err == nil && len(query["key"]) > 1 {
		err = errors.New(`"key" is given more than once`)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	v := s.now.Load()
	p := newPage(v, r)
	if query.Has("key") { // links to the page may have other parameters
		p.Key = query.Get("key")
		answer := s.verdict(v, p.Key)
		p.Answer = &answer
		p.Said = answer.text()
	}
	p.write(w)
}

func (s *server) postPage(w http.ResponseWriter, r *http.Request) {
	if err := checkKind(r, formKind); err != nil {
		refuse(w, err)
		return
	}
	body, release, err := s.readBody(w, r, maxPasted)
	defer release()
	v := s.now.Load()
	p := newPage(v, r)
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &tooLarge):
		p.Said = "This is more than the page checks in one go"
		p.Bad = p.Said + ". The shell commands below check longer lists."
	case err != nil:
		refuse(w, err)
		return
	}
	form, err := url.ParseQuery(string(body))
	if err == nil && len(form["lines"]) != 1 && len(body) > 0 {
		err = errors.New("it must have one field named lines")
	}
	if err != nil {
		refuse(w, fmt.Errorf("the form is damaged: %w", err))
		return
	}
	p.addPasted(s, v, form)
	p.write(w)
}

func newPage(v *version, r *http.Request) *page {
	rows := slices.DeleteFunc(v.report.rows(), func(r row) bool { return r.Name == "comment" })
	rows = append(rows, row{"loaded", v.loaded.Format("2 January 2006, 15:04:05 MST")})
	return &page{
		Name:     filepath.Base(v.report.File),
		Comment:  v.report.Comment,
		Host:     r.Host,
		Hex:      v.key.Hex,
		Download: v.guava != nil,
		Rows:     rows,
	}
}

func (p *page) addPasted(s *server, v *version, form url.Values) {
	p.Pasted = form.Get("lines")
	found := 0
	for line := range strings.Lines(p.Pasted) {
		// Browsers end the lines of a form with CR LF.
		answer := s.verdict(v, strings.TrimRight(line, "\r\n"))
		p.Answers = append(p.Answers, answer)
		if answer.Found {
			found++
		}
	}
	if len(p.Answers) > 0 {
		p.Said = fmt.Sprintf("%s of %s probably in the list",
			humanize.Comma(int64(found)), linesAre(len(p.Answers)))
	}
}

func linesAre(n int) string {
	if n == 1 {
		return "1 line is"
	}
	return humanize.Comma(int64(n)) + " lines are"
}

func (s *server) verdict(v *version, key string) verdict {
	found, err := s.contains(v, []byte(key), new([]byte))
	if err != nil {
		return verdict{Key: key, Bad: err.Error()}
	}
	return verdict{Key: key, Found: found, Others: oneIn(v.report.Rate)}
}

func (v verdict) text() string {
	switch {
	case v.Bad != "":
		return v.Bad
	case v.Found:
		return v.Key + " is probably in the list"
	}
	return v.Key + " is certainly not in the list"
}

func (p *page) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy())
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	setWriteTime(w, maxBody)
	pageTemplate().Execute(w, p)
}

// oneIn says in words how many absent keys a filter with that rate reports as present.
func oneIn(rate float64) string {
	switch {
	case rate > 0.3:
		return "most"
	case rate < 1e-15:
		return "hardly any"
	}
	n, _ := strconv.ParseFloat(fmt.Sprintf("%.1e", 1/rate), 64) // two digits
	return "one in " + humanize.Comma(int64(n))
}
