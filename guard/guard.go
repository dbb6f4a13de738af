// Package guard puts a Bloom filter in front of a store, such as a database, and answers there for
// keys that the store does not have:
//
//	g, err := guard.New(guard.Config{P: 0.01, Every: time.Hour, Load: load})
//	if err != nil {
//		return err
//	}
//	go g.Run(ctx)
//	err = g.InsertString(name, func() error { return store(name) })
//	found, err := g.LookupString(name, func() (bool, error) { return query(name) })
//
// A [Guard] never says "certainly not" for a row that was in the store when the last load began,
// nor for a row whose [Guard.Insert] or [Guard.Add] has returned. It rebuilds its filter from the
// store while it is in use. A row that another program inserts without telling the Guard may be
// missed until the next load has ended, so every writer must use Insert, or announce its rows to
// Add; docs/questions.md, "A filter in front of a database", compares three designs for several
// processes.
//
// The caller supplies Load, which lists the store's keys, and a rate. The price is one pass over
// the keys for each load, and memory: at 1 %, usually at most 13.5 bits for each key from the
// second load on, and two filters while a load runs; see [Config]. An exact map of the keys needs
// ten to fifty times as much. Nothing is saved: a Guard begins with a load, and reports that every
// key may be there until it has ended.
package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/pause"
)

// Config configures a Guard. Load and P are required.
type Config struct {
	// Load must add every key in the store to keys, and return every error of reading, such as that
	// of sql.Rows.Err. If it leaves out a key and returns no error, the Guard says "certainly not"
	// for that key.
	Load func(ctx context.Context, keys *Loader) error
	// P is the largest probability with which a key that was never in the store is reported as
	// present, however many keys there are: 1e-9 <= P < 1. The key of a removed row, or of a failed
	// insert, is reported as present until the next load has ended.
	P float64
	// N is the number of keys that the first load will find, at most 2^40. 0 means unknown: the
	// first filter then needs about twice the memory, 28 bits for each key at 1 %. Later loads
	// expect as many keys as there are: at 1 %, their filters need at most 13.5 bits for each of
	// 50,000 keys or more, if the number is within 1 % of that at the load before.
	N uint64
	// Every is the time in [Guard.Run] from the end of a load to the start of the next. Each pause
	// is up to a tenth longer or shorter, so that many processes spread out. 0 means that Run ends
	// after one successful load.
	Every time.Duration
	// Lag is the longest time for which Load, or a query of [Guard.Lookup], may miss a row after
	// Insert or Add has returned; 0 means that they miss none. Lag must exceed the sum of two
	// delays: that of the copy that they read, such as a standby server, and that of a late commit.
	// A commit is late if it follows an Add, or an insert that returned an error, such as a
	// time-out. Lag counts from just before Insert or Add returns, so it must also cover a pause of
	// the process at that moment. A Guard keeps each key for that time, in about 80 bytes, or 16 in
	// a large InsertBatch.
	Lag time.Duration
	// Learn is the number of keys that a Guard remembers because the filter reports them as present
	// and the store does not have them, so that [Guard.Lookup] asks for each only once a load. A
	// learned key behaves as one that the filter never had, until an insert of the key or the next
	// load. If look-ups of absent keys follow Zipf's law with an exponent of 1 to 1.3, a memory of
	// 1,024 keys keeps half to nine tenths of the false positives from the store. Learn is at most
	// 2^26, and is rounded up to a multiple of 1,024; a key needs 16 bytes. Of the last Learn keys
	// about four fifths are kept. A new load begins with none. Within a Lag after a load nothing is
	// learned, and hardly anything if a thousand inserts or more end in each Lag. 0 means that a
	// Guard remembers none.
	Learn int
	// OnError, if not nil, is called by Run with the error of each load that fails, except an error
	// that the end of Run's context causes. If it is nil, such errors go to the default logger of
	// package slog.
	OnError func(error)
}

// Loader is the filter that a load fills. Any number of goroutines may use it. A key that is added
// after Load has returned is not part of the load, and may be lost.
type Loader struct {
	_    nocopy.Locker
	keys *growing.Filter
}

// Add adds key. It does not retain key.
func (l *Loader) Add(key []byte) { l.AddHash(bloom.Sum(key)) }

// AddString is like Add.
func (l *Loader) AddString(key string) { l.AddHash(bloom.SumString(key)) }

// AddHash is like Add.
func (l *Loader) AddHash(h bloom.Hash) { l.filter().AddHash(h) }

// AddBatch adds the keys with the digests hs, which it does not retain. Batches of a few hundred
// keys or more are usually twice as fast as single keys.
func (l *Loader) AddBatch(hs []bloom.Hash) { l.filter().AddBatch(nil, hs) }

func (l *Loader) filter() *growing.Filter {
	if l.keys == nil {
		panic("guard: Add to a zero Loader: a Guard makes it for its Load")
	}
	return l.keys
}

// Guard is a filter in front of a store. Make it with [New]. The zero Guard has loaded nothing and
// reports that every key may be there. Its Insert, Add and Rebuild panic.
//
// Any number of goroutines may use a Guard. Look-ups allocate nothing, and take no lock, except
// that with a Config.Learn, Lookup briefly takes one of 256 locks for a key that the filter reports
// as present. Neither look-ups nor inserts wait for a load. A Guard must not be copied.
//
// A Guard is not a [bloom.Set]. A load forgets an added key that the store does not have, and Add
// methods have no result, because a Guard does not know before its first load whether a key is new.
//
// Load, Insert, Add, Contains and Lookup must get the same bytes for the same key. If the store
// treats "Ada" and "ada" as one key, use the lower-case form everywhere. An update that gives a row
// another key is an insert of that key. Removed rows need no call: the next load forgets them. A
// transaction that may still see a removed row must ask the store without the Guard.
//
// A Guard has no file, because a filter from before a crash would lack the newest rows.
type Guard struct {
	_       nocopy.Locker
	cfg     Config
	now     atomic.Pointer[generation] // nil before the first load
	busy    chan struct{}              // holds one token while a load runs
	stripes []stripe

	mu      sync.Mutex
	loading *growing.Filter        // the filter that a load fills; nil while none runs
	begun   map[*inserted]struct{} // inserts that have not returned
	ended   []*inserted            // inserts that returned within the last Lag, oldest first
	loaded  time.Time
	took    time.Duration
}

// generation is what a load made. Its fields do not change.
type generation struct {
	filter    *growing.Filter
	memory    *memory // nil if Config.Learn is 0
	published time.Time
}

// filter returns the filter of look-ups, or nil before the first load.
func (g *Guard) filter() *growing.Filter {
	if gen := g.now.Load(); gen != nil {
		return gen.filter
	}
	return nil
}

// inserted is one insert. Its keys do not change.
type inserted struct {
	hs       []bloom.Hash
	returned time.Time // the time at which the insert returned
}

const (
	minP = limits.GrowingRate
	maxN = limits.GrowingKeys
)

// New returns a Guard that has loaded nothing yet; see [Guard.Run] and [Guard.Rebuild]. It returns
// an error if a field of c is out of range.
func New(c Config) (*Guard, error) {
	switch {
	case c.Load == nil:
		return nil, errors.New("guard: Load is nil")
	case !(c.P >= minP && c.P < 1):
		return nil, form.NewParam("P", c.P, "outside [%v, 1)", minP).In("guard")
	case c.N > maxN:
		return nil, form.NewParam("N", c.N, "outside [0, %d]", uint64(maxN)).In("guard")
	case c.Every < 0:
		return nil, form.NewParam("Every", c.Every, "negative").In("guard")
	case c.Lag < 0:
		return nil, form.NewParam("Lag", c.Lag, "negative").In("guard")
	case c.Learn < 0 || c.Learn > maxLearn:
		return nil, form.NewParam("Learn", c.Learn, "outside [0, %d]", maxLearn).In("guard")
	}
	if c.OnError == nil {
		c.OnError = func(err error) { slog.Error("the filter could not be rebuilt", "error", err) }
	}
	return &Guard{
		cfg:     c,
		busy:    make(chan struct{}, 1),
		begun:   make(map[*inserted]struct{}),
		stripes: make([]stripe, stripes),
	}, nil
}

// Insert adds key, calls insert, and returns its error. insert must not return before the row is
// committed. After an error the key stays until the next load, because the row may have been
// committed nevertheless. A panic in insert passes through.
func (g *Guard) Insert(key []byte, insert func() error) error {
	return g.InsertHash(bloom.Sum(key), insert)
}

// InsertString is like Insert.
func (g *Guard) InsertString(key string, insert func() error) error {
	return g.InsertHash(bloom.SumString(key), insert)
}

// InsertHash is like Insert.
func (g *Guard) InsertHash(h bloom.Hash, insert func() error) error {
	return g.InsertBatch([]bloom.Hash{h}, insert)
}

// InsertBatch is like Insert, but for a transaction of many rows, whose keys are given as digests.
// It copies hs.
func (g *Guard) InsertBatch(hs []bloom.Hash, insert func() error) error {
	g.checkMade("Insert")
	ins := &inserted{hs: slices.Clone(hs)}
	// A load that begins later takes the keys from begun. A load that is running gets them here,
	// before insert can make a row. Because of the lock, no load begins or ends in between.
	g.mu.Lock()
	g.begun[ins] = struct{}{}
	now, loading := g.filter(), g.loading
	g.mu.Unlock()
	g.insertsBegin(ins.hs)
	defer g.finish(ins)
	for _, f := range []*growing.Filter{now, loading} {
		if f != nil {
			f.AddBatch(nil, ins.hs)
		}
	}
	return insert()
}

// finish moves ins from begun to ended. A load that begins more than a Lag later finds the rows in
// the store.
func (g *Guard) finish(ins *inserted) {
	g.insertsEnd(ins.hs)
	g.mu.Lock()
	defer g.mu.Unlock()
	ins.returned = time.Now()
	delete(g.begun, ins)
	g.ended = append(g.ended, ins)
	g.forget(ins.returned)
}

// forget drops the inserts whose rows a load finds if it begins at now. The caller holds g.mu.
func (g *Guard) forget(now time.Time) {
	for len(g.ended) > 0 && now.Sub(g.ended[0].returned) >= g.cfg.Lag {
		g.ended[0] = nil
		g.ended = g.ended[1:]
	}
}

// Add adds the key of a row that another process has inserted, and that a change feed or a message
// has announced. It counts as an Insert that has just ended. For a row that this process inserts,
// call [Guard.Insert] instead: a load that begins between Add and the commit would lose the key. If
// a row is announced before its commit, Config.Lag must cover the time between.
func (g *Guard) Add(key []byte) { g.AddHash(bloom.Sum(key)) }

// AddString is like Add.
func (g *Guard) AddString(key string) { g.AddHash(bloom.SumString(key)) }

// AddHash is like Add.
func (g *Guard) AddHash(h bloom.Hash) { _ = g.InsertHash(h, func() error { return nil }) }

// Contains reports whether the store may have key. False is certain; the package comment has the
// conditions. A key that was never in the store gets true with a probability of at most [Config].P.
// Before the first load has ended, every key gets true.
func (g *Guard) Contains(key []byte) bool { return g.ContainsHash(bloom.Sum(key)) }

// ContainsString is like Contains.
func (g *Guard) ContainsString(key string) bool { return g.ContainsHash(bloom.SumString(key)) }

// ContainsHash is like Contains.
func (g *Guard) ContainsHash(h bloom.Hash) bool {
	f := g.filter()
	return f == nil || f.ContainsHash(h)
}

// ContainsBatch looks hs up, all in one filter; see "Batches" in package bloom.
func (g *Guard) ContainsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("guard", found, len(hs))
	if f := g.filter(); f != nil {
		f.ContainsBatch(found, hs)
		return
	}
	for i := range found {
		found[i] = true
	}
}

// Ready reports whether a load has succeeded.
func (g *Guard) Ready() bool { return g.now.Load() != nil }

// Loaded returns the time at which the last successful load ended, and how long it took, or zeros
// before the first.
func (g *Guard) Loaded() (when time.Time, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.loaded, g.took
}

// Stats returns the statistics of the filter that look-ups use; see [growing.Filter.Stats]. It
// reads the whole filter. Before the first load every key passes: FPR and FillRatio are 1, and the
// other values are 0.
func (g *Guard) Stats() bloom.Stats {
	if f := g.filter(); f != nil {
		return f.Stats()
	}
	return bloom.Stats{FillRatio: 1, FPR: 1}
}

// String describes g by its P and the size of its filter.
func (g *Guard) String() string {
	f := g.filter()
	switch {
	case g.busy == nil:
		return "guard.Guard(zero)"
	case f == nil:
		return fmt.Sprintf("guard.Guard(p=%v, not loaded)", g.cfg.P)
	}
	return fmt.Sprintf("guard.Guard(p=%v, bytes=%d)", g.cfg.P, f.SizeBytes())
}

// LogValue returns what String returns.
func (g *Guard) LogValue() slog.Value { return slog.StringValue(g.String()) }

// Rebuild calls Load, and then lets look-ups use the new filter. It returns an error if Load
// returns an error or panics, or if ctx has ended when Load returns: look-ups then continue with
// the old filter. One load runs at a time: a second Rebuild waits until the first has ended, or
// until ctx ends.
func (g *Guard) Rebuild(ctx context.Context) (err error) {
	g.checkMade("Rebuild")
	select {
	case g.busy <- struct{}{}:
		defer func() { <-g.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began := time.Now()
	loading := bloom.Must(growing.New(g.expected(), g.cfg.P)) // guard.New has checked N and P
	g.begin(loading)
	succeeded := false
	defer func() { // runs even if Load panics or calls runtime.Goexit
		if v := recover(); v != nil {
			err = fmt.Errorf("guard: loading: panic: %v\n%s", v, debug.Stack())
		}
		if succeeded {
			g.publish(loading, began)
		} else {
			g.abandon()
		}
	}()
	err = g.cfg.Load(ctx, &Loader{keys: loading})
	if err == nil {
		err = ctx.Err() // Load may return nil although the end of ctx cut it short
	}
	if err != nil {
		return fmt.Errorf("guard: loading: %w", err)
	}
	succeeded = true
	return nil
}

// publish makes built, whose load began at the given time, the filter of look-ups. An insert that
// began before publish adds its keys to built; one that begins later finds built in g.now.
func (g *Guard) publish(built *growing.Filter, began time.Time) {
	memory := newMemory(g.cfg.Learn)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loading = nil
	g.loaded = time.Now()
	g.now.Store(&generation{filter: built, memory: memory, published: g.loaded})
	g.took = g.loaded.Sub(began)
}

func (g *Guard) abandon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loading = nil
}

// expected returns the number of keys to make the next filter for: 1/16 more than there are. A
// filter of package growing for n keys has room for 12 standard deviations more, and begins a
// further layer when 1/32 of its room is left, so this filter begins none.
func (g *Guard) expected() uint64 {
	f := g.filter()
	if f == nil {
		return g.cfg.N
	}
	n := f.Stats().ApproxCount
	return min(maxN, n+uint64(max(0, float64(n)/16-12*math.Sqrt(float64(n)))))
}

// begin publishes loading as the filter that a load fills, and adds the keys that the load may
// miss.
func (g *Guard) begin(loading *growing.Filter) {
	g.mu.Lock()
	g.loading = loading
	g.forget(time.Now())
	known := slices.Clone(g.ended)
	for ins := range g.begun {
		known = append(known, ins)
	}
	g.mu.Unlock()
	for _, ins := range known {
		loading.AddBatch(nil, ins.hs)
	}
}

const (
	firstPause   = 100 * time.Millisecond
	longestPause = time.Minute
)

// after is time.After, except in tests.
var after = time.After

// Run rebuilds immediately and then after each Every, until ctx ends. It returns ctx's error. If
// Every is 0, Run returns nil after the first successful load. After a failed load, Run retries
// after a tenth of a second, then after twice as long each time, up to a minute.
func (g *Guard) Run(ctx context.Context) error {
	again := firstPause
	for {
		err := g.Rebuild(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait := g.cfg.Every
		if err != nil {
			g.cfg.OnError(err)
			wait = again
			again = min(2*again, longestPause)
		} else {
			if g.cfg.Every == 0 {
				return nil
			}
			again = firstPause
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-after(pause.Spread(wait)):
		}
	}
}

func (g *Guard) checkMade(method string) {
	if g.busy == nil {
		panic("guard: " + method + " of a zero Guard: make it with New")
	}
}
