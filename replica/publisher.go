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

// Publisher serves versions of a filter. It is a [Source] for replicas in the same process, and an
// http.Handler for the [HTTPSource] of replicas elsewhere. It does not hold the filter to which the
// program adds: each [Publisher.Publish] takes a snapshot of that filter, and [Publisher.Run]
// publishes at intervals. Many goroutines may use a Publisher. A Publisher must be made with
// [NewPublisher].
//
// If a program calls neither Publish nor Run, keys that are added later do not reach the replicas.
// The result of String then says so, and after a change of the filter, a replica's request may log
// an error to the default logger of package slog. Last-Modified tells clients when the version was
// made.
//
// A Publisher keeps patches for up to 16 past versions; see [bloom.Diff]. A replica that has one of
// these versions gets the bits that have changed since. Each patch is made once, and all replicas
// share it. A replica that has any other version gets the whole filter, and so does a replica whose
// patches would take too much memory or time.
//
// As a handler, a Publisher answers GET and HEAD for any path; docs/format.md describes the
// protocol. A slow client does not keep old versions in memory. Each client needs up to about
// 64 KiB while it is served, or more if its answer is compressed. Larger patches that are being
// sent need at most the memory of one filter in all.
//
// A new Publisher gives its versions new names, so after a restart every replica loads the whole
// filter once. To lose no keys in a crash, first add, then save, then publish; see the example.
//
// A Publisher keeps a copy of the filter, the patches, and compressed parts of a filter that has
// few bits set. While Publish runs, it also needs memory for a snapshot and for a copy of the
// snapshot.
//
// A refresh that finds nothing new is one request. A patch has about two bytes for each bit that
// has changed: for a hundred new keys in a filter for a million keys at 1 %, less than 2 KB.
type Publisher struct {
	_        nocopy.Locker
	snapshot func() *bloom.Filter

	mu       sync.Mutex // held while snapshot is called
	versions *publish.Publisher
	used     atomic.Bool // Publish or Run has been called
	warned   bool        // check has logged its error; guarded by mu
	checked  time.Time   // when check last took a snapshot; guarded by mu
}

// NewPublisher returns a Publisher that has published a first version. snapshot returns the filter
// to publish. It may be the Snapshot method of a [bloom.SyncFilter], or of a [Replica] that has
// loaded, or the Bloom method of a counting.Filter. Publish never calls snapshot concurrently. The
// Publisher does not retain or change the filter.
//
// NewPublisher and Publish panic if snapshot returns nil, the zero Filter, or a filter with an Info
// that is out of range.
//
// A filter does not grow. If a filter gets more keys than it was made for, make a new one from the
// store of all keys, and let snapshot return the new one. Replicas then load the new filter as a
// whole, whatever its size. Until snapshot returns it, put each new key first into the store and
// then into both filters, because the list of keys from which the new filter is made may be older.
// For the filter of a single process, package guard does all this.
func NewPublisher(snapshot func() *bloom.Filter) *Publisher {
	if snapshot == nil {
		panic("replica: NewPublisher without a snapshot")
	}
	p := &Publisher{snapshot: snapshot, versions: publish.New()}
	p.publish()
	return p
}

// Publish takes a snapshot, and returns the name of its version. The name is new if the snapshot
// differs from the last version in its bits, its parameters or its Info. The version has every key
// whose Add returned before the call. Publish reads the whole filter, but does not block clients.
func (p *Publisher) Publish() (version string) {
	p.checkMade()
	p.used.Store(true)
	return p.publish()
}

func (p *Publisher) publish() (version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	made := time.Now().Round(0) // by the wall clock, which other processes share
	f := p.snapshot()
	if f == nil || f.K() == 0 {
		panic("replica: the snapshot is nil or the zero Filter: " +
			"that of a Replica is nil until it has loaded")
	}
	if bad := form.Info(f.Info()).Check(); bad != nil {
		panic(bad.In("replica"))
	}
	return p.versions.Publish(f, false, made)
}

// Run calls Publish, waits for interval, and repeats both until ctx ends. It then returns the error
// of ctx. A snapshot that has not changed gets no new version. If interval is not positive, Run
// returns an error immediately.
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

// checkEvery is the shortest time between two snapshots that check takes.
const checkEvery = 10 * time.Second

// check logs an error, once, if the snapshot has changed although neither Publish nor Run has been
// called.
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
	slog.Error("replica: a Publisher's snapshot has changed, but replicas do not get the changes: " +
		"call Publish or Run")
}

// Fetch implements [Source]. It never returns an error.
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

// String returns the name of p's type, and the name and size of its current version.
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

// LogValue implements slog.LogValuer. The value is the result of String.
func (p *Publisher) LogValue() slog.Value { return slog.StringValue(p.String()) }

func (p *Publisher) checkMade() {
	if p.snapshot == nil {
		panic("replica: use of a zero Publisher: make it with NewPublisher")
	}
}
