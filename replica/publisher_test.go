package replica

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/publish"
)

// apply applies u to f. It fails unless u is a patch.
func apply(t *testing.T, f *bloom.Filter, u Update) {
	t.Helper()
	require.True(t, u.Full == nil, "a whole filter, where a patch would do")
	require.NotNil(t, u.Patch)
	require.NoError(t, f.Patch(u.Patch))
}

// TestPatchesReachBack16Versions: a replica that is further behind gets the whole filter.
func TestPatchesReachBack16Versions(t *testing.T) {
	ctx := context.Background()
	for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		set := bloom.Must(counting.New(10_000, 0.01))
		if s == bloom.Mitz32 {
			set = nil
		}
		now := bloom.Must(bloom.NewWithStrategy(s, 10_000, 0.01))
		snapshot := now.Clone
		if set != nil {
			snapshot = set.Bloom
		}
		p := NewPublisher(func() *bloom.Filter { return snapshot() })
		versions := []string{p.Publish()}
		copies := []*bloom.Filter{snapshot()}
		for i := range publish.History + 3 {
			key := "key" + strconv.Itoa(i)
			if set != nil {
				require.True(t, set.AddString(key))
				require.Equal(t, i > 0, set.RemoveString("key"+strconv.Itoa(i-1)))
			}
			now.AddString(key)
			versions = append(versions, p.Publish())
			copies = append(copies, snapshot())
		}
		last := len(versions) - 1
		require.Equal(t, versions[last], p.Publish(), "nothing new")
		for i, have := range versions[:last] {
			u, err := p.Fetch(ctx, have)
			require.NoError(t, err)
			require.Equal(t, versions[last], u.Version)
			if i < last-publish.History {
				require.Nil(t, u.Patch, "version %d", i)
				require.NotNil(t, u.Full, "version %d", i)
				require.True(t, u.Full.Equal(copies[last]), "version %d", i)
				continue
			}
			apply(t, copies[i], u)
			require.True(t, copies[i].Equal(copies[last]), "version %d", i)
		}
		u, err := p.Fetch(ctx, versions[last])
		require.NoError(t, err)
		require.Equal(t, Update{Version: versions[last]}, u)
	}
}

// TestPublishNamesWhatDiffers: a version gets a new name only if bits, Info or size differ.
func TestPublishNamesWhatDiffers(t *testing.T) {
	ctx := context.Background()
	now := filterOf(t, 640, 3, "a")
	p := NewPublisher(func() *bloom.Filter { return now.Clone() })
	r := New(p, Config{})
	first := p.Publish()
	require.Equal(t, first, p.Publish())
	for _, test := range []struct {
		name   string
		change func()
		patch  bool
	}{
		{"bits", func() { now.AddString("b") }, true},
		{"Info", func() { now.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumString" }) }, true},
		{"bits that are cleared", func() { now.Reset(); now.AddString("b") }, true},
		{"size", func() { now = filterOf(t, 1280, 3, "b") }, false},
		{"hashes", func() { now = filterOf(t, 1280, 4, "b") }, false},
	} {
		require.NoError(t, r.Refresh(ctx))
		before := p.Publish()
		test.change()
		require.NotEqual(t, before, p.Publish(), test.name)
		u, err := p.Fetch(ctx, before)
		require.NoError(t, err)
		require.Equal(t, test.patch, u.Patch != nil, test.name)
		require.NoError(t, r.Refresh(ctx))
		require.True(t, r.Snapshot().Equal(now), test.name)
		require.Equal(t, now.Info(), r.Info(), test.name)
	}
}

// TestBitsThatChangeBack: if a bit was set and cleared again, no patch has it.
func TestBitsThatChangeBack(t *testing.T) {
	now := filterOf(t, 64_000, 3, "a")
	p := NewPublisher(func() *bloom.Filter { return now.Clone() })
	first, before := p.Publish(), now.Clone()
	now.AddString("b")
	p.Publish()
	now = before.Clone()
	p.Publish()
	u, err := p.Fetch(context.Background(), first)
	require.NoError(t, err)
	require.Equal(t, bloom.Must(bloom.Diff(before, before)), u.Patch)
}

// TestPublisherForgetsLargePatches: a Publisher does not keep patches that together have more than
// half the filter's bytes.
func TestPublisherForgetsLargePatches(t *testing.T) {
	const words = 8192
	rnd := rand.New(rand.NewPCG(1, 2))
	array := make([]uint64, words)
	p := NewPublisher(func() *bloom.Filter { return bloom.Must(bloom.NewWords(array, 3)) })
	change := func(n int) string {
		for i := range n {
			array[i] = rnd.Uint64()
		}
		return p.Publish()
	}
	isPatch := func(have string) bool {
		u, err := p.Fetch(context.Background(), have)
		require.NoError(t, err)
		return u.Patch != nil
	}
	first := change(1)
	second := change(words / 12)
	require.True(t, isPatch(first))
	change(words / 12)
	require.True(t, isPatch(first))
	third := change(words / 12)
	require.False(t, isPatch(first))
	require.True(t, isPatch(second))
	change(words)
	require.False(t, isPatch(third))
}

// TestRemovalsArePatches: if keys are removed from a counting filter, replicas get a small patch.
func TestRemovalsArePatches(t *testing.T) {
	ctx := context.Background()
	set := bloom.Must(counting.New(100_000, 0.01))
	for i := range uint64(100_000) {
		set.AddHash(bloom.SumUint64(i))
	}
	p := NewPublisher(set.Bloom)
	handler := &counter{p, map[int]int{}}
	server := httptest.NewServer(handler)
	defer server.Close()
	near, far := New(p, Config{}), New(&HTTPSource{URL: server.URL}, Config{})
	for round := range uint64(3) {
		for _, r := range []*Replica{near, far} {
			require.NoError(t, r.Refresh(ctx))
			require.True(t, r.Snapshot().Equal(set.Bloom()), "round %d", round)
		}
		before := p.Publish()
		for i := range uint64(10) {
			require.True(t, set.RemoveHash(bloom.SumUint64(10*round+i)))
			set.AddHash(bloom.SumUint64(1_000_000 + 10*round + i))
		}
		p.Publish()
		u, err := p.Fetch(ctx, before)
		require.NoError(t, err)
		require.Less(t, len(u.Patch), 500)
	}
	require.Equal(t, map[int]int{200: 1, 226: 2}, handler.seen)
}

// TestPublishUnchanged: if nothing changed, Publish takes memory only for the snapshot.
func TestPublishUnchanged(t *testing.T) {
	const size = 4 << 20
	_, p := published(filterOf(t, 8*size, 5, "a"))
	require.Less(t, filtertest.Allocated(func() { p.Publish() }), uint64(size+size/4))
}

func TestPublishersDoNotShareVersions(t *testing.T) {
	a, b := publisherOf(filterOf(t, 64, 1)), publisherOf(filterOf(t, 64, 1))
	assert.NotEqual(t, a.Publish(), b.Publish())
}

// TestMistakes: a programmer's mistake panics immediately, and not later because of a nil pointer.
func TestMistakes(t *testing.T) {
	const zero = "replica: use of a zero Publisher: make it with NewPublisher"
	const nothing = "replica: the snapshot is nil or the zero Filter: that of a Replica is nil " +
		"until it has loaded"
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // so that a Refresh that does not panic does not wait forever
	for _, test := range []struct {
		want string
		do   func()
	}{
		{"replica: NewPublisher without a snapshot", func() { NewPublisher(nil) }},
		{nothing, func() { NewPublisher(func() *bloom.Filter { return nil }) }},
		{nothing, func() { NewPublisher(func() *bloom.Filter { return new(bloom.Filter) }) }},
		{nothing, func() { NewPublisher(New(new(FileSource), Config{}).Snapshot) }},
		{zero, func() { new(Publisher).Publish() }},
		{zero, func() { _, _ = new(Publisher).Fetch(ctx, "") }},
		{zero, func() { _ = new(Publisher).Run(ctx, 0) }},
		{zero, func() {
			new(Publisher).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		}},
		{"replica: New without a Source", func() { New(nil, Config{}) }},
		{"replica: Refresh of a zero Replica: make it with New", func() {
			_ = new(Replica).Refresh(ctx)
		}},
	} {
		assert.PanicsWithValue(t, test.want, test.do)
	}
	f := filterOf(t, 640, 3)
	f.UpdateInfo(func(i *bloom.Info) { i.P = 2 })
	assert.PanicsWithError(t, "replica: Info.P = 2 is outside [0, 1)", func() {
		NewPublisher(func() *bloom.Filter { return f })
	})
}

// TestString: the text for prints and logs is a line without keys.
func TestString(t *testing.T) {
	p := publisherOf(filterOf(t, 64, 1))
	r := New(p, Config{})
	assert.Equal(t, "replica.Replica(nothing loaded)", fmt.Sprint(r))
	require.NoError(t, r.Refresh(context.Background()))
	assert.Equal(t, fmt.Sprintf("replica.Replica(version %q, 14 bytes)", p.Publish()), fmt.Sprint(r))
	assert.Equal(t, "replica.Publisher(version "+p.Publish()+", 14 bytes)", fmt.Sprint(p))
	assert.Equal(t, "replica.Publisher(zero)", fmt.Sprint(new(Publisher)))
	assert.Equal(t, r.String(), r.LogValue().String())
	assert.Equal(t, p.String(), p.LogValue().String())
}

// fileOf returns the bytes of a file that holds f.
func fileOf(t *testing.T, f *bloom.Filter) []byte {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, f.SaveFile(path))
	return bloom.Must(os.ReadFile(path))
}

func TestServeHTTP(t *testing.T) {
	f := bloom.Must(bloom.New(10_000, 0.01))
	f.AddString("before")
	set, p := published(f)
	old := p.Publish()
	set.AddString("new")
	version := p.Publish()
	strong, weak := `"`+version+`"`, `W/"`+version+`"`
	full, part := fileOf(t, set.Snapshot()), bloom.Must(bloom.Diff(f, set.Snapshot()))

	type headers = map[string]string
	for _, test := range []struct {
		name   string
		method string
		send   headers
		status int
		want   headers
		body   []byte
	}{
		{"plain", "GET", nil, 200,
			headers{"ETag": weak, "Content-Encoding": "", "Content-Length": strconv.Itoa(len(full))}, full},
		{"head", "HEAD", nil, 200, headers{"ETag": weak, "Content-Length": strconv.Itoa(len(full))}, nil},
		{"gzip", "GET", headers{"Accept-Encoding": "br, gzip;q=0.5"}, 200,
			headers{"ETag": weak, "Content-Encoding": "gzip"}, full},
		{"gzip refused", "GET", headers{"Accept-Encoding": "gzip;q=0"}, 200,
			headers{"ETag": weak, "Content-Encoding": ""}, full},
		{"unchanged", "GET", headers{"If-None-Match": strong}, 304, headers{"ETag": weak}, nil},
		{"unchanged, of several", "GET",
			headers{"If-None-Match": `"another", ` + strong + `, W/"third"`}, 304,
			headers{"ETag": weak}, nil},
		{"unchanged, weak", "GET", headers{"If-None-Match": `"other", ` + weak}, 304, nil, nil},
		{"unchanged, any", "GET", headers{"If-None-Match": "*"}, 304, nil, nil},
		{"old, without A-IM", "GET",
			headers{"If-None-Match": `"` + old + `"`, "Accept-Encoding": "gzip"}, 200,
			headers{"IM": ""}, full},
		{"delta, without gzip", "GET",
			headers{"If-None-Match": `"` + old + `"`, "A-IM": publish.DeltaIM}, 226,
			headers{"IM": publish.DeltaIM}, part},
		{"delta", "GET", headers{"If-None-Match": `W/"` + old + `"`,
			"A-IM": "vcdiff, " + publish.DeltaIM, "Accept-Encoding": "gzip"}, 226,
			headers{
				"IM":               publish.DeltaIM,
				"Delta-Base":       `"` + old + `"`,
				"ETag":             weak,
				"Cache-Control":    "no-store",
				"Content-Encoding": "",
				"Content-Length":   strconv.Itoa(len(part)),
			}, part},
		{"head of a delta", "HEAD",
			headers{"If-None-Match": `"` + old + `"`, "A-IM": publish.DeltaIM}, 226,
			headers{"Content-Length": strconv.Itoa(len(part))}, nil},
		{"delta to an unknown version", "GET",
			headers{"If-None-Match": `"x"`, "A-IM": publish.DeltaIM, "Accept-Encoding": "gzip"},
			200, headers{"IM": ""}, full},
		{"post", "POST", nil, 405, headers{"Allow": "GET, HEAD"}, []byte("method not allowed\n")},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := httptest.NewRequest(test.method, "/any", nil)
			for name, value := range test.send {
				req.Header.Set(name, value)
			}
			rec := httptest.NewRecorder()
			p.ServeHTTP(rec, req)
			assert.Equal(t, test.status, rec.Code)
			if test.status < 400 {
				assert.Equal(t, "Accept-Encoding", rec.Header().Get("Vary"))
				assert.Equal(t, test.status != 226, rec.Header().Get("Cache-Control") == "no-cache")
				assert.Equal(t, test.status != 304,
					rec.Header().Get("Content-Type") == "application/octet-stream")
			}
			for name, value := range test.want {
				assert.Equal(t, value, rec.Header().Get(name), name)
			}
			body := io.Reader(rec.Body)
			if rec.Header().Get("Content-Encoding") == "gzip" {
				assert.Less(t, rec.Body.Len(), len(full)/10)
				body = bloom.Must(gzip.NewReader(rec.Body))
			}
			data := bloom.Must(io.ReadAll(body))
			assert.True(t, bytes.Equal(test.body, data))
		})
	}
}

// TestPublishersAtOnce: all methods run in parallel. A copy that is refreshed at the end has every
// key.
func TestPublishersAtOnce(t *testing.T) {
	const goroutines, each = 4, 50
	set := bloom.Must(counting.New(1000, 1e-6))
	p := NewPublisher(set.Bloom)
	filtertest.AtOnce(goroutines, func(own int) {
		r := New(p, Config{})
		for i := range each {
			key := fmt.Sprint(own, i)
			set.AddString(key)
			set.AddString("not " + key)
			assert.True(t, set.RemoveString("not "+key))
			p.Publish()
			p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
			assert.NoError(t, r.Refresh(context.Background()))
			assert.True(t, r.ContainsString(key), key)
			assert.NoError(t, r.Status().Err)
		}
	})
	r := New(p, Config{})
	require.NoError(t, r.Refresh(context.Background()))
	for own := range goroutines {
		for i := range each {
			require.True(t, r.ContainsString(fmt.Sprint(own, i)))
		}
	}
}

// TestPublishedIsTheCallersToChange: a filter that snapshot has returned may change afterwards. The
// published version does not, and the next Publish has what changed.
func TestPublishedIsTheCallersToChange(t *testing.T) {
	ctx := context.Background()
	f := filterOf(t, 1024, 5, "a")
	p := NewPublisher(func() *bloom.Filter { return f })
	first := bloom.Must(p.Fetch(ctx, "")).Version
	f.AddString("b")
	require.False(t, bloom.Must(p.Fetch(ctx, "")).Full.ContainsString("b"))
	require.NotEqual(t, first, p.Publish())
	require.True(t, bloom.Must(p.Fetch(ctx, "")).Full.ContainsString("b"))
}

// TestFetchedIsTheCallersToKeep: who gets a whole filter in the same process may change it, as a
// Replica does.
func TestFetchedIsTheCallersToKeep(t *testing.T) {
	ctx := context.Background()
	p := publisherOf(filterOf(t, 1024, 5, "a"))
	for range 2 {
		u, err := p.Fetch(ctx, "")
		require.NoError(t, err)
		require.False(t, u.Full.ContainsString("b"))
		u.Full.AddString("b")
	}
}

// slowWriter is a ResponseWriter whose second Write waits.
type slowWriter struct {
	*httptest.ResponseRecorder
	writes  int
	blocked chan struct{} // closed when Write waits
	release chan struct{}
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if w.writes++; w.writes == 2 {
		close(w.blocked)
		<-w.release
	}
	return w.ResponseRecorder.Write(p)
}

// filterOfFill8th returns a filter of size bytes of bits, of which an eighth is set. A Publisher
// compresses such a filter by gzip, but it does not become very small.
func filterOfFill8th(t testing.TB, size int) *bloom.Filter {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	data := form.Header{Strategy: 1, K: 7, Words: size / 8}.Append(nil)
	for range size / 8 {
		data = binary.BigEndian.AppendUint64(data, r.Uint64()&r.Uint64()&r.Uint64())
	}
	f := new(bloom.Filter)
	require.NoError(t, f.UnmarshalBinary(data))
	return f
}

func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// Many clients stop reading, each in the answer for another version. They must not keep so many
// versions in memory. At the end each of them must have a whole filter.
func TestSlowClientsPinNothing(t *testing.T) {
	// the first clients are more than publish.History versions behind
	const clients, size = 24, 1 << 20
	set, p := published(filterOfFill8th(t, size))
	release := make(chan struct{})
	type client struct {
		slowWriter
		version string
		filter  uint64 // the checksum of the version's filter
	}
	var done sync.WaitGroup
	before := heap()
	all := make([]*client, clients)
	for i := range all {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		if i%2 > 0 {
			req.Header.Set("Accept-Encoding", "gzip")
		}
		set.AddString(strconv.Itoa(i))
		set.AddString("and " + strconv.Itoa(i))
		c := &client{slowWriter{httptest.NewRecorder(), 0, make(chan struct{}), release},
			p.Publish(), sumOf(set.Snapshot())}
		all[i] = c
		done.Add(1)
		go func() {
			defer done.Done()
			p.ServeHTTP(c, req)
		}()
		filtertest.Receive(t, "the client gets bytes", c.blocked)
	}
	// Memory holds the filter, the last version, its packed pieces, the packers, the recorders, and
	// a piece for each client.
	assert.Less(t, heap()-before, 3*size+clients*2*(64<<10))
	close(release)
	filtertest.Wait(t, "all answers end", &done)
	for i, c := range all {
		resp := c.Result()
		f, err := readFilter(resp, size+6)
		require.NoError(t, err, i)
		assert.Equal(t, c.version, versionOf(resp.Header.Get("ETag")))
		if i >= clients-1-publish.History {
			assert.Equal(t, c.filter, sumOf(f), "client %d got another filter than its version", i)
		}
		for j := range i + 1 {
			assert.True(t, f.ContainsString(strconv.Itoa(j)), "key %d for client %d", j, i)
			assert.True(t, f.ContainsString("and "+strconv.Itoa(j)), "second key %d for client %d", j, i)
		}
		assert.NoError(t, f.Merge(set.Snapshot()))
		assert.True(t, f.Equal(set.Snapshot()), "bits from nowhere")
	}
}

// sumOf returns a checksum of f.
func sumOf(f *bloom.Filter) uint64 {
	h1, _ := bloom.Sum(bloom.Must(f.MarshalBinary())).Words()
	return h1
}

// TestReplacedWhileSent: if a filter of another size is published during an answer, the answer
// breaks off.
func TestReplacedWhileSent(t *testing.T) {
	now := filterOf(t, 8<<20, 3)
	p := NewPublisher(func() *bloom.Filter { return now })
	release := make(chan struct{})
	w := &slowWriter{httptest.NewRecorder(), 0, make(chan struct{}), release}
	ended := make(chan any)
	go func() {
		defer func() { ended <- recover() }()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	filtertest.Receive(t, "the client gets bytes", w.blocked)
	now = filterOf(t, 16<<20, 3)
	p.Publish()
	close(release)
	require.Equal(t, http.ErrAbortHandler, filtertest.Receive(t, "the answer ends", ended))
}

// TestPatchesTakeLittleMemory: to send a key of a filter of 4 MiB, neither side allocates a filter.
func TestPatchesTakeLittleMemory(t *testing.T) {
	const size = 4 << 20
	ctx := context.Background()
	set, p := published(filterOf(t, size*8, 7))
	server := httptest.NewServer(p)
	defer server.Close()
	near, far := New(p, Config{}), New(&HTTPSource{URL: server.URL}, Config{})
	for i := range publish.History {
		for _, r := range []*Replica{near, far} {
			require.NoError(t, r.Refresh(ctx))
		}
		for range 1 + i%3 {
			set.AddString(strconv.Itoa(i))
			p.Publish()
		}
		for _, r := range []*Replica{near, far} {
			taken := filtertest.Allocated(func() { require.NoError(t, r.Refresh(ctx)) })
			require.Less(t, taken, uint64(size/8), "round %d", i)
			require.True(t, r.ContainsString(strconv.Itoa(i)), "round %d", i)
		}
	}
}

// TestSizeOfPatch: the traffic is what the comment of Publisher says.
func TestSizeOfPatch(t *testing.T) {
	set, p := published(bloom.Must(bloom.New(1e6, 0.01)))
	version := p.Publish()
	for i := range uint64(100) {
		set.AddHash(bloom.SumUint64(i))
	}
	p.Publish()
	u, err := p.Fetch(context.Background(), version)
	require.NoError(t, err)
	require.Less(t, len(u.Patch), 2000)
}

func TestFullFilterIsNotGzipped(t *testing.T) {
	f := bloom.Must(bloom.New(1000, 0.01))
	for i := range uint64(1000) {
		f.AddHash(bloom.SumUint64(i))
	}
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	rec := httptest.NewRecorder()
	publisherOf(f).ServeHTTP(rec, req)
	assert.Empty(t, rec.Header().Get("Content-Encoding"))
}

// TestPublisherRun: Run publishes at once, and then what has changed, until its context ends.
func TestPublisherRun(t *testing.T) {
	set := bloom.Must(bloom.NewSync(1000, 1e-9))
	p := NewPublisher(set.Snapshot)
	r := New(p, Config{})
	for _, every := range []time.Duration{0, -time.Second} {
		require.ErrorContains(t, p.Run(t.Context(), every), every.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	set.AddString("a")
	go func() { ended <- p.Run(ctx, time.Millisecond) }()
	versions := map[string]bool{}
	for _, key := range []string{"a", "b", "c"} {
		set.AddString(key)
		require.Eventually(t, func() bool {
			assert.NoError(t, r.Refresh(ctx))
			versions[r.Version()] = true
			return r.ContainsString(key)
		}, time.Minute, time.Millisecond)
	}
	version := r.Version()
	for range 10 { // equal snapshots are one version
		time.Sleep(2 * time.Millisecond)
		require.NoError(t, r.Refresh(ctx))
		require.Equal(t, version, r.Version())
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.ErrorIs(t, p.Run(ctx, time.Hour), context.Canceled)
}

// TestNobodyPublishes: a Publisher for which nobody calls Publish or Run says so, in String at once
// and in the log as soon as a replica misses a key, but once.
func TestNobodyPublishes(t *testing.T) {
	const never = "neither Publish nor Run was called"
	for name, ask := range map[string]func(p *Publisher){
		"Fetch": func(p *Publisher) { require.NoError(t, New(p, Config{}).Refresh(t.Context())) },
		"ServeHTTP": func(p *Publisher) {
			p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			before := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
			defer slog.SetDefault(before)
			set := bloom.Must(bloom.NewSync(1000, 0.01))
			p := NewPublisher(set.Snapshot)
			require.Contains(t, p.String(), never)
			ask(p)
			require.Empty(t, out.String(), "nothing is missing")
			set.AddString("a")
			ask(p)
			require.Empty(t, out.String(), "a snapshot for each request would cost too much")
			p.checked = p.checked.Add(-checkEvery)
			ask(p)
			require.Contains(t, out.String(), "call Publish or Run")
			out.Reset()
			p.checked = p.checked.Add(-checkEvery)
			ask(p)
			require.Empty(t, out.String(), "once")
			require.Contains(t, p.LogValue().String(), never)
			p.Publish()
			require.NotContains(t, p.String(), never)
		})
	}
}

// TestNothingToSay: a Publisher does not say that nobody publishes if Publish was called, if there is
// no snapshot any more, or while another call looks.
func TestNothingToSay(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(before)
	set := bloom.Must(bloom.NewSync(1000, 0.01))
	fetch := func(p *Publisher) {
		p.checked = time.Time{}
		_, err := p.Fetch(t.Context(), "")
		require.NoError(t, err)
	}
	p := NewPublisher(set.Snapshot)
	p.Publish()
	set.AddString("a")
	fetch(p)

	var taken *bloom.Filter
	snapshot := func() *bloom.Filter { return taken }
	taken = set.Snapshot()
	p = NewPublisher(snapshot)
	taken = nil
	fetch(p)

	snapshots := 0
	p = NewPublisher(func() *bloom.Filter {
		if snapshots++; snapshots > 1 {
			_, err := p.Fetch(t.Context(), "")
			require.NoError(t, err)
		}
		return set.Snapshot()
	})
	fetch(p)
	require.Equal(t, 2, snapshots)
	require.Empty(t, out.String())
}

// TestMade: each version was made later than the one before it, in the same process and over HTTP.
func TestMade(t *testing.T) {
	set := bloom.Must(bloom.NewSync(1000, 0.01))
	before := time.Now()
	p := NewPublisher(set.Snapshot)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	near, far := New(p, Config{}), New(&HTTPSource{URL: server.URL}, Config{})
	last := before.Add(-1)
	for i := range 20 {
		set.AddString(strconv.Itoa(i))
		p.Publish()
		require.NoError(t, near.Refresh(t.Context()))
		require.NoError(t, far.Refresh(t.Context()))
		made := near.copy.Load().made
		require.True(t, made.After(last), "%v after %v", made, last)
		require.True(t, made.Equal(far.copy.Load().made))
		last = made
	}
	require.Zero(t, near.Status().Back)
	require.Zero(t, far.Status().Back)
}

// TestOlderByMade: of versions with names that the Replica never had, those that were made earlier
// count as a step back. Equal, unknown and less exact times do not.
func TestOlderByMade(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(1e12 + int64(ms)) }
	for _, test := range []struct {
		made []time.Time
		back uint64
	}{
		{[]time.Time{at(1), at(2), at(3)}, 0},
		{[]time.Time{at(1), at(1)}, 0},
		{[]time.Time{at(2), at(1)}, 1},
		{[]time.Time{at(2), at(1), at(2), at(1)}, 2},
		{[]time.Time{{}, at(1), {}}, 0},
		{[]time.Time{at(2), {}, at(1)}, 1},
		{[]time.Time{at(1500), at(1000), at(1700)}, 0}, // a cache tells whole seconds
		{[]time.Time{at(1500), at(0)}, 1},
	} {
		for _, names := range []string{"", "v", "v, and only keys"} {
			i := -1
			r := New(script(func(string) (Update, error) {
				u := Update{Made: test.made[i]}
				if names != "" {
					u.Version = names + strconv.Itoa(i)
				}
				if i > 0 && names == "v, and only keys" {
					u.Added = []bloom.Hash{bloom.SumUint64(uint64(i))}
				} else {
					u.Full = filterOf(t, 1024, 5, strconv.Itoa(i))
				}
				return u, nil
			}), Config{})
			for i = range test.made {
				require.NoError(t, r.Refresh(t.Context()))
			}
			require.Equal(t, test.back, r.Status().Back, "%v, versions %q", test.made, names)
		}
	}
}
