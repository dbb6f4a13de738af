package bloomredis

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/replica"
)

// acked collects the keys whose Add returned without an error.
type acked struct {
	mu   sync.Mutex
	keys []bloom.Hash
}

func (a *acked) add(hs []bloom.Hash) {
	a.mu.Lock()
	a.keys = append(a.keys, hs...)
	a.mu.Unlock()
}

func (a *acked) all() []bloom.Hash {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys[:len(a.keys):len(a.keys)]
}

// watched is a source that counts its answers and can be paused.
type watched struct {
	replica.Source
	gate                         sync.RWMutex // held while paused
	nothing, deltas, fulls, errs atomic.Int64
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
	case u.Delta != nil:
		w.deltas.Add(1)
	default:
		w.nothing.Add(1)
	}
	return u, err
}

// Eight writers and four replicas share a filter while their connections are
// cut, the server is killed and started again, one replica sleeps through more
// keys than the stream keeps, and a filter is merged. Whenever a replica has
// refreshed it must have every key that was acknowledged before.
func TestScenario(t *testing.T) {
	s := startServer(t)
	const n, p = 50_000, 1e-6 // so that chance hides none of the misses
	start := time.Now()
	run, stop := context.WithTimeout(ctx, 5*time.Minute)
	defer stop()

	var done acked
	var writers, replicas sync.WaitGroup
	var failed atomic.Int64
	writing, stopWriting := context.WithCancel(run)
	front := startProxy(t, s.addr)
	for w := range uint64(8) {
		f, err := Open(ctx, clientOf(t, front.addr()), "f", n, p)
		require.NoError(t, err)
		writers.Add(1)
		go func() {
			defer writers.Done()
			rng := rand.New(rand.NewPCG(w, 0))
			for next := w << 32; writing.Err() == nil; {
				size := uint64(1)
				if rng.IntN(2) == 0 {
					size += rng.Uint64N(3 * chunk / 2) // up to two scripts
				}
				hs := hashes(next, next+size)
				next += size
				for writing.Err() == nil {
					if _, err := f.AddBatch(ctx, hs); err == nil {
						done.add(hs)
						break
					}
					failed.Add(1)
					if rng.IntN(2) == 0 {
						break // never acknowledged; some may be in
					}
				}
			}
		}()
	}

	back := startProxy(t, s.addr)
	sources := make([]*watched, 4)
	copies := make([]*replica.Replica, 4)
	for i := range sources {
		f, err := Open(ctx, clientOf(t, back.addr()), "f", n, p)
		require.NoError(t, err)
		cfg := replica.Config{Interval: 5 * time.Millisecond}
		if i == 3 {
			cfg.FullEvery = 200 * time.Millisecond
		}
		sources[i] = &watched{Source: f.Source()}
		copies[i] = replica.New(sources[i], cfg)
		replicas.Add(2)
		go func() {
			defer replicas.Done()
			_ = copies[i].Run(run)
		}()
		go func() {
			defer replicas.Done()
			for run.Err() == nil {
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
				time.Sleep(10 * time.Millisecond)
			}
		}()
	}

	breaking := make(chan struct{})
	go func() {
		defer close(breaking)
		for run.Err() == nil && writing.Err() == nil {
			time.Sleep(40 * time.Millisecond)
			front.cut()
			time.Sleep(40 * time.Millisecond)
			back.cut()
		}
	}()

	f, err := Open(ctx, s.client(), "f", n, p)
	require.NoError(t, err)
	for len(done.all()) < 2000 && run.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	sources[0].gate.Lock()
	fulls := sources[0].fulls.Load()
	asleep := len(done.all())
	for range 2 {
		s.kill()
		time.Sleep(50 * time.Millisecond)
		require.NoError(t, s.start())
		time.Sleep(200 * time.Millisecond)
	}
	for uint64(len(done.all())-asleep) < f.keep+200 && run.Err() == nil { // beyond the stream's slack of one node
		time.Sleep(time.Millisecond)
	}
	sources[0].gate.Unlock()
	g := bloom.Must(bloom.New(n, p))
	merged := hashes(1<<40, 1<<40+1000)
	g.AddBatch(nil, merged)
	for f.Merge(run, g) != nil { // the server may be just up
		require.NoError(t, run.Err())
	}
	done.add(merged)
	time.Sleep(100 * time.Millisecond)
	stopWriting()
	<-breaking
	writers.Wait()

	all := done.all()
	for i, r := range copies {
		for r.Refresh(run) != nil { // its connections may have been cut
			require.NoError(t, run.Err())
		}
		_, err := f.AddHash(run, bloom.SumUint64(2<<40+uint64(i)))
		require.NoError(t, err)
		missing := 0
		for _, h := range all {
			if !r.ContainsHash(h) {
				missing++
			}
		}
		assert.Zero(t, missing, "replica %d", i)
		// The server may be about to run what came over connections cut since.
		assert.Eventually(t, func() bool { return r.Refresh(run) == nil && r.Snapshot().Equal(stored(t, f)) },
			time.Minute, 10*time.Millisecond, "replica %d differs", i)
		w := sources[i]
		t.Logf("replica %d: %d fetches failed, %d found nothing new, %d deltas, %d full filters",
			i, w.errs.Load(), w.nothing.Load(), w.deltas.Load(), w.fulls.Load())
		if i != 3 { // which takes a delta only if it asks often enough
			assert.NotZero(t, w.deltas.Load())
		}
		assert.Greater(t, w.fulls.Load(), int64(1))
	}
	assert.Greater(t, sources[0].fulls.Load(), fulls, "the stream reached back further than the pause")
	assert.NotZero(t, failed.Load())
	stop()
	replicas.Wait()
	t.Logf("%d keys acknowledged, %d batches failed, %v", len(all), failed.Load(), time.Since(start).Round(time.Millisecond))
}
