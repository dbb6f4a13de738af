package replica

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

func TestPublisherDeltas(t *testing.T) {
	ctx := context.Background()
	for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		f := bloom.Must(bloom.NewWithStrategy(s, 10_000, 0.01))
		p := NewPublisher(f.Clone())
		versions := []string{p.current.Load().version}
		copies := []*bloom.Filter{p.filter().Clone()}
		for i := range history + 3 {
			assert.True(t, p.AddString("key"+strconv.Itoa(i)))
			assert.False(t, p.AddString("key"+strconv.Itoa(i)))
			versions = append(versions, p.Publish())
			copies = append(copies, p.filter().Clone())
		}
		last := len(versions) - 1
		assert.Equal(t, versions[last], p.Publish(), "nothing new")
		p.AddString("unpublished")
		for i, have := range versions {
			u, err := p.Fetch(ctx, have)
			require.NoError(t, err)
			assert.Equal(t, versions[last], u.Version)
			switch {
			case i == last:
				assert.Nil(t, u.Full)
				assert.Nil(t, u.Delta)
				continue
			case i < last-history:
				assert.Nil(t, u.Delta)
				require.NotNil(t, u.Full)
				assert.True(t, u.Full.Equal(copies[last]))
				continue
			}
			assert.Nil(t, u.Full)
			require.NotNil(t, u.Delta)
			assert.LessOrEqual(t, u.Delta.OnesCount(), uint64(f.K()*(last-i)))
			require.NoError(t, copies[i].Merge(u.Delta))
			assert.True(t, copies[i].Equal(copies[last]))
		}
	}
}

func TestPublisherForgetsLargeDeltas(t *testing.T) {
	p := NewPublisher(filterOf(t, 64*16*8, 1)) // as large as 64 hashes
	first := p.Publish()
	add := func(from, n int) string {
		for i := range n {
			p.AddHash(bloom.NewHash(uint64(from+i), 0)) // one bit each
		}
		assert.LessOrEqual(t, len(p.pending), 64)
		return p.Publish()
	}
	isDelta := func(have string) bool {
		u, err := p.Fetch(context.Background(), have)
		require.NoError(t, err)
		return u.Delta != nil
	}
	second := add(0, 40)
	assert.True(t, isDelta(first))
	third := add(100, 24)
	assert.True(t, isDelta(first))
	fourth := add(200, 1)
	assert.False(t, isDelta(first))
	assert.True(t, isDelta(second))
	add(300, 65)
	for _, v := range []string{first, second, third, fourth} {
		assert.False(t, isDelta(v))
	}
	sixth := add(400, 1)
	seventh := add(500, 60)
	add(600, 60)
	assert.False(t, isDelta(sixth))
	assert.True(t, isDelta(seventh))
}

// A version after a removal is one full filter to every replica; before and
// after it versions are deltas.
func TestCountingPublisher(t *testing.T) {
	ctx := context.Background()
	set := bloom.Must(counting.New(1000, 0.01))
	p := NewCountingPublisher(set)
	server := httptest.NewServer(p)
	defer server.Close()
	near, far := New(p, Config{}), New(&HTTPSource{URL: server.URL}, Config{})
	refresh := func() {
		t.Helper()
		p.Publish()
		for _, r := range []*Replica{near, far} {
			require.NoError(t, r.Refresh(ctx))
			assert.True(t, r.Snapshot().Equal(p.c.Snapshot()))
		}
	}
	isDelta := func(have string) bool {
		u, err := p.Fetch(ctx, have)
		require.NoError(t, err)
		return u.Delta != nil
	}
	refresh()
	for round := range 3 {
		first := p.Publish()
		for i := range 20 {
			assert.True(t, p.AddString(strconv.Itoa(20*round+i)))
			refresh()
			assert.Equal(t, i < history, isDelta(first))
		}
		last := p.Publish()
		assert.False(t, p.RemoveString("never added"))
		assert.Equal(t, last, p.Publish(), "nothing new")
		assert.True(t, p.Remove([]byte(strconv.Itoa(20*round))))
		p.AddString("with it")
		refresh()
		assert.False(t, isDelta(last))
		assert.False(t, far.ContainsString(strconv.Itoa(20*round)))
	}
}

func TestPublishersDoNotShareVersions(t *testing.T) {
	a, b := NewPublisher(filterOf(t, 64, 1)), NewPublisher(filterOf(t, 64, 1))
	assert.NotEqual(t, a.Publish(), b.Publish())
}

// TestMistakes are told at once, and not by a nil pointer later.
func TestMistakes(t *testing.T) {
	const zero = "replica: use of a zero Publisher: make it with NewPublisher"
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // a Refresh that does not panic should not wait for ever
	for _, test := range []struct {
		want string
		do   func()
	}{
		{"replica: Publisher of a zero Filter", func() { NewPublisher(new(bloom.Filter)) }},
		{"replica: Publisher of a zero Filter", func() { NewCountingPublisher(new(counting.Filter)) }},
		{"replica: Publisher of a nil Filter", func() { NewPublisher(nil) }},
		{"replica: Publisher of a nil Filter", func() { NewCountingPublisher(nil) }},
		{zero, func() { new(Publisher).AddString("a") }},
		{zero, func() { new(Publisher).Publish() }},
		{zero, func() { new(Publisher).Stats() }},
		{zero, func() { new(Publisher).Snapshot() }},
		{zero, func() { new(CountingPublisher).Snapshot() }},
		{zero, func() { new(CountingPublisher).Counting() }},
		{zero, func() { new(CountingPublisher).RemoveString("a") }},
		{zero, func() { _, _ = new(Publisher).Fetch(ctx, "") }},
		{zero, func() { new(Publisher).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) }},
		{"replica: New without a Source", func() { New(nil, Config{}) }},
		{"replica: Refresh of a zero Replica: make it with New", func() { _ = new(Replica).Refresh(ctx) }},
	} {
		assert.PanicsWithValue(t, test.want, test.do)
	}
}

// TestString: what is logged is a line that needs no lock, and names no keys.
func TestString(t *testing.T) {
	p, c := NewPublisher(filterOf(t, 64, 1)), NewCountingPublisher(bloom.Must(counting.New(10, 0.01)))
	r := New(p, Config{})
	assert.Equal(t, "replica.Replica(nothing loaded)", fmt.Sprint(r))
	require.NoError(t, r.Refresh(context.Background()))
	assert.Equal(t, fmt.Sprintf("replica.Replica(version %q, 14 bytes)", p.Publish()), fmt.Sprint(r))
	assert.Equal(t, "replica.Publisher(version "+p.Publish()+", 14 bytes)", fmt.Sprint(p))
	assert.Equal(t, "replica.CountingPublisher(version "+c.Publish()+", 22 bytes)", fmt.Sprint(c))
	assert.Equal(t, "replica.Publisher(zero)", fmt.Sprint(new(Publisher)))
}

// TestInfo: a replica in the same process has the filter's Info, as one over HTTP has.
func TestInfo(t *testing.T) {
	f, c := bloom.Must(bloom.New(10, 0.01)), bloom.Must(counting.New(10, 0.01))
	f.SetInfo(bloom.Info{N: 10, P: 0.01, Hash: "SumString"})
	c.SetInfo(f.Info())
	published, counted := NewPublisher(f), NewCountingPublisher(c)
	server := httptest.NewServer(published)
	defer server.Close()
	for _, src := range []Source{published, counted, &HTTPSource{URL: server.URL}} {
		r := New(src, Config{})
		require.Zero(t, r.Info())
		require.NoError(t, r.Refresh(context.Background()))
		require.Equal(t, f.Info(), r.Info())
		require.Equal(t, f.Info(), r.Snapshot().Info())
		published.AddString("a delta brings none")
		counted.AddString("a delta brings none")
		published.Publish()
		counted.Publish()
		require.NoError(t, r.Refresh(context.Background()))
		require.True(t, r.ContainsString("a delta brings none"))
		require.Equal(t, f.Info(), r.Info())
	}
	for _, snapshot := range []*bloom.Filter{published.Snapshot(), counted.Snapshot()} {
		require.Equal(t, f.Info(), snapshot.Info())
		require.True(t, snapshot.ContainsString("a delta brings none"))
	}
	require.False(t, f.ContainsString("a delta brings none"), "the Publisher has a copy")
	require.False(t, c.ContainsString("a delta brings none"), "the CountingPublisher has a copy")
	own := counted.Counting()
	for own.RemoveString("a delta brings none") {
		published.Snapshot().AddString("to a copy")
	}
	require.True(t, counted.Snapshot().ContainsString("a delta brings none"))
	require.False(t, published.Snapshot().ContainsString("to a copy"))
}

// TestAddBatch: each of a batch is new once, and reaches replicas.
func TestAddBatch(t *testing.T) {
	p := NewPublisher(filterOf(t, 6400, 3))
	r := New(p, Config{})
	require.NoError(t, r.Refresh(context.Background()))
	hs := []bloom.Hash{bloom.SumString("a"), bloom.SumString("b"), bloom.SumString("a")}
	require.Equal(t, []bool{true, true, false}, filtertest.Added(p, hs))
	p.Publish()
	require.NoError(t, r.Refresh(context.Background()))
	require.Equal(t, []bool{true, true}, filtertest.Found(r, hs[:2]))
	require.Panics(t, func() { new(CountingPublisher).AddBatch(nil, hs) })
}

// fileOf returns the content of a file of f.
func fileOf(t *testing.T, f *bloom.Filter) []byte {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, f.SaveFile(path))
	return bloom.Must(os.ReadFile(path))
}

func TestServeHTTP(t *testing.T) {
	f := bloom.Must(bloom.New(10_000, 0.01))
	f.AddString("before")
	p := NewPublisher(f.Clone())
	old := p.Publish()
	p.AddString("new")
	version := p.Publish()
	strong, weak := `"`+version+`"`, `W/"`+version+`"`
	full, part := fileOf(t, p.filter()), bloom.Must(filterOf(t, f.M(), f.K(), "new").MarshalBinary())

	type headers = map[string]string
	for _, test := range []struct {
		name   string
		method string
		send   headers
		status int
		want   headers
		body   []byte
	}{
		{"plain", "GET", nil, 200, headers{"ETag": weak, "Content-Encoding": "", "Content-Length": strconv.Itoa(len(full))}, full},
		{"head", "HEAD", nil, 200, headers{"ETag": weak, "Content-Length": strconv.Itoa(len(full))}, nil},
		{"gzip", "GET", headers{"Accept-Encoding": "br, gzip;q=0.5"}, 200, headers{"ETag": weak, "Content-Encoding": "gzip"}, full},
		{"gzip refused", "GET", headers{"Accept-Encoding": "gzip;q=0"}, 200, headers{"ETag": weak, "Content-Encoding": ""}, full},
		{"unchanged", "GET", headers{"If-None-Match": strong}, 304, headers{"ETag": weak}, nil},
		{"unchanged, of several", "GET", headers{"If-None-Match": `"another", ` + strong + `, W/"third"`}, 304, headers{"ETag": weak}, nil},
		{"unchanged, weak", "GET", headers{"If-None-Match": `"other", ` + weak}, 304, nil, nil},
		{"unchanged, any", "GET", headers{"If-None-Match": "*"}, 304, nil, nil},
		{"old, without A-IM", "GET", headers{"If-None-Match": `"` + old + `"`, "Accept-Encoding": "gzip"}, 200, headers{"IM": ""}, full},
		{"old, without gzip", "GET", headers{"If-None-Match": `"` + old + `"`, "A-IM": deltaIM}, 200, headers{"IM": ""}, full},
		{"delta", "GET", headers{"If-None-Match": `W/"` + old + `"`, "A-IM": "vcdiff, " + deltaIM, "Accept-Encoding": "gzip"}, 226,
			headers{"IM": deltaIM, "Delta-Base": `"` + old + `"`, "ETag": weak, "Cache-Control": "no-store", "Content-Encoding": "gzip"}, part},
		{"delta to an unknown version", "GET", headers{"If-None-Match": `"x"`, "A-IM": deltaIM, "Accept-Encoding": "gzip"}, 200, headers{"IM": ""}, full},
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
				assert.Equal(t, test.status != 304, rec.Header().Get("Content-Type") == "application/octet-stream")
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

// TestPublishersAtOnce has all methods run at once. A copy that is refreshed in the end has each key.
func TestPublishersAtOnce(t *testing.T) {
	const goroutines, each = 4, 50
	p := NewPublisher(bloom.Must(bloom.New(1000, 1e-6)))
	c := NewCountingPublisher(bloom.Must(counting.New(1000, 1e-6)))
	filtertest.AtOnce(goroutines, func(own int) {
		r, rc := New(p, Config{}), New(c, Config{})
		for i := range each {
			key := fmt.Sprint(own, i)
			p.Add([]byte(key))
			c.AddString(key)
			c.AddString("not " + key)
			assert.True(t, c.RemoveString("not "+key))
			p.Publish()
			c.Publish()
			_, _, _, _ = p.Stats(), c.Stats(), p.Snapshot(), c.Counting()
			p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
			assert.NoError(t, r.Refresh(context.Background()))
			assert.NoError(t, rc.Refresh(context.Background()))
			assert.True(t, r.ContainsString(key) && rc.ContainsString(key))
			assert.NoError(t, r.Status().Err)
		}
	})
	for own := range goroutines {
		for i := range each {
			assert.True(t, p.Snapshot().ContainsString(fmt.Sprint(own, i)) && c.Snapshot().ContainsString(fmt.Sprint(own, i)))
		}
	}
	assert.InDelta(t, goroutines*each, c.Stats().ApproxCount, 10)
}

// slowWriter is a ResponseWriter whose second Write waits.
type slowWriter struct {
	*httptest.ResponseRecorder
	writes  int
	blocked chan struct{} // closed when it waits
	release chan struct{}
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if w.writes++; w.writes == 2 {
		close(w.blocked)
		<-w.release
	}
	return w.ResponseRecorder.Write(p)
}

// filterOfFill8th returns a filter of size bytes of bits, an eighth of them set:
// few enough for gzip, and too many for it to make them very small.
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

// Many clients stop reading, each in an answer of another version. They must
// not keep as many versions in memory, and what they get in the end must be whole.
func TestSlowClientsPinNothing(t *testing.T) {
	const clients, size = 24, 1 << 20 // the first are further behind than history
	p := NewPublisher(filterOfFill8th(t, size))
	release := make(chan struct{})
	type client struct {
		slowWriter
		version string
		delta   bool
	}
	var done sync.WaitGroup
	before := heap()
	all := make([]*client, clients)
	for i := range all {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		if i%3 > 0 {
			req.Header.Set("Accept-Encoding", "gzip")
		}
		if i%3 == 2 {
			req.Header.Set("A-IM", deltaIM)
			req.Header.Set("If-None-Match", p.Publish())
		}
		p.AddString(strconv.Itoa(i))
		p.AddString("and " + strconv.Itoa(i))
		c := &client{slowWriter{httptest.NewRecorder(), 0, make(chan struct{}), release}, p.Publish(), i%3 == 2}
		all[i] = c
		done.Add(1)
		go func() {
			defer done.Done()
			p.ServeHTTP(c, req)
		}()
		<-c.blocked
	}
	// The last version, also packed, what packs it, the recorders and a piece for each.
	assert.Less(t, heap()-before, 3*size+clients*2*pieceSize)
	close(release)
	done.Wait()
	for _, send := range []func(io.Writer) error{ // to a client that went away
		func(w io.Writer) error { return p.send(w, size, false) }, func(w io.Writer) error { return p.sendDelta(w, "", size) },
	} {
		require.ErrorIs(t, send(&filtertest.LimitedWriter{Err: io.ErrClosedPipe}), io.ErrClosedPipe)
	}
	for i := range all {
		c := all[i]
		resp := c.Result()
		f, err := readBody(resp, nil, size+6)
		require.NoError(t, err, i)
		assert.Equal(t, c.version, untag(resp.Header.Get("ETag")))
		assert.Equal(t, c.delta, resp.StatusCode == http.StatusIMUsed)
		from := 0
		if c.delta {
			from = i
		}
		for j := from; j <= i; j++ {
			assert.True(t, f.ContainsString(strconv.Itoa(j)) && f.ContainsString("and "+strconv.Itoa(j)), "key %d for client %d", j, i)
		}
		assert.NoError(t, f.Merge(p.filter()))
		assert.True(t, f.Equal(p.filter()), "bits from nowhere")
	}
}

// Sixteen clients ask for sixteen deltas at once.
func TestDeltasTakeLittleMemory(t *testing.T) {
	const size = 4 << 20
	p := NewPublisher(filterOf(t, size*8, 7))
	versions := []string{p.Publish()}
	for i := range history {
		p.AddString(strconv.Itoa(i))
		versions = append(versions, p.Publish())
	}
	taken := filtertest.Allocated(func() { filtertest.AtOnce(history, func(i int) { delta(t, p, versions[i]) }) })
	assert.Less(t, taken, uint64(8*size))
}

// delta returns what p sends a client that has version.
func delta(t *testing.T, p *Publisher, version string) *bytes.Buffer {
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	req.Header.Set("A-IM", deltaIM)
	req.Header.Set("If-None-Match", version)
	rec := httptest.NewRecorder()
	p.ServeHTTP(rec, req)
	assert.Equal(t, http.StatusIMUsed, rec.Code)
	return rec.Body
}

// What the package comment says of traffic.
func TestSizeOfDelta(t *testing.T) {
	p := NewPublisher(bloom.Must(bloom.New(1e6, 0.01)))
	version := p.Publish()
	for i := range uint64(1000) {
		p.AddHash(bloom.SumUint64(i))
	}
	p.Publish()
	assert.InEpsilon(t, 24_000, delta(t, p, version).Len(), 0.1)
}

func TestFullFilterIsNotGzipped(t *testing.T) {
	f := bloom.Must(bloom.New(1000, 0.01))
	for i := range uint64(1000) {
		f.AddHash(bloom.SumUint64(i))
	}
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	rec := httptest.NewRecorder()
	NewPublisher(f).ServeHTTP(rec, req)
	assert.Empty(t, rec.Header().Get("Content-Encoding"))
}
