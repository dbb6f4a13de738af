// Package replica keeps copies of one Bloom filter on many machines.
//
//	revoked, err := bloom.NewSync(1_000_000, 0.001) // on the publishing machine
//	if err != nil {
//		return err
//	}
//	publisher := replica.NewPublisher(revoked.Snapshot)
//	go publisher.Run(ctx, time.Minute)
//	http.Handle("/filter", publisher)
//
//	source := &replica.HTTPSource{URL: "https://example.org/filter"} // on the others
//	local := replica.New(source, replica.Config{Interval: time.Minute})
//	go local.Run(ctx)
//	local.ContainsString(token)
//
// A [Replica] answers from the memory of its own machine, without locks, and polls a [Source] for
// changes. It contains every key of its version, and lags behind the source by up to about the
// polling interval. While the source fails, it keeps its last copy; [Replica.Status] returns the
// age of the copy. Before the first load, it reports every key as present, so that it misses no key
// of the filter.
//
// The price is memory and traffic: every machine holds the filter and fetches the changes; see
// [Publisher]. A filter does not grow; [NewPublisher] says how to replace it with a larger one. If
// every answer must include the newest keys, use a bloomredis.Filter, which asks Redis each time.
// Processes on one machine can share the memory of one file; see bloom.OpenFile.
package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/pause"
)

// Source provides the filter for a Replica. This module and package bloomredis have these sources:
//
//   - A [Publisher] sends the bits that have changed since the replica's version, or the whole
//     filter to a replica that is far behind. Replicas in its own process fetch from it directly,
//     and others through an [HTTPSource].
//   - A filter in Redis sends the keys that were added; see Source in package bloomredis.
//   - A [FileSource], and an [HTTPSource] for a file server, a CDN or an object store, send the
//     whole filter whenever it has changed.
type Source interface {
	// Fetch returns what is new since the version with the name have, which an earlier Fetch
	// returned. It returns a full filter if have is "", or if the source no longer has that
	// version or the changes since then. After an error that wraps bloom.ErrMismatch, and after a
	// patch that cannot be applied, a Replica immediately asks for a full filter. After any other
	// error, it calls Fetch with the same have again, until it is time for a full filter; see
	// FullEvery in [Config]. So a Fetch that keeps failing to get a patch must return a full filter
	// instead.
	Fetch(ctx context.Context, have string) (Update, error)
}

// Update is the result of [Source.Fetch]. At most one of Full, Added and Patch is set. None is set
// if the source knows that nothing is new.
type Update struct {
	// Version is the source's name for the version that the caller has after the update. It is ""
	// if the source has no names for versions.
	Version string
	// Full replaces the caller's filter. The caller may retain it and write to it.
	Full *bloom.Filter
	// Added has the keys that were added since the caller's version.
	Added []bloom.Hash
	// Patch turns the caller's version into the new one; see bloom.Diff. The caller must not write
	// to it.
	Patch []byte
	// Made is the time at which the version was made, or the zero Time if the source does not know.
	// If it is earlier than that of the caller's version, [Status] counts the update in its field
	// Back. A time in whole seconds, as in HTTP, is compared in whole seconds.
	Made time.Time
}

// Config configures a Replica. Its zero value is ready to use.
type Config struct {
	// Interval is the mean time that Run waits from the end of one refresh to the start of the
	// next. Each wait is up to a tenth longer or shorter, so that many replicas do not refresh at
	// the same time. 0 or less means 10 seconds.
	Interval time.Duration
	// FullEvery is how old the last full filter may become before a refresh asks for another one.
	// This detects a source that was rebuilt without its old keys, and repairs a copy that went
	// wrong. 0 means never.
	FullEvery time.Duration
	// OnError, if not nil, is called with every error of Refresh, whether Run or other code called
	// it, unless the context of the refresh has ended. That includes errors of patches that cannot
	// be applied, even if a full filter replaces them immediately. OnError also gets an error if a
	// refresh succeeded but returned to an older version, or if it was the third in a row to load
	// the filter that the Replica already had; see Back and Again in [Status]. OnError may call the
	// Replica's methods. Calls of OnError do not overlap: if an error occurs while one runs,
	// OnError does not get it.
	//
	// If OnError is nil, and the Replica has not loaded anything yet, its first error goes to the
	// default logger of package slog, because such a Replica reports every key as present.
	OnError func(error)
}

// Replica is a copy of the filter of a Source. It must be made with New. Many goroutines may use a
// Replica. Look-ups take no lock and do not allocate. While a patch is applied, keys that the patch
// removes may already be absent.
//
// Each machine holds the filter: 1.2 MB for a million keys at 1 %. While a new filter arrives, the
// machine needs twice that memory. Over HTTP, where memory grows as bytes arrive, it needs up to
// about three times the filter's memory for a moment.
type Replica struct {
	src  Source
	cfg  Config
	copy atomic.Pointer[state]
	busy chan struct{} // holds one token while a refresh runs

	// Only the goroutine that refreshes uses these fields.
	since time.Time // when the last full filter was fetched
	had   []string  // up to hadVersions versions before the current one
	again int       // number of refreshes in a row that loaded the same filter again

	reporting sync.Mutex // held while OnError runs
	logged    sync.Once  // logs the first error before the first load, if there is no OnError

	mu     sync.Mutex // guards status
	status Status     // without Version and SizeBytes
}

const hadVersions = 64

// state is a filter and its version. Patches change the filter in place.
type state struct {
	filter  *bloom.SyncFilter
	size    int64 // length of the binary form
	version string
	made    time.Time // when this version was made; if unknown, when an earlier one was
}

// precedes reports whether u is known to be older than s.
func (u *Update) precedes(s *state) bool {
	last := s.made
	if u.Made.Nanosecond() == 0 {
		last = last.Truncate(time.Second)
	}
	return !u.Made.IsZero() && u.Made.Before(last)
}

// after returns the time at which u's version was made, or s.made if that is unknown.
func (u *Update) after(s *state) time.Time {
	if u.Made.IsZero() && s != nil {
		return s.made
	}
	return u.Made
}

// nothing is the state before the first load.
var nothing = &state{filter: new(bloom.SyncFilter)}

func (r *Replica) state() *state { return cmp.Or(r.copy.Load(), nothing) }

// New returns a Replica of src that has loaded nothing yet; call Run. New panics if src is nil.
func New(src Source, c Config) *Replica {
	if src == nil {
		panic("replica: New without a Source")
	}
	if c.Interval <= 0 {
		c.Interval = 10 * time.Second
	}
	return &Replica{src: src, cfg: c, busy: make(chan struct{}, 1)}
}

// Run calls Refresh, waits for about an Interval, and repeats both until ctx ends. It then returns
// the error of ctx. For the errors of refreshes, see OnError in [Config].
func (r *Replica) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		_ = r.Refresh(ctx) // Refresh has reported the error
		select {
		case <-ctx.Done():
		case <-after(pause.Spread(r.cfg.Interval)):
		}
	}
	return ctx.Err()
}

// after is time.After, except in tests.
var after = time.After

// Refresh fetches what is new and applies it. On error, the copy does not change. Only one refresh
// runs at a time: a second one waits until the first has ended, or until its own ctx ends.
func (r *Replica) Refresh(ctx context.Context) error {
	if r.src == nil {
		panic("replica: Refresh of a zero Replica: make it with New")
	}
	select {
	case r.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	warnings, err := r.refresh(ctx)
	// OnError runs after the end of the refresh, so that it may call Refresh.
	for _, err := range append(warnings, err) {
		if err != nil && ctx.Err() == nil {
			r.report(err)
		}
	}
	return err
}

// refresh takes the caller's token out of busy when it ends. warnings are further errors for
// OnError.
func (r *Replica) refresh(ctx context.Context) (warnings []error, err error) {
	defer func() { <-r.busy }()
	started := time.Now()
	have := r.Version()
	if r.cfg.FullEvery > 0 && time.Since(r.since) >= r.cfg.FullEvery {
		have = ""
	}
	err = r.fetch(ctx, have, &warnings)
	var unfit unfitError
	if have != "" && (errors.Is(err, bloom.ErrMismatch) || errors.As(err, &unfit)) {
		warnings = append(warnings, err)
		err = r.fetch(ctx, "", &warnings)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Err = err
	if err == nil {
		r.status.Refreshed = started
	}
	return warnings, err
}

// report calls OnError. If there is none, it logs the first error before the first load. It does
// nothing while OnError runs: otherwise an OnError that calls Refresh would call itself for as long
// as the source fails.
func (r *Replica) report(err error) {
	switch {
	case r.cfg.OnError == nil:
		if r.copy.Load() == nil {
			r.logged.Do(func() {
				slog.Error("replica: nothing is loaded, so every key is reported as present; "+
					"later errors go only to Config.OnError", "error", err)
			})
		}
	case r.reporting.TryLock():
		defer r.reporting.Unlock()
		r.cfg.OnError(err)
	}
}

// fetch fetches what is new since the given version, and applies it. Even if it succeeds, it may
// append errors for OnError to warnings.
func (r *Replica) fetch(ctx context.Context, version string, warnings *[]error) error {
	started := time.Now()
	u, err := r.src.Fetch(ctx, version)
	if err != nil {
		return err
	}
	cur := r.copy.Load()
	switch {
	case u.Full != nil:
		if u.Full.K() == 0 {
			return errors.New("replica: the source sent the zero Filter")
		}
		asked := cur != nil && version == "" && cur.version != ""
		if again := r.countAgain(cur, u.Full, asked); again != nil {
			*warnings = append(*warnings, again)
		}
		r.since = started
		filter := door.Share[bloom.SyncFilter](u.Full)
		r.copy.Store(&state{filter, u.Full.SizeBytes(), u.Version, u.after(cur)})
	case version == "":
		return errors.New("replica: the source sent no full filter")
	default:
		r.again = 0
		// The bits change before the version: when Version returns the new one, all of its keys are
		// present.
		if u.Patch != nil {
			if err := cur.filter.Patch(u.Patch); err != nil {
				return unfitError{fmt.Errorf("replica: patch of version %q: %w", version, err)}
			}
		}
		cur.filter.AddBatch(nil, u.Added)
		if u.Version != cur.version {
			r.copy.Store(&state{cur.filter, cur.size, u.Version, u.after(cur)})
		}
	}
	if back := r.countBack(cur, &u); back != nil {
		*warnings = append(*warnings, back)
	}
	return nil
}

// countAgain counts full filters that equal the filter of cur and were not requested. It returns an
// error for the third such filter in a row.
func (r *Replica) countAgain(cur *state, full *bloom.Filter, requested bool) error {
	same := cur != nil && !requested && cur.holds(full)
	if !same {
		r.again = 0
		return nil
	}
	r.again++
	r.mu.Lock()
	r.status.Again++
	r.mu.Unlock()
	if r.again != 3 {
		return nil
	}
	return errors.New("replica: the source sends the whole filter each time, though nothing is new: " +
		"its ETag is missing, or a proxy changes it")
}

// holds reports whether s has the size, the checksum and the Info of f.
func (s *state) holds(f *bloom.Filter) bool {
	if s.size != f.SizeBytes() || s.filter.Info() != f.Info() {
		return false
	}
	var ours, theirs form.Sum
	_, err := s.filter.WriteTo(&ours)
	_, failed := f.WriteTo(&theirs)
	return err == nil && failed == nil && ours == theirs
}

// countBack returns an error if u's version is in r.had, or is known to be older than cur. It also
// maintains r.had.
func (r *Replica) countBack(cur *state, u *Update) error {
	if cur == nil || cur.version == u.Version && u.Version != "" {
		return nil
	}
	had := slices.Contains(r.had, u.Version) // false for "", which is no version's name
	if cur.version != "" {
		r.had = append(r.had, cur.version)
		r.had = r.had[max(0, len(r.had)-hadVersions):]
	}
	how := "came back"
	switch {
	case had:
	case u.precedes(cur):
		how = "is older, but came"
	default:
		return nil
	}
	r.mu.Lock()
	r.status.Back++
	r.mu.Unlock()
	return fmt.Errorf("replica: version %q %s after %q: "+
		"keys that were added in between are absent again", u.Version, how, cur.version)
}

// unfitError is the error for a patch that cannot be applied.
type unfitError struct{ error }

func (e unfitError) Unwrap() error { return e.error }

// Contains reports whether key may be in the filter. False is certain: the key is not in the
// version that [Replica.Version] names or, while a patch is applied, not in the next version.
// Before the first load, Contains returns true for every key. It finds only keys that were hashed
// with [bloom.Sum]; check the Hash of [Replica.Info] first.
func (r *Replica) Contains(key []byte) bool { return r.ContainsHash(bloom.Sum(key)) }

// ContainsString is like Contains.
func (r *Replica) ContainsString(key string) bool { return r.ContainsHash(bloom.SumString(key)) }

// ContainsHash is like Contains.
func (r *Replica) ContainsHash(h bloom.Hash) bool {
	cur := r.copy.Load()
	return cur == nil || cur.filter.ContainsHash(h)
}

// ContainsBatch looks up hs; see "Batches" in package bloom.
func (r *Replica) ContainsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("replica", found, len(hs))
	if cur := r.copy.Load(); cur != nil {
		cur.filter.ContainsBatch(found, hs)
		return
	}
	for i := range found {
		found[i] = true
	}
}

// Version returns the source's name for the version that the Replica has. It is "" before the first
// load, and if the source has no names for versions.
func (r *Replica) Version() string { return r.state().version }

// Info returns the Info of the source's filter. It is zero before the first load, and if the source
// sends none.
func (r *Replica) Info() bloom.Info { return r.state().filter.Info() }

// String returns the name of r's type, its version and its size.
func (r *Replica) String() string {
	if cur := r.copy.Load(); cur != nil {
		return fmt.Sprintf("replica.Replica(version %q, %d bytes)", cur.version, cur.size)
	}
	return "replica.Replica(nothing loaded)"
}

// LogValue implements slog.LogValuer. The value is the result of String.
func (r *Replica) LogValue() slog.Value { return slog.StringValue(r.String()) }

// Status describes the copy of a Replica and the last refresh.
type Status struct {
	// Version is the result of [Replica.Version].
	Version string
	// SizeBytes is the length of the filter's binary form, or 0 before the first load.
	SizeBytes int64
	// Refreshed is the time at which the last successful refresh began, or the zero Time before the
	// first load. The copy has all keys that the source had then, so time.Since(Refreshed) is its
	// age.
	Refreshed time.Time
	// Err is the error of the last refresh, or nil if that succeeded.
	Err error
	// Again counts refreshes that loaded the whole filter although the Replica had it and had not
	// asked for it. If it grows with each refresh, the server sends no ETag, or something on the
	// way changes it.
	Again uint64
	// Back counts refreshes that returned to an older version, for example because a cache has an
	// old copy. Keys that were added since that version are absent again. A version counts as older
	// if it is one of the last 64 versions that this Replica had, or if its [Update] says that it
	// was made earlier; an [HTTPSource] takes that time from the header Bloom-Made or, if there is
	// none, from Last-Modified. Without such a sign, a Replica does not notice that a source was
	// restored from a backup. It notices nothing that happened before its first load.
	Back uint64
}

// Status returns the status of r. It does not wait for a refresh.
func (r *Replica) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	cur := r.state()
	s := r.status
	s.Version, s.SizeBytes = cur.version, cur.size
	return s
}

// Stats returns the statistics of the copy; see [bloom.SyncFilter.Stats]. Before the first load,
// every key is reported as present: FPR and FillRatio are 1, and the other fields are 0.
func (r *Replica) Stats() bloom.Stats {
	if cur := r.copy.Load(); cur != nil {
		return cur.filter.Stats()
	}
	return bloom.Stats{FillRatio: 1, FPR: 1}
}

// Snapshot returns a copy of the filter, which the caller may retain and change. It returns nil
// before the first load.
func (r *Replica) Snapshot() *bloom.Filter {
	if cur := r.copy.Load(); cur != nil {
		return cur.filter.Snapshot()
	}
	return nil
}
