package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestArguments(t *testing.T) {
	for _, args := range []string{"-messages 0", "-consumers 0", "-kills -1", "-leaves -1", "more", "-brokers 127.0.0.1:1"} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		assert.Error(t, run(ctx, strings.Fields(args), &strings.Builder{}), args)
		cancel()
	}
}
