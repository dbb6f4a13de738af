package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out strings.Builder
	require.NoError(t, run(ctx, "", &out))
	var ids, killed, lost, again, size int
	_, err := fmt.Sscanf(out.String(),
		"%d ids, killed %d times, lost %d, handled again %d, in batches of %d\n", &ids, &killed,
		&lost, &again, &size)
	require.NoError(t, err, out.String())
	assert.Zero(t, lost)
	assert.Greater(t, ids, messages/3)
	assert.Equal(t, kills, killed)
	assert.Positive(t, again)
	assert.Less(t, again, killed*size, "only what was in flight")

	ctx, cancel = context.WithTimeout(ctx, time.Second)
	defer cancel()
	require.Error(t, run(ctx, "127.0.0.1:1", &out))
}
