package replica

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/seed79a3ff49/bloom/internal/form"
)

const (
	deltaIM = "bloom-delta1" // instance manipulation, RFC 3229; see docs/format.md
	// Below the fill ratio sparse, gzip makes a whole filter shorter by a quarter or more: at 0.2,
	// a bit carries 0.72 bits of information.
	sparse = 0.2
)

// ServeHTTP implements http.Handler.
func (p *Publisher) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	p.made()
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	r := p.current.Load()
	have := tags(req.Header.Values("If-None-Match"))
	h := w.Header()
	// The tag is weak, because gzip changes the bytes.
	h.Set("ETag", "W/"+strconv.Quote(r.version))
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache") // caches may keep the answer, and ask before each use
	if slices.Contains(have, r.version) || slices.Contains(have, "*") {
		w.WriteHeader(http.StatusNotModified)
		return
	}

	h.Set("Content-Type", "application/octet-stream")
	if lists(req.Header.Values("A-IM"), deltaIM) {
		if i := slices.IndexFunc(have, func(v string) bool { return r.find(v) >= 0 }); i >= 0 {
			patch := r.since(r.find(have[i]))
			h.Set("IM", deltaIM)
			h.Set("Delta-Base", strconv.Quote(have[i]))
			h.Set("Cache-Control", "no-store") // a cache may not know status 226
			h.Set("Content-Length", strconv.Itoa(len(patch)))
			w.WriteHeader(http.StatusIMUsed)
			if req.Method != http.MethodHead {
				_, _ = w.Write(patch) // an error means that the client has gone
			}
			return
		}
	}
	gzipped := r.fill < sparse && lists(req.Header.Values("Accept-Encoding"), "gzip")
	if gzipped {
		h.Set("Content-Encoding", "gzip")
	} else {
		h.Set("Content-Length", strconv.Itoa(len(r.data)+form.TrailerSize(r.info)))
	}
	w.WriteHeader(http.StatusOK)
	if req.Method != http.MethodHead {
		// Any other error means that the client has gone.
		if err := p.bodyOf(r).send(w, gzipped); errors.Is(err, errReplaced) {
			panic(http.ErrAbortHandler) // lets the client notice that the answer is not complete
		}
	}
}

// tags returns the opaque parts of a list of entity tags, without quotes.
func tags(header []string) (versions []string) {
	for _, v := range strings.Split(strings.Join(header, ","), ",") {
		versions = append(versions, untag(v))
	}
	return versions
}

// untag returns the opaque part of an entity tag, without quotes.
func untag(tag string) string {
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`)
}

// lists reports whether a header, which is a comma-separated list, has want with a weight other
// than 0.
func lists(header []string, want string) bool {
	for _, v := range strings.Split(strings.Join(header, ","), ",") {
		name, params, _ := strings.Cut(v, ";")
		if strings.EqualFold(strings.TrimSpace(name), want) {
			var q float64 = 1
			if n, _ := fmt.Sscanf(strings.TrimSpace(params), "q=%g", &q); n == 0 || q > 0 {
				return true
			}
		}
	}
	return false
}
