package bloomredis

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the README's table says a crash of the server loses. (A crash of the
// machine would need another machine.)
func TestPersistence(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		kept int // of 100 keys, half of which were added before a snapshot
	}{
		"nothing":         {[]string{"--appendonly", "no"}, 0},
		"snapshots":       {[]string{"--appendonly", "no", "--save", "3600 1"}, 50},
		"log":             {[]string{"--appendfsync", "no"}, 100},
		"log each second": {[]string{"--appendfsync", "everysec"}, 100},
		"log at once":     {nil, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, test.args...)
			client := s.client()
			f := openFilter(t, client, 1000, 1e-6)
			mustAdd(t, f, hashes(0, 50)...)
			if name == "snapshots" {
				require.NoError(t, client.Save(ctx).Err())
			}
			mustAdd(t, f, hashes(50, 100)...)
			if test.kept == 100 { // a server that syncs each second keeps the log for itself while the disk is busy
				require.Eventually(t, func() bool {
					return strings.Contains(client.Info(ctx, "persistence").Val(), "aof_buffer_length:0\r\n")
				}, time.Minute, 10*time.Millisecond)
			}
			s.kill()
			require.NoError(t, s.start())
			found, err := containsBatch(ctx, f, hashes(0, 100))
			if test.kept == 0 {
				require.ErrorIs(t, err, ErrLost)
				return
			}
			require.NoError(t, err)
			for i, found := range found {
				assert.Equal(t, i < test.kept, found, i)
			}
		})
	}
}
