package bank

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
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
