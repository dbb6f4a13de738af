package replica

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/gunzip"
	"github.com/seed79a3ff49/bloom/internal/httphead"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/publish"
)

// HTTPSource gets a filter from URL, from a [Publisher] or any server of a file in Guava's binary
// form, with or without the trailer of bloom.Filter.SaveFile.
//
// A Publisher sends a patch. Any other server sends the whole filter whenever the ETag has changed.
// The source's versions are the ETags without quotes, and without what a compressing proxy appends,
// such as "-gzip". If the server sends no ETag, or one longer than 1,024 bytes, every refresh loads
// the whole filter, and Version is "". A replica behind a CDN is late by as long as the CDN keeps a
// copy, and may be led back to an older version; see [Status].
//
// The request that follows a failed transfer, or three failed requests, asks for the whole filter,
// without compression. A filter of more than a megabyte counts as a failed transfer if its gzip is
// more than a hundred times shorter, which only a nearly empty filter's is.
//
// Set the fields before the first use. Many goroutines may use an HTTPSource concurrently. An
// HTTPSource must not be copied.
type HTTPSource struct {
	_ nocopy.Locker

	// URL is the filter's address.
	URL string
	// Client makes the requests. Its Transport may add headers that the server needs, such as
	// Authorization; see the example, which does not send them to servers that a redirect names. If
	// Client is nil, requests time out after five minutes. Otherwise give Client a Timeout, or the
	// context of each refresh a deadline: without either, a server that stops answering stops the
	// replica.
	Client *http.Client
	// Limit is the size in bytes of the largest filter that the source accepts. 0 means 1 GiB,
	// which is 900 million keys at 1 %. Memory is allocated as data arrives.
	Limit int64

	mu    sync.Mutex
	last  known
	fails int // the number of failed requests since the last success; see plainAfter
}

var defaultClient = &http.Client{Timeout: 5 * time.Minute}

// After plainAfter failed requests in a row, the next request, and every second one after that,
// asks for the whole filter without compression. A transfer that began and failed counts as
// plainAfter failed requests: if a cache has damaged the filter, the same request would fail again.
const plainAfter = 3

// known is the last fetched version, its ETag, and the length of its filter.
type known struct {
	version, etag string
	size          int64
}

// tags returns the value of If-None-Match: the ETag as it came and, if a proxy appended anything,
// also the ETag without that.
func (k known) tags() string {
	if httphead.Opaque(k.etag) == k.version {
		return k.etag
	}
	return k.etag + ", " + strconv.Quote(k.version)
}

// maxTag is the largest length of an ETag in bytes. A longer one is ignored.
const maxTag = 1024

// Fetch implements [Source].
func (s *HTTPSource) Fetch(ctx context.Context, have string) (Update, error) {
	s.mu.Lock()
	last, fails := s.last, s.fails
	s.mu.Unlock()
	plain := fails >= plainAfter && (fails-plainAfter)%2 == 0
	u, latest, err := s.fetch(ctx, have, last, plain)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.last, s.fails = latest, 0
		return u, nil
	case !plain && errors.Is(err, errTransfer):
		s.fails = plainAfter
	default:
		s.fails++
	}
	return Update{}, fmt.Errorf("replica: GET %s: %w", s.URL, err)
}

var errTransfer = errors.New("transfer failed")

// fetch makes one request. It returns the update, and the value of s.last after a success.
func (s *HTTPSource) fetch(
	ctx context.Context, have string, last known, plain bool,
) (u Update, latest known, err error) {
	wantPatch := !plain && have != ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		return u, latest, err
	}
	setHeader(req.Header, have, last, plain, wantPatch)
	resp, err := cmp.Or(s.Client, defaultClient).Do(req)
	if err != nil {
		return u, latest, err
	}
	defer resp.Body.Close()

	limit := min(cmp.Or(s.Limit, 1<<30), math.MaxInt64-maxPatch-1) // so that sums fit
	if etag := resp.Header.Get("ETag"); len(etag) <= maxTag {
		latest = known{version: versionOf(etag), etag: etag}
	}
	u.Version = latest.version
	u.Made = madeOf(resp.Header)
	switch resp.StatusCode {
	case http.StatusNotModified:
		if have == "" {
			return u, latest, errors.New("status 304, and there is nothing yet")
		}
		return Update{Version: have}, last, nil
	case http.StatusOK:
		u.Full, err = readFilter(resp, limit)
		if err == nil {
			latest.size = u.Full.SizeBytes()
		}
	case http.StatusIMUsed:
		if have == last.version { // the patched filter has the same size
			latest.size = last.size
			limit = min(limit, last.size)
		}
		if wantPatch {
			u.Patch, err = readPatch(resp, have, limit+maxPatch)
		} else {
			err = errNotAsked(resp)
		}
	default:
		status := http.StatusText(resp.StatusCode)
		return u, latest, fmt.Errorf("status %d %s", resp.StatusCode, status)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errTransfer, err)
	}
	return u, latest, err
}

// setHeader asks for what is new since the version have.
func setHeader(h http.Header, have string, last known, plain, wantPatch bool) {
	// If a program sets this header, net/http does not unpack the body.
	h.Set("Accept-Encoding", "gzip")
	if plain {
		h.Set("Accept-Encoding", "identity")
	}
	if wantPatch {
		h.Set("A-IM", publish.DeltaIM)
	}
	switch {
	case have == "":
	case have == last.version:
		h.Set("If-None-Match", last.tags())
	default:
		h.Set("If-None-Match", `"`+have+`"`)
	}
}

// errNotAsked returns the error for an answer that is a patch of another kind, or is none.
func errNotAsked(resp *http.Response) error {
	return fmt.Errorf("status %d, IM %.40q", resp.StatusCode, resp.Header.Get("IM"))
}

// madeOf returns when the version in an answer was made, or the zero Time if the server does not
// tell it. Date is the time of the answer.
func madeOf(h http.Header) time.Time {
	if made, err := time.Parse(time.RFC3339Nano, h.Get(publish.MadeHeader)); err == nil {
		return made
	}
	made, _ := http.ParseTime(h.Get("Last-Modified")) // the zero Time if it is missing
	return made
}

func versionOf(etag string) string { return httphead.Bare(httphead.Opaque(etag)) }

// maxPatch is the number of bytes by which a patch may be longer than its filter, because of the
// patch's head and Info.
const maxPatch = 64 << 10

// codings returns the content coding of resp, or an error if it is not among accepted; "" stands
// for none.
func codings(resp *http.Response, accepted ...string) (coding string, err error) {
	lines := resp.Header.Values("Content-Encoding")
	coding = strings.Join(httphead.Codings(lines), ", ")
	if !slices.Contains(accepted, coding) {
		return "", fmt.Errorf("status %d, Content-Encoding %.40q", resp.StatusCode, coding)
	}
	return coding, nil
}

// readPatch reads a patch of the version have. It returns an error if the body has more than limit
// bytes, or a content coding, because a Publisher does not compress patches.
func readPatch(resp *http.Response, have string, limit int64) ([]byte, error) {
	if !httphead.Lists(resp.Header.Values("IM"), publish.DeltaIM) {
		return nil, errNotAsked(resp)
	}
	if base := versionOf(resp.Header.Get("Delta-Base")); base != have {
		return nil, fmt.Errorf("%w: patch of version %.40q, not %q", bloom.ErrMismatch, base, have)
	}
	if _, err := codings(resp, ""); err != nil {
		return nil, err
	}
	return readAll(resp.Body, limit)
}

// readAll reads all of r, or returns an error if r has more than limit bytes.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("the answer is above the limit of %d bytes", limit)
	}
	return data, nil
}

// readFilter reads a filter. It returns an error if the filter has more than limit bytes, or if
// anything but a trailer follows it.
func readFilter(resp *http.Response, limit int64) (*bloom.Filter, error) {
	coding, err := codings(resp, "", "gzip")
	if err != nil {
		return nil, err
	}
	if coding == "" {
		return decode(resp.Body, limit, limit, false)
	}
	// The compressed bytes are read first, so that their number bounds the filter's memory.
	packed, err := readAll(resp.Body, limit+maxPatch)
	if err != nil {
		return nil, err
	}
	body, err := gunzip.NewReader(bytes.NewReader(packed), gzip.NewReader)
	if err != nil {
		return nil, err
	}
	return decode(body, limit, form.MaxUnzipped(int64(len(packed))), true)
}

// decode reads a filter of at most limit bytes from body. packed means that body comes from gzip:
// the filter may then have at most room bytes, and its memory is allocated in one piece. Otherwise
// the memory grows as bytes arrive.
func decode(body io.Reader, limit, room int64, packed bool) (*bloom.Filter, error) {
	if packed {
		body = form.Arrived{Reader: body}
	}
	accept := func(h form.Header) error {
		switch size := h.Size(); {
		case size > limit:
			return fmt.Errorf("filter of %d bytes is above the limit of %d", size, limit)
		case size > room:
			return form.ErrUnzipped
		}
		return nil
	}
	h, words, info, err := form.Guava("replica").ReadAll(body, accept)
	if err != nil {
		return nil, err
	}
	return door.Filter[bloom.Filter](h, words, info), nil
}
