package main

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var out strings.Builder
	require.NoError(t, run(ctx, []string{"-seed", "7"}, &out))
	assert.Regexp(t, "sent:          20000 messages with [0-9]+ ids, to 8 partitions\n", out.String())
	assert.Contains(t, out.String(), "consumers:     20 killed, 10 left the group\n")
	assert.Contains(t, out.String(), "lost:          0\n")
	assert.Regexp(t, "handled twice: [1-9][0-9]* of the [1-9][0-9]* that were in flight between two saves, and 0 others\n", out.String())
}

// A broker answers every fourth commit that it cannot now.
func TestConsumersFail(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	defer cluster.Close()
	var commits, failed atomic.Int64
	cluster.ControlKey(int16(kmsg.OffsetCommit), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if commits.Add(1)%4 != 0 {
			return nil, nil, false
		}
		failed.Add(1)
		asked, answer := request.(*kmsg.OffsetCommitRequest), request.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, topic := range asked.Topics {
			t := kmsg.NewOffsetCommitResponseTopic()
			t.Topic, t.TopicID = topic.Topic, topic.TopicID
			for _, partition := range topic.Partitions {
				p := kmsg.NewOffsetCommitResponseTopicPartition()
				p.Partition, p.ErrorCode = partition.Partition, kerr.RequestTimedOut.Code
				t.Partitions = append(t.Partitions, p)
			}
			answer.Topics = append(answer.Topics, t)
		}
		return answer, nil, true
	})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var out strings.Builder
	require.NoError(t, run(ctx, []string{"-messages", "4000", "-kills", "2", "-leaves", "2", "-brokers", strings.Join(cluster.ListenAddrs(), ",")}, &out))
	assert.Contains(t, out.String(), "lost:          0\n")
	assert.Contains(t, out.String(), ", and 0 others\n")
	assert.NotZero(t, failed.Load())
}

func TestArguments(t *testing.T) {
	for _, args := range []string{"-messages 0", "-consumers 0", "-kills -1", "-leaves -1", "more", "-brokers 127.0.0.1:1"} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		assert.Error(t, run(ctx, strings.Fields(args), &strings.Builder{}), args)
		cancel()
	}
}
