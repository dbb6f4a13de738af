// Package replica keeps copies of one filter on many machines.
//
// A [Replica] answers from memory, without locks, and polls a [Source] for what
// is new since the version it has: nothing, a delta to merge, or the whole
// filter. Sources here are a [Publisher] in this process, an [HTTP] server, which
// may be a Publisher, a CDN or an object store, and a file at a [Path]. Package
// bloomredis has one for a filter in Redis.
//
// A replica trails its source by up to the polling interval: it may not yet
// contain a key added to the source since. It never turns away a key that the
// version it has contains, it keeps that version for as long as the source
// fails, and before it has any it contains everything.
package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
)

// Source is where a Replica gets its filter.
type Source interface {
	// Fetch returns what is new since version have, which an earlier Fetch
	// returned; "" means that the caller has nothing and needs a full filter.
	// A source that cannot tell what is new since have, or does not know it,
	// returns a full filter.
	Fetch(ctx context.Context, have string) (Update, error)
}

// Update is the answer of a Source: at most one of Full and Delta.
type Update struct {
	// Version is what the caller has once it has applied the update. It is
	// opaque, and "" if the source cannot name it.
	Version string
	// Full replaces the caller's filter. It is the caller's to keep.
	Full *bloom.Filter
	// Delta is merged into the caller's filter. The caller must not write to
	// it. If Delta and Full are both nil, nothing is new.
	Delta *bloom.Filter
}

// Config says how a Replica keeps up. Its zero value is usable.
type Config struct {
	// Interval is the mean time from the end of one refresh in Run to the start
	// of the next; each is up to a tenth longer or shorter, so that many
	// replicas spread out. 0 means 10 seconds.
	Interval time.Duration
	// FullEvery is how old the last full filter may become before a refresh
	// asks for another rather than for a delta. That picks up a source that was
	// rebuilt without its old keys, and repairs a copy that went wrong. 0 means
	// never.
	FullEvery time.Duration
	// OnError, if not nil, is called with every error that Refresh meets, by
	// its caller or in Run, except those due to the end of ctx. That includes a
	// delta that did not fit, even if a full filter then made up for it.
	OnError func(error)
}

// Replica is a copy of a Source's filter. Its methods may be called by many
// goroutines at once; looking up takes no locks and does not allocate.
type Replica struct {
	src   Source
	cfg   Config
	copy  atomic.Pointer[state]
	busy  chan struct{} // holds one token while a refresh runs
	since time.Time     // of the last full filter; belongs to the refresh
}

// state pairs a filter with its version. A delta makes a new state over the
// same filter.
type state struct {
	filter  *bloom.SyncFilter
	version string
}

// New returns a Replica of src that has not loaded anything yet. See Run.
func New(src Source, cfg Config) *Replica {
	if cfg.Interval <= 0 {
		cfg.Interval = 10 * time.Second
	}
	return &Replica{src: src, cfg: cfg, busy: make(chan struct{}, 1)}
}

// Run refreshes at once and then at every Interval until ctx ends, and returns
// ctx's error. Errors of refreshing go to OnError.
func (r *Replica) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		_ = r.Refresh(ctx) // reported
		timer.Reset(time.Duration(float64(r.cfg.Interval) * (0.9 + 0.2*rand.Float64())))
	}
}

// Refresh fetches what is new and applies it. On error the replica is as
// before. Refreshes run one at a time; a second one waits for the first, or for
// the end of ctx.
func (r *Replica) Refresh(ctx context.Context) error {
	select {
	case r.busy <- struct{}{}:
		defer func() { <-r.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	have := r.Version()
	if r.cfg.FullEvery > 0 && time.Since(r.since) >= r.cfg.FullEvery {
		have = ""
	}
	err := r.fetch(ctx, have)
	if errors.Is(err, errDelta) {
		r.report(ctx, err)
		err = r.fetch(ctx, "")
	}
	if err != nil {
		r.report(ctx, err)
	}
	return err
}

func (r *Replica) report(ctx context.Context, err error) {
	if r.cfg.OnError != nil && ctx.Err() == nil {
		r.cfg.OnError(err)
	}
}

var errDelta = errors.New("bloom: delta does not fit the replica")

func (r *Replica) fetch(ctx context.Context, have string) error {
	started := time.Now()
	u, err := r.src.Fetch(ctx, have)
	if err != nil {
		return err
	}
	cur := r.copy.Load()
	switch {
	case u.Full != nil:
		if u.Full.K() == 0 {
			return errors.New("bloom: source sent the zero Filter")
		}
		r.since = started
		r.copy.Store(&state{bloom.NewSyncFrom(u.Full), u.Version})
	case have == "":
		return errors.New("bloom: source has no full filter")
	case u.Delta != nil:
		// Merged before its version counts: who sees the version has the keys.
		if err := cur.filter.Merge(u.Delta); err != nil {
			return fmt.Errorf("%w: %w", errDelta, err)
		}
		fallthrough
	default:
		if u.Version != cur.version {
			r.copy.Store(&state{cur.filter, u.Version})
		}
	}
	return nil
}

// Contains reports whether key may be in the filter. False is certain as of
// Version. Until the first load it is true.
func (r *Replica) Contains(key []byte) bool { return r.ContainsHash(bloom.Sum(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (r *Replica) ContainsString(key string) bool { return r.ContainsHash(bloom.SumString(key)) }

// ContainsHash is Contains by digest.
func (r *Replica) ContainsHash(h bloom.Hash) bool {
	cur := r.copy.Load()
	return cur == nil || cur.filter.ContainsHash(h)
}

// Version returns the version of the source that the replica has. It is ""
// until the first load, and if the source cannot name its versions.
func (r *Replica) Version() string {
	if cur := r.copy.Load(); cur != nil {
		return cur.version
	}
	return ""
}

// Filter returns a copy of the filter, the caller's to keep, or nil before the
// first load.
func (r *Replica) Filter() *bloom.Filter {
	if cur := r.copy.Load(); cur != nil {
		return cur.filter.Snapshot()
	}
	return nil
}
