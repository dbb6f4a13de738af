package replica

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// counter is a handler that counts answers by status.
type counter struct {
	http.Handler
	seen map[int]int
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.Handler.ServeHTTP(&statusWriter{w, c.seen}, r)
}

type statusWriter struct {
	http.ResponseWriter
	seen map[int]int
}

func (w *statusWriter) WriteHeader(status int) {
	w.seen[status]++
	w.ResponseWriter.WriteHeader(status)
}

func TestHTTPFollowsPublisher(t *testing.T) {
	ctx := context.Background()
	set, p := publish(bloom.Must(bloom.New(10_000, 0.01)))
	handler := &counter{p, make(map[int]int)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	defer server.Close()

	r := New(&HTTPSource{URL: server.URL}, Config{})
	require.NoError(t, r.Refresh(ctx))
	require.NoError(t, r.Refresh(ctx))
	assert.Equal(t, map[int]int{200: 1, 304: 1}, handler.seen)
	for i := range 10 {
		key := "key" + strconv.Itoa(i)
		set.AddString(key)
		assert.False(t, r.ContainsString(key))
		version := p.Publish()
		require.NoError(t, r.Refresh(ctx))
		assert.True(t, r.ContainsString(key))
		assert.Equal(t, version, r.Version())
	}
	assert.Equal(t, map[int]int{200: 1, 304: 1, 226: 10}, handler.seen)
	assert.True(t, r.Snapshot().Equal(set.Snapshot()))

	// A restarted server may have another filter.
	set, p = publish(filterOf(t, 640, 3, "after"))
	handler.Handler = p
	require.NoError(t, r.Refresh(ctx))
	assert.True(t, r.Snapshot().Equal(set.Snapshot()))

	server.Close()
	require.ErrorContains(t, r.Refresh(ctx), "replica: GET "+server.URL)
	assert.True(t, r.ContainsString("after"))
}

func TestHTTPFollowsPlainFile(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	save := func(key string) {
		data := bloom.Must(filterOf(t, 1024, 5, key).MarshalBinary())
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), data, 0o666))
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir))) // sends no ETag
	defer server.Close()
	r := New(&HTTPSource{URL: server.URL + "/f", Client: server.Client()}, Config{})
	for _, key := range []string{"a", "b"} {
		save(key)
		require.NoError(t, r.Refresh(ctx))
		assert.True(t, r.Snapshot().Equal(filterOf(t, 1024, 5, key)))
		assert.Empty(t, r.Version())
	}
}

func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, err := z.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return buf.Bytes()
}

// The replica has a filter of version "1" before the server gives these answers.
func TestHTTPAnswers(t *testing.T) {
	good := bloom.Must(filterOf(t, 1024, 5, "new").MarshalBinary())
	other := bloom.Must(filterOf(t, 2048, 5, "new").MarshalBinary())
	sealed := fileOf(t, filterOf(t, 1024, 5, "new"))
	require.Greater(t, len(sealed), len(good))
	info := bloom.Info{N: 100, P: 0.01, Comment: strings.Repeat("c", 4096), Hash: strings.Repeat("h", 255)}
	withInfo := filterOf(t, 1024, 5, "new")
	withInfo.SetInfo(info)
	told := fileOf(t, withInfo)
	brokenInfo := bytes.Clone(told)
	brokenInfo[len(good)+1000] ^= 1
	broken := bytes.Clone(sealed)
	broken[100] ^= 1
	badSum := zip(t, good)
	badSum[len(badSum)-5] ^= 1
	huge := append([]byte{1, 5, 0x0f, 0xff, 0xff, 0xff}, make([]byte, 1<<16)...) // the most words on 386

	old := filterOf(t, 1024, 5, "old")
	both := filterOf(t, 1024, 5, "old", "new")
	delta := bloom.Must(bloom.Diff(old, both))
	otherSize := bloom.Must(bloom.Diff(filterOf(t, 2048, 5), filterOf(t, 2048, 5, "new")))
	wrongBase := bloom.Must(bloom.Diff(filterOf(t, 1024, 5, "new"), both))

	type headers = map[string]string
	zipped := headers{"Content-Encoding": "gzip", "ETag": `"2"`}
	patch := headers{"ETag": `"2"`, "IM": deltaIM, "Delta-Base": `"1"`}
	packed := headers{"Content-Encoding": "gzip", "ETag": `"2"`, "IM": deltaIM, "Delta-Base": `"1"`}
	otherBase := headers{"ETag": `"2"`, "IM": deltaIM, "Delta-Base": `"0"`}
	for _, test := range []struct {
		name   string
		status int
		send   headers
		body   []byte
		err    string
	}{
		{"full", 200, headers{"ETag": `"2"`}, good, ""},
		{"full, gzipped", 200, zipped, zip(t, good), ""},
		{"full of other size", 200, headers{"ETag": `W/"2"`}, other, ""},
		{"file with a trailer", 200, headers{"ETag": `"2"`}, sealed, ""},
		{"file with an Info", 200, headers{"ETag": `"2"`}, told, ""},
		{"file with an Info, gzipped", 200, zipped, zip(t, told), ""},
		{"file with an Info, damaged", 200, headers{"ETag": `"2"`}, brokenInfo, "checksum of header and info"},
		{"file with an Info, longer", 200, headers{"ETag": `"2"`}, append(told[:len(told):len(told)], told...), "followed by"},
		{"file with a trailer, damaged", 200, headers{"ETag": `"2"`}, broken, "checksum is"},
		{"file with a trailer, cut", 200, headers{"ETag": `"2"`}, sealed[:len(sealed)-1], "followed by"},
		{"more than a filter", 200, headers{"ETag": `"2"`}, append(good[:len(good):len(good)], good...), "followed by"},
		{"cut", 200, nil, good[:len(good)-1], "truncated"},
		{"empty", 200, nil, nil, "it is empty"},
		{"a page", 200, nil, []byte("<html>sign in</html>"), "invalid format"},
		{"gzip cut", 200, zipped, zip(t, good)[:40], "EOF"},
		{"gzip with a bad checksum", 200, zipped, badSum, "checksum"},
		{"not gzip", 200, zipped, good, "gzip"},
		{"unknown encoding", 200, headers{"Content-Encoding": "br"}, good, `Content-Encoding "br"`},
		{"a gzip bomb", 200, zipped, zip(t, huge), "filter of 2147483646 bytes is above the limit of 1073741824"},
		{"a header that promises too much", 200, nil, huge, "filter of 2147483646 bytes is above the limit of 1073741824"},
		{"missing", 404, nil, []byte("not found"), "status 404"},
		{"broken", 500, nil, nil, "status 500"},
		{"delta", 226, patch, delta, ""},
		{"delta, gzipped by somebody", 226, packed, zip(t, delta), ""},
		{"delta of other size", 226, patch, otherSize, "filters differ in parameters: m = 1024"},
		{"delta of another filter", 226, patch, wrongBase, "was made from another filter"},
		{"delta cut", 226, patch, delta[:len(delta)-8], "invalid format"},
		{"delta that is a filter", 226, patch, good, "it seems to be a bloom.Filter, not a patch"},
		{"delta that is damaged", 226, patch, append([]byte("BLMP\x01\x00\x24\x00"), delta[9:]...), "invalid format"},
		{"delta bomb", 226, packed, zip(t, huge), "invalid format"},
		{"delta to another version", 226, otherBase, delta, `patch of version "0", not "1"`},
		{"delta of another kind", 226, headers{"ETag": `"2"`, "IM": "vcdiff", "Delta-Base": `"1"`}, good, "status 226"},
	} {
		t.Run(test.name, func(t *testing.T) {
			first := true
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if first {
					first = false
					w.Header().Set("ETag", `"1"`)
					_, _ = filterOf(t, 1024, 5, "old").WriteTo(w)
					return
				}
				if r.Header.Get("If-None-Match") != `"1"` {
					w.WriteHeader(http.StatusNotFound) // refuses the whole filter after a delta did not fit
					return
				}
				for name, value := range test.send {
					w.Header().Set(name, value)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write(test.body)
			}))
			defer server.Close()
			var errs []error
			r := New(&HTTPSource{URL: server.URL}, Config{OnError: func(err error) { errs = append(errs, err) }})
			require.NoError(t, r.Refresh(context.Background()))
			err := r.Refresh(context.Background())
			if test.err == "" {
				require.NoError(t, err)
				assert.True(t, r.ContainsString("new"))
				assert.Equal(t, "2", r.Version())
				assert.Equal(t, test.status == 226, r.ContainsString("old"))
				if strings.HasPrefix(test.name, "file with an Info") {
					assert.Equal(t, info, r.Snapshot().Info())
				}
				return
			}
			require.Error(t, err)
			require.ErrorContains(t, errs[0], test.err)
			require.ErrorContains(t, errs[0], "replica: ")
			assert.True(t, r.ContainsString("old"))
			assert.False(t, r.ContainsString("new"))
			assert.Equal(t, "1", r.Version())
		})
	}
}

// Something between a Publisher and a replica spoils the deltas, and only these. The request after
// the first failure gets the whole filter.
func TestHTTPRecoversFromBadDelta(t *testing.T) {
	spoil := func(change func(h http.Header, body []byte) []byte) func(http.ResponseWriter, *httptest.ResponseRecorder) {
		return func(w http.ResponseWriter, rec *httptest.ResponseRecorder) {
			body := change(rec.Header(), rec.Body.Bytes())
			for name := range rec.Header() {
				w.Header().Set(name, rec.Header().Get(name))
			}
			w.Header().Del("Content-Length")
			w.WriteHeader(rec.Code)
			_, _ = w.Write(body)
		}
	}
	other := bloom.Must(bloom.Diff(filterOf(t, 2048, 5), filterOf(t, 2048, 5, "new")))
	for _, test := range []struct {
		name   string
		fails  int // the number of refreshes that fail
		answer func(http.ResponseWriter, *httptest.ResponseRecorder)
	}{
		{"flipped", 1, spoil(func(_ http.Header, body []byte) []byte { body[len(body)-5] ^= 1; return body })},
		{"cut", 1, spoil(func(_ http.Header, body []byte) []byte { return body[:len(body)/2] })},
		{"no body", 1, spoil(func(http.Header, []byte) []byte { return nil })},
		{"another base", 0, spoil(func(h http.Header, body []byte) []byte { h.Set("Delta-Base", `"x"`); return body })},
		{"another size", 0, spoil(func(http.Header, []byte) []byte { return other })},
		{"another kind", 1, spoil(func(h http.Header, body []byte) []byte { h.Set("IM", "vcdiff"); return body })},
		{"broken off", 1, func(w http.ResponseWriter, rec *httptest.ResponseRecorder) {
			for name := range rec.Header() {
				w.Header().Set(name, rec.Header().Get(name))
			}
			w.Header().Set("Content-Length", strconv.Itoa(rec.Body.Len()))
			w.WriteHeader(rec.Code)
			_, _ = w.Write(rec.Body.Bytes()[:20])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}},
		{"not answered", plainAfter, func(http.ResponseWriter, *httptest.ResponseRecorder) { panic(http.ErrAbortHandler) }},
		{"refused", plainAfter, func(w http.ResponseWriter, _ *httptest.ResponseRecorder) { w.WriteHeader(http.StatusBadGateway) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := context.Background()
			set, p := publish(filterOf(t, 1024, 5))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.Header.Get("A-IM") == "" {
					p.ServeHTTP(w, req)
					return
				}
				rec := httptest.NewRecorder()
				p.ServeHTTP(rec, req)
				if rec.Code == http.StatusIMUsed {
					test.answer(w, rec)
				}
			}))
			defer server.Close()
			r := New(&HTTPSource{URL: server.URL}, Config{})
			require.NoError(t, r.Refresh(ctx))
			for _, key := range []string{"a", "b"} {
				set.AddString(key)
				version := p.Publish()
				for range test.fails {
					require.Error(t, r.Refresh(ctx))
				}
				require.NoError(t, r.Refresh(ctx))
				assert.True(t, r.ContainsString(key))
				assert.Equal(t, version, r.Version())
			}
		})
	}
}

// The replica notices a single bit that changes on the way, for every form of an answer.
func TestHTTPNoticesDamage(t *testing.T) {
	ctx := context.Background()
	for _, encoding := range []string{"identity", "gzip"} {
		set, p := publish(filterOf(t, 1024, 5, "a"))
		rec := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header.Set("Accept-Encoding", encoding)
		p.ServeHTTP(rec, req)
		body := rec.Body.Bytes()
		damaged := bytes.Clone(body)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Encoding", rec.Header().Get("Content-Encoding"))
			_, _ = w.Write(damaged)
		}))
		r := New(&HTTPSource{URL: server.URL}, Config{})
		require.NoError(t, r.Refresh(ctx))
		for i := range 8 * len(body) {
			damaged[i/8] ^= 1 << (i % 8)
			u, err := (&HTTPSource{URL: server.URL}).Fetch(ctx, "")
			damaged[i/8] ^= 1 << (i % 8)
			if err == nil { // some bits of gzip have no meaning
				require.True(t, encoding == "gzip" && u.Full.Equal(set.Snapshot()), "%s, bit %d", encoding, i)
			}
		}
		server.Close()
	}
}

func TestHTTPLimit(t *testing.T) {
	f := filterOf(t, 1024, 5, "a")
	_, p := publish(f)
	server := httptest.NewServer(p)
	defer server.Close()
	for _, test := range []struct {
		limit int64
		err   string
	}{
		{6 + 128, ""},
		{6 + 127, "replica: GET " + server.URL + ": transfer failed: filter of 134 bytes is above the limit of 133"},
	} {
		u, err := (&HTTPSource{URL: server.URL, Limit: test.limit}).Fetch(context.Background(), "")
		if test.err == "" {
			require.NoError(t, err)
			assert.True(t, u.Full.Equal(f))
			continue
		}
		require.EqualError(t, err, test.err)
	}
}

func TestHTTPKeepsNoLargeTag(t *testing.T) {
	tag := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("ETag", tag)
		_, _ = filterOf(t, 64, 1).WriteTo(w)
		assert.LessOrEqual(t, len(req.Header.Get("If-None-Match")), maxTag)
	}))
	defer server.Close()
	r := New(&HTTPSource{URL: server.URL}, Config{})
	for _, test := range []struct{ length, want int }{{maxTag, maxTag - 2}, {maxTag + 1, 0}, {9 << 20, 0}, {10, 8}} {
		tag = `"` + strings.Repeat("x", test.length-2) + `"`
		require.NoError(t, r.Refresh(context.Background()))
		assert.Len(t, r.Version(), test.want)
	}
}

// A Replica keeps its last error. So errors are short, whatever the server sends.
func TestHTTPErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, head := range []string{
		"HTTP/1.1 500 " + long,
		"HTTP/1.1 226 " + long + "\r\nIM: " + long,
		"HTTP/1.1 200 OK\r\nContent-Encoding: " + long,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if assert.NoError(t, err) {
				_, _ = io.WriteString(conn, head+"\r\n\r\n")
				conn.Close()
			}
		}))
		_, err := (&HTTPSource{URL: server.URL}).Fetch(context.Background(), "")
		server.Close()
		require.Error(t, err)
		assert.Less(t, len(err.Error()), 200)
	}
}

func TestHTTPHeedsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel(); <-hang }))
	defer server.Close()
	defer close(hang)
	r := New(&HTTPSource{URL: server.URL}, Config{OnError: func(error) { t.Error("reported") }})
	require.ErrorIs(t, r.Refresh(ctx), context.Canceled)
	require.Equal(t, 5*time.Minute, defaultClient.Timeout)
	_, err := (&HTTPSource{URL: "%"}).Fetch(ctx, "")
	require.ErrorContains(t, err, "replica: GET %: ")
}

func TestPath(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "f")
	save := func(f *bloom.Filter) { require.NoError(t, f.SaveFile(path)) }
	src := &FileSource{Path: path}
	r := New(src, Config{})
	require.ErrorIs(t, r.Refresh(ctx), os.ErrNotExist)
	assert.True(t, r.ContainsString("anything"))

	save(filterOf(t, 1024, 5, "a"))
	require.NoError(t, r.Refresh(ctx))
	assert.True(t, r.Snapshot().Equal(filterOf(t, 1024, 5, "a")))
	u, err := src.Fetch(ctx, r.Version())
	require.NoError(t, err)
	assert.Equal(t, Update{Version: r.Version()}, u)

	// Another file has the same size and the same time.
	info := bloom.Must(os.Stat(path))
	save(filterOf(t, 1024, 5, "b"))
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	require.NoError(t, r.Refresh(ctx))
	assert.True(t, r.Snapshot().Equal(filterOf(t, 1024, 5, "b")))

	require.NoError(t, os.WriteFile(path, []byte("no filter"), 0o666))
	require.ErrorIs(t, r.Refresh(ctx), bloom.ErrFormat)
	assert.True(t, r.ContainsString("b"))
	for i := range 2 { // a file of Java has no checksum, so its time makes the version
		f := filterOf(t, 1024, 1)
		f.AddHash(bloom.NewHash(uint64(i), 0))
		require.NoError(t, os.WriteFile(path, bloom.Must(f.MarshalBinary()), 0o666))
		require.NoError(t, os.Chtimes(path, time.Time{}, info.ModTime().Add(time.Duration(i)*time.Hour)))
		require.NoError(t, r.Refresh(ctx))
		require.True(t, r.Snapshot().Equal(f))
	}

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = src.Fetch(cancelled, "")
	require.ErrorIs(t, err, context.Canceled)
}

// TestPathReplacedWhileLoaded: a file is replaced while the old one is loaded. The next refresh
// loads the new file.
func TestPathReplacedWhileLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	first, second := filterOf(t, 1024, 5, "a"), filterOf(t, 1024, 5, "b")
	require.NoError(t, first.SaveFile(path))
	src := &FileSource{Path: path}
	u, err := src.fetch("", func(path string) (*bloom.Filter, error) {
		f, err := bloom.LoadFile(path)
		require.NoError(t, second.SaveFile(path))
		return f, err
	})
	require.NoError(t, err)
	require.True(t, u.Full.Equal(first))
	u, err = src.Fetch(context.Background(), u.Version)
	require.NoError(t, err)
	require.NotNil(t, u.Full, "its version names the file that was not loaded")
	require.True(t, u.Full.Equal(second))
}

// For any answer of a server, the result is a whole filter, a patch or an error.
func FuzzBody(f *testing.F) {
	small := filterOf(f, 128, 5, "a")
	good := bloom.Must(small.MarshalBinary())
	patch := bloom.Must(bloom.Diff(small, filterOf(f, 128, 5, "b")))
	f.Add(good, false, false)
	f.Add(patch, false, true)
	f.Add(zip(f, good), true, false)
	f.Add(zip(f, patch), true, true)
	f.Add(append(good, "bloom\x01abcd"...), false, false)
	const limit = 1 << 20
	f.Fuzz(func(t *testing.T, data []byte, packed, delta bool) {
		resp := &http.Response{Header: make(http.Header), Body: io.NopCloser(bytes.NewReader(data))}
		if packed {
			resp.Header.Set("Content-Encoding", "gzip")
		}
		if delta {
			got, err := readPatch(resp, limit)
			if err == nil {
				require.LessOrEqual(t, len(got), limit)
				require.NotErrorIs(t, small.Clone().Patch(got), bloom.ErrFormat)
			}
			return
		}
		g, err := readFilter(resp, limit)
		if err != nil {
			require.Nil(t, g)
			return
		}
		again := bloom.Must(g.MarshalBinary())
		require.LessOrEqual(t, len(again), limit)
		if !packed {
			require.True(t, bytes.HasPrefix(data, again), "other bytes than those that were sent")
		}
	})
}

// TestHTTPTriesBothWays: while all transfers are damaged, every second request asks for plain
// bytes.
func TestHTTPTriesBothWays(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, req.Header.Get("Accept-Encoding"))
		_, _ = w.Write([]byte("no filter"))
	}))
	defer server.Close()
	src := &HTTPSource{URL: server.URL}
	for range 6 {
		_, err := src.Fetch(context.Background(), "")
		require.ErrorIs(t, err, bloom.ErrFormat)
	}
	require.Equal(t, []string{"gzip", "identity", "gzip", "identity", "gzip", "identity"}, asked)
}

// TestHTTPUnchangedWithoutTag: after an answer of 304 without an ETag, the replica keeps its
// version.
func TestHTTPUnchangedWithoutTag(t *testing.T) {
	var asked [][2]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, [2]string{req.Header.Get("If-None-Match"), req.Header.Get("A-IM")})
		if len(asked) > 1 {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"a"`)
		_, _ = filterOf(t, 64, 1).WriteTo(w)
	}))
	defer server.Close()
	r := New(&HTTPSource{URL: server.URL}, Config{})
	for range 3 {
		require.NoError(t, r.Refresh(context.Background()))
	}
	u, err := r.src.Fetch(context.Background(), "another's")
	require.Equal(t, Update{Version: "another's"}, u)
	require.NoError(t, err)
	require.Equal(t, [][2]string{{"", ""}, {`"a"`, deltaIM}, {`"a"`, deltaIM}, {`"another's"`, deltaIM}}, asked)
	_, err = r.src.Fetch(context.Background(), "")
	require.ErrorContains(t, err, "status 304", "there is nothing that could be unchanged")
}

// TestHTTPClosesConnections: if an answer is refused before its end, its connection is closed.
func TestHTTPClosesConnections(t *testing.T) {
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(make([]byte, 1<<20))
	}))
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if open[c] = true; state == http.StateClosed {
			delete(open, c)
		}
	}
	server.Start()
	defer server.Close()
	r := New(&HTTPSource{URL: server.URL}, Config{OnError: func(error) {}})
	for range 20 {
		require.ErrorContains(t, r.Refresh(context.Background()), "status 503")
	}
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(open) <= 2
	}, 10*time.Second, time.Millisecond)
}

// zeros yields n zero bytes. n goes down with each read.
type zeros struct{ n int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.n)
	clear(p[:n])
	z.n -= n
	return n, nil
}

// TestHTTPEndlessTrailer: behind a filter, only as many bytes are read as a trailer can have.
func TestHTTPEndlessTrailer(t *testing.T) {
	const endless = 8 << 20
	good := bloom.Must(filterOf(t, 1024, 5).MarshalBinary())
	for _, encoding := range []string{"identity", "gzip"} {
		rest := &zeros{endless}
		body := io.MultiReader(bytes.NewReader(good), rest)
		if encoding == "gzip" {
			body = bytes.NewReader(zip(t, bloom.Must(io.ReadAll(body))))
		}
		resp := &http.Response{Header: http.Header{"Content-Encoding": {encoding}}, Body: io.NopCloser(body)}
		var err error
		memory := filtertest.Allocated(func() { _, err = readFilter(resp, 1<<20) })
		require.ErrorContains(t, err, "followed by", encoding)
		require.Less(t, memory, uint64(1<<20), encoding)
		if encoding == "identity" {
			require.Greater(t, rest.n, endless-64<<10)
		}
	}
}
