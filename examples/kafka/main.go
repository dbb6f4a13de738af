// Kafka reads a topic with a consumer group that handles each message id once, though the
// sender repeats messages and consumers are killed. It kills its own consumers at random
// moments, and has others leave the group, so that partitions move. Then it prints which
// ids were lost and which were handled twice.
//
//	go run .                           # a broker of its own, on loopback
//	go run . -brokers localhost:9092   # a cluster; the program makes a topic and deletes it
//
// Each partition has a window of its own (package window), in a file that follows the
// partition from consumer to consumer. Messages with the same id have the same key, so they are
// in the same partition. A consumer works through a batch in this order:
//
//  1. handle each message whose id is not in the window, and then add the id;
//  2. save the windows;
//  3. commit the offsets;
//  4. let the group move partitions.
//
// Whatever the moment of a kill, no message is lost: offsets are committed after all before
// them were handled. An id is handled twice only if the kill came after it was handled and before
// its window was saved. Any other order is worse. To add before handling, or to commit before
// handling, loses messages. To commit before saving lets repetitions through that a sender
// makes later.
//
// To handle even those once, handling must be idempotent, or save the window in the same
// transaction. A message is also lost where the window takes its id for an old one: at the rate
// of 1e-9, one in a billion.
//
// The program was run on a cluster of three brokers of Apache Kafka 3.9.1, one of which was
// killed meanwhile. A consumer that fails then is started again, as after a kill.
//
// The files are on one machine here. Consumers on several machines need them on shared storage. A
// consumer that is so slow that the group expels it may save its window over that of its
// successor. Then ids are handled twice; none is lost.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "kafka:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("kafka", flag.ContinueOnError)
	brokers := flags.String("brokers", "", "`addresses` of a cluster, with commas (default: a broker of its own)")
	messages := flags.Int("messages", 20_000, "`number` of messages to send, half of them repetitions")
	consumers := flags.Int("consumers", 3, "`number` of consumers at a time")
	kills := flags.Int("kills", 20, "kill a consumer so many `times`")
	leaves := flags.Int("leaves", 10, "have a consumer leave so many `times`")
	seed := flags.Uint64("seed", 1, "of the random `numbers`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *messages < 1 || *consumers < 1 || *kills < 0 || *leaves < 0 || flags.NArg() > 0 {
		return errors.New("-messages and -consumers are positive, -kills and -leaves not negative, and there are no arguments")
	}

	if *brokers == "" {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			return err
		}
		defer cluster.Close()
		*brokers = strings.Join(cluster.ListenAddrs(), ",")
	}
	dir, err := os.MkdirTemp("", "bloom-kafka")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g := &group{
		brokers:   strings.Split(*brokers, ","),
		name:      fmt.Sprintf("bloom-example-%d", time.Now().UnixNano()),
		dir:       dir,
		capacity:  uint64(*messages),
		random:    rand.New(rand.NewPCG(*seed, 0)),
		kills:     *kills,
		leaves:    *leaves,
		handled:   map[string]int{},
		inFlight:  map[string]bool{},
		ends:      map[int32]int64{},
		committed: map[int32]int64{},
	}

	client, err := kgo.NewClient(kgo.SeedBrokers(g.brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	g.admin = kadm.NewClient(client)
	if _, err := g.admin.CreateTopic(ctx, partitions, -1, nil, g.name); err != nil {
		return fmt.Errorf("making topic %s: %w", g.name, err)
	}
	defer func() { // also after an interrupt
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, _ = g.admin.DeleteTopic(ctx, g.name)
		_, _ = g.admin.DeleteGroup(ctx, g.name)
	}()
	ids, err := g.send(ctx, client, *messages)
	if err != nil {
		return err
	}
	if err := g.consumeAll(ctx, *consumers); err != nil {
		return err
	}

	lost, twice, unexplained := 0, 0, 0
	for _, id := range ids {
		switch n := g.handled[id]; {
		case n == 0:
			lost++
		case n > 1:
			twice++
			if !g.inFlight[id] {
				unexplained++
			}
		}
	}
	fmt.Fprintf(stdout, "sent:          %d messages with %d ids, to %d partitions\n", *messages, len(ids), partitions)
	fmt.Fprintf(stdout, "consumers:     %d killed, %d left the group\n", *kills-g.kills, *leaves-g.leaves)
	fmt.Fprintf(stdout, "lost:          %d\n", lost)
	fmt.Fprintf(stdout, "handled twice: %d of the %d that were in flight between two saves, and %d others\n",
		twice-unexplained, len(g.inFlight), unexplained)
	return nil
}

const partitions = 8

// send sends messages. Half of them repeat an id that was sent before. It returns the ids.
func (g *group) send(ctx context.Context, client *kgo.Client, messages int) (ids []string, err error) {
	var records []*kgo.Record
	for range messages {
		if len(ids) == 0 || g.random.IntN(2) == 0 {
			ids = append(ids, fmt.Sprintf("id-%d", len(ids)))
			records = append(records, &kgo.Record{Topic: g.name, Key: []byte(ids[len(ids)-1])})
		} else {
			records = append(records, &kgo.Record{Topic: g.name, Key: []byte(ids[g.random.IntN(len(ids))])})
		}
	}
	for _, sent := range client.ProduceSync(ctx, records...) {
		err = cmp.Or(err, sent.Err)
		g.ends[sent.Record.Partition] = max(g.ends[sent.Record.Partition], sent.Record.Offset+1)
	}
	return ids, err
}
