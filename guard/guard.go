// Package guard puts a Bloom filter in front of a store, such as a database, and answers
// there for keys that the store does not have.
//
// A [Guard] never says "certainly not" for a row that was in the store when the last load
// began, nor for one whose [Guard.Insert] or [Guard.Add] has returned. It rebuilds its filter
// from the store while it is in use. It cannot know rows that others insert in silence: it
// may say "certainly not" for such a row until the next load. So all writers must go through
// Insert, or be heard of by Add.
//
// The caller supplies Load, which lists the store's keys, and a rate. The price is one pass
// over the keys for each load, and memory: at 1 %, 13.5 bits a key at most from the second load
// on, if the number of keys is at least 50,000 and within 1 % of the load before. While a load
// runs there are two filters. A filter whose size was not known takes about 28 bits a key. A
// map of the keys is exact, and takes ten to fifty times as much.
//
// Nothing is saved. A filter in a file is behind the store after a crash, and would say
// "certainly not" for rows that are there. A Guard begins with a load, and before that every
// key may be there.
//
// # Keys
//
// Load, Insert, Add and Contains must make the same digest of the same key. If the store
// takes "Ada" and "ada" for one key, hash the lower-case form everywhere. An update that
// gives a row another key is an insert of that key. Removed rows need no call: the next load
// forgets them.
//
// # Several processes
//
// A Guard knows what its own process inserts. Where several processes write, take one of three
// designs. Each of them has a price:
//
//	                a Guard in each process,   one process writes and    one bloomredis.Filter
//	                others' rows by Add        publishes (see replica)   that all ask
//
//	a process       nothing: it loads anew     the writer must build     nothing
//	crashed                                    the filter anew from
//	                                           the store, then publish
//	a message       "certainly not" for its    the same, for up to the   there are none
//	is late         row, until it comes or     Interval of the replicas
//	                the next load has ended
//	Redis lost      it is not needed           it is not needed          look-ups fail: ask
//	the filter                                                           the store, and build
//	                                                                     the filter anew
//
// If no such answer may be wrong for a moment, take the third design. Add a key there before
// its row is inserted.
package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Config says what a Guard guards. Load and P are needed.
type Config struct {
	// Load passes the digest of every key in the store to add. Several goroutines may call
	// add at once, until Load returns. Load must return every error of reading, such as
	// that of sql.Rows.Err: keys that it leaves out without an error are taken for absent.
	Load func(ctx context.Context, add func(bloom.Hash)) error
	// P is the largest probability with which a key that is not there is reported as
	// present, however many keys there are: 1e-9 <= P < 1.
	P float64
	// N is the number of keys that the first load will find, at most 2^40. 0 means that
	// nobody knows; the first filter then takes about twice the memory. Later loads expect as
	// many keys as there are.
	N uint64
	// Every is the time in [Guard.Run] from the end of a load to the start of the next. Each
	// pause is up to a tenth longer or shorter, so that many processes spread out. 0 means
	// that Run loads once.
	Every time.Duration
	// Lag is the longest time that Load may be behind the store's newest row, because it reads a
	// copy such as a standby server. A key is kept for that time after its insert, with 24 bytes or
	// more. Lag must also cover the time from an insert that returned an error, such as a
	// time-out, to the commit that may follow all the same.
	Lag time.Duration
	// OnError, if not nil, is called by Run with the error of each load that fails, except
	// one due to the end of Run's context. If it is nil, errors go to the default logger of
	// package slog.
	OnError func(error)
}

// Guard is a filter in front of a store. Make it with [New]. The zero Guard has loaded nothing
// and reports that every key may be there. Inserting, adding and rebuilding panic in it. Any
// number of goroutines may use it at once. Look-ups take no lock and allocate nothing. Neither
// look-ups nor inserts wait for a load. A Guard must not be copied.
type Guard struct {
	_    nocopy.Locker
	cfg  Config
	now  atomic.Pointer[growing.Filter] // nil before the first load
	busy chan struct{}                  // holds one token while a load runs

	mu     sync.Mutex
	next   *growing.Filter        // what a load fills; nil while none runs
	begun  map[*inserted]struct{} // inserts that have not returned
	ended  []*inserted            // those of the last Lag, oldest first
	loaded time.Time
	took   time.Duration
}

// inserted are the keys of one insert. They do not change.
type inserted struct {
	hs []bloom.Hash
	at time.Time // when it returned
}

// New returns a Guard that has loaded nothing yet; see [Guard.Run] and [Guard.Rebuild]. It
// returns an error if a field of cfg is out of its range.
func New(cfg Config) (*Guard, error) {
	switch {
	case cfg.Load == nil:
		return nil, errors.New("guard: Load is nil")
	case !(cfg.P >= 1e-9 && cfg.P < 1):
		return nil, fmt.Errorf("guard: P = %v is outside [1e-09, 1)", cfg.P)
	case cfg.N > 1<<40:
		return nil, fmt.Errorf("guard: N = %d is more than %d", cfg.N, uint64(1<<40))
	case cfg.Every < 0:
		return nil, fmt.Errorf("guard: Every = %v is negative", cfg.Every)
	case cfg.Lag < 0:
		return nil, fmt.Errorf("guard: Lag = %v is negative", cfg.Lag)
	}
	if cfg.OnError == nil {
		cfg.OnError = func(err error) { slog.Error("the filter could not be rebuilt", "error", err) }
	}
	return &Guard{cfg: cfg, busy: make(chan struct{}, 1), begun: make(map[*inserted]struct{})}, nil
}

// Insert adds h, calls insert, and returns its error. insert must not return before the row is
// committed. Insert does not take back the key of an insert that failed, as its commit may have
// landed all the same. A panic in insert passes through.
func (g *Guard) Insert(h bloom.Hash, insert func() error) error {
	return g.InsertBatch([]bloom.Hash{h}, insert)
}

// InsertBatch is Insert for a transaction of many rows. It copies hs.
func (g *Guard) InsertBatch(hs []bloom.Hash, insert func() error) error {
	g.must("Insert")
	ins := &inserted{hs: slices.Clone(hs)}
	// A load that begins from now on takes the keys from begun. The filter of one that runs
	// gets them here, before there is a row.
	g.mu.Lock()
	g.begun[ins] = struct{}{}
	now, next := g.now.Load(), g.next
	g.mu.Unlock()
	defer g.end(ins)
	for _, f := range []*growing.Filter{now, next} {
		if f != nil {
			f.AddBatch(nil, ins.hs)
		}
	}
	return insert()
}

// end moves ins from begun to ended. A load that begins later finds its rows in the store, after
// Lag.
func (g *Guard) end(ins *inserted) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ins.at = time.Now()
	delete(g.begun, ins)
	g.ended = append(g.ended, ins)
	g.forget(ins.at)
}

// forget drops the inserts whose rows a load that begins at now finds. g.mu is held.
func (g *Guard) forget(now time.Time) {
	for len(g.ended) > 0 && now.Sub(g.ended[0].at) >= g.cfg.Lag {
		g.ended[0], g.ended = nil, g.ended[1:]
	}
}

// Add adds the key of a row that others have inserted. The caller knows of it by a change feed
// or a message. Add counts as an Insert that has just ended. It reports whether key was
// certainly not there, as far as the Guard knew: before the first load that is false.
func (g *Guard) Add(key []byte) bool { return g.AddHash(bloom.Sum(key)) }

// AddString is Add of key's bytes.
func (g *Guard) AddString(key string) bool { return g.AddHash(bloom.SumString(key)) }

// AddHash is Add by digest.
func (g *Guard) AddHash(h bloom.Hash) bool {
	isNew := !g.ContainsHash(h)
	_ = g.Insert(h, func() error { return nil })
	return isNew
}

// Contains reports whether the store may have key. False is certain, as the package comment
// says. True is wrong with a probability of at most P for a key that is not there. Before the
// first load has ended it is true for every key.
func (g *Guard) Contains(key []byte) bool { return g.ContainsHash(bloom.Sum(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (g *Guard) ContainsString(key string) bool { return g.ContainsHash(bloom.SumString(key)) }

// ContainsHash is Contains by digest.
func (g *Guard) ContainsHash(h bloom.Hash) bool {
	f := g.now.Load()
	return f == nil || f.ContainsHash(h)
}

// Ready reports whether a load has ended well.
func (g *Guard) Ready() bool { return g.now.Load() != nil }

// Loaded returns when the last load that ended well did so, and how long it took. It returns
// zeros before the first.
func (g *Guard) Loaded() (at time.Time, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.loaded, g.took
}

// Stats describes the filter that look-ups ask; see [growing.Filter.Stats]. It is zero before
// the first load, and reads the whole filter.
func (g *Guard) Stats() (s bloom.Stats) {
	if f := g.now.Load(); f != nil {
		s = f.Stats()
	}
	return s
}

// Rebuild calls Load and then lets look-ups ask the new filter. If Load returns an error, or
// panics, or ctx has ended when it returns, Rebuild returns an error, and look-ups go on with
// the filter as it is. One load runs at a time: a second Rebuild waits for the first, or for the
// end of ctx.
func (g *Guard) Rebuild(ctx context.Context) (err error) {
	g.must("Rebuild")
	select {
	case g.busy <- struct{}{}:
		defer func() { <-g.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began, done := time.Now(), false
	next := bloom.Must(growing.New(g.expected(), g.cfg.P)) // N and P are in its range
	g.begin(next)
	defer func() { // also if Load panics, or ends the goroutine
		if v := recover(); v != nil {
			err = fmt.Errorf("guard: loading: panic: %v\n%s", v, debug.Stack())
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.next = nil; done {
			g.now.Store(next)
			g.loaded, g.took = time.Now(), time.Since(began)
		}
	}()
	if err = g.cfg.Load(ctx, func(h bloom.Hash) { next.AddHash(h) }); err == nil {
		err = ctx.Err() // a Load that was cut off may not have noticed
	}
	if done = err == nil; !done {
		err = fmt.Errorf("guard: loading: %w", err)
	}
	return err
}

// expected returns the number of keys to make the next filter for. A filter of package growing
// has room for chance, 12 deviations in all, and a further layer is made when 1/32 of the
// room is left. With 1/16 more than there are keys, that does not happen.
func (g *Guard) expected() uint64 {
	f := g.now.Load()
	if f == nil {
		return g.cfg.N
	}
	n := f.ApproxCount()
	return min(1<<40, n+uint64(max(0, float64(n)/16-12*math.Sqrt(float64(n)))))
}

// begin makes next the filter that a load fills, and adds the keys that Load may not find.
func (g *Guard) begin(next *growing.Filter) {
	g.mu.Lock()
	g.next = next
	g.forget(time.Now())
	known := slices.Clone(g.ended)
	for ins := range g.begun {
		known = append(known, ins)
	}
	g.mu.Unlock()
	for _, ins := range known {
		next.AddBatch(nil, ins.hs)
	}
}

const (
	firstPause   = 100 * time.Millisecond
	longestPause = time.Minute
)

// Run rebuilds at once, and then each Every, until ctx ends. It returns ctx's error. If Every is
// 0, Run returns nil after the first load that ended well. After a load that failed, Run tries
// again, after a tenth of a second at first, and after twice as long each time, up to a minute.
func (g *Guard) Run(ctx context.Context) error {
	for pause := firstPause; ; {
		wait, err := g.cfg.Every, g.Rebuild(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			wait, pause = pause, min(2*pause, longestPause)
			g.cfg.OnError(err)
		case wait == 0:
			return nil
		default:
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(float64(wait) * (0.9 + 0.2*rand.Float64()))):
		}
	}
}

// must panics if g is zero.
func (g *Guard) must(method string) {
	if g.busy == nil {
		panic("guard: " + method + " of a zero Guard: make it with New")
	}
}
