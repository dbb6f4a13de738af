package window

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

// TestDoWhoseContextEndsInTheWait: a Do that waits for another returns the error of its context when
// that ends, and does not call handle, even if the other ends at the same time.
func TestDoWhoseContextEndsInTheWait(t *testing.T) {
	h := bloom.SumString("id")
	for _, otherEnds := range []bool{false, true} {
		f := bloom.Must(New(Config{N: 100, P: 1e-9, Span: time.Hour}))
		ended := make(chan struct{})
		f.claim(h, ended) // another Do handles h
		ctx := filtertest.EndsInWait(t, func() {
			if otherEnds {
				f.release(h, ended)
			}
		})
		errs := make(chan error, 1)
		go func() {
			handled, err := f.Do(ctx, h, func(context.Context) error {
				t.Errorf("Do called handle; the other ends: %v", otherEnds)
				return nil
			})
			assert.False(t, handled)
			errs <- err
		}()
		require.ErrorIs(t, filtertest.Receive(t, "Do ends with its context", errs), context.Canceled)
		require.False(t, f.ContainsHash(h))
	}
}

// TestDoRenews: with Renew, Do of a remembered key keeps the key for a Span more, as Add does. An
// event that repeats within each Span is handled once. Without Renew it is handled once a Span.
func TestDoRenews(t *testing.T) {
	ctx := filtertest.Minute(t)
	for _, renew := range []bool{false, true} {
		var clock filtertest.Clock
		f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: time.Hour, Renew: renew, Now: clock.Now}))
		g := bloom.Must(New(f.Config()))
		calls := 0
		for range 10 {
			handled, err := f.Do(ctx, bloom.SumString("id"), func(context.Context) error {
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

// TestDoAddsAfterwards: while handle runs, h is not remembered and Add of it is true; afterwards it
// is remembered for a Span from the end of handle. After an error or a panic it is as before.
func TestDoAddsAfterwards(t *testing.T) {
	ctx := filtertest.Minute(t)
	h := bloom.SumString("id")
	failed := errors.New("failed")
	var clock filtertest.Clock
	f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: time.Hour, Now: clock.Now}))
	for _, want := range []error{failed, nil} {
		handled, err := f.Do(ctx, h, func(context.Context) error {
			require.False(t, f.ContainsHash(h), "while handle runs")
			clock.Advance(10 * time.Hour)
			return want
		})
		require.Equal(t, want, err)
		require.Equal(t, want == nil, handled)
		require.Equal(t, want == nil, f.ContainsHash(h))
	}
	clock.Advance(time.Hour)
	require.True(t, f.ContainsHash(h), "a Span after handle has returned")
	clock.Advance(time.Hour/7 + time.Second)
	handled, err := f.Do(ctx, h, func(context.Context) error { return nil })
	require.NoError(t, err)
	require.True(t, handled, "forgotten")

	for name, do := range map[string]func(*Filter){
		"Do": func(f *Filter) {
			_, _ = f.Do(ctx, h, func(context.Context) error {
				t.Error("a zero Filter calls handle")
				return nil
			})
		},
		"Add": func(f *Filter) { f.AddHash(h) },
	} {
		require.PanicsWithValue(t, errZero, func() { do(new(Filter)) }, name)
	}
}

// TestContainsRenewsNothing: with Renew, a look-up of any kind leaves a key's Span as it is.
func TestContainsRenewsNothing(t *testing.T) {
	var clock filtertest.Clock
	h := bloom.SumString("key")
	f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: time.Hour, Renew: true, Now: clock.Now}))
	f.AddHash(h)
	for range 12 {
		require.True(t, f.ContainsHash(h))
		f.Contains([]byte("key"))
		f.ContainsBatch(make([]bool, 1), []bloom.Hash{h})
		clock.Advance(5 * time.Minute)
	}
	clock.Advance(20 * time.Minute) // beyond two parts of the Span
	require.False(t, f.ContainsHash(h))
}

// TestEmptyTextKeepsNow: a window that was decoded from an empty text measures time by its own Now
// when it is decoded into again, and so does one that other forms replace.
func TestEmptyTextKeepsNow(t *testing.T) {
	var clock filtertest.Clock
	f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: time.Hour, Now: clock.Now}))
	f.AddString("key")
	data := bloom.Must(f.MarshalBinary())
	require.NoError(t, f.UnmarshalText(nil))
	require.Zero(t, f.Config().N)
	require.NoError(t, f.UnmarshalBinary(data))
	require.True(t, f.ContainsString("key"), "by the system's time it would be forgotten")
	clock.Advance(2 * time.Hour)
	require.False(t, f.ContainsString("key"))
}
