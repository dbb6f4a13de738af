// Package publish serves the versions of a filter, and the patches between them, for
// replica.Publisher and the server of the bloom command.
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

// A version is a filter with a name. A release is a version in memory: the current one, or an older
// one that an answer still uses. A step is a patch from one version to the next. A past version
// from which n steps lead to the current one is n steps behind.

const (
	// History is the largest number of past versions for which there are patches.
	History = 16

	// smallPatch is the number of bytes that patches may have beyond half the size of the filter.
	// It matters for small filters.
	smallPatch = 4096

	// Merging patches of several steps costs about a thousand times as much per changed bit as
	// sending a bit of the whole filter. A merge is cheap if its patches change at most 1/cheapPart
	// of the filter's bits, or cheapBits.
	cheapPart = 2048
	cheapBits = 1 << 16
	// Publish makes an expensive merge only if a client of the last release was as many steps
	// behind. Together such merges change at most 1/workPart of the filter's bits.
	workPart = 64
)

// Publisher has the current version of a filter, and patches from past ones. Many goroutines may
// use it concurrently. The first call must be Publish.
type Publisher struct {
	name  func(r *release, seq uint64) string // returns the name of a version
	exact bool                                // an answer never mixes two versions

	mu      sync.Mutex // held by Publish
	seq     uint64
	current atomic.Pointer[release]

	sending sync.Mutex // guards sent, and clients of each patch
	sent    int        // bytes of the large patches that are being sent
}

// release is a published version. Only wanted and packed change.
type release struct {
	version string
	made    time.Time // when it was made; unless exact, later than the release before
	filter  *bloom.Filter
	header  form.Header
	words   []uint64 // those of filter
	past    []step   // the past versions whose steps are kept, oldest first

	wanted [History + 1]atomic.Bool // wanted[i]: a client was i steps behind

	mu     sync.Mutex // guards packed
	packed [][]byte   // the pieces of the body that were asked for, as gzip members
}

// step is a past version, and the patch that turns it into the next one.
type step struct {
	version string
	patch   *patch
	parsed  *form.Patch // patch, decoded
	// since returns the patch from this version to the release. The first call may make it. It
	// returns nil if the patch would cost too much memory or time; see offer.
	since func() *patch
}

// patch is a patch that may be sent to several clients.
type patch struct {
	data    []byte
	clients int // how many clients are being sent data, if that is large
}

// New returns a Publisher without a version. Its versions get names that no other Publisher uses.
func New() *Publisher {
	random := rand.Text()
	return &Publisher{name: func(_ *release, seq uint64) string {
		return random + "-" + strconv.FormatUint(seq, 10)
	}}
}

// NewExact returns a Publisher without a version, whose versions are named by their contents:
// several Publishers of one file, and one after a restart, use the same names. An answer with a
// whole filter breaks off if the bits of its version can no longer be restored.
func NewExact() *Publisher {
	return &Publisher{exact: true, name: func(r *release, _ uint64) string { return r.digest() }}
}

// digest returns a name for the contents of r's body.
func (r *release) digest() string {
	digest := sha256.New()
	var sum form.Sum
	bloom.Must(r.filter.WriteTo(io.MultiWriter(digest, &sum)))
	digest.Write(sum.Trailer(r.header.Append(nil), form.Info(r.filter.Info())))
	return base64.RawURLEncoding.EncodeToString(digest.Sum(nil)[:16])
}

// Publish publishes f, and returns the name of its version, which is new if f differs from the
// current version in its bits, its size or its Info. If own is true, Publish keeps f, which must
// not change afterwards; otherwise it copies f.
func (p *Publisher) Publish(f *bloom.Filter, own bool, madeAt time.Time) (version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.current.Load()
	if last.holds(f) {
		return last.version
	}
	if last != nil && !p.exact && !madeAt.After(last.made) { // the clock stepped back
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

// follow gives r its past. previous is the release before r, or nil.
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

// room returns how many bytes all steps may have that r keeps, and all merges of several steps.
func (r *release) room() int { return 4*len(r.words) + smallPatch }

// firstKept returns the number of the first of the newest steps that have at most room bytes.
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

// offer decides for each past version whether there is a patch to r. Cheap merges are made when a
// client first asks. The others are made here, but only if a client of previous was as many steps
// behind.
func (r *release) offer(previous *release) {
	bits := 64 * uint64(len(r.words))
	work := bits / workPart
	room := r.room()
	size, changed := 0, uint64(0) // of the patch of all steps so far
	for behind := 1; behind <= len(r.past); behind++ {
		steps := r.past[len(r.past)-behind:]
		s := &steps[0]
		s.since = nil // it keeps previous in memory
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

// merge returns one patch for all the steps, of which the last one leads to r.
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
		guess += p.Changed
	}
	info := form.Info(r.filter.Info()) // follow has saved it
	proof := patches[0].Proof
	return &patch{data: bloom.Must(form.AppendPatch(nil, r.header, info, proof, guess, changes))}
}

func parsed(steps []step) (patches []*form.Patch) {
	for _, s := range steps {
		patches = append(patches, s.parsed)
	}
	return patches
}

// find returns one of the versions, preferably the newest, from which there is a patch to r, and
// that patch. The patch is nil if there is none.
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

// Since returns the current version. If version is that one, patch and full are nil. Otherwise
// Since returns a patch from version or, if there is none, a copy of the filter. The patch must not
// be changed.
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

// Version describes a version.
type Version struct {
	Name string
	Made time.Time
	Size int64 // of Guava's form of the filter
}

// Version returns the current version.
func (p *Publisher) Version() Version { return p.current.Load().describe() }

func (r *release) describe() Version { return Version{r.version, r.made, r.header.Size()} }

// Has reports whether f has the bits, the size and the Info of the current version.
func (p *Publisher) Has(f *bloom.Filter) bool { return p.current.Load().holds(f) }

func (r *release) holds(f *bloom.Filter) bool {
	return r != nil && r.filter.Equal(f) && r.filter.Info() == f.Info()
}

func (r *release) size() int64 {
	return r.header.Size() + int64(form.TrailerSize(form.Info(r.filter.Info())))
}

// hold reports whether another client may be sent d. If so, the caller must call drop afterwards.
// There is no limit for small patches. The large ones that are being sent have together at most as
// many bytes as the filter of r; further clients are sent the whole filter.
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
