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
	t    testing.TB
	mu   sync.Mutex
	keys []bloom.Hash
}

func (a *acked) add(hs []bloom.Hash) {
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
	case u.Delta != nil:
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
	run, stop := context.WithTimeout(ctx, 5*time.Minute)
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
					done.add(hs)
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
	sources[0].gate.Lock()
	fulls := sources[0].fulls.Load()
	for asleep := len(done.all()); uint64(len(done.all())-asleep) < f.keep+200; { // beyond the stream's slack of one node
		done.wait(200)
		front.cut()
		back.cut()
	}
	s.kill()
	require.NoError(t, s.start())
	done.wait(200)
	sources[0].gate.Unlock()
	g := bloom.Must(bloom.New(n, p))
	merged := hashes(1<<40, 1<<40+1000)
	g.AddBatch(nil, merged)
	require.NoError(t, f.Merge(run, g))
	done.add(merged)
	done.wait(500)
	stopWriting()
	for _, end := range ends {
		end()
	}

	for i, r := range copies {
		soon(t, func() bool { return r.Refresh(run) == nil }) // its connections were cut
		_, err := f.AddHash(run, bloom.SumUint64(2<<40+uint64(i)))
		require.NoError(t, err)
		for _, h := range done.all() {
			require.True(t, r.ContainsHash(h), "replica %d", i)
		}
		// The server may be about to run what came over connections cut since.
		soon(t, func() bool { return r.Refresh(run) == nil && r.Snapshot().Equal(stored(t, f)) }, "replica %d differs", i)
		assert.NotZero(t, sources[i].deltas.Load())
		assert.Greater(t, sources[i].fulls.Load(), int64(1))
	}
	assert.Greater(t, sources[0].fulls.Load(), fulls, "the stream reached back further than the pause")
	assert.NotZero(t, failed.Load())
}
