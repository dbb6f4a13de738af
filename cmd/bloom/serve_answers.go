package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/klauspost/compress/gzip"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// handler answers all requests.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", s.answer(s.page))
	mux.Handle("POST /{$}", s.answer(s.page))
	mux.Handle("GET /contains", s.answer(s.contains))
	mux.Handle("POST /contains", s.answer(s.check))
	mux.Handle("GET /filter", s.answer(s.send))
	mux.Handle("GET /info", s.answer(func(now *served, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(now.report)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch coding := r.Header.Get("Content-Encoding"); {
		case s.local && !s.answersFor(r.Host):
			http.Error(w, fmt.Sprintf("%q is not a name of this server; bloom serve -host NAME adds one", r.Host), http.StatusForbidden)
		case coding != "" && coding != "identity":
			http.Error(w, errPacked.Error(), http.StatusUnsupportedMediaType)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// answersFor reports whether a server on a loopback address answers requests for host. A browser
// sends the name by which a page was found. One that its owner points at this machine is no
// reason to show the page our answers.
func (s *server) answersFor(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	is := func(known string) bool { return strings.EqualFold(known, name) || strings.EqualFold(known, host) }
	return host == "" || is("localhost") || net.ParseIP(name).IsLoopback() || slices.ContainsFunc(s.hosts, is) // no browser sends none
}

// answer has one filter answer all of a request.
func (s *server) answer(f func(*served, http.ResponseWriter, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f(s.now.Load(), w, r) })
}

// contains answers for one key.
func (s *server) contains(now *served, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !query.Has("key") {
		http.Error(w, "a key is missing: /contains?key=K", http.StatusBadRequest)
		return
	}
	found, err := s.has(now, []byte(query.Get("key")), new([]byte))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintln(w, found)
}

// has looks a line up. It uses scratch.
func (s *server) has(now *served, line []byte, scratch *[]byte) (bool, error) {
	key, next, err := now.key.Of(line, 0, (*scratch)[:0])
	if err != nil {
		return false, err
	}
	*scratch = next
	if len(key) == 0 && !s.blank {
		return false, errBlank
	}
	if f, ok := now.filter.filter.(hashed); ok {
		return f.ContainsHash(bloom.Sum(key)), nil
	}
	return now.filter.filter.(keyedFilter).Contains(key), nil
}

// send sends the filter.
func (s *server) send(now *served, w http.ResponseWriter, r *http.Request) {
	if now.plain == nil {
		http.Error(w, fmt.Sprintf("a %s has no bytes of Guava's", now.report.Type), http.StatusNotFound)
		return
	}
	select {
	case s.filters <- struct{}{}:
		defer func() { <-s.filters }()
	default:
		busy(w)
		return
	}
	f, tag := now.plain()
	h := w.Header()
	h.Set("ETag", "W/"+tag) // a weak one: gzip changes the bytes
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if strings.Contains(strings.Join(r.Header.Values("If-None-Match"), ","), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/octet-stream")
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience(f.SizeBytes())))
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Length", strconv.FormatInt(f.SizeBytes(), 10))
		f.WriteTo(w)
		return
	}
	// Guava's bytes have no checksum, gzip's have. A full filter does not get smaller.
	h.Set("Content-Encoding", "gzip")
	level := gzip.BestSpeed
	if f.FillRatio() > 0.2 {
		level = gzip.NoCompression
	}
	z := bloom.Must(gzip.NewWriterLevel(w, level))
	if _, err := f.WriteTo(z); err == nil {
		z.Close()
	}
}

// check answers for the lines of the body, while it arrives.
func (s *server) check(now *served, w http.ResponseWriter, r *http.Request) {
	http.NewResponseController(w).EnableFullDuplex()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	to := newBacklog(w, s.files)
	body := http.MaxBytesReader(nil, r.Body, maxBody) // nil, as w is in use beside it
	form := strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
	began, err := to.end(s.answers(now, to, body, form, r.URL.Query().Get("v") == "1"))
	if err != nil {
		w.Header().Set("Connection", "close") // net/http panics where a next request follows an unread body
	}
	switch {
	case err == nil:
	case began:
		// So that no client takes the answer for whole. The rest of the body is not waited for.
		http.NewResponseController(w).SetReadDeadline(time.Now())
		panic(http.ErrAbortHandler)
	case errors.Is(err, errBusy):
		busy(w)
	case errors.Is(err, errPacked):
		http.Error(w, err.Error(), http.StatusUnsupportedMediaType)
	default:
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// answers writes the answers for the lines of body to w.
func (s *server) answers(now *served, w io.Writer, body io.Reader, form, invert bool) error {
	body, packed, err := lines.Begin(body)
	switch {
	case packed == "gzip", packed == "zstd":
		return errPacked
	case err != nil && packed != "":
		return fmt.Errorf("%w: %w", errPacked, err)
	case err != nil:
		return err
	}
	in := bufio.NewReaderSize(body, maxLine+1)
	out := bufio.NewWriterSize(w, 16<<10)
	var scratch []byte
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return out.Flush()
		}
		if n == 1 && err == io.EOF && form {
			return errStripped
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		found := false
		switch {
		case err == bufio.ErrBufferFull || len(line) > maxLine:
			err = fmt.Errorf("it is longer than %d bytes", maxLine)
		case err == nil || err == io.EOF: // the last line may end so
			found, err = s.has(now, line, &scratch)
		}
		if err == errBlank {
			continue
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if found != invert {
			out.Write(line)
			out.WriteByte('\n')
		}
		if in.Buffered() == 0 { // who sends line by line gets answers so
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

var errBlank = errors.New("the key is empty, and blank lines are in no list")

var errPacked = errors.New("the body is compressed, and bloom does not unpack it here")

var errStripped = errors.New("the body has no newline: curl -d strips them, curl --data-binary @FILE keeps them")

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
