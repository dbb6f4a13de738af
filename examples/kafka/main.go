// Kafka reads a topic with a consumer group that tries to handle each message id once. The sender
// repeats messages, and the program kills its own consumers at random moments. It prints how many
// ids were lost, and how often ids were handled again.
//
//	go run .                           # a broker of its own, on loopback
//	go run . -brokers localhost:9092   # a cluster; the program makes a topic and deletes it
//
// Each partition has a window of its own (package window). The window's file follows the partition
// from consumer to consumer. Messages with the same id have the same key, so they are in the same
// partition. A consumer works through a batch in this order:
//
//  1. handle each message whose id is not in the window, and then add the id;
//  2. save the windows;
//  3. commit the offsets;
//  4. let the group move partitions.
//
// A kill at any moment loses no message, because an offset is committed after all messages before
// it were handled. An id is handled again if a consumer is killed after handling it and before
// saving its window. A program that adds or commits before it handles a message can lose the
// message. At most about one new message in a billion is lost because the window mistakes its id
// for an old one. The windows' files are on one machine here; consumers on several machines need
// them on shared storage.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/window"
)

func main() {
	brokers := flag.String("brokers", "",
		"`addresses` of a cluster, with commas (default: a broker of its own)")
	flag.Parse()
	bloom.Must(0, run(context.Background(), *brokers, os.Stdout))
}

const messages, partitions, consumers, kills, batch = 20_000, 8, 3, 20, 100

// group is a consumer group, with a record of its work that outlives kills.
type group struct {
	brokers   []string
	name      string // the name of the group, and of the topic
	dir       string // the directory of the windows' files
	mu        sync.Mutex
	kills     int
	handled   map[string]int  // how many times each id was handled
	ends      map[int32]int64 // the length of each partition
	committed map[int32]int64
}

func run(ctx context.Context, brokers string, out io.Writer) error {
	if brokers == "" {
		cluster := bloom.Must(kfake.NewCluster(kfake.NumBrokers(1)))
		defer cluster.Close()
		brokers = cluster.ListenAddrs()[0]
	}
	dir := bloom.Must(os.MkdirTemp("", "bloom-kafka"))
	defer os.RemoveAll(dir)
	g := &group{
		brokers:   strings.Split(brokers, ","),
		name:      fmt.Sprintf("bloom-example-%d", time.Now().UnixNano()),
		dir:       dir,
		handled:   map[string]int{},
		ends:      map[int32]int64{},
		committed: map[int32]int64{},
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(g.brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, partitions, -1, nil, g.name); err != nil {
		return err
	}
	defer admin.DeleteTopic(context.WithoutCancel(ctx), g.name)
	records := make([]*kgo.Record, messages) // many of them repeat an id
	for i := range records {
		records[i] = &kgo.Record{Topic: g.name, Key: fmt.Appendf(nil, "id-%d", rand.N(messages/2))}
	}
	for _, sent := range client.ProduceSync(ctx, records...) {
		err = cmp.Or(err, sent.Err)
		g.ends[sent.Record.Partition] = max(g.ends[sent.Record.Partition], sent.Record.Offset+1)
	}
	if err != nil {
		return err
	}

	ended := make(chan error, consumers)
	for i := range consumers {
		go func() {
			err := errKilled
			for err == errKilled { // a service manager would start the consumer again
				err = g.consume(ctx, fmt.Sprintf("%s-%d", g.name, i))
			}
			ended <- err
		}()
	}
	for range consumers {
		err = cmp.Or(err, <-ended)
	}
	sent, again := map[string]bool{}, 0
	for _, r := range records {
		sent[string(r.Key)] = true
	}
	for _, n := range g.handled {
		again += n - 1
	}
	fmt.Fprintf(out, "%d ids, killed %d times, lost %d, handled again %d, in batches of %d\n",
		len(sent), g.kills, len(sent)-len(g.handled), again, batch)
	return err
}

var errKilled = errors.New("killed")

// consume runs the consumer named instance until all offsets are committed, or until it is killed
// or fails. The name stays the same after a kill, so that the consumer gets its partitions back
// without waiting.
func (g *group) consume(ctx context.Context, instance string) error {
	windows := map[int32]*window.Filter{} // of this consumer's partitions
	forget := func(context.Context, *kgo.Client, map[string][]int32) { clear(windows) }
	client, err := kgo.NewClient(
		kgo.SeedBrokers(g.brokers...), kgo.ConsumerGroup(g.name), kgo.InstanceID(instance),
		kgo.ConsumeTopics(g.name), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), // a rebalance waits for AllowRebalance
		kgo.OnPartitionsRevoked(forget), kgo.OnPartitionsLost(forget),
		kgo.HeartbeatInterval(100*time.Millisecond), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance() // with an InstanceID, this does not leave the group
	for done := false; !done; _ = g.locked(func() { done = maps.Equal(g.ends, g.committed) }) {
		// The poll has a limit, because another consumer may handle the last messages.
		poll, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		records := client.PollRecords(poll, batch).Records()
		cancel()
		if err := cmp.Or(ctx.Err(), g.work(ctx, client, windows, records)); err != nil {
			return err
		}
		client.AllowRebalance()
	}
	return nil
}

func (g *group) work(
	ctx context.Context, client *kgo.Client,
	windows map[int32]*window.Filter, records []*kgo.Record,
) error {
	touched := map[string]*window.Filter{}
	for _, r := range records {
		path, w := filepath.Join(g.dir, fmt.Sprint(r.Partition)), windows[r.Partition]
		if w == nil {
			// A partition gets at most N new ids in a day. If more arrived, the newest N would be
			// remembered.
			var err error
			w, err = window.LoadOrNew(path,
				window.Config{N: messages, P: 1e-9, Span: 24 * time.Hour})
			if err != nil {
				return err
			}
			windows[r.Partition] = w
		}
		touched[path] = w
		_, err := w.Do(ctx, bloom.Sum(r.Key), func(context.Context) error {
			// A real program does its work here.
			return g.locked(func() { g.handled[string(r.Key)]++ })
		})
		if err := cmp.Or(err, g.kill()); err != nil {
			return err
		}
	}
	for path, w := range touched {
		if err := cmp.Or(w.SaveFile(path), g.kill()); err != nil {
			return err
		}
	}
	if err := client.CommitRecords(ctx, records...); err != nil {
		return err
	}
	return g.locked(func() {
		for _, r := range records {
			g.committed[r.Partition] = max(g.committed[r.Partition], r.Offset+1)
		}
	})
}

// kill kills a consumer now and then, by returning errKilled.
func (g *group) kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kills == kills || rand.N(200) > 0 {
		return nil
	}
	g.kills++
	return errKilled
}

func (g *group) locked(change func()) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	return nil
}
