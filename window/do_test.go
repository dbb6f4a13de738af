package window

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestDoWithAnEndedContext: Do returns the error and calls nothing, whether h is remembered or not.
func TestDoWithAnEndedContext(t *testing.T) {
	f := bloom.Must(New(Config{N: 100, P: 1e-9, Span: time.Hour}))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	f.AddString("known")
	for _, key := range []string{"new", "known"} {
		handled, err := f.Do(ended, bloom.SumString(key), func(context.Context) error {
			t.Errorf("%s: Do called handle", key)
			return nil
		})
		require.ErrorIs(t, err, context.Canceled, key)
		require.False(t, handled, key)
	}
	require.False(t, f.ContainsString("new"), "the event was not handled")
	require.Empty(t, f.underWay, "later calls would wait forever")
}

// TestDoRenews: with Renew, Do of a remembered key keeps the key for a Span more, as Add does. An
// event that repeats within each Span is handled once. Without Renew it is handled once a Span.
func TestDoRenews(t *testing.T) {
	for _, renew := range []bool{false, true} {
		var clock filtertest.Clock
		f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: time.Hour, Renew: renew, Now: clock.Now}))
		g := bloom.Must(New(f.Config()))
		calls := 0
		for range 10 {
			handled, err := f.Do(context.Background(), bloom.SumString("id"), func(context.Context) error {
				calls++
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, g.AddString("id"), handled, "Renew %v: Do is as Add", renew)
			clock.Advance(50 * time.Minute)
		}
		require.Equal(t, renew, calls == 1, "Renew %v: %d calls", renew, calls)
		require.False(t, f.ContainsString("another"))
	}
}
