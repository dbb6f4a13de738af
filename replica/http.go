package replica

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// HTTPSource gets a filter from URL. The server is a [Publisher], or any server of a file in
// Guava's binary form. The file may end with the trailer that bloom.Filter.SaveFile adds.
//
// A Publisher sends a patch. Any other server sends the whole filter whenever its ETag has changed.
// The source's versions are the ETags without their quotes. If the server sends no ETag, or one
// longer than 1,024 bytes, every refresh loads the whole filter, and Version is "". A CDN keeps a
// copy for some time: a replica behind a CDN is late by that time, too.
//
// The request that follows a failed transfer, or three failed requests, asks for the whole filter,
// without compression.
//
// Set the fields before the first use. Many goroutines may use an HTTPSource at once. An HTTPSource
// must not be copied.
type HTTPSource struct {
	_ nocopy.Locker

	// URL is the filter's address.
	URL string
	// Client makes the requests. Its Transport may add headers that the server needs, such as
	// Authorization; see the example. If Client is nil, a request may take five minutes. Otherwise
	// give Client a Timeout, or the context of each refresh a deadline. Without both, a server that
	// stops answering stops the replica.
	Client *http.Client
	// Limit is the size in bytes of the largest filter that the source accepts. 0 means 1 GiB,
	// which is 900 million keys at 1 %. Memory is allocated as data arrives.
	Limit int64

	mu    sync.Mutex
	last  known
	fails int // the number of failed requests since the last success; see plainAfter
}

var defaultClient = &http.Client{Timeout: 5 * time.Minute}

// After plainAfter failed requests in a row, the next request asks for the whole filter without
// compression, and so does every second request after that. A transfer that began and failed counts
// as plainAfter failed requests: if a cache has damaged bytes, the same request would fail again.
const plainAfter = 3

// known is the last version that was fetched, and its ETag.
type known struct{ version, etag string }

// maxTag is the largest length of an ETag in bytes. A longer one is ignored.
const maxTag = 1024

func headerOf(f *bloom.Filter) form.Header {
	return form.Header{Strategy: uint8(f.Strategy()), K: f.K(), Words: int(f.M() / 64)}
}

// Fetch implements [Source].
func (s *HTTPSource) Fetch(ctx context.Context, have string) (Update, error) {
	s.mu.Lock()
	last, fails := s.last, s.fails
	s.mu.Unlock()
	plain := fails >= plainAfter && (fails-plainAfter)%2 == 0
	u, next, err := s.fetch(ctx, have, last, plain)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.last, s.fails = next, 0
		return u, nil
	case !plain && errors.Is(err, errTransfer):
		s.fails = plainAfter
	default:
		s.fails++
	}
	return Update{}, fmt.Errorf("replica: GET %s: %w", s.URL, err)
}

var errTransfer = errors.New("transfer failed")

// fetch makes one request. It returns the update, and what is known after it.
func (s *HTTPSource) fetch(
	ctx context.Context, have string, last known, plain bool,
) (u Update, next known, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		return u, next, err
	}
	// If a program sets this header, net/http does not unpack the body.
	encoding := "gzip"
	if plain {
		encoding = "identity"
	}
	req.Header.Set("Accept-Encoding", encoding)
	wantPatch := !plain && have != ""
	if wantPatch {
		req.Header.Set("A-IM", deltaIM)
	}
	switch {
	case have == "":
	case have == last.version:
		req.Header.Set("If-None-Match", last.etag)
	default:
		req.Header.Set("If-None-Match", `"`+have+`"`)
	}
	resp, err := cmp.Or(s.Client, defaultClient).Do(req)
	if err != nil {
		return u, next, err
	}
	defer resp.Body.Close()

	limit := cmp.Or(s.Limit, 1<<30)
	if etag := resp.Header.Get("ETag"); len(etag) <= maxTag {
		next = known{version: untag(etag), etag: etag}
	}
	u.Version = next.version
	switch resp.StatusCode {
	case http.StatusNotModified:
		if have == "" {
			return u, next, errors.New("status 304, and there is nothing yet")
		}
		return Update{Version: have}, last, nil
	case http.StatusOK:
		u.Full, err = readFilter(resp, limit)
	case http.StatusIMUsed:
		base := untag(resp.Header.Get("Delta-Base"))
		switch {
		case !wantPatch || resp.Header.Get("IM") != deltaIM:
			err = fmt.Errorf("status %d, IM %.40q", resp.StatusCode, resp.Header.Get("IM"))
		case base != have:
			err = fmt.Errorf("%w: patch of version %.40q, not %q", bloom.ErrMismatch, base, have)
		default:
			u.Patch, err = readPatch(resp, limit)
		}
	default:
		status := http.StatusText(resp.StatusCode)
		return u, next, fmt.Errorf("status %d %s", resp.StatusCode, status)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errTransfer, err)
	}
	return u, next, err
}

// unpacked returns the body of resp without its Content-Encoding.
func unpacked(resp *http.Response) (io.Reader, error) {
	switch encoding := resp.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return resp.Body, nil
	case "gzip":
		return gzip.NewReader(resp.Body)
	default:
		return nil, fmt.Errorf("Content-Encoding %.40q is unknown", encoding)
	}
}

// readPatch reads a patch. It returns an error if the body is longer than limit bytes, or if it is
// not a patch.
func readPatch(resp *http.Response, limit int64) ([]byte, error) {
	body, err := unpacked(resp)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("patch is above the limit of %d bytes", limit)
	}
	_, err = form.ParsePatch(data)
	return data, err
}

// readFilter reads a filter. It returns an error if the filter has more than limit bytes, or if
// anything but a trailer follows it.
func readFilter(resp *http.Response, limit int64) (*bloom.Filter, error) {
	body, err := unpacked(resp)
	if err != nil {
		return nil, err
	}
	var sum form.Sum
	summed := io.TeeReader(body, &sum)
	header, _, err := form.ReadHeader("replica", summed)
	if err != nil {
		return nil, err
	}
	if header.Size() > limit {
		return nil, fmt.Errorf("filter of %d bytes is above the limit of %d", header.Size(), limit)
	}
	f := new(bloom.Filter)
	again := io.MultiReader(bytes.NewReader(header.Append(nil)), summed)
	if _, err := f.ReadFrom(again); err != nil {
		return nil, err
	}
	// What follows is nothing or the trailer of a file. Reading to the end also
	// checks gzip's own checksum.
	rest, err := io.ReadAll(io.LimitReader(body, int64(form.MaxTrailer)+1))
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if len(rest) > 0 {
		info, err := sum.CheckTrailer("replica", header.Append(nil), rest)
		if err != nil {
			return nil, err
		}
		f.SetInfo(door.Info[bloom.Info](info))
	}
	return f, nil
}
