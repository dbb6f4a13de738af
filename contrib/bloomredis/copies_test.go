package bloomredis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/replica"
)

// A merge loses nothing that others add at the same time, and leaves nothing behind.
func TestMerge(t *testing.T) {
	s := startServer(t)
	client := s.client()
	const n = 2_000_000 // more than two pieces
	f := openFilter(t, client, n, 0.01)
	local := bloom.Must(bloom.New(n, 0.01))
	local.AddBatch(nil, hashes(0, 100_000))
	stop := make(chan struct{})
	var added atomic.Uint64
	adds := during(t, func() {
		for stopped := false; !stopped; added.Add(50) {
			from := 1_000_000 + added.Load()
			if !assert.NoError(t, firstError(addBatch(ctx, f, hashes(from, from+50)))) {
				return
			}
			select {
			case <-stop:
				stopped = true
			default:
			}
		}
	})
	merging := s.client()
	m := openFilter(t, merging, n, 0.01)
	merging.AddHook(between(func() { // keys are added before each step of a merge
		before := added.Load()
		soon(t, func() bool { return added.Load() > before })
	}))
	for range 3 {
		require.NoError(t, m.Merge(ctx, local))
	}
	require.ErrorIs(t, f.Merge(ctx, nil), bloom.ErrMismatch)
	close(stop)
	adds()
	for _, h := range hashes(1_000_000, 1_000_000+added.Load()) {
		local.AddHash(h)
	}
	got := bloom.Must(f.Snapshot(ctx))
	assert.True(t, got.Equal(local))
	assert.EqualValues(t, 3, client.DBSize(ctx).Val(), "the upload is still there")

	for _, other := range []*bloom.Filter{
		bloom.Must(bloom.New(n, 0.02)),
		bloom.Must(bloom.NewSize(local.M(), local.K()+1)),
		bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, n, 0.01)),
		new(bloom.Filter),
	} {
		err := f.Merge(ctx, other)
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.ErrorContains(t, err, `bloomredis: key "f": `)
	}
}

// uploadOf returns the key of the upload that a command names, if any.
func uploadOf(args []any) string {
	for _, arg := range args {
		if key, ok := arg.(string); ok && strings.HasPrefix(key, "merge-") {
			return key
		}
	}
	return ""
}

// Whatever the client sends again may arrive late and out of order: a merge is
// whole even if after each of its steps all earlier ones arrive once more. What
// stays behind expires.
func TestUploadArrivesAgain(t *testing.T) {
	s := startServer(t)
	direct := s.client()
	const n = 3_000_000 // several pieces
	rng := rand.New(rand.NewPCG(1, 2))
	var sent [][]any
	client := s.client()
	client.AddHook(afterwards(func(args []any) {
		if uploadOf(args) == "" {
			return
		}
		if args[2] == 1 { // a piece, and this is what the client sends that heard nothing
			assert.NoError(t, direct.Do(ctx, args...).Err())
		}
		sent = append(sent, args)
		for _, i := range rng.Perm(len(sent)) {
			_ = direct.Do(ctx, sent[i]...).Err() // may well be refused
		}
	}))
	f := openFilter(t, client, n, 0.01)
	g := bloom.Must(bloom.New(n, 0.01))
	g.AddBatch(nil, hashes(0, 100_000))
	require.NoError(t, f.Merge(ctx, g))
	require.Greater(t, len(sent), 3)
	assert.True(t, stored(t, f).Equal(g))
	for _, i := range rng.Perm(len(sent)) {
		_ = direct.Do(ctx, sent[i]...).Err()
	}
	assertNothingStays(t, direct, f)
}

// assertNothingStays checks that what is beside the filter expires.
func assertNothingStays(t testing.TB, client *redis.Client, f *Filter) {
	t.Helper()
	keys := bloom.Must(client.Keys(ctx, "*").Result())
	require.Subset(t, keys, f.keys())
	for _, key := range keys {
		ttl := client.PTTL(ctx, key).Val()
		if key == f.key || key == f.stream || key == f.ident {
			assert.Negative(t, ttl)
			continue
		}
		assert.Positive(t, ttl, key)
		assert.LessOrEqual(t, ttl, uploadTime, key)
	}
}

// An upload that expires on its way, as one that stalls for ten minutes does, is
// an error. Each piece gives the upload another ten.
func TestUploadExpires(t *testing.T) {
	s := startServer(t)
	direct := s.client()
	const n = 3_000_000
	for gone := 2; gone <= 7; gone++ { // of four pieces, twice
		require.NoError(t, direct.FlushAll(ctx).Err())
		client := s.client()
		step := 0
		var first []any
		client.AddHook(afterwards(func(args []any) {
			upload := uploadOf(args)
			if upload == "" {
				return
			}
			if step++; step == 1 {
				first = args
			}
			if step == 2+(gone-2)%3 {
				direct.Del(ctx, upload)
				if gone > 4 {
					assert.NoError(t, direct.Do(ctx, first...).Err()) // late
				}
			} else {
				assert.InDelta(t, uploadTime, direct.PTTL(ctx, upload).Val(), float64(time.Minute))
				direct.PExpire(ctx, upload, uploadTime/2)
			}
		}))
		f := openFilter(t, client, n, 0.01)
		g := bloom.Must(bloom.New(n, 0.01))
		g.AddBatch(nil, hashes(0, 1000))
		require.ErrorContains(t, f.Merge(ctx, g), "gone")
		assert.Zero(t, stored(t, f).OnesCount())
		assertNothingStays(t, direct, f)
	}
}

func full(t testing.TB, f *Filter) replica.Update {
	t.Helper()
	u := bloom.Must(f.Source().Fetch(ctx, ""))
	require.NotNil(t, u.Full)
	require.Empty(t, u.Added)
	return u
}

// A copy that follows a filter is that filter, whatever happened between two fetches. What a delta
// cannot say comes as the whole filter.
func TestSource(t *testing.T) {
	client := startServer(t).client()
	const n = 100_000
	add := func(f *Filter, low, high uint64) { mustAdd(t, f, hashes(low, high)...) }
	replace := func(f *Filter, id string, values ...string) {
		client.Del(ctx, f.stream)
		require.NoError(t, client.XAdd(ctx,
			&redis.XAddArgs{Stream: f.stream, ID: id, Values: values}).Err())
	}
	last := func(f *Filter) redis.XMessage {
		return client.XRevRangeN(ctx, f.stream, "+", "-", 1).Val()[0]
	}
	for _, test := range []struct {
		name   string
		change func(f *Filter)
		want   string // nothing, delta or full
	}{
		{"nothing", func(f *Filter) {}, "nothing"},
		{"only old keys", func(f *Filter) { add(f, 0, 100) }, "nothing"},
		{"new keys", func(f *Filter) { add(f, 50, 150) }, "delta"},
		{"all that the stream keeps", func(f *Filter) { add(f, 1000, 1000+f.keep-1) }, "delta"},
		{"more than the stream keeps", func(f *Filter) { add(f, 1000, 1000+f.keep+300) }, "full"},
		{"merge", func(f *Filter) {
			g := bloom.Must(bloom.New(n, 0.01))
			g.AddString("merged")
			require.NoError(t, f.Merge(ctx, g))
		}, "full"},
		{"merge, then new keys", func(f *Filter) {
			require.NoError(t, f.Merge(ctx, bloom.Must(bloom.New(n, 0.01))))
			add(f, 1000, 1010)
		}, "full"},
		{"stream deleted, then new keys", func(f *Filter) {
			client.Del(ctx, f.stream)
			add(f, 1000, 1010)
		}, "full"},
		{"reset, then new keys", func(f *Filter) {
			require.NoError(t, f.Reset(ctx))
			add(f, 1000, 1010)
		}, "full"},
		{"stream with the same ids, but other keys", func(f *Filter) {
			replace(f, last(f).ID, "h", strings.Repeat("x", 16))
			add(f, 1000, 1010)
		}, "full"},
		{"stream with the same last key under another id", func(f *Filter) {
			replace(f, "", "h", value(last(f)))
			add(f, 1000, 1010)
		}, "full"},
		{"a foreign entry", func(f *Filter) {
			client.XAdd(ctx, &redis.XAddArgs{Stream: f.stream, Values: []string{"x", "y"}})
		}, "full"},
	} {
		for _, keys := range []uint64{0, 100} { // that are there before
			t.Run(fmt.Sprint(test.name, "/", keys), func(t *testing.T) {
				if keys == 0 && test.name == "only old keys" {
					t.Skip("there is none")
				}
				client.FlushAll(ctx)
				f := openFilter(t, client, n, 0.01)
				add(f, 0, keys)
				before := full(t, f)
				test.change(f)
				u := bloom.Must(f.Source().Fetch(ctx, before.Version))
				got := "nothing"
				switch {
				case u.Full != nil && u.Added == nil:
					got, before.Full = "full", u.Full
				case u.Added != nil && u.Full == nil:
					got = "delta"
					before.Full.AddBatch(nil, u.Added)
				default:
					require.Equal(t, replica.Update{Version: before.Version}, u)
				}
				assert.Equal(t, test.want, got)
				assert.True(t, before.Full.Equal(stored(t, f)))
				again := bloom.Must(f.Source().Fetch(ctx, u.Version))
				assert.Equal(t, replica.Update{Version: u.Version}, again)
			})
		}
	}
}

// Keys that are added before any step of a copy of the whole filter are in the copy, or in what
// the next fetch gets.
func TestSourceKeepsWhatComesMeanwhile(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	f := openFilter(t, client, 3_000_000, 0.01) // several pieces
	reads := clientOf(t, client.Options().Addr)
	source := bloom.Must(OpenExisting(ctx, reads, "f")).Source()
	steps, copied := uint64(0), false
	reads.AddHook(between(func() {
		if !copied {
			mustAdd(t, f, hashes(100*steps, 100*steps+100)...)
			steps++
		}
	}))
	u := bloom.Must(source.Fetch(ctx, ""))
	copied = true
	require.Greater(t, steps, uint64(5))
	more := bloom.Must(source.Fetch(ctx, u.Version))
	require.NotEmpty(t, more.Added)
	u.Full.AddBatch(nil, more.Added)
	assert.True(t, u.Full.Equal(stored(t, f)))
}

func TestSourceDoesNotKnowVersion(t *testing.T) {
	f := openFilter(t, startServer(t).client(), 1000, 0.01)
	for _, have := range []string{
		"x", "/", "1-1/", "1-1", "1-1/zz", "-/00", "99999999999999-0/00", "1-99999999999999999999/00",
	} {
		u, err := f.Source().Fetch(ctx, have)
		require.NoError(t, err, have)
		assert.NotNil(t, u.Full, have)
	}
}

// A delta of several pages, each of which must go on where the last one ended.
func TestSourcePages(t *testing.T) {
	client := startServer(t).client()
	const n = 1_000_000
	for _, keys := range []uint64{page - 2, page - 1, page, 2*page - 2, 2*page - 1, 2 * page, 10_000} {
		client.FlushAll(ctx)
		f := openFilter(t, client, n, 0.01)
		before := full(t, f)
		mustAdd(t, f, hashes(0, keys)...)
		u := bloom.Must(f.Source().Fetch(ctx, before.Version))
		require.NotEmpty(t, u.Added)
		added := bloom.Must(bloom.NewSize(f.M(), f.K()))
		added.AddBatch(nil, u.Added)
		assert.True(t, added.Equal(stored(t, f)), "the keys that were added are not those of the filter")
	}
}

// acked collects the keys whose Add returned without an error.
type acked struct {
	t    testing.TB
	mu   sync.Mutex
	keys []bloom.Hash
}

func (a *acked) addKeys(hs []bloom.Hash) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys = append(a.keys, hs...)
}

func (a *acked) all() []bloom.Hash {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys[:len(a.keys):len(a.keys)]
}

// wait returns when so many more keys are there.
func (a *acked) wait(more int) {
	a.t.Helper()
	want := len(a.all()) + more
	soon(a.t, func() bool { return len(a.all()) >= want }, "%d keys", want)
}

// watched is a source that counts its answers and can be paused.
type watched struct {
	replica.Source
	gate                sync.RWMutex // held while paused
	deltas, fulls, errs atomic.Int64
}

func (w *watched) Fetch(ctx context.Context, have string) (replica.Update, error) {
	w.gate.RLock()
	defer w.gate.RUnlock()
	u, err := w.Source.Fetch(ctx, have)
	switch {
	case err != nil:
		w.errs.Add(1)
	case u.Full != nil:
		w.fulls.Add(1)
	case u.Added != nil:
		w.deltas.Add(1)
	}
	return u, err
}

// Writers and replicas share a filter while their connections are cut, the server is
// killed and started again, one replica sleeps through more keys than the stream keeps,
// and a filter is merged. Whenever a replica has refreshed it must have every key that
// was acknowledged before.
func TestScenario(t *testing.T) {
	s := startServer(t)
	const n, p = 50_000, 1e-6 // so that chance hides none of the misses
	run, stop := context.WithTimeout(ctx, 20*time.Minute)
	defer stop()

	done := &acked{t: t}
	var ends []func()
	var failed atomic.Int64
	writing, stopWriting := context.WithCancel(run)
	front, back := startProxy(t, s.addr), startProxy(t, s.addr)
	for i := range uint64(4) {
		f := openFilter(t, clientOf(t, front.addr()), n, p)
		ends = append(ends, during(t, func() {
			rng := rand.New(rand.NewPCG(i, 0))
			for next := i << 32; writing.Err() == nil; {
				size := 1 + rng.Uint64N(3*chunk/2) // up to two scripts
				hs := hashes(next, next+size)
				next += size
				if _, err := addBatch(ctx, f, hs); err == nil {
					done.addKeys(hs)
				} else { // some may be in
					failed.Add(1)
				}
			}
		}))
	}
	sources := make([]*watched, 2)
	copies := make([]*replica.Replica, 2)
	for i := range sources {
		sources[i] = &watched{Source: openFilter(t, clientOf(t, back.addr()), n, p).Source()}
		copies[i] = replica.New(sources[i], replica.Config{})
		ends = append(ends, during(t, func() {
			for writing.Err() == nil {
				before := done.all()
				if copies[i].Refresh(run) != nil {
					continue
				}
				for _, h := range before {
					if !copies[i].ContainsHash(h) {
						t.Errorf("replica %d misses an acknowledged key", i)
						return
					}
				}
			}
		}))
	}
	f := openFilter(t, s.client(), n, p)

	done.wait(1000)
	for _, source := range sources {
		soon(t, func() bool { return source.deltas.Load() > 0 })
	}
	sources[0].gate.Lock()
	fulls := sources[0].fulls.Load()
	// beyond the stream's slack of one node
	for asleep := len(done.all()); uint64(len(done.all())-asleep) < f.keep+200; {
		done.wait(200)
		front.cut()
		back.cut()
	}
	s.kill()
	known := failed.Load()
	soon(t, func() bool { return failed.Load() > known })
	require.NoError(t, s.start())
	done.wait(200)
	sources[0].gate.Unlock()
	g := bloom.Must(bloom.New(n, p))
	merged := hashes(1<<40, 1<<40+1000)
	g.AddBatch(nil, merged)
	require.NoError(t, f.Merge(run, g))
	done.addKeys(merged)
	done.wait(500)
	stopWriting()
	for _, end := range ends {
		end()
	}

	for i, r := range copies {
		soon(t, func() bool { return r.Refresh(run) == nil }) // its connections were cut
		require.NoError(t, firstError(f.AddHash(run, bloom.SumUint64(2<<40+uint64(i)))))
		for _, h := range done.all() {
			require.True(t, r.ContainsHash(h), "replica %d", i)
		}
		// The server may be about to run what came over connections cut since.
		soon(t, func() bool {
			return r.Refresh(run) == nil && r.Snapshot().Equal(stored(t, f))
		}, "replica %d differs", i)
		assert.NotZero(t, sources[i].deltas.Load())
		assert.Greater(t, sources[i].fulls.Load(), int64(1))
	}
	assert.Greater(t, sources[0].fulls.Load(), fulls, "the stream reached back further than the pause")
}
