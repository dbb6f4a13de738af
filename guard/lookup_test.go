package guard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// table is a store of names that counts its queries.
type table struct {
	mu      sync.Mutex
	rows    map[string]bool
	queries int
	during  func() // runs in each query, after the store has answered
}

func (s *table) set(name string, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows = make(map[string]bool)
	}
	s.rows[name] = there
}

func (s *table) load(_ context.Context, keys *Loader) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, there := range s.rows {
		if there {
			keys.AddString(name)
		}
	}
	return nil
}

// look looks name up, and returns the answer and whether it came from the store.
func (s *table) look(t *testing.T, g *Guard, name string) (found, asked bool) {
	before := s.queries
	found, err := g.LookupString(name, func() (bool, error) {
		s.mu.Lock()
		s.queries++
		found := s.rows[name]
		s.mu.Unlock()
		if s.during != nil {
			notHeldUp(t, "a query", s.during)
		}
		return found, nil
	})
	assert.NoError(t, err)
	return found, s.queries > before
}

// notHeldUp runs do during what, and fails if a lock that is held during what keeps do from ending.
func notHeldUp(t *testing.T, what string, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		require.Fail(t, "a lock is held during "+what)
	}
}

// learning returns a Guard that passes "ada" on to s. s has no such row: it was removed after the
// load.
func learning(t *testing.T, s *table, cfg Config) *Guard {
	cfg.Learn = 1
	cfg.Load = s.load
	s.set("ada", true)
	g := newGuard(t, cfg)
	require.NoError(t, g.Rebuild(background))
	s.set("ada", false)
	return g
}

// requireDenied requires that a look-up of "ada" says no, and says whether it asks s.
func requireDenied(t *testing.T, s *table, g *Guard, wantAsked bool, why string) {
	t.Helper()
	found, asked := s.look(t, g, "ada")
	require.False(t, found, why)
	require.Equal(t, wantAsked, asked, why)
}

// requireThere requires that a look-up of "ada" finds it, although the store denied it before.
func requireThere(t *testing.T, s *table, g *Guard, why string) {
	t.Helper()
	found, asked := s.look(t, g, "ada")
	require.True(t, found, why)
	require.True(t, asked, why)
}

// TestLookup: a query is made unless the filter says no, and the look-up gives its answer.
func TestLookup(t *testing.T) {
	failed := errors.New("down")
	for _, learn := range []int{0, 1} {
		g := newGuard(t, Config{Load: loadOf(3), Learn: learn})
		key := binary.LittleEndian.AppendUint64(nil, 2)
		calls := 0
		answer := func(found bool, err error) func() (bool, error) {
			return func() (bool, error) { calls++; return found, err }
		}
		found, err := g.LookupString("absent", answer(false, nil))
		require.NoError(t, err)
		require.False(t, found)
		require.Equal(t, 1, calls, "nothing is loaded yet")
		require.NoError(t, g.Rebuild(background))

		found, err = g.LookupString("absent", answer(true, nil))
		require.NoError(t, err)
		require.False(t, found)
		require.Equal(t, 1, calls, "the filter is certain")
		for _, want := range []bool{true, false} {
			for _, wantErr := range []error{failed, nil} {
				found, err = g.Lookup(key, answer(want, wantErr))
				require.Equal(t, want, found)
				require.Equal(t, wantErr, err)
			}
		}
		require.Equal(t, 5, calls)
		want := Counts{Misses: 1, Queries: 5, Hits: 1, Denials: 2}
		require.Equal(t, want, g.Counts())
		found, err = g.Lookup(key, answer(true, nil))
		require.NoError(t, err)
		if learn == 0 {
			want.Queries++
			want.Hits++
		} else {
			want.Learned++
		}
		require.Equal(t, learn == 0, found)
		require.Equal(t, want, g.Counts())
	}
}

// TestLookupOfZeroGuard: a Guard that has loaded nothing asks the store.
func TestLookupOfZeroGuard(t *testing.T) {
	g := new(Guard)
	found, err := g.LookupString("ada", func() (bool, error) { return true, nil })
	require.NoError(t, err)
	require.True(t, found)
	require.Zero(t, g.Counts())
}

// TestLearnedOnce: the store is asked for an absent key once a load.
func TestLearnedOnce(t *testing.T) {
	var s table
	g := learning(t, &s, Config{})
	requireDenied(t, &s, g, true, "not known yet")
	for range 3 {
		requireDenied(t, &s, g, false, "known")
	}
	g.cfg.Load = func(context.Context, *Loader) error { return errors.New("down") }
	require.Error(t, g.Rebuild(background))
	requireDenied(t, &s, g, false, "a load that fails changes nothing")
	require.True(t, g.ContainsString("ada"), "Contains is the filter's answer")
}

// TestInsertEndsDenial: a row is found from its insert on, however it was announced and however the
// insert ended. The keys of its stripe are learned again.
func TestInsertEndsDenial(t *testing.T) {
	const name = "ada"
	failed := errors.New("time-out")
	h, other := bloom.SumString(name), bloom.SumString("bob")
	for how, insert := range map[string]func(g *Guard, commit func()){
		"Insert": func(g *Guard, commit func()) {
			_ = g.Insert([]byte(name), func() error { commit(); return nil })
		},
		"InsertString": func(g *Guard, commit func()) {
			_ = g.InsertString(name, func() error { commit(); return nil })
		},
		"InsertBatch": func(g *Guard, commit func()) {
			hs := []bloom.Hash{other, h, h}
			_ = g.InsertBatch(hs, func() error { clear(hs); commit(); return nil })
		},
		"error": func(g *Guard, commit func()) {
			_ = g.InsertHash(h, func() error { commit(); return failed })
		},
		"panic": func(g *Guard, commit func()) {
			require.Panics(t, func() { _ = g.InsertHash(h, func() error { commit(); panic(failed) }) })
		},
		"exit": func(g *Guard, commit func()) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = g.InsertHash(h, func() error { commit(); runtime.Goexit(); return nil })
			}()
			filtertest.Receive(t, "the insert ends", done)
		},
		"Add":       func(g *Guard, commit func()) { commit(); g.Add([]byte(name)) },
		"AddString": func(g *Guard, commit func()) { commit(); g.AddString(name) },
		"AddHash":   func(g *Guard, commit func()) { commit(); g.AddHash(h) },
	} {
		ok := t.Run(how, func(t *testing.T) {
			var s table
			g := learning(t, &s, Config{})
			commit := func() { s.set(name, true) }
			requireDenied(t, &s, g, true, "not known yet")
			insert(g, commit)
			requireThere(t, &s, g, "inserted after the denial")

			s.set(name, false)
			requireDenied(t, &s, g, true, "the row was removed")
			requireDenied(t, &s, g, false, "learned again")
			s.set(name, false)
			g.now.Load().memory.remove(h)
			s.during = func() { s.during = nil; insert(g, commit) }
			requireDenied(t, &s, g, true, "the query came before the insert")
			requireThere(t, &s, g, "the insert overtook the query")
		})
		if !ok {
			break // the others may wait as long
		}
	}
}

// TestLookupInsideInsert: a row is found as soon as it is committed, also before its insert has
// ended.
func TestLookupInsideInsert(t *testing.T) {
	var s table
	g := learning(t, &s, Config{})
	requireDenied(t, &s, g, true, "not known yet")
	require.NoError(t, g.InsertString("ada", func() error {
		notHeldUp(t, "an insert", func() {
			requireDenied(t, &s, g, true, "an insert is under way")
			s.set("ada", true)
			requireThere(t, &s, g, "committed")
		})
		return nil
	}))

	s.set("ada", false)
	s.during = func() {
		s.during = nil
		g.insertsBegin([]bloom.Hash{bloom.SumString("ada")})
	}
	requireDenied(t, &s, g, true, "an insert began beside the query")
	s.set("ada", true)
	requireThere(t, &s, g, "committed")
}

// TestMemoryBelongsToLoad: a row that another program inserted without a word is found from the
// next load on, whatever was denied before.
func TestMemoryBelongsToLoad(t *testing.T) {
	var s table
	g := learning(t, &s, Config{})
	requireDenied(t, &s, g, true, "not known yet")
	s.set("ada", true)
	requireDenied(t, &s, g, false, "nothing has announced the row")
	require.NoError(t, g.Rebuild(background))
	requireThere(t, &s, g, "loaded")

	s.set("ada", false)
	s.during = func() {
		s.during = nil
		s.set("ada", true)
		require.NoError(t, g.Rebuild(background))
	}
	requireDenied(t, &s, g, true, "a load that found the row overtook the query")
	requireThere(t, &s, g, "loaded")
}

// TestLearnAfterLag: a "no" that a late store may give is not remembered.
func TestLearnAfterLag(t *testing.T) {
	const lag = time.Hour
	h := bloom.SumString("ada")
	later := func(g *Guard, by time.Duration) { // as if by had passed
		g.now.Load().published = g.now.Load().published.Add(-by)
		s := g.stripe(h)
		s.last = s.last.Add(-by)
	}
	for what, event := range map[string]func(g *Guard){
		"load": func(g *Guard) { require.NoError(t, g.Rebuild(background)) },
		"Add":  func(g *Guard) { g.AddHash(h) },
		"insert": func(g *Guard) {
			_ = g.InsertHash(h, func() error {
				later(g, 2*lag) // the Lag begins when an insert has ended
				return errors.New("time-out")
			})
		},
	} {
		// endsAfter reports whether a query began within a Lag, and ended after it. The Lag ends
		// when left has passed since the event.
		endsAfter := func(t *testing.T, left time.Duration) (ok bool) {
			var s table
			g := learning(t, &s, Config{Lag: lag})
			later(g, 2*lag)
			if what == "load" {
				s.set("ada", true)
			}
			began := time.Now()
			event(g)
			s.set("ada", false)
			requireDenied(t, &s, g, true, "within a Lag")
			requireDenied(t, &s, g, true, "within a Lag, and not learned")
			later(g, lag-left)
			s.during = func() {
				s.during = nil
				ok = time.Since(began) < left
				time.Sleep(left)
			}
			requireDenied(t, &s, g, true, "a query that began within a Lag")
			if ok {
				requireDenied(t, &s, g, true, "which was not learned")
				requireDenied(t, &s, g, false, "learned after the Lag")
			}
			return ok
		}
		t.Run(what, func(t *testing.T) {
			left := 50 * time.Millisecond
			for !endsAfter(t, left) { // the machine was too slow
				left *= 2
			}
		})
	}
}

// TestQueryChangesKey: the key that was looked up is learned, even if the query changes its bytes.
func TestQueryChangesKey(t *testing.T) {
	var s table
	g := learning(t, &s, Config{})
	key := []byte("ada")
	found, err := g.Lookup(key, func() (bool, error) { copy(key, "bob"); return false, nil })
	require.NoError(t, err)
	require.False(t, found)
	requireDenied(t, &s, g, false, "known")
}

// TestFailedQueryIsNoDenial: a query that fails, panics or exits leaves nothing behind.
func TestFailedQueryIsNoDenial(t *testing.T) {
	failed := errors.New("down")
	for how, query := range map[string]func() (bool, error){
		"error": func() (bool, error) { return false, failed },
		"panic": func() (bool, error) { panic(failed) },
		"exit":  func() (bool, error) { runtime.Goexit(); return false, nil },
	} {
		t.Run(how, func(t *testing.T) {
			var s table
			g := learning(t, &s, Config{})
			done, panicked := make(chan struct{}), any(nil)
			go func() {
				defer close(done)
				defer func() { panicked = recover() }()
				_, _ = g.LookupString("ada", query)
			}()
			filtertest.Receive(t, "the look-up ends", done)
			require.Equal(t, how == "panic", panicked != nil)
			require.Equal(t, Counts{Queries: 1}, g.Counts())
			s.set("ada", true)
			requireThere(t, &s, g, "the store has not denied it")
			require.NoError(t, g.InsertString("ada", func() error { return nil }), "no lock is held")
		})
	}
}

// keyOf returns a key of 32 bytes that begins with first and has the digest h. It undoes the steps
// of package internal/digest.
func keyOf(first [16]byte, h bloom.Hash) []byte {
	const (
		c1 = 0x87c37b91114253d5
		c2 = 0x4cf5ad432745937f
	)
	inverse := func(odd uint64) uint64 {
		x := odd // right in three bits; each step doubles them
		for range 5 {
			x *= 2 - odd*x
		}
		return x
	}
	unmix := func(k uint64) uint64 {
		k ^= k >> 33
		k *= inverse(0xc4ceb9fe1a85ec53)
		k ^= k >> 33
		k *= inverse(0xff51afd7ed558ccd)
		return k ^ k>>33
	}
	block1 := func(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
	block2 := func(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }
	next := func(h, block, other, plus uint64, turn int) uint64 {
		return (bits.RotateLeft64(h^block, turn)+other)*5 + plus
	}
	// The state before and after the second block.
	a1 := next(0, block1(binary.LittleEndian.Uint64(first[:])), 0, 0x52dce729, 27)
	a2 := next(0, block2(binary.LittleEndian.Uint64(first[8:])), a1, 0x38495ab5, 31)
	h1, h2 := h.Words()
	sum := unmix(2*h1 - h2)
	b2 := unmix(h2-h1) - sum
	b1 := sum - b2
	b1 ^= 32
	b2 ^= 32
	x1 := a1 ^ bits.RotateLeft64((b1-0x52dce729)*inverse(5)-a2, -27)
	x2 := a2 ^ bits.RotateLeft64((b2-0x38495ab5)*inverse(5)-b1, -31)
	k1 := bits.RotateLeft64(x1*inverse(c2), -31) * inverse(c1)
	k2 := bits.RotateLeft64(x2*inverse(c1), -33) * inverse(c2)
	key := binary.LittleEndian.AppendUint64(first[:], k1)
	return binary.LittleEndian.AppendUint64(key, k2)
}

// TestKeysOfOneDigest: the denial of a key does not hide a row whose key has the same digest.
func TestKeysOfOneDigest(t *testing.T) {
	h := bloom.SumString("ada")
	twin := string(keyOf([16]byte([]byte("a chosen key of ")), h))
	require.Equal(t, h, bloom.SumString(twin))
	hashOf := func() uint64 { return newMemory(1).denial(h, []byte(twin)).key }
	require.NotEqual(t, hashOf(), hashOf(), "each memory has a secret of its own")

	var s table
	g := learning(t, &s, Config{})
	require.NoError(t, g.InsertString("ada", func() error { s.set("ada", true); return nil }))
	for _, wantAsked := range []bool{true, false} {
		found, asked := s.look(t, g, twin)
		require.False(t, found)
		require.Equal(t, wantAsked, asked)
	}
	requireThere(t, &s, g, "another key was denied")
	require.NoError(t, g.InsertHash(h, func() error { s.set(twin, true); return nil }))
	found, _ := s.look(t, g, twin)
	require.True(t, found, "an insert by digest ends the denials of all keys that have it")
}

// TestMemoryOfAStripe: a memory has 16 bytes for each key. It is all in use, and each part of it
// belongs to one stripe.
func TestMemoryOfAStripe(t *testing.T) {
	require.EqualValues(t, 16, unsafe.Sizeof(denial{}))
	g := newGuard(t, Config{Load: nothing})
	m := newMemory(3 * ways * stripes)
	stripeOf := map[*[ways]denial]*stripe{}
	for i := range uint64(20_000) {
		h := bloom.SumUint64(i)
		set := m.set(h)
		if stripeOf[set] == nil {
			stripeOf[set] = g.stripe(h)
		}
		require.Same(t, stripeOf[set], g.stripe(h))
	}
	require.Len(t, stripeOf, len(m.sets))
}

// TestMemoryKeepsTheLast: of the last keys, as many as there is room for, four fifths are kept.
func TestMemoryKeepsTheLast(t *testing.T) {
	const n = 16 * ways * stripes
	m := newMemory(n)
	for i := range uint64(3 * n) {
		m.note(bloom.SumUint64(i), denial{i, 1})
	}
	kept := 0.0
	for i := range uint64(n) {
		i += 2 * n
		if m.recall(bloom.SumUint64(i), denial{i, 1}) {
			kept++
		}
	}
	require.InDelta(t, 0.8, kept/n, 0.02)
}

// TestMemoryOfASet: a set keeps the keys that were used last, and removes any of them.
func TestMemoryOfASet(t *testing.T) {
	m := newMemory(1)
	require.Len(t, m.sets, stripes)
	require.Len(t, newMemory(ways*stripes).sets, stripes)
	require.Len(t, newMemory(ways*stripes+1).sets, 2*stripes)
	h := func(i int) bloom.Hash { return bloom.NewHash(uint64(i), 7) }
	d := func(i int) denial { return m.denial(h(i), []byte{byte(i)}) }
	has := func(i int) bool { return m.recall(h(i), d(i)) }
	for i := range ways {
		require.False(t, has(i))
		m.note(h(i), d(i))
	}
	require.True(t, has(0))
	m.note(h(0), d(0)) // is there already
	m.note(h(ways), d(ways))
	require.True(t, has(0), "used last")
	require.False(t, has(1), "not used for longest")
	require.True(t, has(2))
	m.remove(h(2))
	require.False(t, has(2))
	m.note(h(1), d(1))
	for _, i := range []int{0, 1, 3, ways} {
		require.True(t, has(i), "%d: the removed key's room was free", i)
	}
	for i := range 2 * ways {
		m.remove(h(i))
	}
	require.Equal(t, [ways]denial{}, *m.set(h(0)))
}

// TestLookupNeverHides looks keys up beside inserts, removals and loads of which some fail, panic
// or exit, rows that others announce before or after their commit, and a store that is late. No
// look-up says "certainly not" for a row that was there all the time, without asking the store.
func TestLookupNeverHides(t *testing.T) {
	for name, lag := range map[string]time.Duration{"store": 0, "late": 4 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			m := newModel(lag)
			m.run(t)
			require.Zero(t, m.wrong.Load(), "of %+v beside %d loads", m.g.Counts(), m.loads.Load())
			require.True(t, m.enough(), "%+v beside %d loads", m.g.Counts(), m.loads.Load())
		})
	}
}

// model is a store, and what is known about its rows.
type model struct {
	g   *Guard
	lag time.Duration
	// since[i] is the time at which row i was committed, or 0. Queries and loads see a row when it
	// is a quarter of a Lag old.
	since [modelKeys]atomic.Int64
	// version[i] is odd while row i is there, and must be found.
	version [modelKeys]atomic.Uint64
	began   time.Time
	wrong   atomic.Int64
	loads   atomic.Int64
}

const (
	modelKeys    = 1000
	modelWriters = 4
)

func modelName(i int) string { return fmt.Sprint("key ", i) }

func newModel(lag time.Duration) *model {
	m := &model{lag: lag, began: time.Now()}
	m.g = bloom.Must(New(Config{P: 0.5, Learn: 1, Lag: lag, Load: m.load, OnError: func(error) {}}))
	return m
}

func (m *model) commit(i int) { m.since[i].Store(max(1, int64(time.Since(m.began)))) }

// sees reports whether a query of the store finds row i.
func (m *model) sees(i int) bool {
	since := time.Duration(m.since[i].Load())
	return since != 0 && time.Since(m.began)-since >= m.lag/4
}

// now and then lets other goroutines run.
func nowAndThen(rnd *rand.Rand) {
	switch rnd.IntN(4) {
	case 0:
		runtime.Gosched()
	case 1:
		for range rnd.IntN(200) {
			_ = rnd
		}
	}
}

func (m *model) load(_ context.Context, keys *Loader) error {
	rnd := rand.New(rand.NewPCG(uint64(m.loads.Load()), 3))
	for i := range modelKeys {
		if m.sees(i) {
			keys.AddString(modelName(i))
		}
		if i%50 == 0 {
			runtime.Gosched()
		}
	}
	switch rnd.IntN(6) {
	case 0:
		return errors.New("down")
	case 1:
		panic("down")
	case 2:
		runtime.Goexit()
	}
	return nil
}

func (m *model) run(t *testing.T) {
	long := time.Second
	if testing.Short() {
		long = 400 * time.Millisecond
	}
	require.NoError(t, m.firstLoad())
	ctx, stop := context.WithCancel(background)
	var wg sync.WaitGroup
	for w := range modelWriters {
		wg.Add(2)
		go func() {
			defer wg.Done()
			m.write(ctx, w)
		}()
		go func() {
			defer wg.Done()
			m.look(ctx, w)
		}()
	}
	for time.Since(m.began) < long || !m.enough() && time.Since(m.began) < time.Minute {
		m.rebuild()
		time.Sleep(4*m.lag + 2*time.Millisecond)
	}
	stop()
	filtertest.Wait(t, "inserts and look-ups end", &wg)
}

// enough reports whether enough has happened on each side, however fast the machine is.
func (m *model) enough() bool { return m.g.Counts().Learned > 100 && m.loads.Load() > 5 }

// rebuild reports whether a load succeeded.
func (m *model) rebuild() (ok bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ok = m.g.Rebuild(context.Background()) == nil
	}()
	<-done
	m.loads.Add(1)
	return ok
}

func (m *model) firstLoad() error {
	m.g.cfg.Load = func(_ context.Context, keys *Loader) error { return nil }
	defer func() { m.g.cfg.Load = m.load }()
	return m.g.Rebuild(background)
}

// write inserts and removes rows of one writer.
func (m *model) write(ctx context.Context, w int) {
	rnd := rand.New(rand.NewPCG(uint64(w), 1))
	for ctx.Err() == nil {
		i := rnd.IntN(modelKeys/modelWriters)*modelWriters + w
		if m.version[i].Load()%2 == 1 {
			m.version[i].Add(1)
			m.since[i].Store(0)
		} else if m.insert(rnd, i) {
			m.version[i].Add(1)
		}
		nowAndThen(rnd)
		if rnd.IntN(8) == 0 {
			time.Sleep(time.Duration(rnd.IntN(200)) * time.Microsecond)
		}
	}
}

// insert inserts row i in one of many ways. It reports whether the row must be found.
func (m *model) insert(rnd *rand.Rand, i int) bool {
	name := modelName(i)
	commit := func() error {
		nowAndThen(rnd)
		m.commit(i)
		nowAndThen(rnd)
		return nil
	}
	if rnd.IntN(64) == 0 { // another process commits, and announces nothing until the next load
		_ = commit()
		time.Sleep(m.lag / 4)
		return m.rebuild()
	}
	switch rnd.IntN(8) {
	case 0:
		hs := []bloom.Hash{bloom.SumString(modelName((i + modelWriters) % modelKeys)),
			bloom.SumString(name)}
		return m.g.InsertBatch(hs, commit) == nil
	case 1: // another process commits, then announces
		_ = commit()
		m.g.AddString(name)
	case 2: // the commit succeeds, and the insert panics or exits
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = recover() }()
			_ = m.g.InsertString(name, func() error {
				_ = commit()
				if rnd.IntN(2) == 0 {
					panic("closed")
				}
				runtime.Goexit()
				return nil
			})
		}()
		<-done
	case 3: // no commit
		return m.g.InsertString(name, func() error { return errors.New("refused") }) == nil
	case 4, 5: // a commit within half of a Lag after a time-out, or after an announcement
		if m.lag == 0 {
			return m.g.InsertString(name, commit) == nil
		}
		ended := time.Now()
		if rnd.IntN(2) == 0 {
			_ = m.g.InsertString(name, func() error { return errors.New("time-out") })
		} else {
			m.g.AddString(name)
		}
		time.Sleep(time.Duration(rnd.Int64N(int64(m.lag / 4))))
		_ = commit()
		return time.Since(ended) < m.lag/2 // else it was later than Lag allows
	default:
		return m.g.InsertString(name, commit) == nil
	}
	return true
}

// look looks up keys, mostly a few popular ones.
func (m *model) look(ctx context.Context, w int) {
	rnd := rand.New(rand.NewPCG(uint64(w), 2))
	for ctx.Err() == nil {
		nowAndThen(rnd) // lets the writers run if there is one thread
		i := rnd.IntN(modelKeys)
		if rnd.IntN(2) == 0 {
			i /= 20
		}
		before := m.version[i].Load()
		asked := false
		found, _ := m.g.LookupString(modelName(i), func() (bool, error) {
			asked = true
			nowAndThen(rnd)
			if rnd.IntN(16) == 0 {
				return false, errors.New("down")
			}
			found := m.sees(i)
			nowAndThen(rnd)
			return found, nil
		})
		after := m.version[i].Load()
		if !asked && !found && before == after && before%2 == 1 {
			m.wrong.Add(1)
		}
	}
}

// TestLookupAllocatesNothing: not for keys that are there, absent or learned.
func TestLookupAllocatesNothing(t *testing.T) {
	var s table
	g := learning(t, &s, Config{})
	key := []byte("a key of more than thirty-two bytes, which no compiler keeps on the stack")
	calls := 0
	query := func(found bool) func() (bool, error) {
		return func() (bool, error) { calls++; return found, nil }
	}
	yes, no := query(true), query(false)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = g.Lookup(key, no)
		_, _ = g.LookupString("ada", yes)
	}))
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = g.LookupString("ada", no) }))
	require.EqualValues(t, 100, g.Counts().Learned)
	require.Equal(t, 102, calls)
}
