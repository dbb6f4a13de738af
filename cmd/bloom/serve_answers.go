package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/internal/httphead"
)

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.getPage)
	mux.HandleFunc("POST /{$}", s.postPage)
	mux.HandleFunc("GET /contains", s.getContains)
	mux.HandleFunc("POST /contains", s.postContains)
	mux.HandleFunc("GET /filter", s.getFilter)
	mux.HandleFunc("GET /info", s.getInfo)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		codings := httphead.Codings(r.Header.Values("Content-Encoding"))
		switch {
		case s.local && !s.answersFor(r.Host):
			text := fmt.Sprintf(
				"%q is not a name of this server; bloom serve --host NAME adds one", r.Host)
			http.Error(w, text, http.StatusForbidden)
		case len(codings) > 0:
			refuse(w, errPacked)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// answersFor reports whether a server on a loopback address answers requests for host, the name in
// a browser's address bar. Anyone can make a domain of their own point to this machine, and pages
// of that domain must not read the answers.
func (s *server) answersFor(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	matches := func(known string) bool {
		return strings.EqualFold(known, name) || strings.EqualFold(known, host)
	}
	switch {
	case host == "": // Every browser sends a host.
		return true
	case matches("localhost"), net.ParseIP(name).IsLoopback():
		return true
	}
	return slices.ContainsFunc(s.hosts, matches)
}

var (
	errBlank    = errors.New("the key is empty, and lists have no blank lines (see --blank)")
	errPacked   = errors.New("the body is compressed: send it unpacked")
	errStripped = errors.New("the body has no newline: " +
		"curl -d strips them, curl --data-binary @FILE keeps them")
	errBusy     = errors.New("too many requests at once")
	errKind     = errors.New("the body must be lines of text in UTF-8")
	errTooLarge = fmt.Errorf("the body has more than %d MiB: send it in parts", maxBody>>20)
)

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.As(err, &tooLarge):
		status = http.StatusRequestEntityTooLarge
		err = errTooLarge
	case errors.Is(err, errPacked), errors.Is(err, errKind), errors.As(err, new(lines.KindError)):
		status = http.StatusUnsupportedMediaType
	case errors.Is(err, errBusy):
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, err.Error(), status)
}

// getInfo answers with the output of bloom info --json.
func (s *server) getInfo(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(s.now.Load().report)
}

// parameters returns the parameters in a request's address. Their names must be among known, and
// each may be given only once: otherwise the server would answer a different question.
func parameters(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the address is not understood: %w", err)
	}
	for name, given := range values {
		switch {
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("%q is not a parameter of %s %s", name, r.Method, r.URL.Path)
		case len(given) > 1:
			return nil, fmt.Errorf("%q is given more than once", name)
		}
	}
	return values, nil
}

const formKind = "application/x-www-form-urlencoded"

// checkKind returns an error that wraps errKind if the Content-Type of a request is not one of
// kinds, or has a charset that is not one of charsets. It accepts a request without a Content-Type.
// In kinds, "text/" stands for all kinds of text.
func checkKind(r *http.Request, kinds ...string) error {
	given := strings.Join(r.Header.Values("Content-Type"), ", ")
	if given == "" {
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(given)
	if strings.HasPrefix(kind, "text/") {
		kind = "text/"
	}
	charset := strings.ToLower(parameters["charset"])
	if err != nil || !slices.Contains(kinds, kind) || !slices.Contains(charsets, charset) {
		return fmt.Errorf("%w, but this one is %q", errKind, given)
	}
	return nil
}

// charsets lists the charsets that a body may have. In others, a key may have different bytes.
var charsets = []string{"", "utf-8", "utf8", "us-ascii"}

func (s *server) getContains(w http.ResponseWriter, r *http.Request) {
	query, err := parameters(r, "key")
	switch {
	case err != nil:
	case r.ContentLength != 0:
		err = errors.New("GET /contains takes no body: send lines with POST")
	case !query.Has("key"):
		err = errors.New("a key is missing: /contains?key=K")
	}
	if err != nil {
		refuse(w, err)
		return
	}
	found, err := s.contains(s.now.Load(), []byte(query.Get("key")), new([]byte))
	if err != nil {
		refuse(w, err)
		return
	}
	fmt.Fprintln(w, found)
}

// contains reports whether v may have the key of line. scratch is a buffer for the key. For a line
// that is probably not a key, contains returns an error instead of false.
func (s *server) contains(v *version, line []byte, scratch *[]byte) (bool, error) {
	found, doubtful, err := s.look(v, line, scratch)
	if err == nil && doubtful && !found {
		err = v.doubt.refusal(line)
	}
	return found, err
}

// look is like contains, but sets doubtful for a line that is probably not a key, and refuses it
// only if its key has a byte of v.doubt.bars.
func (s *server) look(v *version, line []byte, scratch *[]byte) (found, doubtful bool, err error) {
	key, next, err := v.key.Of(line, 0, (*scratch)[:0])
	if err != nil {
		return false, false, err
	}
	*scratch = next // speed
	switch {
	case len(key) == 0 && !s.blank:
		return false, false, errBlank
	case hasAny(key, v.doubt.bars):
		return false, false, v.doubt.refusal(line)
	}
	doubtful = v.doubt.doubts(key)
	hashed, keyed := methodsOf(v.filter.filter)
	if hashed != nil {
		return hashed.ContainsHash(bloom.Sum(key)), doubtful, nil
	}
	return keyed.Contains(key), doubtful, nil
}

// postContains answers for the lines of a body. It reads the body first, so that a slow client
// keeps no version of the filter in memory.
func (s *server) postContains(w http.ResponseWriter, r *http.Request) {
	query, err := parameters(r, "v")
	if v := query.Get("v"); err == nil && query.Has("v") && v != "0" && v != "1" {
		err = fmt.Errorf("v must be 1 or 0, not %q", v)
	}
	if err == nil {
		err = checkKind(r, "text/", formKind, "application/octet-stream")
	}
	if err != nil {
		refuse(w, err)
		return
	}
	body, release, err := s.readBody(w, r, maxBody)
	defer release()
	if err != nil {
		refuse(w, err)
		return
	}
	form := strings.HasPrefix(r.Header.Get("Content-Type"), formKind)
	if form && len(body) > 0 && !bytes.Contains(body, []byte("\n")) {
		refuse(w, errStripped)
		return
	}
	absent := query.Get("v") == "1"
	answer, err := s.selectLines(s.now.Load(), body, !absent)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	setWriteTime(w, int64(len(answer)))
	w.Write(answer)
}

func setWriteTime(w http.ResponseWriter, size int64) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience(size)))
}

// readBody returns the body of a request, of up to limit bytes, without a UTF-8 byte order mark.
// It occupies a place in s.pieces for each whole piece that arrives, so a client that sends nothing
// occupies none. The caller must call release after use of the body, and also after an error.
func (s *server) readBody(w http.ResponseWriter, r *http.Request, limit int64) (
	body []byte, release func(), err error,
) {
	var held []func()
	release = func() {
		for _, piece := range held {
			piece()
		}
	}
	in, packed, err := lines.Begin(http.MaxBytesReader(w, r.Body, limit), '\n')
	if packed != "" {
		err = errPacked
	}
	if err != nil {
		return nil, release, err
	}
	var data bytes.Buffer
	for {
		_, err := io.CopyN(&data, in, bodyPiece)
		if err == io.EOF {
			return data.Bytes(), release, nil
		}
		if err != nil {
			return nil, release, err
		}
		piece, err := acquire(s.pieces)
		if err != nil {
			return nil, release, err
		}
		held = append(held, piece)
	}
}

// acquire occupies a place, or returns errBusy if none is free. In either case the caller calls
// release.
func acquire(places chan struct{}) (release func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return func() {}, errBusy
	}
}

// selectLines returns the lines of body that v may have or, if want is false, that v certainly
// lacks. It leaves out blank lines, unless the server looks them up. If lines that are probably not
// keys were found no more often than false positives explain, it returns an error. The result uses
// the memory of body.
func (s *server) selectLines(v *version, body []byte, want bool) ([]byte, error) {
	selected := body[:0]
	d := *v.doubt
	var refusal error // the error for the first line that is probably not a key
	var scratch []byte
	for number := 1; len(body) > 0; number++ {
		line, rest, _ := bytes.Cut(body, []byte("\n"))
		body = rest
		found, doubtful, err := s.look(v, line, &scratch)
		if err == errBlank {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if doubtful {
			d.count(found)
			if refusal == nil {
				refusal = fmt.Errorf("line %d: %w", number, d.refusal(line))
			}
		}
		if found == want {
			selected = append(selected, line...)
			selected = append(selected, '\n')
		}
	}
	if d.mistaken(v.report.Rate, 1) {
		return nil, refusal
	}
	return selected, nil
}
