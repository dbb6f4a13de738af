// Package guard puts a Bloom filter in front of a store, such as a database, so that look-ups of
// absent keys do not reach the store.
//
//	g, err := guard.New(guard.Config{P: 0.01, Every: time.Hour, Load: load})
//	if err != nil {
//		return err
//	}
//	go g.Run(ctx)
//	err = g.InsertString(name, func() error { return store(name) })
//	found, err := g.LookupString(name, func() (bool, error) { return query(name) })
//
// A [Guard] reports as present every row in the store that was there when the last successful load
// began, or for which [Guard.Insert] or [Guard.Add] has returned. It rebuilds its filter from the
// store while it is in use. If another program inserts a row without telling the Guard, the row may
// be missed until a load that begins later has succeeded. So every writer must use Insert, or
// announce its rows to Add. "A filter in front of a database" in docs/questions.md compares three
// designs for several processes.
//
// Load is a function that lists the store's keys. The price is one pass over the keys for each
// load, and memory: at a rate of 1 %, usually at most 13.5 bits for each key from the second load
// on, and two filters while a load runs; see [Config]. A map of the keys usually needs ten to fifty
// times as much. A Guard has no file: in every new process, it reports every key as present until a
// load has succeeded.
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
	// Load must add every key in the store to keys. It must return every error of reading, such as
	// that of sql.Rows.Err: if it misses a key and returns no error, the Guard may report that key
	// as certainly absent.
	Load func(ctx context.Context, keys *Loader) error
	// P is the largest probability, after the first load, that a key which was never in the store
	// is reported as present, however many keys there are: 1e-9 <= P < 1. The key of an insert is
	// reported as present as soon as the insert begins. The key of a removed row, or of a failed
	// insert, may be reported as present until a load that began at least a Lag later has
	// succeeded.
	P float64
	// N is the number of keys that the first load will find, at most 2^40. 0 means unknown. The
	// first filter then needs about twice the memory, for many keys 28 bits each at 1 %. Later
	// loads expect as many keys as there are: at 1 %, their filters need at most 13.5 bits for each
	// key, if there are 50,000 keys or more, and less than 1 % were inserted or removed since the
	// previous load.
	N uint64
	// Every is the time that [Guard.Run] waits from the end of a successful load to the start of
	// the next. Each wait is up to a tenth longer or shorter, so that many processes do not load at
	// the same time. If Every is 0, Run returns after one successful load.
	Every time.Duration
	// Lag is how long Load, or a query of [Guard.Lookup], may still miss a row after Insert or Add
	// has returned. 0 means that they miss none. Lag must exceed the sum of two delays: that of the
	// copy from which they read, such as a standby server, and that of late commits. A commit is
	// late if it follows an Add, or an insert that returned an error, such as a time-out. Lag
	// counts from just before Insert or Add returns, so it must also cover a pause of the process
	// at that moment. A Guard keeps each inserted key for at least that time, in about 80 bytes, or
	// in 16 if it is part of a large InsertBatch.
	Lag time.Duration
	// Learn is the number of keys that a Guard remembers because its filter reports them as present
	// although the store does not have them. [Guard.Lookup] then usually asks the store for such a
	// key only once between two loads. It may report a learned key as absent until an insert of
	// the key or the next successful load. If look-ups of absent keys follow Zipf's law with an
	// exponent of 1 to 1.3, a memory of 1,024 keys can save the store half to nine tenths of the
	// false positives.
	//
	// Learn must be at most 2^26, and is rounded up to a multiple of 1,024. A key needs 16 bytes.
	// About four fifths of the last Learn keys are remembered. Each successful load empties the
	// memory. A Guard learns nothing within a Lag after such a load, and hardly anything if a
	// thousand inserts or more end within each Lag. If Learn is 0, it learns nothing.
	Learn int
	// OnError, if not nil, is called by Run with the error of each failed load, unless Run's
	// context has ended. If OnError is nil, these errors go to the default logger of package slog.
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

// AddBatch adds the keys with the digests hs. It does not retain hs. Batches of a few hundred keys
// or more are usually twice as fast as single calls.
func (l *Loader) AddBatch(hs []bloom.Hash) { l.filter().AddBatch(nil, hs) }

func (l *Loader) filter() *growing.Filter {
	if l.keys == nil {
		panic("guard: Add to a zero Loader: use the one that Load gets")
	}
	return l.keys
}

// Guard is a filter in front of a store. It must be made with [New]. The zero Guard reports every
// key as present; its Insert, Add and Rebuild panic.
//
// Any number of goroutines may use a Guard. Look-ups do not allocate, except that a large batch may
// need a buffer. They take no lock, with one exception: if Config.Learn is not 0, Lookup briefly
// takes one of 256 locks for a key that the filter reports as present. Neither look-ups nor inserts
// wait for a load. A Guard must not be copied.
//
// A Guard is not a [bloom.Set]. A later load forgets an added key that the store does not have. The
// Add methods have no result, because before its first load a Guard does not know whether a key is
// new.
//
// Load, Insert, Add, Contains and Lookup must get the same bytes for the same key. If the store
// treats "Ada" and "ada" as one key, pass the lower-case form everywhere. An update that changes a
// row's key is an insert of the new key. Removed rows need no call, because a later load forgets
// them. A transaction that may still see a removed row must ask the store directly.
//
// A Guard cannot be saved, because after a crash a saved filter would lack the newest rows.
type Guard struct {
	_       nocopy.Locker
	cfg     Config
	now     atomic.Pointer[generation] // nil before the first load
	busy    chan struct{}              // holds one token while a load runs
	stripes []stripe

	mu      sync.Mutex
	loading *growing.Filter        // the filter that a load fills; nil while none runs
	begun   map[*inserted]struct{} // inserts that have not returned
	ended   []*inserted            // inserts that have returned, oldest first; see forget
	loaded  time.Time
	took    time.Duration
}

// generation is the result of a load. Its fields do not change.
type generation struct {
	filter    *growing.Filter
	memory    *memory // nil if Config.Learn is 0
	published time.Time
}

// filter returns the filter for look-ups, or nil before the first load.
func (g *Guard) filter() *growing.Filter {
	if gen := g.now.Load(); gen != nil {
		return gen.filter
	}
	return nil
}

// inserted is a call of InsertBatch. hs does not change.
type inserted struct {
	hs       []bloom.Hash
	returned time.Time
}

const (
	minP = limits.GrowingRate
	maxN = limits.GrowingKeys
)

// New returns a Guard that has loaded nothing yet; call [Guard.Run] or [Guard.Rebuild]. It returns
// an error if Load is nil, or if another field of c is out of range.
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
// committed. After an error, key remains until a load that began at least a Config.Lag later has
// succeeded, because the row may nevertheless have been committed. Insert does not recover from a
// panic in insert.
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

// InsertBatch is like Insert, for a transaction with many rows. It takes the digests of the keys,
// and copies hs.
func (g *Guard) InsertBatch(hs []bloom.Hash, insert func() error) error {
	g.checkMade("Insert")
	ins := &inserted{hs: slices.Clone(hs)}
	// A load that begins later gets the keys from g.begun, and a running load gets them below.
	// Because of the lock, no load begins or ends between these lines.
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

// finish keeps ins for a Lag, because a load that begins within it may miss the rows.
func (g *Guard) finish(ins *inserted) {
	g.insertsEnd(ins.hs)
	g.mu.Lock()
	defer g.mu.Unlock()
	ins.returned = time.Now()
	delete(g.begun, ins)
	g.ended = append(g.ended, ins)
	g.forget(ins.returned)
}

// forget drops the inserts that returned at least a Lag before now. A later load finds their rows
// in the store. The caller must hold g.mu.
func (g *Guard) forget(now time.Time) {
	for len(g.ended) > 0 && now.Sub(g.ended[0].returned) >= g.cfg.Lag {
		g.ended[0] = nil
		g.ended = g.ended[1:]
	}
}

// Add adds the key of a row that another process has inserted, and that a change feed or a message
// has announced. It counts as an Insert that has just ended. If this process inserts the row, call
// [Guard.Insert] instead: a load that begins between Add and the commit may lose the key. If a row
// is announced before it is committed, Config.Lag must cover the time in between.
func (g *Guard) Add(key []byte) { g.AddHash(bloom.Sum(key)) }

// AddString is like Add.
func (g *Guard) AddString(key string) { g.AddHash(bloom.SumString(key)) }

// AddHash is like Add.
func (g *Guard) AddHash(h bloom.Hash) { _ = g.InsertHash(h, func() error { return nil }) }

// Contains reports whether the store may have key. False is certain, under the conditions in the
// package comment. For a key that was never in the store, nor given to Insert or Add, it returns
// true with a probability of at most [Config].P. Before the first load has succeeded, it always
// returns true.
func (g *Guard) Contains(key []byte) bool { return g.ContainsHash(bloom.Sum(key)) }

// ContainsString is like Contains.
func (g *Guard) ContainsString(key string) bool { return g.ContainsHash(bloom.SumString(key)) }

// ContainsHash is like Contains.
func (g *Guard) ContainsHash(h bloom.Hash) bool {
	f := g.filter()
	return f == nil || f.ContainsHash(h)
}

// ContainsBatch looks all of hs up in one filter; see "Batches" in package bloom.
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

// Loaded returns the time at which the last successful load ended, and how long it took. Before the
// first load, both are zero.
func (g *Guard) Loaded() (when time.Time, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.loaded, g.took
}

// Stats returns the statistics of the filter for look-ups, and reads the whole filter; see
// [growing.Filter.Stats]. Before the first load, every key is reported as present: FPR and
// FillRatio are 1, and the other fields are 0.
func (g *Guard) Stats() bloom.Stats {
	if f := g.filter(); f != nil {
		return f.Stats()
	}
	return bloom.Stats{FillRatio: 1, FPR: 1}
}

// String returns the name of g's type, its P and the size of its filter.
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

// LogValue implements slog.LogValuer. The value is the result of String.
func (g *Guard) LogValue() slog.Value { return slog.StringValue(g.String()) }

// Rebuild calls Load, and then replaces the filter for look-ups. If Load returns an error or
// panics, or if ctx has ended when Load returns, Rebuild returns an error, and look-ups continue
// with the old filter. Only one load runs at a time: a second Rebuild waits until the first has
// ended, or until ctx ends.
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

// publish replaces the filter for look-ups with built. An insert that began during the load adds
// its keys to built, which was g.loading. A later insert finds built in g.now.
func (g *Guard) publish(built *growing.Filter, began time.Time) {
	memory := newMemory(g.cfg.Learn)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loading = nil // speed
	g.loaded = time.Now()
	g.now.Store(&generation{filter: built, memory: memory, published: g.loaded})
	g.took = g.loaded.Sub(began)
}

func (g *Guard) abandon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loading = nil
}

// expected returns the number of keys for the next filter. After the first load, it leaves room for
// at least 1/16 more keys than there are, up to maxN; growing.New itself adds room for 12 standard
// deviations. A growing filter makes another layer when 1/32 of its room is left, so the next
// filter has one layer unless many keys are added.
func (g *Guard) expected() uint64 {
	f := g.filter()
	if f == nil {
		return g.cfg.N
	}
	n := f.Stats().ApproxCount
	return min(maxN, n+uint64(max(0, float64(n)/16-12*math.Sqrt(float64(n)))))
}

// begin makes inserts also write to loading, the filter of a new load, and adds the keys that the
// load may miss.
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

// Run calls Rebuild, waits for about Every, and repeats both until ctx ends. It then returns the
// error of ctx. If Every is 0, Run returns nil after the first successful load. After a failed
// load, Run tries again after about a tenth of a second, and doubles this pause after each further
// failure, up to about a minute.
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
