package replica

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/publish"
)

// Publisher serves versions of a filter. For replicas in the same process it is a [Source]; for the
// [HTTPSource] of others it is an http.Handler. It has no keys of its own: each [Publisher.Publish]
// takes a snapshot of the filter to which the program adds, and [Publisher.Run] publishes at
// intervals. Many goroutines may use a Publisher concurrently. Make it with [NewPublisher]: the
// zero Publisher panics.
//
// If a program calls neither Publish nor Run, keys that are added later reach no replica. Then
// String says so, and the default logger of package slog gets an error once a replica asks although
// the snapshot has changed; Last-Modified tells clients when the version was made.
//
// A Publisher keeps patches for up to 16 past versions; see [bloom.Diff]. A replica with one of
// these versions gets the bits that changed since then. The patch for a version is made when the
// first replica asks for it; all replicas share it. A replica with any other version gets the whole
// filter, and so does one whose patches would need more memory than a filter, or more time.
//
// As a handler, a Publisher answers GET and HEAD of any path, by the protocol of docs/format.md. A
// slow client keeps no old version in memory. Each client needs up to 64 KiB while it is served;
// all larger patches that are being sent need at most the memory of a filter together.
//
// A new Publisher gives its versions new names, so after a restart every replica loads the whole
// filter once. To lose no key in a crash, add, save, and then publish; see the example.
//
// A Publisher keeps a copy of the filter, and the patches. While Publish runs, it also needs memory
// for a snapshot and a copy of the snapshot.
//
// A refresh that finds nothing new is one request. A patch has about two bytes for each bit that
// changed, less than 2 KB for a hundred new keys of a filter of a million keys at 1 %.
type Publisher struct {
	_        nocopy.Locker
	snapshot func() *bloom.Filter

	mu       sync.Mutex // held while snapshot is called
	versions *publish.Publisher
	used     atomic.Bool // Publish or Run was called
	warned   bool        // check has logged its error; guarded by mu
	checked  time.Time   // when check last took a snapshot; guarded by mu
}

// NewPublisher returns a Publisher that has published a first version. snapshot returns the filter
// to publish, for example the method Snapshot of a [bloom.SyncFilter] or of a [Replica] that has
// loaded, or Bloom of a counting.Filter. Publish calls snapshot from one goroutine at a time. The
// Publisher does not retain or change the filter.
//
// NewPublisher and Publish panic if snapshot returns nil, the zero Filter, or a filter whose Info
// is out of range.
//
// A filter does not grow. If a filter gets more keys than it was made for, make a new one from the
// store of all keys, and let snapshot return that; replicas load the new filter whole, whatever its
// size. Until then put each new key into the store and then into both filters, because the new
// filter may be made from an older list of keys. Package guard does all this for the filter of one
// process.
func NewPublisher(snapshot func() *bloom.Filter) *Publisher {
	if snapshot == nil {
		panic("replica: NewPublisher without a snapshot")
	}
	p := &Publisher{snapshot: snapshot, versions: publish.New()}
	p.publish()
	return p
}

// Publish takes a snapshot and returns the name of its version. The name is new if the snapshot
// differs from the last version in its bits, its size or its Info. The version has every key whose
// Add had returned before the call. Publish reads the whole filter, and does not block clients.
func (p *Publisher) Publish() (version string) {
	p.checkMade()
	p.used.Store(true)
	return p.publish()
}

func (p *Publisher) publish() (version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	made := time.Now().Round(0) // by the wall clock, as other processes see it
	f := p.snapshot()
	if f == nil || f.K() == 0 {
		panic("replica: Publish of nil or the zero Filter: " +
			"a Replica has a snapshot once it has loaded")
	}
	if bad := form.Info(f.Info()).Check(); bad != nil {
		panic(bad.In("replica"))
	}
	return p.versions.Publish(f, false, made)
}

// Run publishes immediately and then at every interval, until ctx ends, and returns ctx's error. A
// snapshot that has not changed gets no new version. Run returns an error immediately unless
// interval is positive.
func (p *Publisher) Run(ctx context.Context, interval time.Duration) error {
	p.checkMade()
	if interval <= 0 {
		return form.NewParam("interval", interval, "not positive").In("replica")
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		p.Publish()
		timer.Reset(interval)
	}
}

// checkEvery is the shortest time between two snapshots of check.
const checkEvery = 10 * time.Second

// check logs an error if keys were added and nobody has called Publish or Run. It is called when a
// client asks, and takes a snapshot only as long as neither was called.
func (p *Publisher) check() {
	if p.used.Load() || !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if p.warned || time.Since(p.checked) < checkEvery {
		return
	}
	p.checked = time.Now()
	f := p.snapshot()
	if f == nil || p.versions.Has(f) {
		return
	}
	p.warned = true
	slog.Error("replica: a Publisher's snapshot has changed, and replicas do not get that: " +
		"call Publish or Run")
}

// Fetch implements [Source]. It never fails.
func (p *Publisher) Fetch(ctx context.Context, have string) (Update, error) {
	p.checkMade()
	p.check()
	v, patch, full := p.versions.Since(have)
	if patch == nil && full == nil {
		return Update{Version: have}, nil
	}
	return Update{Version: v.Name, Patch: patch, Full: full, Made: v.Made}, nil
}

// ServeHTTP implements http.Handler.
func (p *Publisher) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	p.checkMade()
	p.check()
	p.versions.ServeHTTP(w, req)
}

// String describes p by its last version, without its keys.
func (p *Publisher) String() string {
	if p.versions == nil {
		return "replica.Publisher(zero)"
	}
	v := p.versions.Version()
	never := ""
	if !p.used.Load() {
		never = ", and neither Publish nor Run was called"
	}
	return fmt.Sprintf("replica.Publisher(version %s, %d bytes%s)", v.Name, v.Size, never)
}

// LogValue returns what String returns.
func (p *Publisher) LogValue() slog.Value { return slog.StringValue(p.String()) }

// checkMade panics if p is the zero Publisher.
func (p *Publisher) checkMade() {
	if p.snapshot == nil {
		panic("replica: use of a zero Publisher: make it with NewPublisher")
	}
}
