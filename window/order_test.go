package window

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestReadings: each method calls Now as often as Config.Now says.
func TestReadings(t *testing.T) {
	ctx := filtertest.Minute(t)
	hs := filtertest.Digests(1, 1000)
	for _, renew := range []bool{false, true} {
		var hand filtertest.Clock
		reads := 0
		f := bloom.Must(New(Config{N: 100_000, P: 1e-9, Span: time.Hour, Renew: renew,
			Now: func() time.Time {
				reads++
				return hand.Now()
			}}))
		handle := func(context.Context) error { return nil }
		for _, c := range []struct {
			name string
			want int
			call func()
		}{
			{"AddBatch, new keys", 1, func() { f.AddBatch(nil, hs) }},
			{"AddBatch, repeats", 1, func() { f.AddBatch(make([]bool, len(hs)), hs) }},
			{"AddBatch, more keys than bitwords.Discard takes", 1, func() {
				f.AddBatch(nil, slices.Repeat(hs, 10))
			}},
			{"empty AddBatch", 0, func() { f.AddBatch(nil, nil) }},
			{"ContainsBatch", 1, func() { f.ContainsBatch(make([]bool, len(hs)), hs) }},
			{"empty ContainsBatch", 0, func() { f.ContainsBatch(nil, nil) }},
			{"AddString, new", 1, func() { f.AddString("a") }},
			{"Add, repeat", 1, func() { f.Add([]byte("a")) }},
			{"Contains", 1, func() { f.Contains([]byte("a")) }},
			{"ContainsString, absent", 1, func() { f.ContainsString("b") }},
			{"Do, new", 2, func() { f.Do(ctx, bloom.SumString("c"), handle) }},
			{"Do, repeat", 1, func() { f.Do(ctx, bloom.SumString("c"), handle) }},
			{"Stats", 1, func() { f.Stats() }},
			{"Reach", 1, func() { f.Reach() }},
			{"other methods", 0, func() {
				data := bloom.Must(f.MarshalBinary())
				_ = f.String()
				f.Config()
				f.Info()
				f.UpdateInfo(func(i *bloom.Info) { i.Comment = "c" })
				f.SizeBytes()
				f.Reset()
				require.NoError(t, f.UnmarshalBinary(data), "no part of N is full")
			}},
			{"Add after a Span", 3, func() { hand.Advance(3 * time.Hour); f.AddString("d") }},
			{"Add after a part", 1, func() { hand.Advance(10 * time.Minute); f.AddString("e") }},
			{"repeat after a part", 1, func() {
				hand.Advance(10 * time.Minute)
				require.False(t, f.AddString("e"))
			}},
			{"Add after a step back", 3, func() { hand.Advance(-time.Hour); f.AddString("f") }},
		} {
			reads = 0
			c.call()
			require.Equal(t, c.want, reads, "Renew %v: %s", renew, c.name)
		}
		reads = 0
		share := f.ring.share
		f.AddBatch(nil, filtertest.Digests(2, int(3*share)))
		require.LessOrEqual(t, reads, 1+3, "each plane that is full is a reading more")
		require.GreaterOrEqual(t, reads, 1+2, "each plane that is full is a reading more")
	}
}

// TestBeginOnce: of two goroutines that see the end of a plane, one begins a plane. Otherwise
// planes of few keys would push out others.
func TestBeginOnce(t *testing.T) {
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: 100, P: 0.01, Span: time.Hour, Now: hand.Now}))
	now := nanoseconds(hand.Now())
	live := f.ring.begin(now)
	require.Equal(t, live, f.ring.begin(now))
	require.Equal(t, live, f.ring.planes())
	require.EqualValues(t, 1, live.len())
}

// TestEndOnce: two goroutines see that a plane holds its share. One ends it and begins the next
// plane, which the other one does not end. Otherwise a plane of few keys would count as full.
func TestEndOnce(t *testing.T) {
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: 1000, P: 0.01, Span: time.Hour, Now: hand.Now}))
	r, now := &f.ring, nanoseconds(hand.Now())
	live := r.begin(now)
	r.Lock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.countKeys(r.share)
	}()
	counted := func() bool { return r.count.Load() == r.share }
	assert.True(t, filtertest.Becomes(t, "the keys are counted", counted))
	live = live.withNext()
	r.count.Store(0)
	r.stamp(live.newest(), now, now+r.part)
	r.publish(live)
	r.Unlock()
	filtertest.Receive(t, "the keys are counted", ended)
	require.Equal(t, live, r.planes())
	require.Zero(t, r.full)
}

// TestOldReading: a goroutine reads the time, and adds a key only after the clock has moved on and
// the newest plane has become full. The key is found for a Span nevertheless, and the filter's form
// can be decoded.
func TestOldReading(t *testing.T) {
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: 48, P: 1e-12, Span: time.Hour, Now: hand.Now}))
	require.EqualValues(t, 1, f.ring.share, "a plane is for one key")
	now := nanoseconds(hand.Now())
	hand.Advance(30 * time.Minute)
	require.True(t, f.AddString("first"))
	require.True(t, f.addAt(bloom.SumString("key"), now))
	assert.NoError(t, new(Filter).UnmarshalBinary(bloom.Must(f.MarshalBinary())))
	hand.Advance(time.Hour - 1)
	require.True(t, f.ContainsString("key"))
}

// TestRenewsBeforeTheNextPlane: lean planes follow the plane of a key, and the next write begins
// another. A repeat of the key is written again: its plane would have too many planes after it.
func TestRenewsBeforeTheNextPlane(t *testing.T) {
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: 48, P: 1e-12, Span: time.Hour, Renew: true, Now: hand.Now}))
	require.EqualValues(t, 1, f.ring.share, "a plane is for one key")
	for i := range f.ring.lean + 1 {
		require.True(t, f.AddHash(bloom.SumUint64(i)))
	}
	newest := f.ring.planes().newest()
	require.False(t, f.AddHash(bloom.SumUint64(1)))
	require.Equal(t, newest, f.ring.planes().newest(),
		"fewer than lean planes follow: no need to write")
	require.False(t, f.AddHash(bloom.SumUint64(0)))
	require.Equal(t, newest+1, f.ring.planes().newest(), "the repeat is written")
}
