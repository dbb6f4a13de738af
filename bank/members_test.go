package bank

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestAppendAfterDecoding: a member that is appended to a decoded bank is empty, even if the
// checksums of the rows were in the place of its bits.
func TestAppendAfterDecoding(t *testing.T) {
	for _, members := range []int{1, 31, 32, 33, 95, 96, 97} {
		o, _ := walk(t, 192, 3, members, 1)
		var b Bank
		require.NoError(t, b.UnmarshalBinary(bloom.Must(o.MarshalBinary())))
		for range 70 {
			require.Zero(t, b.Filter(b.Append()).OnesCount(), "%d members", members)
		}
	}
}

// TestAppendFilterAtOnce: a call that sees a member that was appended as a filter sees its keys.
func TestAppendFilterAtOnce(t *testing.T) {
	b := bloom.Must(NewSize(512, 4))
	f := bloom.Must(bloom.NewSize(512, 4))
	hs := filtertest.Digests(1, 30)
	f.AddBatch(nil, hs)
	filtertest.Together(func() {
		for n := 0; n < 5000; {
			if n = b.Len(); n > 0 && !b.ContainsHash(n-1, hs[n%len(hs)]) {
				t.Errorf("member %d has not its keys yet", n-1)
				return
			}
		}
	}, func() {
		for range 5000 {
			bloom.Must(b.AppendFilter(f))
		}
	})
}
