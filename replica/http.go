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

// HTTPSource gets a filter from URL. The server is a [Publisher], or any server that serves a file
// in Guava's binary form, with or without the trailer that bloom.Filter.SaveFile writes.
//
// A Publisher sends a patch if it has one. Any other server sends the whole filter whenever the
// ETag has changed. The names of versions are the ETags, without quotes and without suffixes that
// compressing proxies append, such as "-gzip". If the server sends no ETag, or one longer than
// 1,024 bytes, every refresh loads the whole filter, and Version is "". Behind a CDN, a replica
// lags for as long as the CDN keeps a copy, and may return to an older version; see [Status].
//
// After a failed transfer, or after three failed requests in a row, the next request usually asks
// for the whole filter, without compression. A transfer also counts as failed if the filter is
// larger than a megabyte and gzip makes it more than a hundred times shorter, as it does with a
// nearly empty filter.
//
// The fields must be set before the first use. Many goroutines may use an HTTPSource. An HTTPSource
// must not be copied.
type HTTPSource struct {
	_ nocopy.Locker

	// URL is the address of the filter.
	URL string
	// Client makes the requests. Its Transport may add headers that the server needs, such as
	// Authorization; the example does so without sending them to servers that a redirect names. If
	// Client is nil, requests time out after five minutes. Otherwise, give Client a Timeout, or
	// give the context of each refresh a deadline: without either, a server that stops answering
	// stops the replica.
	Client *http.Client
	// Limit is the size in bytes of the largest filter that the source accepts. 0 means 1 GiB,
	// which is enough for 890 million keys at 1 %. No memory is allocated before data arrives.
	Limit int64

	mu    sync.Mutex
	last  known
	fails int // number of failed requests in a row; a failed transfer may set it to plainAfter
}

var defaultClient = &http.Client{Timeout: 5 * time.Minute}

// A plain request asks for the whole filter without compression. After plainAfter failed requests
// in a row, the next request is plain, and then every second one. If a transfer fails and the
// request was not plain, the next request is plain: if a cache has damaged the filter, the same
// request would fail again.
const plainAfter = 3

// known describes the version that was fetched last. size is the length of its filter in bytes, or
// 0 if that is unknown.
type known struct {
	version, etag string
	size          int64
}

// tags returns the value of If-None-Match: the ETag as it was received and, if a proxy has appended
// a suffix, the ETag without it.
func (k known) tags() string {
	if httphead.Opaque(k.etag) == k.version {
		return k.etag
	}
	return k.etag + ", " + strconv.Quote(k.version)
}

// maxTag is the length in bytes of the longest ETag that is used.
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

// On success, fetch returns the update and the new value of s.last.
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

	limit := min(cmp.Or(s.Limit, 1<<30), math.MaxInt64-maxPatch-1) // so that sums do not overflow
	if etag := resp.Header.Get("ETag"); len(etag) <= maxTag {
		latest = known{version: versionOf(etag), etag: etag}
	}
	u.Version = latest.version
	u.Made = madeOf(resp.Header)
	switch resp.StatusCode {
	case http.StatusNotModified:
		if have == "" {
			return u, latest, errors.New("status 304, but no filter is loaded yet")
		}
		return Update{Version: have}, last, nil
	case http.StatusOK:
		u.Full, err = readFilter(resp, limit)
		if err == nil {
			latest.size = u.Full.SizeBytes()
		}
	case http.StatusIMUsed:
		if have == last.version && last.size > 0 { // a patch hardly changes the size
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

// setHeader sets the headers that ask for what is new since the version with the name have.
func setHeader(h http.Header, have string, last known, plain, wantPatch bool) {
	// net/http does not decompress the body if the program sets this header.
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

// errNotAsked returns the error for a patch that was not requested, or that has an unknown format.
func errNotAsked(resp *http.Response) error {
	return fmt.Errorf("patch that was not requested, or of unknown format: status %d, IM %.40q",
		resp.StatusCode, resp.Header.Get("IM"))
}

// madeOf returns the time at which the version in an answer was made, or the zero Time if it is
// unknown. It does not use the Date header, which has the time of the answer.
func madeOf(h http.Header) time.Time {
	if made, err := time.Parse(time.RFC3339Nano, h.Get(publish.MadeHeader)); err == nil {
		return made
	}
	made, _ := http.ParseTime(h.Get("Last-Modified")) // the zero Time on error
	return made
}

func versionOf(etag string) string { return httphead.Bare(httphead.Opaque(etag)) }

// maxPatch is the number of bytes by which a patch may exceed its filter, because of the patch's
// head and Info.
const maxPatch = 64 << 10

// codings returns the content coding of resp, or "" if there is none. If it is not among accepted,
// codings returns an error.
func codings(resp *http.Response, accepted ...string) (coding string, err error) {
	lines := resp.Header.Values("Content-Encoding")
	coding = strings.Join(httphead.Codings(lines), ", ")
	if !slices.Contains(accepted, coding) {
		return "", fmt.Errorf("unexpected encoding: status %d, Content-Encoding %.40q",
			resp.StatusCode, coding)
	}
	return coding, nil
}

// readPatch reads a patch of at most limit bytes for the version with the name have. A content
// coding is an error, because a Publisher does not compress patches.
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

// readAll reads all of r, which may have at most limit bytes.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("the answer is longer than the limit of %d bytes", limit)
	}
	return data, nil
}

// readFilter reads a filter of at most limit bytes. Only a trailer may follow it.
func readFilter(resp *http.Response, limit int64) (*bloom.Filter, error) {
	coding, err := codings(resp, "", "gzip")
	if err != nil {
		return nil, err
	}
	if coding == "" {
		return decode(resp.Body, limit, limit, false)
	}
	// The compressed bytes are read first, because their number limits the memory for the filter.
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

// decode reads a filter of at most limit bytes from body. If packed is true, body is decompressed
// data that has already arrived: the filter may have at most room bytes, and its memory is
// allocated at once. Otherwise memory grows as bytes arrive.
func decode(body io.Reader, limit, room int64, packed bool) (*bloom.Filter, error) {
	if packed {
		body = form.Arrived{Reader: body}
	}
	accept := func(h form.Header) error {
		switch size := h.Size(); {
		case size > limit:
			return fmt.Errorf("filter of %d bytes is longer than the limit of %d", size, limit)
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
