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
	for _, test := range []struct {
		name string
		args []string
		kept int // of 100 keys, half of which were added before a snapshot, if there is one
		want Persistence
		says string
	}{
		{"nothing", []string{"--appendonly", "no"}, 0, Persistence{false, "always", "", "noeviction"},
			"a crash loses everything"},
		{"snapshots", []string{"--appendonly", "no", "--save", "3600 1"}, 50, Persistence{false, "always", "3600 1", "noeviction"},
			"a crash loses everything after the last snapshot"},
		{"log", []string{"--appendfsync", "no"}, 100, Persistence{true, "no", "", "noeviction"},
			"a crash of the machine loses what its kernel had not written yet"},
		{"log each second", []string{"--appendfsync", "everysec"}, 100, Persistence{true, "everysec", "", "noeviction"},
			"a crash loses up to two seconds"},
		{"log at once", []string{"--maxmemory-policy", "volatile-lru"}, 100, Persistence{true, "always", "", "volatile-lru"},
			"a crash loses nothing that was acknowledged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, test.args...)
			client := s.client()
			f := openFilter(t, client, 1000, 1e-6)
			got, err := f.Persistence(ctx)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.says, got.String())

			mustAdd(t, f, hashes(0, 50)...)
			if test.want.Save != "" {
				require.NoError(t, client.Save(ctx).Err())
			}
			mustAdd(t, f, hashes(50, 100)...)
			if test.want.AppendOnly { // a server that syncs each second keeps the log for itself while the disk is busy
				require.Eventually(t, func() bool {
					return strings.Contains(client.Info(ctx, "persistence").Val(), "aof_buffer_length:0\r\n")
				}, time.Minute, 10*time.Millisecond)
			}
			s.kill()
			require.NoError(t, s.start())
			found, err := containsBatch(ctx, f, hashes(0, 100))
			if test.kept == 0 {
				require.ErrorIs(t, err, ErrLost)
				_, err = Open(ctx, client, "f", 1000, 1e-6) // makes an empty one
				require.NoError(t, err)
				_, err = f.AddHash(ctx, hashes(0, 1)[0])
				require.ErrorIs(t, err, ErrLost, "a fresh start")
				return
			}
			require.NoError(t, err)
			for i, found := range found {
				assert.Equal(t, i < test.kept, found, i)
			}
		})
	}
}
