package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// script is a Source whose answers come from a function.
type script func(have string) (Update, error)

func (s script) Fetch(_ context.Context, have string) (Update, error) { return s(have) }

// TestFullDoesNotFit: a full filter that does not fit is not fetched again in the same refresh.
func TestFullDoesNotFit(t *testing.T) {
	fetches, errs := 0, 0
	r := New(script(func(string) (Update, error) {
		fetches++
		return Update{}, bloom.ErrMismatch
	}), Config{OnError: func(error) { errs++ }})
	require.ErrorIs(t, r.Refresh(t.Context()), bloom.ErrMismatch)
	require.Equal(t, 1, fetches)
	require.Equal(t, 1, errs)
}

func filterOf(t testing.TB, m uint64, k int, keys ...string) *bloom.Filter {
	t.Helper()
	f := bloom.Must(bloom.NewSize(m, k))
	for _, key := range keys {
		f.AddString(key)
	}
	return f
}

// published returns a filter with the keys of f, and its Publisher.
func published(f *bloom.Filter) (*bloom.SyncFilter, *Publisher) {
	set := bloom.NewSyncFrom(f)
	return set, NewPublisher(set.Snapshot)
}

// publisherOf returns the Publisher of a filter that does not change.
func publisherOf(f *bloom.Filter) *Publisher { return NewPublisher(f.Clone) }

// patchOf returns the patch from the filter of the old keys to the filter of all keys.
func patchOf(t testing.TB, m uint64, k int, old, added string) []byte {
	return bloom.Must(bloom.Diff(filterOf(t, m, k, old), filterOf(t, m, k, old, added)))
}

func TestReplicaIsMaybeUntilLoaded(t *testing.T) {
	r := New(script(func(string) (Update, error) { return Update{}, errors.New("down") }), Config{})
	check := func() {
		t.Helper()
		assert.True(t, r.Contains([]byte("a")))
		assert.True(t, r.ContainsString("a"))
		assert.True(t, r.ContainsHash(bloom.Hash{}))
		assert.Empty(t, r.Version())
		assert.Nil(t, r.Snapshot())
	}
	check()
	require.ErrorContains(t, r.Refresh(context.Background()), "down")
	check()
}

func TestReplicaLookupDoesNotAllocate(t *testing.T) {
	r := New(publisherOf(filterOf(t, 1<<10, 5, "a")), Config{})
	require.NoError(t, r.Refresh(context.Background()))
	key := []byte("a")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if !r.Contains(key) || !r.ContainsString("a") || r.ContainsString("b") {
			t.Fail()
		}
	}))
}

func TestRefresh(t *testing.T) {
	down := errors.New("down")
	for _, test := range []struct {
		name    string
		answers map[string]Update // the answer for each version of the replica; others get an error
		err     string
		version string
		errs    int // the number of errors that are reported
		has     []string
		hasNot  []string
	}{
		{"nothing new", map[string]Update{"1": {Version: "1"}},
			"", "1", 0, []string{"old"}, []string{"new"}},
		{"only the version is new", map[string]Update{"1": {Version: "2"}},
			"", "2", 0, []string{"old"}, []string{"new"}},
		{"keys", map[string]Update{"1": {Version: "2", Added: []bloom.Hash{bloom.SumString("new")}}},
			"", "2", 0, []string{"old", "new"}, nil},
		{"patch", map[string]Update{"1": {Version: "2", Patch: patchOf(t, 1024, 5, "old", "new")}},
			"", "2", 0, []string{"old", "new"}, nil},
		{"patch that takes a key away", map[string]Update{
			"1": {Version: "2",
				Patch: bloom.Must(bloom.Diff(filterOf(t, 1024, 5, "old"), filterOf(t, 1024, 5, "new")))}},
			"", "2", 0, []string{"new"}, []string{"old"}},
		{"full", map[string]Update{"1": {Version: "2", Full: filterOf(t, 1024, 5, "new")}},
			"", "2", 0, []string{"new"}, []string{"old"}},
		{"full of other parameters",
			map[string]Update{"1": {Version: "2", Full: filterOf(t, 4096, 3, "new")}},
			"", "2", 0, []string{"new"}, []string{"old"}},
		{"full without version", map[string]Update{"1": {Full: filterOf(t, 1024, 5, "new")}},
			"", "", 0, []string{"new"}, []string{"old"}},
		{"patch of another filter", map[string]Update{
			"1": {Version: "2", Patch: patchOf(t, 1024, 5, "other", "old")},
			"":  {Version: "3", Full: filterOf(t, 1024, 5, "new")}},
			"", "3", 1, []string{"new"}, []string{"old"}},
		{"damaged patch", map[string]Update{
			"1": {Version: "2", Patch: patchOf(t, 1024, 5, "old", "new")[1:]},
			"":  {Version: "3", Full: filterOf(t, 1024, 5, "new")}},
			"", "3", 1, []string{"new"}, []string{"old"}},
		{"patch of another size", map[string]Update{
			"1": {Version: "2", Patch: patchOf(t, 2048, 5, "old", "new")},
			"":  {Version: "3", Full: filterOf(t, 2048, 5, "new")}},
			"", "3", 1, []string{"new"}, []string{"old"}},
		{"patch that does not fit, and then nothing", map[string]Update{
			"1": {Version: "2", Patch: patchOf(t, 1024, 4, "old", "new")}},
			"down", "1", 2, []string{"old"}, []string{"new"}},
		{"failure", nil,
			"down", "1", 1, []string{"old"}, []string{"new"}},
		{"zero filter", map[string]Update{"1": {Version: "2", Full: new(bloom.Filter)}},
			"zero Filter", "1", 1, []string{"old"}, []string{"new"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			first := true
			errs := 0
			r := New(script(func(have string) (Update, error) {
				if first {
					first = false
					return Update{Version: "1", Full: filterOf(t, 1024, 5, "old")}, nil
				}
				if u, ok := test.answers[have]; ok {
					return u, nil
				}
				return Update{}, down
			}), Config{OnError: func(error) { errs++ }})
			require.NoError(t, r.Refresh(context.Background()))
			err := r.Refresh(context.Background())
			if test.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.err)
			}
			assert.Equal(t, test.version, r.Version())
			assert.Equal(t, test.errs, errs)
			for _, key := range test.has {
				assert.True(t, r.ContainsString(key), key)
				assert.True(t, r.Snapshot().ContainsString(key), key)
			}
			for _, key := range test.hasNot {
				assert.False(t, r.ContainsString(key), key)
			}
		})
	}
}

func TestOnErrorMayRefresh(t *testing.T) {
	ctx := context.Background()
	down := errors.New("down")
	var r *Replica
	var inner []error
	r = New(script(func(string) (Update, error) {
		return Update{}, down
	}), Config{OnError: func(error) {
		inner = append(inner, r.Refresh(ctx))
	}})
	refreshed := make(chan error, 1)
	go func() { refreshed <- r.Refresh(ctx) }()
	select {
	case err := <-refreshed:
		require.ErrorIs(t, err, down)
		assert.Equal(t, []error{down}, inner)
	case <-time.After(time.Minute):
		t.Fatal("an OnError that refreshes is waited for by its own Refresh")
	}
}

func TestStatus(t *testing.T) {
	ctx := context.Background()
	var answer error
	var asked time.Time
	p := publisherOf(filterOf(t, 1024, 5, "a"))
	r := New(script(func(have string) (Update, error) {
		for asked = time.Now(); !time.Now().After(asked); { // wait until the clock has advanced
		}
		if answer != nil {
			return Update{}, answer
		}
		return p.Fetch(ctx, have)
	}), Config{})
	assert.Equal(t, Status{}, r.Status())
	answer = errors.New("down")
	require.Error(t, r.Refresh(ctx))
	assert.Equal(t, Status{Err: answer}, r.Status())

	answer = nil
	last := time.Now()
	for range 2 { // a full filter, and nothing new
		require.NoError(t, r.Refresh(ctx))
		s := r.Status()
		assert.Equal(t, Status{Version: p.Publish(), SizeBytes: 6 + 128, Refreshed: s.Refreshed}, s)
		assert.False(t, s.Refreshed.Before(last), "a copy is as old as the question")
		assert.False(t, s.Refreshed.After(asked), "a copy is as old as the question")
		last = s.Refreshed
	}
	answer = errors.New("down again")
	require.Error(t, r.Refresh(ctx))
	s := r.Status()
	assert.Equal(t, answer, s.Err)
	assert.Equal(t, last, s.Refreshed)
}

func TestContainsBatch(t *testing.T) {
	hs := []bloom.Hash{bloom.SumString("a"), bloom.SumString("b")}
	r := New(publisherOf(filterOf(t, 1024, 5, "a")), Config{})
	found := []bool{false, false}
	r.ContainsBatch(found, hs)
	assert.Equal(t, []bool{true, true}, found)
	require.NoError(t, r.Refresh(context.Background()))
	assert.Equal(t, []bool{true, false}, filtertest.Found(r, hs))
}

func TestFirstAnswerMustBeFull(t *testing.T) {
	for _, u := range []Update{
		{Version: "1"}, {Version: "1", Added: []bloom.Hash{{}}},
		{Version: "1", Patch: patchOf(t, 64, 1, "a", "b")},
	} {
		r := New(script(func(string) (Update, error) { return u, nil }), Config{})
		require.ErrorContains(t, r.Refresh(context.Background()),
			"replica: the source sent no full filter")
		assert.True(t, r.ContainsString("a"))
	}
}

func TestFullEvery(t *testing.T) {
	var asked []string
	r := New(script(func(have string) (Update, error) {
		asked = append(asked, have)
		if have == "" {
			return Update{Version: "v", Full: filterOf(t, 64, 1)}, nil
		}
		return Update{Version: have}, nil
	}), Config{FullEvery: time.Hour})
	for range 3 {
		require.NoError(t, r.Refresh(context.Background()))
	}
	assert.Equal(t, []string{"", "v", "v"}, asked)
	r.since = r.since.Add(-time.Hour)
	for range 2 {
		require.NoError(t, r.Refresh(context.Background()))
	}
	assert.Equal(t, []string{"", "v", "v", "", "v"}, asked)
}

func TestSnapshotIsTheCallersToKeep(t *testing.T) {
	set, p := published(filterOf(t, 1024, 5, "a"))
	r := New(p, Config{})
	require.NoError(t, r.Refresh(context.Background()))
	f := r.Snapshot()
	f.AddString("mine")
	assert.False(t, r.ContainsString("mine"))
	set.AddString("theirs")
	p.Publish()
	require.NoError(t, r.Refresh(context.Background()))
	assert.True(t, r.ContainsString("theirs"))
	assert.False(t, f.ContainsString("theirs"))
}

func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var fetches, errs atomic.Int32
	var times []time.Time
	r := New(script(func(have string) (Update, error) {
		times = append(times, time.Now())
		switch n := fetches.Add(1); {
		case n == 1:
			return Update{Version: "1", Full: filterOf(t, 1024, 5, "a")}, nil
		case n == 10:
			cancel()
			return Update{}, ctx.Err() // OnError must not get this error
		case n > 5:
			return Update{}, errors.New("down")
		}
		return Update{Version: have}, nil
	}), Config{Interval: 10 * time.Millisecond, OnError: func(error) { errs.Add(1) }})
	require.ErrorIs(t, r.Run(ctx), context.Canceled)
	require.Equal(t, 10*time.Second, New(r.src, Config{}).cfg.Interval)
	require.Equal(t, 10*time.Second, New(r.src, Config{Interval: -1}).cfg.Interval)
	assert.Equal(t, "1", r.Version())
	assert.True(t, r.ContainsString("a"))
	assert.False(t, r.ContainsString("b"))
	assert.EqualValues(t, 4, errs.Load())
	assert.EqualValues(t, 10, fetches.Load())
	for i := range times[1:] {
		assert.GreaterOrEqual(t, times[i+1].Sub(times[i]), 9*time.Millisecond)
	}
}

func TestRefreshesTakeTurns(t *testing.T) {
	release := make(chan struct{})
	r := New(script(func(string) (Update, error) {
		<-release
		return Update{}, errors.New("down")
	}), Config{})
	done := make(chan error)
	go func() { done <- r.Refresh(context.Background()) }()
	filtertest.Becomes(t, "a refresh begins", func() bool { return len(r.busy) > 0 })
	waiting := make(chan error, 1)
	go func() { waiting <- r.Refresh(filtertest.EndsInWait(t, nil)) }()
	require.ErrorIs(t, filtertest.Receive(t, "the wait ends", waiting), context.Canceled)
	close(release)
	require.ErrorContains(t, <-done, "down")
}

// Readers look up keys of published versions while patches and full filters arrive. A reader must
// find each key of a version that it has seen.
func TestReadersNeverLoseAKey(t *testing.T) {
	set, p := published(bloom.Must(bloom.New(20_000, 1e-6)))
	r := New(p, Config{})
	require.NoError(t, r.Refresh(context.Background()))

	const rounds, perRound = 100, 100
	var loaded atomic.Int64 // keys 0 to loaded-1 are in the replica
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := int64(0); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if n := loaded.Load(); n > 0 && !r.ContainsHash(bloom.SumUint64(uint64(i%n))) {
					t.Errorf("key %d of %d is missing", i%n, n)
					return
				}
			}
		}()
	}
	for round := range uint64(rounds) {
		for i := range uint64(perRound) {
			set.AddHash(bloom.SumUint64(round*perRound + i))
		}
		p.Publish()
		if round%10 == 9 {
			r.since = time.Time{}
			r.cfg.FullEvery = 1
		} else {
			r.cfg.FullEvery = 0
		}
		require.NoError(t, r.Refresh(context.Background()))
		loaded.Store(int64(round+1) * perRound)
	}
	close(stop)
	filtertest.Wait(t, "the look-ups end", &wg)
	assert.True(t, r.Snapshot().Equal(set.Snapshot()))
}

// TestNothingLoaded: without an OnError, a Replica that has loaded nothing logs its first error,
// and no other.
func TestNothingLoaded(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(before)
	r := New(&FileSource{Path: filepath.Join(t.TempDir(), "none")}, Config{})
	for range 3 {
		require.ErrorIs(t, r.Refresh(context.Background()), os.ErrNotExist)
	}
	require.Equal(t, 1, strings.Count(out.String(), "nothing is loaded"), out.String())
	require.Equal(t, bloom.Stats{FillRatio: 1, FPR: 1}, r.Stats())

	r = New(publisherOf(filterOf(t, 1024, 5, "a")), Config{})
	out.Reset()
	require.NoError(t, r.Refresh(context.Background()))
	require.EqualValues(t, 1, r.Stats().ApproxCount)
	require.Empty(t, out.String())
}

// TestRefreshHoldsTwoFilters: a Replica takes over a whole filter without a copy.
func TestRefreshHoldsTwoFilters(t *testing.T) {
	const size = 4 << 20
	var full *bloom.Filter
	r := New(script(func(string) (Update, error) {
		return Update{Version: "1", Full: full}, nil
	}), Config{})
	full = filterOf(t, 8*size, 5, "a")
	full.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumString" })
	taken := filtertest.Allocated(func() { require.NoError(t, r.Refresh(context.Background())) })
	require.Less(t, taken, uint64(100_000))
	require.True(t, r.ContainsString("a"))
	require.Equal(t, full.Info(), r.Info())
	require.True(t, r.Snapshot().Equal(full), "another filter than the source's")
}

// TestTellsOfTheSameFilter: a Replica tells once that its source sends the same filter at each
// refresh, and counts how often. A Replica that asks for a whole filter does not count it.
func TestTellsOfTheSameFilter(t *testing.T) {
	ctx := context.Background()
	f := filterOf(t, 1024, 5, "a")
	version := func(i int) string { return "" }
	i := 0
	var told []error
	src := script(func(string) (Update, error) {
		i++
		return Update{Version: version(i), Full: f.Clone()}, nil
	})
	for name, named := range map[string]func(int) string{
		"no tag":      func(int) string { return "" },
		"another tag": strconv.Itoa,
	} {
		version, told = named, nil
		r := New(src, Config{OnError: func(err error) { told = append(told, err) }})
		for range 10 {
			require.NoError(t, r.Refresh(ctx))
		}
		require.Len(t, told, 1, name)
		require.ErrorContains(t, told[0], "ETag", name)
		require.EqualValues(t, 9, r.Status().Again, name)
		require.NoError(t, r.Status().Err)

		f.AddString(name)
		require.NoError(t, r.Refresh(ctx))
		require.EqualValues(t, 9, r.Status().Again, name+": a new filter")
		f.UpdateInfo(func(i *bloom.Info) { i.Comment = name })
		require.NoError(t, r.Refresh(ctx))
		require.EqualValues(t, 9, r.Status().Again, name+": a new Info")
	}
	told = nil
	version = strconv.Itoa
	r := New(src, Config{FullEvery: 1, OnError: func(err error) { told = append(told, err) }})
	for range 10 {
		require.NoError(t, r.Refresh(ctx))
	}
	require.Empty(t, told)
	require.Zero(t, r.Status().Again)
}

// TestInARow: a Replica tells of the same filter when it comes for the third time in a row. Any other
// answer in between begins a new row.
func TestInARow(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 6))
	for range 100 {
		f := filterOf(t, 1024, 5, "a")
		told, version, answer := 0, 0, 0
		r := New(script(func(have string) (Update, error) {
			version++
			u := Update{Version: strconv.Itoa(version)}
			switch answer {
			case 0: // a filter with another key
				f.AddHash(bloom.SumUint64(rng.Uint64()))
				u.Full = f.Clone()
			case 1:
				return Update{Version: have}, nil
			case 2:
				u.Added = []bloom.Hash{bloom.SumString("a")}
			case 3:
				u.Patch = bloom.Must(bloom.Diff(f, f))
			default:
				u.Full = f.Clone()
			}
			return u, nil
		}), Config{OnError: func(error) { told++ }})
		want, row := 0, 0
		for i := range 40 {
			answer = rng.IntN(12)
			if i == 0 {
				answer = 0
			}
			if row++; answer < 4 {
				row = 0
			}
			if row == 3 {
				want++
			}
			require.NoError(t, r.Refresh(t.Context()))
			require.Equal(t, want, told)
		}
	}
}

// TestTellsOfTheWayBack: a Replica that is led back to a version that it had tells of it.
func TestTellsOfTheWayBack(t *testing.T) {
	ctx := context.Background()
	old, now := filterOf(t, 1024, 5, "a"), filterOf(t, 1024, 5, "a", "b")
	edges := []Update{{Version: "1", Full: old}, {Version: "2", Full: now}}
	i := 0
	var told []error
	r := New(script(func(string) (Update, error) {
		u := edges[i]
		u.Full = u.Full.Clone()
		return u, nil
	}), Config{OnError: func(err error) { told = append(told, err) }})
	for step, test := range []struct {
		edge int
		back uint64
	}{{0, 0}, {0, 0}, {1, 0}, {0, 1}, {0, 1}, {1, 2}} {
		i = test.edge
		require.NoError(t, r.Refresh(ctx), step)
		require.Equal(t, test.back, r.Status().Back, step)
		require.Len(t, told, int(test.back), step)
		require.Equal(t, test.edge == 1, r.ContainsString("b"), step)
		require.NoError(t, r.Status().Err)
	}
	require.ErrorContains(t, told[0], `version "1" came back after "2"`)

	// A Publisher's versions have new names, also after a restart.
	set, p := published(old)
	r = New(script(func(have string) (Update, error) {
		return p.Fetch(ctx, have)
	}), Config{OnError: func(err error) { t.Error(err) }})
	for i := range 2 * hadVersions {
		require.NoError(t, r.Refresh(ctx))
		set.AddString(strconv.Itoa(i))
		p.Publish()
		if i == hadVersions {
			last, err := p.Fetch(ctx, "")
			require.NoError(t, err)
			// A coarse clock is behind many versions of one tick.
			filtertest.Becomes(t, "the clock catches up",
				func() bool { return time.Now().After(last.Made) })
			p = NewPublisher(set.Snapshot)
		}
	}
	require.Zero(t, r.Status().Back)
	require.Len(t, r.had, hadVersions)
}

// TestTellsOfAnOlderVersion: a Replica tells of a version that it never had if that is known to be
// older.
func TestTellsOfAnOlderVersion(t *testing.T) {
	ctx := context.Background()
	first, second := filterOf(t, 1024, 5, "a"), filterOf(t, 1024, 5, "a", "b")
	hour := time.Unix(1_700_000_000, 0)
	path := filepath.Join(t.TempDir(), "filter")
	set, p := published(first)
	answers := make([]*httptest.ResponseRecorder, 2) // of the Publisher, kept by a cache
	for i := range answers {
		answers[i] = httptest.NewRecorder()
		p.ServeHTTP(answers[i], httptest.NewRequest(http.MethodGet, "/", nil))
		set.AddString("b")
		p.Publish()
	}
	at := 1
	filters := []*bloom.Filter{first, second}
	served := func(answer http.HandlerFunc) Source {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		return &HTTPSource{URL: server.URL}
	}
	for name, test := range map[string]struct {
		src Source
		put func()
	}{
		"file": {&FileSource{Path: path}, func() {
			require.NoError(t, filters[at].SaveFile(path))
			made := hour.Add(time.Duration(at) * time.Hour)
			require.NoError(t, os.Chtimes(path, made, made))
		}},
		"server of a file": {served(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", []string{`"x"`, `"y"`}[at])
			made := hour.Add(time.Duration(at) * time.Second)
			http.ServeContent(w, r, "", made, bytes.NewReader(bloom.Must(filters[at].MarshalBinary())))
		}), func() {}},
		"cache before a Publisher": {served(func(w http.ResponseWriter, r *http.Request) {
			maps.Copy(w.Header(), answers[at].Header())
			_, err := w.Write(answers[at].Body.Bytes())
			assert.NoError(t, err)
		}), func() {}},
	} {
		t.Run(name, func(t *testing.T) {
			var told []error
			r := New(test.src, Config{OnError: func(err error) { told = append(told, err) }})
			for step, want := range []struct {
				at   int
				back uint64
			}{{1, 0}, {0, 1}, {1, 2}} {
				at = want.at
				test.put()
				require.NoError(t, r.Refresh(ctx))
				require.Equal(t, at == 1, r.ContainsString("b"), step)
				require.Equal(t, want.back, r.Status().Back, step)
				require.Len(t, told, int(want.back), step)
			}
			require.ErrorContains(t, told[0], "is older")
		})
	}
}

// TestWayBackToOneOf64: a Replica remembers the newest 64 of the versions before the present one.
func TestWayBackToOneOf64(t *testing.T) {
	full := filterOf(t, 1024, 5, "a")
	version := 0
	r := New(script(func(string) (Update, error) {
		return Update{Version: strconv.Itoa(version), Full: full.Clone()}, nil
	}), Config{OnError: func(error) {}})
	const last = 3 * hadVersions
	for version = range last + 1 {
		require.NoError(t, r.Refresh(context.Background()))
	}
	for _, test := range []struct {
		version int
		back    uint64
	}{
		{last - hadVersions - 1, 0},
		{last, 1},
		{last - 1, 2},
		{last - hadVersions + 3, 3},
		{0, 3},
	} {
		version = test.version
		require.NoError(t, r.Refresh(context.Background()))
		require.Equal(t, test.back, r.Status().Back, test.version)
	}
}

// TestConfigModel: beside a source that answers nothing, added keys, a patch, a whole filter or an
// error in random order, and a clock that moves, a Replica asks for a whole filter exactly when it
// has none or the last one is older than FullEvery; it has the source's keys, and tells each error
// once.
func TestConfigModel(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		keys := bloom.Must(bloom.New(1000, 1e-9))  // the source's
		there := bloom.Must(bloom.New(1000, 1e-9)) // what the Replica must have
		every := time.Duration(rng.IntN(4)) * 10 * time.Hour
		failed := errors.New("failed")
		version, loaded, age := 0, false, time.Duration(0)
		told, errs := 0, 0
		var have string
		asked, whole := 0, false
		r := New(script(func(asks string) (Update, error) {
			have, whole = asks, false
			asked++
			version++
			u := Update{Version: strconv.Itoa(version)}
			h := bloom.SumUint64(rng.Uint64())
			switch kind := rng.IntN(5); {
			case kind == 4:
				return Update{}, failed
			case have == "" || kind == 3:
				keys.AddHash(h)
				u.Full = keys.Clone()
				whole = true
			case kind == 0:
				return Update{Version: have}, nil
			case kind == 1:
				keys.AddHash(h)
				u.Added = []bloom.Hash{h}
			default:
				before := keys.Clone()
				keys.AddHash(h)
				u.Patch = bloom.Must(bloom.Diff(before, keys))
			}
			return u, nil
		}), Config{FullEvery: every, OnError: func(err error) {
			assert.ErrorIs(t, err, failed)
			told++
		}})
		for range 30 {
			step := time.Duration(rng.IntN(20)) * time.Hour
			r.since = r.since.Add(-step - time.Second) // a second for what the test takes
			age += step + time.Second
			due := !loaded || every > 0 && age >= every
			asked = 0
			err := r.Refresh(t.Context())
			require.Equal(t, 1, asked, "seed %d", seed)
			require.Equal(t, due, have == "", "seed %d, age %v of %v, loaded %v", seed, age, every, loaded)
			if err != nil {
				require.ErrorIs(t, err, failed, "seed %d", seed)
				errs++
			} else {
				if whole {
					age = 0
				}
				loaded = true
				there = keys.Clone()
			}
			require.Equal(t, errs, told, "seed %d", seed)
			require.ErrorIs(t, r.Status().Err, err, "seed %d", seed)
			if loaded {
				require.True(t, r.Snapshot().Equal(there), "seed %d", seed)
			} else {
				require.True(t, r.ContainsString("anything"), "seed %d", seed)
			}
		}
	}
}

// TestRunModel: beside refreshes that succeed or fail and a context that ends, in random order, Run
// waits for about Interval after each refresh. OnError gets each error once, and none after the
// context has ended.
func TestRunModel(t *testing.T) {
	defer func() { after = time.After }()
	ready := make(chan time.Time)
	close(ready)
	full := filterOf(t, 64, 1)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		about := fmt.Sprint("seed ", seed)
		interval := []time.Duration{-1, 0, 1, time.Second, math.MaxInt64}[rng.IntN(5)]
		mean := float64(interval)
		if interval <= 0 {
			mean = float64(10 * time.Second)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var want, told []string // of the errors
		fetches, waits := 0, 0
		r := New(script(func(have string) (Update, error) {
			require.NoError(t, ctx.Err(), about)
			fetches++
			err := errors.New(fmt.Sprint("failure ", fetches))
			switch kind := rng.IntN(20); {
			case kind == 0:
				cancel()
				return Update{}, err
			case kind < 10:
				want = append(want, err.Error())
				return Update{}, err
			}
			return Update{Version: "1", Full: full.Clone()}, nil
		}), Config{
			Interval:  interval,
			FullEvery: 1, // so that each whole filter was asked for
			OnError:   func(err error) { told = append(told, err.Error()) },
		})
		after = func(wait time.Duration) <-chan time.Time {
			waits++
			require.InDelta(t, mean, float64(wait), 0.1*mean+1, "%s, fetch %d", about, fetches)
			if rng.IntN(30) == 0 {
				cancel()
				return nil
			}
			return ready
		}
		require.ErrorIs(t, r.Run(ctx), context.Canceled, about)
		require.Equal(t, want, told, about)
		require.InDelta(t, fetches, waits, 1, about)
		require.ErrorIs(t, r.Run(ctx), context.Canceled, about) // which asks for nothing
	}
}

// TestCallsOfOnErrorDoNotOverlap: an error that occurs while OnError runs is not passed to it.
func TestCallsOfOnErrorDoNotOverlap(t *testing.T) {
	ctx := context.Background()
	var told []string
	fetches := 0
	var r *Replica
	r = New(script(func(string) (Update, error) {
		fetches++
		return Update{}, errors.New(strconv.Itoa(fetches))
	}), Config{OnError: func(err error) {
		told = append(told, err.Error())
		if len(told) == 1 {
			refreshed := make(chan struct{})
			go func() { // in another goroutine, as another caller of Refresh
				defer close(refreshed)
				assert.ErrorContains(t, r.Refresh(ctx), "2")
			}()
			filtertest.Receive(t, "Refresh returns while OnError runs", refreshed)
		}
	}})
	require.ErrorContains(t, r.Refresh(ctx), "1")
	require.ErrorContains(t, r.Refresh(ctx), "3")
	require.Equal(t, []string{"1", "3"}, told)
}

// TestNothingWaitsForARefresh: look-ups and descriptions return while a refresh waits for its
// source, before the first load and later.
func TestNothingWaitsForARefresh(t *testing.T) {
	ctx := context.Background()
	f := filterOf(t, 1024, 5, "a")
	f.UpdateInfo(func(i *bloom.Info) { i.Comment = "of the source" })
	var r *Replica
	loaded := false
	r = New(script(func(string) (Update, error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			assert.True(t, r.ContainsString("a"))
			r.ContainsBatch(make([]bool, 1), make([]bloom.Hash, 1))
			assert.Equal(t, loaded, r.Snapshot() != nil)
			assert.Equal(t, loaded, r.Status().Version == "1")
			assert.Equal(t, loaded, r.Version() == "1")
			assert.Equal(t, loaded, r.Info() == f.Info())
			assert.Equal(t, loaded, r.Info() != bloom.Info{})
			assert.Equal(t, loaded, r.Stats().OnesCount > 0)
			assert.NotEmpty(t, r.String())
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			assert.Fail(t, "a call waits for the refresh")
		}
		return Update{Version: "1", Full: f.Clone()}, nil
	}), Config{})
	for range 2 {
		require.NoError(t, r.Refresh(ctx))
		loaded = true
	}
	found := []bool{false, true, true}
	hs := []bloom.Hash{bloom.SumString("a"), bloom.SumString("b")}
	r.ContainsBatch(found, hs)
	require.Equal(t, []bool{true, false, true}, found, "what is beyond hs stays")
	for _, r := range []*Replica{r, New(r.src, Config{})} {
		require.Panics(t, func() { r.ContainsBatch(make([]bool, 1), hs) })
	}
}
