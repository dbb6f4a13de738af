package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGuard(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("BLOOM_REQUIRE_REDIS") == "" {
		t.Skip("there is no redis-server: Debian has it in package redis-server")
	}
	const requests, absent = 5000, 0.8
	var out bytes.Buffer
	stores, err := run(context.Background(), &out, config{rows: 5000, requests: requests, absent: absent})
	require.NoError(t, err)
	t.Logf("\n%s", &out)
	plain, guarded := stores[0].answered, stores[1].answered
	assert.Zero(t, plain[byFilter])
	// The filter answers all absent keys but 1 %; the layers behind it answer
	// what they did before.
	assert.Equal(t, plain[byLocal], guarded[byLocal])
	assert.Equal(t, plain[byRedis], guarded[byRedis])
	queries := float64(plain[byDatabase] - guarded[byDatabase])
	assert.InDelta(t, 0.99*absent*requests, queries, 120) // 4 sigma of the number of absent keys, and the new row
	assert.Contains(t, out.String(), "saved: ")
	assert.Contains(t, out.String(), "a new row is found after ")
}

func TestLRU(t *testing.T) {
	c := newLRU(2)
	c.put("a", "1")
	c.put("b", "2")
	_, ok := c.get("a")
	assert.True(t, ok)
	c.put("c", "3")
	_, ok = c.get("b")
	assert.False(t, ok)
	value, ok := c.get("a")
	assert.True(t, ok)
	assert.Equal(t, "1", value)
	assert.Len(t, c.items, 2)
}
