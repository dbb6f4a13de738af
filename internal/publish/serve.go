package publish

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/seed79a3ff49/bloom/internal/httphead"
)

const (
	// DeltaIM names the instance manipulation (RFC 3229) that sends patches; see docs/format.md.
	DeltaIM = "bloom-delta1"
	// MadeHeader names a header field with the same time as Last-Modified, but in RFC 3339 format,
	// with fractions of a second.
	MadeHeader = "Bloom-Made"
	// sparse is the fill ratio below which a whole filter may be sent with gzip. At a fill ratio of
	// 0.2, each bit carries 0.72 bits of information.
	sparse = 0.2
)

// ServeHTTP serves the current version, or a patch to it. docs/format.md describes the protocol.
func (p *Publisher) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	r := p.current.Load()
	have := httphead.ParseTags(req.Header.Values("If-None-Match"))
	h := w.Header()
	// The tag is weak because gzip changes the bytes.
	h.Set("ETag", "W/"+strconv.Quote(r.version))
	if !r.made.IsZero() {
		h.Set("Last-Modified", r.made.UTC().Format(http.TimeFormat))
		h.Set(MadeHeader, r.made.UTC().Format(time.RFC3339Nano))
	}
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache") // caches may store the answer, but must ask before each use
	if have.Match(r.version) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/octet-stream")
	if httphead.Lists(req.Header.Values("A-IM"), DeltaIM) {
		base, d := r.find(have)
		if d != nil && p.hold(r, d) {
			p.sendPatch(w, req, base, d) // keeps d in memory, but not r
			return
		}
	}
	gzipped := r.filter.FillRatio() < sparse &&
		httphead.Prefers(req.Header.Values("Accept-Encoding"), "gzip")
	if gzipped {
		h.Set("Content-Encoding", "gzip")
	} else {
		h.Set("Content-Length", strconv.FormatInt(r.size(), 10))
	}
	w.WriteHeader(http.StatusOK)
	if req.Method != http.MethodHead {
		// An error other than errReplaced means that the client is gone.
		if err := p.bodyOf(r).send(w, gzipped); errors.Is(err, errReplaced) {
			panic(http.ErrAbortHandler) // tells the client that the answer is incomplete
		}
	}
}

// sendPatch sends d and then drops it. The caller must have called hold.
func (p *Publisher) sendPatch(w http.ResponseWriter, req *http.Request, base string, d *patch) {
	defer p.drop(d)
	h := w.Header()
	h.Set("IM", DeltaIM)
	h.Set("Delta-Base", strconv.Quote(base))
	h.Set("Cache-Control", "no-store") // caches may not understand status 226
	h.Set("Content-Length", strconv.Itoa(len(d.data)))
	w.WriteHeader(http.StatusIMUsed)
	if req.Method != http.MethodHead {
		_, _ = w.Write(d.data) // an error means that the client is gone
	}
}
