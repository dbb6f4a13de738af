package replica

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// history is the largest number of past versions for which a Publisher has patches.
const history = 16

// Publisher serves versions of a filter. It is a [Source] for replicas in the same process. For
// other replicas it is an http.Handler, from which an [HTTPSource] fetches. A Publisher has no keys
// of its own. Each [Publisher.Publish] takes a snapshot of the filter to which the program adds.
// Many goroutines may use a Publisher at once. Make it with [NewPublisher]: the zero Publisher
// panics.
//
// A Publisher keeps patches for up to 16 past versions; see [bloom.Diff]. If a replica has one of
// these versions, it gets the bits that changed since then. Other replicas get the whole filter.
// All patches together have at most about half as many bytes as the filter: if the newest ones need
// that much, the Publisher drops the older ones.
//
// As a handler, a Publisher answers GET and HEAD of any path. docs/format.md describes the
// protocol. A slow client keeps no old version in memory. Each client takes up to 64 KiB while it
// is served.
//
// A new Publisher gives its versions new names. So after a restart every replica loads the whole
// filter once. To survive a crash, add, save, and then publish; see the example. If you publish
// first, a crash can make replicas lose keys.
//
// A Publisher keeps the bytes of the last version, and the patches. While Publish runs, it also
// needs memory for a snapshot and for the bytes of a new version.
type Publisher struct {
	_        nocopy.Locker
	snapshot func() *bloom.Filter
	name     string // random, so that versions of two Publishers never have the same name

	mu      sync.Mutex // held by Publish
	seq     uint64
	current atomic.Pointer[release]
}

// release is a published version. Only packed changes.
type release struct {
	version string
	header  form.Header
	info    form.Info
	data    []byte // Guava's binary form
	fill    float64
	past    []step // the past versions that have a patch, oldest first

	mu     sync.Mutex // guards packed
	packed [][]byte   // the pieces of data that were asked for, as gzip members
}

// step is a past version, and the patch that turns it into the next version.
type step struct {
	version string
	patch   []byte
}

// NewPublisher returns a Publisher and publishes a first version. snapshot returns the filter to
// publish. It can be the method Snapshot of a [bloom.SyncFilter], of a counting.Filter, or of a
// [Replica] that has loaded. Publish calls snapshot from one goroutine at a time. The Publisher
// does not retain or change the filter.
//
// NewPublisher and Publish panic if snapshot returns nil or the zero Filter, or one with an Info
// that no file can have.
func NewPublisher(snapshot func() *bloom.Filter) *Publisher {
	if snapshot == nil {
		panic("replica: NewPublisher without a snapshot")
	}
	p := &Publisher{snapshot: snapshot, name: rand.Text()}
	p.Publish()
	return p
}

// Publish takes a snapshot and returns the name of its version. The name is new if the snapshot
// differs from the last version in its bits, its size or its Info. The version has every key whose
// Add had returned before the call. Publish reads the whole filter. It does not block clients.
func (p *Publisher) Publish() (version string) {
	p.made()
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.snapshot()
	if f == nil || f.K() == 0 {
		panic("replica: Publish of nil or the zero Filter: " +
			"a Replica has a snapshot once it has loaded")
	}
	info := door.Fields(f.Info())
	if err := info.Check("replica"); err != nil {
		panic(err)
	}
	last := p.current.Load()
	if last != nil && last.is(f, info) {
		return last.version
	}
	p.seq++
	r := &release{
		version: p.name + "-" + strconv.FormatUint(p.seq, 10),
		header:  headerOf(f),
		info:    info,
		data:    bloom.Must(f.MarshalBinary()), // fails only for the zero Filter
		fill:    f.FillRatio(),
	}
	r.packed = make([][]byte, (len(r.data)+pieceSize-1)/pieceSize)
	r.past = r.follow(last)
	p.current.Store(r)
	return r.version
}

// is reports whether r is a version of f.
func (r *release) is(f *bloom.Filter, info form.Info) bool {
	if r.header != headerOf(f) || r.info != info {
		return false
	}
	same := comparer{r.data}
	_, err := f.WriteTo(&same)
	return err == nil
}

// comparer is a writer that compares. Write fails unless its bytes are the next bytes of rest.
type comparer struct{ rest []byte }

var errOther = errors.New("other bytes")

func (c *comparer) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(c.rest, p) {
		return 0, errOther
	}
	c.rest = c.rest[len(p):]
	return len(p), nil
}

// follow returns the past of r. last is the release before r.
func (r *release) follow(last *release) []step {
	if last == nil || last.header != r.header {
		return nil
	}
	patch := r.patch(func(yield func(form.Change) bool) {
		for at := form.HeaderSize; at < len(r.data); at += 8 {
			old := binary.BigEndian.Uint64(last.data[at:])
			mask := old ^ binary.BigEndian.Uint64(r.data[at:])
			change := form.Change{Word: (at - form.HeaderSize) / 8, Old: old, Mask: mask}
			if mask != 0 && !yield(change) {
				return
			}
		}
	})
	past := append(slices.Clone(last.past), step{last.version, patch})
	total := 0
	for i := len(past) - 1; i >= 0; i-- {
		total += len(past[i].patch)
		if total > len(r.data)/2+smallPatch || len(past)-i > history {
			return slices.Clone(past[i+1:])
		}
	}
	return past
}

// smallPatch is the number of bytes that patches may have beyond half the size of the filter. So a
// small filter has patches, too.
const smallPatch = 4096

// patch returns a patch with the given changes. It turns a past version into r.
func (r *release) patch(changes iter.Seq[form.Change]) []byte {
	return bloom.Must(form.AppendPatch(nil, r.header, r.info, changes)) // Publish checked r.info
}

// find returns the index of version have in r.past, or -1.
func (r *release) find(have string) int {
	return slices.IndexFunc(r.past, func(s step) bool { return s.version == have })
}

// since returns the patch from the version r.past[i] to r.
func (r *release) since(i int) []byte {
	if i == len(r.past)-1 {
		return r.past[i].patch
	}
	return r.patch(func(yield func(form.Change) bool) {
		for back := r.backTo(i); back.ok; back.next() {
			now := binary.BigEndian.Uint64(r.data[form.HeaderSize+8*back.word:])
			if !yield(form.Change{Word: back.word, Old: now ^ back.mask, Mask: back.mask}) {
				return
			}
		}
	})
}

// differences iterates over the words in which a past version differs from a release.
type differences struct {
	word int
	mask uint64 // the bits that differ
	ok   bool   // false at the end

	steps []*stepChanges
}

// stepChanges iterates over the words that a step changes.
type stepChanges struct {
	rest *form.Changes
	word int
	mask uint64
	ok   bool
}

func (s *stepChanges) next() { s.word, s.mask, s.ok = s.rest.Next() }

// backTo returns the differences between r and the version r.past[i].
func (r *release) backTo(i int) *differences {
	d := new(differences)
	for _, s := range r.past[i:] {
		c := &stepChanges{rest: bloom.Must(form.ParsePatch(s.patch)).Changes()} // made by follow
		c.next()
		d.steps = append(d.steps, c)
	}
	d.next()
	return d
}

// next goes to the next word. A bit that changed in an even number of steps does not differ.
func (d *differences) next() {
	for {
		d.ok = false
		for _, s := range d.steps {
			if s.ok && (!d.ok || s.word < d.word) {
				d.word = s.word
				d.ok = true
			}
		}
		if !d.ok {
			return
		}
		d.mask = 0
		for _, s := range d.steps {
			if s.ok && s.word == d.word {
				d.mask ^= s.mask
				s.next()
			}
		}
		if d.mask != 0 {
			return
		}
	}
}

// Fetch implements [Source]. It never fails.
func (p *Publisher) Fetch(ctx context.Context, have string) (Update, error) {
	p.made()
	r := p.current.Load()
	u := Update{Version: r.version}
	if have == r.version {
		return u, nil
	}
	if i := r.find(have); i >= 0 {
		u.Patch = r.since(i)
		return u, nil
	}
	u.Full = new(bloom.Filter)
	if err := u.Full.UnmarshalBinary(r.data); err != nil {
		panic(err) // cannot happen: a filter made r.data
	}
	u.Full.SetInfo(door.Info[bloom.Info](r.info))
	return u, nil
}

// String describes p by its last version, without its keys.
func (p *Publisher) String() string {
	if r := p.current.Load(); r != nil {
		return fmt.Sprintf("replica.Publisher(version %s, %d bytes)", r.version, len(r.data))
	}
	return "replica.Publisher(zero)"
}

// LogValue returns what String returns, so that package log/slog does not write the whole filter.
func (p *Publisher) LogValue() slog.Value { return slog.StringValue(p.String()) }

// made panics if p is the zero Publisher.
func (p *Publisher) made() {
	if p.snapshot == nil {
		panic("replica: use of a zero Publisher: make it with NewPublisher")
	}
}
