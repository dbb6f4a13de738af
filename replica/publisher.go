package replica

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/publish"
)

// Publisher serves versions of a filter. For replicas in the same process it is a [Source]; for the
// [HTTPSource] of others it is an http.Handler. It has no keys of its own: each [Publisher.Publish]
// takes a snapshot of the filter to which the program adds. Many goroutines may use a Publisher
// concurrently. Make it with [NewPublisher]: the zero Publisher panics.
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
type Publisher struct {
	_        nocopy.Locker
	snapshot func() *bloom.Filter

	mu       sync.Mutex // held by Publish
	versions *publish.Publisher
}

// NewPublisher returns a Publisher that has published a first version. snapshot returns the filter
// to publish, for example the method Snapshot of a [bloom.SyncFilter] or of a [Replica] that has
// loaded, or Bloom of a counting.Filter. Publish calls snapshot from one goroutine at a time. The
// Publisher does not retain or change the filter.
//
// NewPublisher and Publish panic if snapshot returns nil, the zero Filter, or a filter whose Info
// is out of range.
func NewPublisher(snapshot func() *bloom.Filter) *Publisher {
	if snapshot == nil {
		panic("replica: NewPublisher without a snapshot")
	}
	p := &Publisher{snapshot: snapshot, versions: publish.New()}
	p.Publish()
	return p
}

// Publish takes a snapshot and returns the name of its version. The name is new if the snapshot
// differs from the last version in its bits, its size or its Info. The version has every key whose
// Add had returned before the call. Publish reads the whole filter, and does not block clients.
func (p *Publisher) Publish() (version string) {
	p.made()
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.snapshot()
	if f == nil || f.K() == 0 {
		panic("replica: Publish of nil or the zero Filter: " +
			"a Replica has a snapshot once it has loaded")
	}
	if err := form.Info(f.Info()).Check("replica"); err != nil {
		panic(err)
	}
	return p.versions.Publish(f, false)
}

// Fetch implements [Source]. It never fails.
func (p *Publisher) Fetch(ctx context.Context, have string) (Update, error) {
	p.made()
	version, patch, full := p.versions.Since(have)
	return Update{Version: version, Patch: patch, Full: full}, nil
}

// ServeHTTP implements http.Handler.
func (p *Publisher) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	p.made()
	p.versions.ServeHTTP(w, req)
}

// String describes p by its last version, without its keys.
func (p *Publisher) String() string {
	if p.versions == nil {
		return "replica.Publisher(zero)"
	}
	version, size := p.versions.Version()
	return fmt.Sprintf("replica.Publisher(version %s, %d bytes)", version, size)
}

// LogValue returns what String returns; see [bloom.Filter.LogValue].
func (p *Publisher) LogValue() slog.Value { return slog.StringValue(p.String()) }

// made panics if p is the zero Publisher.
func (p *Publisher) made() {
	if p.snapshot == nil {
		panic("replica: use of a zero Publisher: make it with NewPublisher")
	}
}
