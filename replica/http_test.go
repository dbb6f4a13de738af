package replica

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/publish"
	"github.com/seed79a3ff49/bloom/internal/unkind"
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
	set, p := published(bloom.Must(bloom.New(10_000, 0.01)))
	handler := &counter{p, make(map[int]int)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
	}))
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
	set, p = published(filterOf(t, 640, 3, "after"))
	handler.Handler = p
	require.NoError(t, r.Refresh(ctx))
	assert.True(t, r.Snapshot().Equal(set.Snapshot()))

	server.Close()
	require.ErrorContains(t, r.Refresh(ctx), "replica: GET "+server.URL)
	assert.True(t, r.ContainsString("after"))
}

// TestHTTPLargePatches: patches of more than 64 KiB come one after the other, without a whole filter
// in between.
func TestHTTPLargePatches(t *testing.T) {
	set, p := published(bloom.Must(bloom.NewSize(8<<20, 5)))
	handler := &counter{p, make(map[int]int)}
	server := httptest.NewServer(handler)
	defer server.Close()
	var warned []error
	r := New(&HTTPSource{URL: server.URL}, Config{OnError: func(err error) { warned = append(warned, err) }})
	require.NoError(t, r.Refresh(t.Context()))
	before := set.Snapshot()
	for i := range uint64(4) {
		for j := range uint64(15_000) {
			set.AddHash(bloom.SumUint64(i<<32 | j))
		}
		now := set.Snapshot()
		require.Greater(t, len(bloom.Must(bloom.Diff(before, now))), 64<<10)
		before = now
		p.Publish()
		require.NoError(t, r.Refresh(t.Context()))
		require.True(t, r.Snapshot().Equal(now))
	}
	require.Empty(t, warned)
	require.Equal(t, map[int]int{200: 1, 226: 4}, handler.seen)
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

func zip(t testing.TB, data []byte) []byte { return zipOf(t, bytes.NewReader(data)) }

// The replica has a filter of version "1" before the server gives these answers.
func TestHTTPAnswers(t *testing.T) {
	good := bloom.Must(filterOf(t, 1024, 5, "new").MarshalBinary())
	other := bloom.Must(filterOf(t, 2048, 5, "new").MarshalBinary())
	sealed := fileOf(t, filterOf(t, 1024, 5, "new"))
	require.Greater(t, len(sealed), len(good))
	info := bloom.Info{N: 100, P: 0.01, Comment: strings.Repeat("c", 4096),
		Hash: strings.Repeat("h", 255)}
	withInfo := filterOf(t, 1024, 5, "new")
	withInfo.UpdateInfo(func(i *bloom.Info) { *i = info })
	told := fileOf(t, withInfo)
	brokenInfo := bytes.Clone(told)
	brokenInfo[len(good)+1000] ^= 1
	broken := bytes.Clone(sealed)
	broken[100] ^= 1
	badSum := zip(t, good)
	badSum[len(badSum)-5] ^= 1
	// the most words on 386
	huge := append([]byte{1, 5, 0x0f, 0xff, 0xff, 0xff}, make([]byte, 1<<16)...)

	old := filterOf(t, 1024, 5, "old")
	both := filterOf(t, 1024, 5, "old", "new")
	delta := bloom.Must(bloom.Diff(old, both))
	otherSize := bloom.Must(bloom.Diff(filterOf(t, 2048, 5), filterOf(t, 2048, 5, "new")))
	wrongBase := bloom.Must(bloom.Diff(filterOf(t, 1024, 5, "new"), both))

	type headers = map[string]string
	zipped := headers{"Content-Encoding": "gzip", "ETag": `"2"`}
	patch := headers{"ETag": `"2"`, "IM": publish.DeltaIM, "Delta-Base": `"1"`}
	packed := headers{"Content-Encoding": "gzip", "ETag": `"2"`, "IM": publish.DeltaIM,
		"Delta-Base": `"1"`}
	otherBase := headers{"ETag": `"2"`, "IM": publish.DeltaIM, "Delta-Base": `"0"`}
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
		{"file with an Info, damaged", 200, headers{"ETag": `"2"`}, brokenInfo,
			"checksum of header and info"},
		{"file with an Info, longer", 200, headers{"ETag": `"2"`},
			append(told[:len(told):len(told)], told...), "followed by"},
		{"file with a trailer, damaged", 200, headers{"ETag": `"2"`}, broken, "checksum is"},
		{"file with a trailer, cut", 200, headers{"ETag": `"2"`}, sealed[:len(sealed)-1], "followed by"},
		{"more than a filter", 200, headers{"ETag": `"2"`},
			append(good[:len(good):len(good)], good...), "followed by"},
		{"cut", 200, nil, good[:len(good)-1], "truncated"},
		{"empty", 200, nil, nil, "it is empty"},
		{"a page", 200, nil, []byte("<html>sign in</html>"), "invalid format"},
		{"gzip cut", 200, zipped, zip(t, good)[:40], "EOF"},
		{"gzip with a bad checksum", 200, zipped, badSum, "checksum"},
		{"gzip with padding", 200, zipped, append(zip(t, good), make([]byte, 512)...), ""},
		{"file with an Info, gzipped, with padding", 200, zipped, append(zip(t, told), 0), ""},
		{"gzip with text behind", 200, zipped, append(zip(t, good), "text"...),
			"4 bytes follow its gzip data"},
		{"not gzip", 200, zipped, good, "gzip"},
		{"unknown encoding", 200, headers{"Content-Encoding": "br"}, good, `Content-Encoding "br"`},
		{"a gzip bomb", 200, zipped, zip(t, huge),
			"filter of 2147483646 bytes is longer than the limit of 1073741824"},
		{"a header that promises too much", 200, nil, huge,
			"filter of 2147483646 bytes is longer than the limit of 1073741824"},
		{"missing", 404, nil, []byte("not found"), "status 404"},
		{"broken", 500, nil, nil, "status 500"},
		{"delta", 226, patch, delta, ""},
		{"delta, gzipped by somebody", 226, packed, zip(t, delta), `status 226, Content-Encoding "gzip"`},
		{"delta of other size", 226, patch, otherSize, "filters differ in parameters: m = 1024"},
		{"delta of another filter", 226, patch, wrongBase, "was made from a different filter"},
		{"delta cut", 226, patch, delta[:len(delta)-8], "invalid format"},
		{"delta that is a filter", 226, patch, good, "it seems to be a bloom.Filter, not a patch"},
		{"delta that is damaged", 226, patch, append([]byte("BLMP\x01\x00\x24\x00"), delta[9:]...),
			"invalid format"},
		{"delta bomb", 226, packed, zip(t, huge), `status 226, Content-Encoding "gzip"`},
		{"delta to another version", 226, otherBase, delta, `patch of version "0", not "1"`},
		{"delta of another kind", 226, headers{"ETag": `"2"`, "IM": "vcdiff", "Delta-Base": `"1"`},
			good, "status 226"},
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
			r := New(&HTTPSource{URL: server.URL}, Config{OnError: func(err error) {
				errs = append(errs, err)
			}})
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

// TestHTTPPatchesOfUnknownSize: a source whose first answer is a patch does not know the size of the
// filter. It accepts a long patch after it.
func TestHTTPPatchesOfUnknownSize(t *testing.T) {
	ctx := context.Background()
	set, p := published(filterOf(t, 1<<22, 5))
	server := httptest.NewServer(p)
	defer server.Close()
	version := p.Publish()
	s := &HTTPSource{URL: server.URL}
	for i, keys := range []int{10, 30_000, 10} {
		for key := range keys {
			set.AddHash(bloom.SumUint64(uint64(i*1e6 + key)))
		}
		latest := p.Publish()
		u, err := s.Fetch(ctx, version)
		require.NoError(t, err)
		require.Equal(t, latest, u.Version)
		require.Equal(t, keys > 1000, len(u.Patch) > maxPatch)
		version = latest
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
		{"flipped", 0, spoil(func(_ http.Header, body []byte) []byte {
			body[len(body)-5] ^= 1
			return body
		})},
		{"cut", 0, spoil(func(_ http.Header, body []byte) []byte { return body[:len(body)/2] })},
		{"no body", 0, spoil(func(http.Header, []byte) []byte { return nil })},
		{"another base", 0, spoil(func(h http.Header, body []byte) []byte {
			h.Set("Delta-Base", `"x"`)
			return body
		})},
		{"another size", 0, spoil(func(http.Header, []byte) []byte { return other })},
		{"another kind", 1, spoil(func(h http.Header, body []byte) []byte {
			h.Set("IM", "vcdiff")
			return body
		})},
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
		{"not answered", plainAfter, func(http.ResponseWriter, *httptest.ResponseRecorder) {
			panic(http.ErrAbortHandler)
		}},
		{"refused", plainAfter, func(w http.ResponseWriter, _ *httptest.ResponseRecorder) {
			w.WriteHeader(http.StatusBadGateway)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := context.Background()
			set, p := published(filterOf(t, 1024, 5))
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
		set, p := published(filterOf(t, 1024, 5, "a"))
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
				require.Equal(t, "gzip", encoding, "bit %d", i)
				require.True(t, u.Full.Equal(set.Snapshot()), "%s, bit %d", encoding, i)
			}
		}
		server.Close()
	}
}

func TestHTTPLimit(t *testing.T) {
	f := filterOf(t, 1024, 5, "a")
	_, p := published(f)
	server := httptest.NewServer(p)
	defer server.Close()
	for _, test := range []struct {
		limit int64
		err   string
	}{
		{6 + 128, ""},
		{6 + 127, "replica: GET " + server.URL +
			": transfer failed: filter of 134 bytes is longer than the limit of 133"},
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
	for _, test := range []struct{ length, want int }{
		{maxTag, maxTag - 2}, {maxTag + 1, 0}, {9 << 20, 0}, {10, 8},
	} {
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
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-hang
	}))
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

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = src.Fetch(cancelled, "")
	require.ErrorIs(t, err, context.Canceled)
}

// TestPathIsReplaced: a Replica has the keys of its file, however the file was replaced. The files
// are those of Java, which have no checksum.
func TestPathIsReplaced(t *testing.T) {
	for _, way := range filtertest.Replacements(t) {
		t.Run(way.Name, func(t *testing.T) {
			if runtime.GOOS == "js" && strings.Contains(way.Name, "old time") {
				t.Skip("there are no change times")
			}
			path := filepath.Join(t.TempDir(), "f")
			way.Begin(t, path, bloom.Must(filterOf(t, 1024, 5, "a").MarshalBinary()))
			r := New(&FileSource{Path: path}, Config{})
			require.NoError(t, r.Refresh(t.Context()))
			for i, key := range []string{"b", "c", "d"} {
				f := filterOf(t, uint64(1024+i/2*64), 5, key)
				way.Replace(t, path, bloom.Must(f.MarshalBinary()))
				require.NoError(t, r.Refresh(t.Context()))
				require.True(t, r.Snapshot().Equal(f), key)
			}
		})
	}
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

// endsOnceAsked is a context that ends as soon as it has said that it has not ended.
type endsOnceAsked struct {
	context.Context
	cancel func()
}

func (c endsOnceAsked) Err() error {
	defer c.cancel()
	return c.Context.Err()
}

// TestPathOutlivesContext: a load of a file that has begun continues after the end of its context.
func TestPathOutlivesContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := filterOf(t, 1024, 5, "a")
	require.NoError(t, f.SaveFile(path))
	ctx, cancel := context.WithCancel(t.Context())
	r := New(&FileSource{Path: path}, Config{})
	require.NoError(t, r.Refresh(endsOnceAsked{ctx, cancel}))
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.True(t, f.Equal(r.Snapshot()))
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
			resp.Header.Set("IM", "bloom-delta1")
			got, err := readPatch(resp, "", limit)
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
// version, and asks with the tag that it got, letter by letter. Some servers compare tags as texts.
func TestHTTPUnchangedWithoutTag(t *testing.T) {
	var asked [][2]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, [2]string{req.Header.Get("If-None-Match"), req.Header.Get("A-IM")})
		if len(asked) > 1 {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `W/"a"`)
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
	require.Equal(t, [][2]string{{"", ""}, {`W/"a"`, publish.DeltaIM}, {`W/"a"`, publish.DeltaIM},
		{`"another's"`, publish.DeltaIM}}, asked)
	_, err = r.src.Fetch(context.Background(), "")
	require.ErrorContains(t, err, "status 304", "there is nothing that could be unchanged")
}

// TestHTTPClosesConnections: if an answer is refused before its end, its connection is closed.
func TestHTTPClosesConnections(t *testing.T) {
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
	}, time.Minute, time.Millisecond)
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

// TestHTTPEndlessTrailer: after a filter, only as many bytes are read as a trailer can have.
func TestHTTPEndlessTrailer(t *testing.T) {
	const endless = 8 << 20
	good := bloom.Must(filterOf(t, 1024, 5).MarshalBinary())
	for _, encoding := range []string{"identity", "gzip"} {
		rest := &zeros{endless}
		body := io.MultiReader(bytes.NewReader(good), rest)
		if encoding == "gzip" {
			body = bytes.NewReader(zip(t, bloom.Must(io.ReadAll(body))))
		}
		resp := &http.Response{Header: http.Header{"Content-Encoding": {encoding}},
			Body: io.NopCloser(body)}
		var err error
		memory := filtertest.Allocated(func() { _, err = readFilter(resp, 1<<20) })
		require.ErrorContains(t, err, "followed by", encoding)
		require.Less(t, memory, uint64(1<<20), encoding)
		if encoding == "identity" {
			require.Greater(t, rest.n, endless-64<<10)
		}
	}
}

// zipOf returns the gzip of what r has.
func zipOf(t testing.TB, r io.Reader) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, err := io.Copy(z, r)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return buf.Bytes()
}

// TestHTTPBomb: what a server sends takes at most some hundred times as much memory, whatever it
// promises. The request after an error asks for plain bytes.
func TestHTTPBomb(t *testing.T) {
	const size = 256 << 20
	header := form.Header{Strategy: 1, K: 7, Words: size / 8}.Append(nil)
	whole := zipOf(t, io.MultiReader(bytes.NewReader(header), &zeros{size}))
	patch := zipOf(t, &zeros{size})
	for _, test := range []struct {
		name   string
		status int
		body   []byte
		err    string
	}{
		{"whole", 200, whole, form.ErrUnzipped.Error()},
		{"cut", 200, whole[:len(whole)/2], form.ErrUnzipped.Error()},
		{"head alone", 200, whole[:100], form.ErrUnzipped.Error()},
		{"patch", 226, patch, `Content-Encoding "gzip"`},
	} {
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			asked = append(asked, req.Header.Get("Accept-Encoding"))
			h := w.Header()
			if req.Header.Get("A-IM") == "" && test.status == 226 {
				h.Set("ETag", `"1"`)
				_, _ = filterOf(t, 64, 1).WriteTo(w)
				return
			}
			h.Set("IM", publish.DeltaIM)
			h.Set("Delta-Base", `"1"`)
			h.Set("Content-Encoding", "gzip")
			w.WriteHeader(test.status)
			_, _ = w.Write(test.body)
		}))
		src := &HTTPSource{URL: server.URL}
		have := ""
		if test.status == 226 {
			u, err := src.Fetch(context.Background(), "")
			require.NoError(t, err)
			have = u.Version
			asked = nil
		}
		var err error
		taken := filtertest.Allocated(func() { _, err = src.Fetch(context.Background(), have) })
		require.ErrorContains(t, err, test.err, test.name)
		require.Less(t, taken, uint64(10*len(test.body)+4<<20), test.name)
		_, _ = src.Fetch(context.Background(), have)
		require.Equal(t, []string{"gzip", "identity"}, asked, test.name)
		server.Close()
	}
}

// TestHTTPEmptyFilter: a Publisher's nearly empty filter arrives in the first try, and so do small
// ones of file servers.
func TestHTTPEmptyFilter(t *testing.T) {
	empty := filterOf(t, 8<<24, 7, "a")
	small := filterOf(t, 8<<19, 7, "a")
	for name, handler := range map[string]http.Handler{
		"publisher": publisherOf(empty),
		"file": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zip(t, bloom.Must(small.MarshalBinary())))
		}),
	} {
		server := httptest.NewServer(handler)
		u, err := (&HTTPSource{URL: server.URL}).Fetch(context.Background(), "")
		require.NoError(t, err, name)
		require.True(t, u.Full.ContainsString("a"), name)
		server.Close()
	}
}

// TestHTTPTakesAFilterOnce: what is packed is unpacked into memory of the right size.
func TestHTTPTakesAFilterOnce(t *testing.T) {
	const size = 16 << 20
	data := bloom.Must(filterOfFill8th(t, size).MarshalBinary())
	body := bloom.Must(gzip.NewReader(bytes.NewReader(zip(t, data))))
	var f *bloom.Filter
	var err error
	taken := filtertest.Allocated(func() { f, err = decode(body, size+6, size+6, true) })
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, bloom.Must(f.MarshalBinary())))
	require.Less(t, taken, uint64(size+4<<20)) // large arrays begin at a huge page
}

// TestHTTPPatchLimit: a patch may be as long as its filter and 64 KiB, and nothing longer is read.
func TestHTTPPatchLimit(t *testing.T) {
	f := filterOf(t, 8<<20, 5)
	length := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if req.Header.Get("A-IM") == "" {
			_, _ = f.WriteTo(w)
			return
		}
		w.Header().Set("IM", publish.DeltaIM)
		w.Header().Set("Delta-Base", req.Header.Get("If-None-Match"))
		w.WriteHeader(http.StatusIMUsed)
		_, _ = w.Write(make([]byte, length))
	}))
	defer server.Close()
	src := &HTTPSource{URL: server.URL}
	for range 2 { // also after a patch
		_, err := src.Fetch(context.Background(), "")
		require.NoError(t, err)
		length = int(f.SizeBytes()) + 64<<10
		u, err := src.Fetch(context.Background(), "1")
		require.NoError(t, err)
		require.Len(t, u.Patch, length)
		length++
		_, err = src.Fetch(context.Background(), "1")
		require.ErrorContains(t, err, "longer than the limit")
	}
	src = &HTTPSource{URL: server.URL}
	_, err := src.Fetch(context.Background(), "")
	require.NoError(t, err)
	u, err := src.Fetch(context.Background(), "another filter's")
	require.NoError(t, err, "the size of the patched filter is not known")
	require.Len(t, u.Patch, length)
}

// TestHTTPCodings: the names of codings have no case, and x-gzip is gzip.
func TestHTTPCodings(t *testing.T) {
	f := filterOf(t, 1024, 5, "a")
	data := bloom.Must(f.MarshalBinary())
	for _, test := range []struct {
		coding string
		packed bool
		err    string
	}{
		{"", false, ""},
		{"identity", false, ""},
		{"Identity", false, ""},
		{"gzip", true, ""},
		{"GZIP", true, ""},
		{"x-gzip", true, ""},
		{"X-GZip", true, ""},
		{"identity, gzip", true, ""},
		{"br", false, `Content-Encoding "br"`},
		{"br, gzip", true, `Content-Encoding "br, gzip"`},
		{"gzip, gzip", true, `Content-Encoding "gzip, gzip"`},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			body := data
			if test.packed {
				body = zip(t, data)
			}
			w.Header().Set("Content-Encoding", test.coding)
			_, _ = w.Write(body)
		}))
		u, err := (&HTTPSource{URL: server.URL}).Fetch(context.Background(), "")
		server.Close()
		if test.err != "" {
			require.ErrorContains(t, err, test.err)
			continue
		}
		require.NoError(t, err, test.coding)
		require.True(t, u.Full.Equal(f), test.coding)
	}
}

// proxy is a handler like one behind a proxy that appends to each tag of an answer.
type proxy struct {
	http.Handler
	suffix string
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	p.Handler.ServeHTTP(&proxyWriter{w, p.suffix}, req)
}

type proxyWriter struct {
	http.ResponseWriter
	suffix string
}

func (w *proxyWriter) WriteHeader(status int) {
	if tag, ok := strings.CutSuffix(w.Header().Get("ETag"), `"`); ok {
		w.Header().Set("ETag", tag+w.suffix+`"`)
	}
	w.ResponseWriter.WriteHeader(status)
}

// TestHTTPBehindProxies: what proxies append to tags comes off, so that a Publisher sends patches
// and a file server says that nothing is new.
func TestHTTPBehindProxies(t *testing.T) {
	ctx := context.Background()
	for _, suffix := range []string{"", "-gzip", "--gzip", ";gzip"} {
		set, p := published(filterOf(t, 1024, 5))
		count := &counter{&proxy{p, suffix}, map[int]int{}}
		server := httptest.NewServer(count)
		r := New(&HTTPSource{URL: server.URL}, Config{})
		for i := range 3 {
			for range 2 {
				require.NoError(t, r.Refresh(ctx))
			}
			require.Equal(t, p.Publish(), r.Version())
			set.AddString(strconv.Itoa(i))
			p.Publish()
		}
		require.Equal(t, map[int]int{200: 1, 226: 2, 304: 3}, count.seen, suffix)
		require.Zero(t, r.Status().Again)
		server.Close()

		// A file server knows the tag that it sent, and no other.
		file := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			for tag := range strings.SplitSeq(req.Header.Get("If-None-Match"), ",") {
				if strings.TrimSpace(tag) == `"v1"` {
					w.WriteHeader(http.StatusNotModified)
					return
				}
			}
			w.Header().Set("ETag", `"v1"`)
			w.WriteHeader(http.StatusOK)
			_, _ = filterOf(t, 64, 1).WriteTo(w)
		})
		count = &counter{&proxy{file, suffix}, map[int]int{}}
		server = httptest.NewServer(count)
		r = New(&HTTPSource{URL: server.URL}, Config{})
		for range 3 {
			require.NoError(t, r.Refresh(ctx))
		}
		require.Equal(t, map[int]int{200: 1, 304: 2}, count.seen, suffix)
		require.Equal(t, "v1", r.Version())
		server.Close()
	}
}

// TestUnkindServers: a Replica follows any server that sends a whole filter. From one that does
// not, it takes nothing, and follows it again once it does.
func TestUnkindServers(t *testing.T) {
	for i, unkindly := range unkind.Servers("") {
		t.Run(unkindly.Name, func(t *testing.T) {
			kind := 0 // an index of unkind.Servers
			tag := ""
			var data []byte
			server := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					unkind.Servers(tag)[kind].Serve(w, r, data)
				}))
			defer server.Close()
			src := &HTTPSource{URL: server.URL}
			r := New(src, Config{})
			publish := func(key string) *bloom.Filter {
				f := filterOf(t, 1024, 5, key)
				tag = "of " + key
				data = fileOf(t, f)
				return f
			}
			last := publish("0")
			require.NoError(t, r.Refresh(t.Context()))
			for version := range 3 {
				before := r.Version()
				kind = i
				next := publish(strconv.Itoa(version + 1))
				for range 3 {
					err := r.Refresh(t.Context())
					if unkindly.Whole {
						require.NoError(t, err)
						require.True(t, r.Snapshot().Equal(next))
						require.Equal(t, tag, r.Version())
						u, err := src.Fetch(t.Context(), tag)
						require.NoError(t, err)
						require.Equal(t, Update{Version: tag}, u, "what is known is sent again")
						continue
					}
					require.Error(t, err)
					require.True(t, r.Snapshot().Equal(last))
					require.Equal(t, before, r.Version())
				}
				kind = 0
				require.NoError(t, r.Refresh(t.Context()))
				require.True(t, r.Snapshot().Equal(next))
				last = next
			}
		})
	}
}

// TestLimitModel: whatever the server, the size and the coding of an answer, a source takes exactly
// the filters that have at most Limit bytes in their binary form.
func TestLimitModel(t *testing.T) {
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		handler.ServeHTTP(w, req)
	}))
	defer server.Close()
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 8))
		f := filterOf(t, 64*(1+rng.Uint64N(200)), 3)
		for range rng.IntN(500) {
			f.AddHash(bloom.SumUint64(rng.Uint64()))
		}
		f.UpdateInfo(func(i *bloom.Info) { i.Comment = strings.Repeat("c", rng.IntN(300)) })
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, f.SaveFile(path))
		data := bloom.Must(os.ReadFile(path))
		if rng.IntN(2) == 0 {
			data = bloom.Must(f.MarshalBinary())
		}
		kind := rng.IntN(3)
		handler = []http.Handler{
			publisherOf(f),
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }),
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				packed := gzip.NewWriter(w)
				_, _ = packed.Write(data)
				packed.Close()
			}),
		}[kind]
		beyond := []int64{0, -1, 1, 100, -100, math.MinInt32, math.MaxInt32}[rng.IntN(7)]
		limit := max(0, f.SizeBytes()+beyond)
		about := fmt.Sprintf("seed %d, server %d, %d bytes, Limit %d", seed, kind, f.SizeBytes(), limit)
		u, err := (&HTTPSource{URL: server.URL, Limit: limit}).Fetch(t.Context(), "")
		if limit > 0 && f.SizeBytes() > limit {
			require.ErrorContains(t, err, "longer than the limit", about)
			continue
		}
		require.NoError(t, err, about)
		require.True(t, f.Equal(u.Full), about)
	}
}

// TestLargestLimit: a Limit that means "none" refuses no answer, packed or not, whole or a patch.
func TestLargestLimit(t *testing.T) {
	for _, limit := range []int64{math.MaxInt64 - maxPatch, math.MaxInt64} {
		set := bloom.Must(bloom.NewSync(100_000, 0.01))
		p := NewPublisher(set.Snapshot)
		server := httptest.NewServer(p)
		t.Cleanup(server.Close)
		r := New(&HTTPSource{URL: server.URL, Limit: limit}, Config{})
		for i := range 3 {
			require.NoError(t, r.Refresh(t.Context()), "limit %d, refresh %d", limit, i)
			set.AddString(strconv.Itoa(i))
			p.Publish()
		}
	}
}
