package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/window"
)

// group is a consumer group, and what is known of its work by somebody who is never killed.
type group struct {
	brokers  []string
	name     string // also of the topic
	dir      string // has the partitions' windows
	capacity uint64
	admin    *kadm.Client

	mu            sync.Mutex
	random        *rand.Rand
	kills, leaves int            // to come
	handled       map[string]int // how many times an id was
	inFlight      map[string]bool
	ends          map[int32]int64 // the partitions' lengths
	committed     map[int32]int64
}

// How a consumer ends.
var (
	errKilled = errors.New("killed")
	errLeft   = errors.New("left")
)

// patience is how often a consumer may fail, for example as a broker is away.
const patience = 50

// consumeAll runs n consumers until all offsets are committed. One that is killed or fails is
// started again, as a service manager would; in the place of one that leaves comes another.
func (g *group) consumeAll(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var consumers sync.WaitGroup
	for i := range n {
		consumers.Go(func() {
			for life, failures := 0, 0; ctx.Err() == nil; {
				err := g.consume(ctx, fmt.Sprintf("%s-%d-%d", g.name, i, life))
				switch {
				case g.done():
					cancel(errDone)
				case err == errLeft:
					life++
				case err != errKilled && ctx.Err() == nil:
					if failures++; failures > patience {
						cancel(err)
					}
				}
			}
		})
	}
	consumers.Wait()
	if err := context.Cause(ctx); err != errDone {
		return err
	}
	return nil
}

var errDone = errors.New("done")

func (g *group) done() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Equal(g.ends, g.committed)
}

// batchSize is the number of messages between two saves.
const batchSize = 100

// consume is a consumer. instance is its name in the group, which it keeps when it is killed: it
// then has its partitions again without waiting.
func (g *group) consume(ctx context.Context, instance string) error {
	windows := map[int32]*window.Filter{} // of this consumer's partitions
	forget := func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
		for _, p := range lost[g.name] {
			delete(windows, p)
		}
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(g.brokers...),
		kgo.ConsumerGroup(g.name),
		kgo.InstanceID(instance),
		kgo.ConsumeTopics(g.name),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Balancers(kgo.RoundRobinBalancer()),
		kgo.SessionTimeout(10*time.Second),
		kgo.HeartbeatInterval(100*time.Millisecond), // to notice soon that partitions move
		kgo.FetchMaxWait(100*time.Millisecond),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), // partitions move in AllowRebalance
		kgo.OnPartitionsRevoked(forget),
		kgo.OnPartitionsLost(forget),
	)
	if err != nil {
		return err
	}
	// A client with an InstanceID does not leave the group when it closes: the group does not
	// notice, as with a kill.
	defer client.CloseAllowingRebalance()

	for !g.done() {
		poll, cancel := context.WithTimeout(ctx, 100*time.Millisecond) // somebody else may be the last
		fetches := client.PollRecords(poll, batchSize)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fetches.Err0(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		records := fetches.Records()
		if len(records) > 0 {
			if err := g.work(ctx, client, windows, records); err != nil {
				return err
			}
		}
		client.AllowRebalance()
		if len(records) > 0 && g.once(&g.leaves) {
			client.CloseAllowingRebalance() // or it joins again
			_, err := g.admin.LeaveGroup(ctx, kadm.LeaveGroup(g.name).InstanceIDs(instance))
			if err != nil {
				return err
			}
			return errLeft
		}
	}
	return nil
}

// work handles a batch.
func (g *group) work(ctx context.Context, client *kgo.Client, windows map[int32]*window.Filter, records []*kgo.Record) (err error) {
	var unsaved []string
	defer func() {
		if err != nil { // what was in memory is gone
			g.mu.Lock()
			for _, id := range unsaved {
				g.inFlight[id] = true
			}
			g.mu.Unlock()
		}
	}()
	death := g.death(len(records))

	touched := map[int32]*window.Filter{}
	for i, r := range records {
		if i == death {
			return errKilled
		}
		w := windows[r.Partition]
		if w == nil {
			w, err = window.LoadOrNew(g.file(r.Partition), window.Config{N: g.capacity, P: 1e-9, Span: 24 * time.Hour})
			if err != nil {
				return err
			}
			windows[r.Partition] = w
		}
		touched[r.Partition] = w
		_, err := w.Do(ctx, bloom.Sum(r.Key), func(context.Context) error { // Do adds the id after this has returned nil
			unsaved = append(unsaved, string(r.Key))
			return g.handle(string(r.Key))
		})
		if err != nil {
			return err
		}
	}
	if death == len(records) {
		return errKilled
	}
	for p, w := range touched {
		if err := w.SaveFile(g.file(p)); err != nil {
			return err
		}
	}
	unsaved = nil
	if death == len(records)+1 {
		return errKilled
	}
	if err := client.CommitRecords(ctx, records...); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range records {
		g.committed[r.Partition] = max(g.committed[r.Partition], r.Offset+1)
	}
	return nil
}

// handle is what a real program does here.
func (g *group) handle(id string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handled[id]++
	return nil
}

func (g *group) file(partition int32) string {
	return filepath.Join(g.dir, fmt.Sprintf("%d.window", partition))
}

// death returns the step of a batch of n messages before which the consumer is killed: one of
// the messages, the save, or the commit. It is -1 if the consumer lives on.
func (g *group) death(n int) int {
	if !g.once(&g.kills) {
		return -1
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.random.IntN(2) == 0 {
		return n + g.random.IntN(2)
	}
	return g.random.IntN(n)
}

// once reports, at random, whether one of what is left happens now.
func (g *group) once(left *int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if *left == 0 || g.random.IntN(4) > 0 {
		return false
	}
	*left--
	return true
}
