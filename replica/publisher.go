package replica

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
)

const (
	// history is how many versions behind a replica may be and get a delta.
	history = 16
	// hashSize is the memory of a bloom.Hash. The hashes kept to make deltas
	// from take no more of it than the filter itself.
	hashSize = 16
	// sparse is the fill ratio below which gzip takes a quarter or more off a
	// full filter: 0.2 carries 0.72 bits of information per bit.
	sparse = 0.2
	// maxUnpacked is the largest filter, in bytes, that travels gzipped other
	// than as a delta. A reader knows how large a delta must be; of a full
	// filter it knows nothing, and gzip makes a thousand bytes from one.
	maxUnpacked = 1 << 30

	deltaIM = "bloom-delta" // instance manipulation, RFC 3229
)

// Publisher is a filter that serves versions of itself: to a Replica in the
// same process as a Source, and to those elsewhere as an http.Handler for the
// source HTTP. Its methods may be called by many goroutines at once.
//
// As a handler it answers GET and HEAD of any path with the last published
// version in Guava's binary form, its version as the ETag, and 304 to who has it.
// A client that has one of the 16 versions before, names it in If-None-Match
// and says "A-IM: bloom-delta" and "Accept-Encoding: gzip" gets status 226 (RFC
// 3229) and, in place of the filter, one with the same parameters and only the
// keys added since, which gzip makes small.
type Publisher struct {
	mu      sync.Mutex
	filter  *bloom.Filter
	pending []bloom.Hash // that changed filter since the last release
	lost    bool         // pending was too large to keep
	seq     uint64
	past    []step // oldest first
	name    string // of this Publisher: versions of two never collide
	current atomic.Pointer[release]
}

// step is a past version and what was added after it until the next.
type step struct {
	version string
	added   []bloom.Hash
}

// release is a published version. It is never written to.
type release struct {
	version string
	filter  *bloom.Filter
	packed  func() []byte // filter, gzipped
	deltas  map[string]delta
}

type delta struct {
	filter func() *bloom.Filter
	packed func() []byte
}

// NewPublisher returns a Publisher that has published f as it is. It takes f
// over, which must not be used afterwards and not be the zero Filter.
func NewPublisher(f *bloom.Filter) *Publisher {
	if f.K() == 0 {
		panic("bloom: NewPublisher of a zero Filter")
	}
	p := &Publisher{filter: f, name: rand.Text()}
	p.release()
	return p
}

// Add adds key, and reports whether the filter changed; see bloom.Filter.Add.
// Replicas get it once it is published.
func (p *Publisher) Add(key []byte) bool { return p.AddHash(bloom.Sum(key)) }

// AddString is Add of key's bytes, without copying them.
func (p *Publisher) AddString(key string) bool { return p.AddHash(bloom.SumString(key)) }

// AddHash is Add by digest.
func (p *Publisher) AddHash(h bloom.Hash) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.filter.AddHash(h) {
		return false
	}
	switch {
	case p.lost:
	case uint64(len(p.pending)) < p.maxHashes():
		p.pending = append(p.pending, h)
	default:
		p.lost, p.pending = true, nil
	}
	return true
}

func (p *Publisher) maxHashes() uint64 { return p.filter.M() / 8 / hashSize }

// Publish makes a version of all keys whose Add has returned, and returns its
// name. Without new keys it is the last one. It copies the filter, during which
// Add waits.
func (p *Publisher) Publish() (version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) == 0 && !p.lost {
		return p.current.Load().version
	}
	p.past = append(p.past, step{p.current.Load().version, p.pending})
	if p.lost {
		p.past = nil
	}
	p.pending, p.lost = nil, false
	total := uint64(0)
	for i := len(p.past) - 1; i >= 0; i-- {
		total += uint64(len(p.past[i].added))
		if total > p.maxHashes() || len(p.past)-i > history {
			p.past = append([]step(nil), p.past[i+1:]...)
			break
		}
	}
	p.release()
	return p.current.Load().version
}

func (p *Publisher) release() {
	p.seq++
	f := p.filter.Clone()
	r := &release{
		version: p.name + "-" + strconv.FormatUint(p.seq, 10),
		filter:  f,
		packed:  sync.OnceValue(func() []byte { return pack(f) }),
		deltas:  make(map[string]delta),
	}
	for i, s := range p.past {
		steps := append([]step(nil), p.past[i:]...)
		filter := func() *bloom.Filter {
			d := f.Clone()
			d.Reset()
			for _, s := range steps {
				d.AddBatch(s.added)
			}
			return d
		}
		r.deltas[s.version] = delta{filter, sync.OnceValue(func() []byte { return pack(filter()) })}
	}
	p.current.Store(r)
}

func pack(w io.WriterTo) []byte {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	if err == nil {
		_, err = w.WriteTo(z)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err) // a bytes.Buffer has none
	}
	return buf.Bytes()
}

// Fetch implements Source. It never fails.
func (p *Publisher) Fetch(_ context.Context, have string) (Update, error) {
	r := p.current.Load()
	u := Update{Version: r.version}
	if have == r.version {
		return u, nil
	}
	if d, ok := r.deltas[have]; ok {
		u.Delta = d.filter()
	} else {
		u.Full = r.filter.Clone()
	}
	return u, nil
}

// ServeHTTP implements http.Handler.
func (p *Publisher) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	r := p.current.Load()
	have := tags(req.Header.Values("If-None-Match"))
	gzipped := lists(req.Header.Values("Accept-Encoding"), "gzip")
	size := 6 + r.filter.M()/8

	h := w.Header()
	h.Set("ETag", strconv.Quote(r.version))
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache") // to be kept, but asked about before each use
	for _, v := range have {
		if v == r.version || v == "*" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}

	h.Set("Content-Type", "application/octet-stream")
	status := http.StatusOK
	var body []byte
	if gzipped && lists(req.Header.Values("A-IM"), deltaIM) {
		for _, v := range have {
			if d, ok := r.deltas[v]; ok {
				body = d.packed()
				h.Set("IM", deltaIM)
				h.Set("Delta-Base", strconv.Quote(v))
				h.Set("Cache-Control", "no-store") // a cache might not know 226
				status = http.StatusIMUsed
				break
			}
		}
	}
	if body == nil && gzipped && size <= maxUnpacked && r.filter.FillRatio() < sparse {
		body = r.packed()
		// The tag is of other bytes than without gzip, so must be a weak one.
		h.Set("ETag", "W/"+strconv.Quote(r.version))
	}
	if body != nil {
		h.Set("Content-Encoding", "gzip")
		size = uint64(len(body))
	}
	h.Set("Content-Length", strconv.FormatUint(size, 10))
	w.WriteHeader(status)
	switch {
	case req.Method == http.MethodHead:
	case body != nil:
		_, _ = w.Write(body) // who went away needs no answer
	default:
		_, _ = r.filter.WriteTo(w)
	}
}

// tags returns the opaque parts of a list of entity tags without quotes.
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

// lists reports whether a header with a comma-separated list names want with a
// weight other than 0.
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
