package replica

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/seed79a3ff49/bloom"
)

// HTTP returns a source that gets url with client c: a Publisher, or any server
// that serves a file in Guava's binary form. Its versions are the server's
// ETags without their quotes. To a server that sends none everything is always
// new, and Version is "".
//
// A gzipped body may unpack to 1 GiB; larger filters, of some 900 million keys
// at 1 %, travel as they are. If c is nil it is one that gives up after five
// minutes; c should have a Timeout, without which a server that stops
// answering stops the replica, or the context should.
func HTTP(url string, c *http.Client) Source {
	if c == nil {
		c = &http.Client{Timeout: 5 * time.Minute}
	}
	return &httpSource{url: url, client: c}
}

type httpSource struct {
	url    string
	client *http.Client

	mu   sync.Mutex
	last known
}

// known describes the last filter or delta fetched.
type known struct {
	version, etag string
	header        [headerSize]byte
}

// headerSize is how many bytes of Guava's binary form precede the bits. They
// tell all of a filter's parameters.
const headerSize = 6

func headerOf(f *bloom.Filter) [headerSize]byte {
	header := [headerSize]byte{byte(f.Strategy()), byte(f.K())}
	binary.BigEndian.PutUint32(header[2:], uint32(f.M()/64))
	return header
}

func (s *httpSource) Fetch(ctx context.Context, have string) (Update, error) {
	u, err := s.fetch(ctx, have)
	if err != nil {
		return Update{}, fmt.Errorf("bloom: GET %s: %w", s.url, err)
	}
	return u, nil
}

func (s *httpSource) fetch(ctx context.Context, have string) (u Update, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return u, err
	}
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	// Set here, it is not net/http that unpacks, which would not say how much.
	req.Header.Set("Accept-Encoding", "gzip")
	wantDelta := have != "" && have == last.version
	switch {
	case wantDelta: // who does not know the filter's parameters cannot judge a delta
		req.Header.Set("If-None-Match", last.etag)
		req.Header.Set("A-IM", deltaIM)
	case have != "":
		req.Header.Set("If-None-Match", strconv.Quote(have))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return u, err
	}
	defer resp.Body.Close()

	next := known{version: untag(resp.Header.Get("ETag")), etag: resp.Header.Get("ETag"), header: last.header}
	u.Version = next.version
	switch {
	case resp.StatusCode == http.StatusNotModified && have != "":
		return Update{Version: have}, nil
	case resp.StatusCode == http.StatusIMUsed && wantDelta &&
		resp.Header.Get("IM") == deltaIM && untag(resp.Header.Get("Delta-Base")) == have:
		u.Delta, err = readBody(resp, &last.header)
	case resp.StatusCode == http.StatusOK:
		u.Full, err = readBody(resp, nil)
		if err == nil {
			next.header = headerOf(u.Full)
		}
	default:
		return u, fmt.Errorf("status %s", resp.Status)
	}
	if err != nil {
		return u, err
	}
	s.mu.Lock()
	s.last = next
	s.mu.Unlock()
	return u, nil
}

// readBody reads a filter and nothing more. If want is not nil the filter must
// have these parameters.
func readBody(resp *http.Response, want *[headerSize]byte) (*bloom.Filter, error) {
	body, packed := io.Reader(resp.Body), false
	switch encoding := resp.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body, packed = z, true
	default:
		return nil, fmt.Errorf("Content-Encoding %q is unknown", encoding)
	}

	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	summed := io.TeeReader(body, sum)
	var header [headerSize]byte
	if _, err := io.ReadFull(summed, header[:]); err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	words := uint64(binary.BigEndian.Uint32(header[2:]))
	switch {
	case want != nil && header != *want:
		return nil, fmt.Errorf("%w: delta starts % x, filter % x", bloom.ErrFormat, header, *want)
	case want == nil && packed && words*8 > maxUnpacked:
		return nil, fmt.Errorf("%w: %d words are too many under gzip", bloom.ErrFormat, words)
	}
	f := new(bloom.Filter)
	if _, err := f.ReadFrom(io.MultiReader(bytes.NewReader(header[:]), summed)); err != nil {
		return nil, err
	}
	// What follows is nothing or, if the file is one of SaveFile's, its trailer.
	// Reading to the end also checks gzip's own checksum.
	rest, err := io.ReadAll(io.LimitReader(body, int64(trailerSize)+1))
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if len(rest) > 0 && !intact(rest, sum) {
		return nil, fmt.Errorf("%w: filter followed by % x", bloom.ErrFormat, rest)
	}
	return f, nil
}

const (
	trailerMagic = "bloom\x01"
	trailerSize  = len(trailerMagic) + crc32.Size
)

// intact reports whether rest is the trailer that bloom.Filter.SaveFile puts
// after bytes of which sum is the checksum so far.
func intact(rest []byte, sum hash.Hash32) bool {
	if len(rest) != trailerSize || string(rest[:len(trailerMagic)]) != trailerMagic {
		return false
	}
	sum.Write(rest[:len(trailerMagic)])
	return binary.BigEndian.Uint32(rest[len(trailerMagic):]) == sum.Sum32()
}
