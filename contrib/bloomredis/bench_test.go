package bloomredis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// A million new keys in batches of 250, evenly over the Span of a window of that N,
// and as keys of Redis: the server's processor time, and its memory. Run it
// with -benchtime=1x.
func BenchmarkMillion(b *testing.B) {
	if testing.Short() {
		b.Skip("it takes minutes")
	}
	const n = 1_000_000
	client := startServer(b, "--appendonly", "no").client()
	info := func(names ...string) (sum float64) {
		for _, line := range strings.Split(client.Info(ctx, "memory", "cpu").Val(), "\r\n") {
			name, value, _ := strings.Cut(line, ":")
			if x, err := strconv.ParseFloat(value, 64); err == nil && slices.Contains(names, name) {
				sum += x
			}
		}
		return sum
	}
	set := setClock(b, client)
	run := func(name string, addBatch func(i int, hs []bloom.Hash) error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, client.FlushAll(ctx).Err())
				memory, time := info("used_memory"), info("used_cpu_user", "used_cpu_sys")
				for i := uint64(0); i < n; i += 250 {
					require.NoError(b, addBatch(int(i), hashes(i, i+250)))
				}
				b.ReportMetric((info("used_memory")-memory)/n, "B/key")
				b.ReportMetric(1e6*(info("used_cpu_user", "used_cpu_sys")-time)/n, "server-us/key")
			}
		})
	}
	for _, p := range []float64{1e-2, 1e-9} {
		var w *Window
		run(fmt.Sprintf("by=Window/p=%v", p), func(i int, hs []bloom.Hash) error {
			set(1000*time.Hour + time.Duration(i)*time.Hour/n)
			if i == 0 {
				w = openWindow(b, client, WindowConfig{N: n, P: p, Span: time.Hour})
			}
			_, err := addBatch(ctx, w, hs)
			return err
		})
	}
	run("by=SETNX", func(_ int, hs []bloom.Hash) error {
		pipe := client.Pipeline()
		for _, h := range hs {
			h1, _ := h.Words()
			pipe.SetNX(ctx, fmt.Sprintf("visit:%016x", h1), 1, time.Hour)
		}
		return firstError(pipe.Exec(ctx))
	})
}
