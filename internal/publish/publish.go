// Package publish serves a filter's versions and the patches between them. replica.Publisher and
// the bloom command's server use it.
package publish

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/httphead"
)

// The terms of this package:
//
//	version  a filter with a name
//	release  a version in memory: the current one, or an older one that an answer still uses
//	step     a patch from one version to the next
//	behind   a version is n steps behind if n steps lead from it to the current version

const (
	// History is the largest number of past versions from which there are patches.
	History = 16

	// smallPatch is an allowance for small filters; see room.
	smallPatch = 4096

	// A merge of patches is cheap if they change at most 1/cheapPart of the filter's bits, or at
	// most cheapBits bits. Merging a changed bit takes about a thousand times as long as sending a
	// bit of the filter.
	cheapPart = 2048
	cheapBits = 1 << 16
	// Publish makes an expensive merge of n steps only if a client was n steps behind the previous
	// release. Together, these merges change at most 1/workPart of the filter's bits.
	workPart = 64
)

// Publisher has the current version of a filter, and patches from past versions. It is safe for
// concurrent use. The first call must be Publish.
type Publisher struct {
	name  func(r *release, seq uint64) string
	exact bool // an answer never mixes two versions

	mu      sync.Mutex // held by Publish
	seq     uint64
	current atomic.Pointer[release]

	sending sync.Mutex // guards sent and patch.clients
	sent    int        // number of bytes in the large patches that are being sent
}

// release is a published version. Only its fields wanted and packed change.
type release struct {
	version string
	made    time.Time // later than the previous release's, unless the Publisher is exact
	filter  *bloom.Filter
	header  form.Header
	words   []uint64 // shared with filter
	past    []step   // past versions, oldest first; the last one is one step behind

	wanted [History + 1]atomic.Bool // wanted[i]: a client was i steps behind

	mu     sync.Mutex // guards packed
	packed [][]byte   // the gzip members of the pieces; nil until a client needs them
}

// step is a past version, and the patch that turns it into the following version.
type step struct {
	version string
	patch   *patch
	parsed  *form.Patch // patch, decoded
	// since returns the patch from this version to the release. It is nil if there is no such
	// patch; see offer.
	since func() *patch
}

type patch struct {
	data    []byte
	clients int // number of clients that are receiving data, if data is large
}

// New returns a Publisher without a version. No other Publisher uses the names of its versions.
func New() *Publisher {
	random := rand.Text()
	return &Publisher{name: func(_ *release, seq uint64) string {
		return random + "-" + strconv.FormatUint(seq, 10)
	}}
}

// NewExact returns a Publisher without a version. It derives the name of a version from the
// content, so all Publishers of the same file use the same names, even after a restart. An answer
// with a whole filter breaks off if its version can no longer be restored exactly.
func NewExact() *Publisher {
	return &Publisher{exact: true, name: func(r *release, _ uint64) string { return r.digest() }}
}

func (r *release) digest() string {
	digest := sha256.New()
	var sum form.Sum
	bloom.Must(r.filter.WriteTo(io.MultiWriter(digest, &sum)))
	digest.Write(sum.Trailer(r.header.Append(nil), form.Info(r.filter.Info())))
	return base64.RawURLEncoding.EncodeToString(digest.Sum(nil)[:16])
}

// Publish makes f the current version, and returns the version's name. If f has the same
// parameters, bits and Info as the current version, nothing changes. If own is true, Publish
// retains f, which must not change afterwards; otherwise it copies f. If madeAt is not later than
// the time of the previous version, Publish uses a later time, unless p is exact.
func (p *Publisher) Publish(f *bloom.Filter, own bool, madeAt time.Time) (version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.current.Load()
	if last.holds(f) {
		return last.version
	}
	// The clock may have stepped back, or be too coarse to show a difference.
	if last != nil && !p.exact && !madeAt.After(last.made) {
		madeAt = last.made.Add(1)
	}
	if !own {
		f = f.Clone()
	}
	p.seq++
	header, words := door.Words(f)
	r := &release{
		made:   madeAt,
		filter: f,
		header: header,
		words:  words,
	}
	r.version = p.name(r, p.seq)
	r.packed = make([][]byte, (len(r.words)+pieceWords-1)/pieceWords)
	r.follow(last)
	p.current.Store(r)
	return r.version
}

// follow sets r.past. previous may be nil.
func (r *release) follow(previous *release) {
	if previous == nil || previous.header != r.header {
		return
	}
	data := bloom.Must(bloom.Diff(previous.filter, r.filter))
	steps := append(slices.Clone(previous.past), step{
		version: previous.version,
		patch:   &patch{data: data},
		parsed:  form.MadePatch(data),
	})
	r.past = slices.Clone(steps[firstKept(steps, r.room()):])
	r.offer(previous)
}

// room returns the limit in bytes for all patches in r.past together, and also for all merged
// patches together.
func (r *release) room() int { return 4*len(r.words) + smallPatch }

// firstKept returns the index of the first step to keep: the newest steps stay, as many as fit in
// room bytes, but at most History.
func firstKept(steps []step, room int) int {
	first := len(steps)
	for first > max(0, len(steps)-History) {
		room -= len(steps[first-1].patch.data)
		if room < 0 {
			break
		}
		first--
	}
	return first
}

// offer decides for each past version whether there is a patch from it to r. A cheap merge is
// computed when a client first asks for it. Any other merge of n steps is computed here, but only
// if a client was n steps behind previous.
func (r *release) offer(previous *release) {
	bits := 64 * uint64(len(r.words))
	work := bits / workPart
	room := r.room()
	size, changed := 0, uint64(0) // sums over steps: bytes of the streams, bits that change
	for behind := 1; behind <= len(r.past); behind++ {
		steps := r.past[len(r.past)-behind:]
		s := &steps[0]
		s.since = nil // the old function would keep previous in memory
		size += s.parsed.StreamSize()
		changed += s.parsed.Changed
		if behind == 1 {
			s.since = func() *patch { return s.patch }
			continue
		}
		room -= size + len(s.patch.data) - s.parsed.StreamSize()
		switch {
		case room < 0:
		case changed <= max(bits/cheapPart, cheapBits):
			s.since = sync.OnceValue(func() *patch { return r.merge(steps) })
		case changed <= work && previous.wanted[behind].Load():
			work -= changed
			merged := r.merge(steps)
			s.since = func() *patch { return merged }
		}
	}
}

// merge returns one patch for all steps. The last step must lead to r.
func (r *release) merge(steps []step) *patch {
	patches := parsed(steps)
	changes := func(yield func(int, uint64) bool) {
		all := form.Merge(patches)
		for {
			word, mask, ok := all.Next()
			if !ok || !yield(word, mask) {
				return
			}
		}
	}
	guess := uint64(0)
	for _, p := range patches {
		guess += p.Changed // speed
	}
	info := form.Info(r.filter.Info()) // follow has encoded this Info, so it is valid
	proof := patches[0].Proof
	return &patch{data: bloom.Must(form.AppendPatch(nil, r.header, info, proof, guess, changes))}
}

func parsed(steps []step) (patches []*form.Patch) {
	for _, s := range steps {
		patches = append(patches, s.parsed)
	}
	return patches
}

// find returns the newest past version among versions, and the patch from it to r. If there is no
// such version, or no patch from it, find returns "" and nil. It records how far behind the client
// is; see offer.
func (r *release) find(versions httphead.Tags) (version string, d *patch) {
	for i, s := range slices.Backward(r.past) {
		if versions.Find(s.version) {
			r.wanted[len(r.past)-i].Store(true)
			if s.since == nil {
				return "", nil
			}
			return s.version, s.since()
		}
	}
	return "", nil
}

// Since returns a description of the current version. If version is the current one, patch and full
// are nil. Otherwise Since returns a patch from version or, if there is none, a copy of the filter.
// The caller must not change the patch.
func (p *Publisher) Since(version string) (v Version, patch []byte, full *bloom.Filter) {
	r := p.current.Load()
	if version == r.version {
		return r.describe(), nil, nil
	}
	if _, d := r.find(httphead.Tags{Opaque: []string{version}}); d != nil {
		return r.describe(), d.data, nil
	}
	return r.describe(), nil, r.filter.Clone()
}

type Version struct {
	Name string
	Made time.Time
	Size int64 // length of Guava's form in bytes
}

func (p *Publisher) Version() Version { return p.current.Load().describe() }

func (r *release) describe() Version { return Version{r.version, r.made, r.header.Size()} }

// Has reports whether f has the same parameters, bits and Info as the current version.
func (p *Publisher) Has(f *bloom.Filter) bool { return p.current.Load().holds(f) }

func (r *release) holds(f *bloom.Filter) bool {
	return r != nil && r.filter.Equal(f) && r.filter.Info() == f.Info()
}

func (r *release) size() int64 {
	return r.header.Size() + int64(form.TrailerSize(form.Info(r.filter.Info())))
}

// hold reports whether d may be sent to another client. If so, the caller must call drop
// afterwards. A patch of at most pieceSize bytes may always be sent. The size of the filter limits
// the total size of the larger patches that are being sent.
func (p *Publisher) hold(r *release, d *patch) bool {
	if len(d.data) <= pieceSize {
		return true
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	if d.clients == 0 {
		if p.sent+len(d.data) > 8*len(r.words) {
			return false
		}
		p.sent += len(d.data)
	}
	d.clients++
	return true
}

func (p *Publisher) drop(d *patch) {
	if len(d.data) <= pieceSize {
		return
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	d.clients--
	if d.clients == 0 {
		p.sent -= len(d.data)
	}
}
