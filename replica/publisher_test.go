package replica

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

func TestPublisherDeltas(t *testing.T) {
	ctx := context.Background()
	for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		f, err := bloom.NewWithStrategy(s, 10_000, 0.01)
		require.NoError(t, err)
		p := NewPublisher(f)
		versions := []string{p.current.Load().version}
		copies := []*bloom.Filter{p.filter.Clone()}
		for i := range history + 3 {
			assert.True(t, p.AddString("key"+strconv.Itoa(i)))
			assert.False(t, p.AddString("key"+strconv.Itoa(i)))
			versions = append(versions, p.Publish())
			copies = append(copies, p.filter.Clone())
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
			p.AddHash(bloom.Hash{H1: uint64(from + i)}) // one bit each
		}
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
}

func TestPublishersDoNotShareVersions(t *testing.T) {
	a, b := NewPublisher(filterOf(t, 64, 1)), NewPublisher(filterOf(t, 64, 1))
	assert.NotEqual(t, a.Publish(), b.Publish())
}

func TestNewPublisherOfZeroFilter(t *testing.T) {
	assert.PanicsWithValue(t, "bloom: NewPublisher of a zero Filter", func() { NewPublisher(new(bloom.Filter)) })
}

func TestServeHTTP(t *testing.T) {
	f, err := bloom.New(10_000, 0.01)
	require.NoError(t, err)
	p := NewPublisher(f)
	old := p.Publish()
	p.AddString("new")
	version := p.Publish()
	strong, weak := `"`+version+`"`, `W/"`+version+`"`
	full, err := p.filter.MarshalBinary()
	require.NoError(t, err)
	added := filterOf(t, f.M(), f.K(), "new")
	part, err := added.MarshalBinary()
	require.NoError(t, err)

	type headers = map[string]string
	for _, test := range []struct {
		name   string
		method string
		send   headers
		status int
		want   headers
		body   []byte
	}{
		{"plain", "GET", nil, 200, headers{"ETag": strong, "Content-Encoding": "", "Content-Length": strconv.Itoa(len(full))}, full},
		{"head", "HEAD", nil, 200, headers{"ETag": strong, "Content-Length": strconv.Itoa(len(full))}, nil},
		{"gzip", "GET", headers{"Accept-Encoding": "br, gzip;q=0.5"}, 200, headers{"ETag": weak, "Content-Encoding": "gzip"}, full},
		{"gzip refused", "GET", headers{"Accept-Encoding": "gzip;q=0"}, 200, headers{"ETag": strong, "Content-Encoding": ""}, full},
		{"unchanged", "GET", headers{"If-None-Match": strong}, 304, headers{"ETag": strong}, nil},
		{"unchanged, weak", "GET", headers{"If-None-Match": `"other", ` + weak}, 304, nil, nil},
		{"unchanged, any", "GET", headers{"If-None-Match": "*"}, 304, nil, nil},
		{"old, without A-IM", "GET", headers{"If-None-Match": `"` + old + `"`, "Accept-Encoding": "gzip"}, 200, headers{"IM": ""}, full},
		{"old, without gzip", "GET", headers{"If-None-Match": `"` + old + `"`, "A-IM": deltaIM}, 200, headers{"IM": ""}, full},
		{"delta", "GET", headers{"If-None-Match": `W/"` + old + `"`, "A-IM": "vcdiff, " + deltaIM, "Accept-Encoding": "gzip"}, 226,
			headers{"IM": deltaIM, "Delta-Base": `"` + old + `"`, "ETag": strong, "Cache-Control": "no-store", "Content-Encoding": "gzip"}, part},
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
			for name, value := range test.want {
				assert.Equal(t, value, rec.Header().Get(name), name)
			}
			body := io.Reader(rec.Body)
			if rec.Header().Get("Content-Encoding") == "gzip" {
				assert.Equal(t, strconv.Itoa(rec.Body.Len()), rec.Header().Get("Content-Length"))
				assert.Less(t, rec.Body.Len(), len(full)/10)
				var err error
				body, err = gzip.NewReader(rec.Body)
				require.NoError(t, err)
			}
			data, err := io.ReadAll(body)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(test.body, data))
		})
	}
}

func TestFullFilterIsNotGzipped(t *testing.T) {
	f, err := bloom.New(1000, 0.01)
	require.NoError(t, err)
	for i := range uint64(1000) {
		f.AddHash(bloom.SumUint64(i))
	}
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	rec := httptest.NewRecorder()
	NewPublisher(f).ServeHTTP(rec, req)
	assert.Empty(t, rec.Header().Get("Content-Encoding"))
}

// What a replica a thousand keys behind transfers, in bytes, beside the whole.
func BenchmarkDelta(b *testing.B) {
	for _, n := range []uint64{1e5, 1e6, 1e7} {
		b.Run("n="+strconv.FormatUint(n, 10), func(b *testing.B) {
			p := NewPublisher(bloom.Must(bloom.New(n, 0.01)))
			old := p.Publish()
			for i := range uint64(1000) {
				p.AddHash(bloom.SumUint64(i))
			}
			p.Publish()
			var packed []byte
			for b.Loop() {
				packed = pack(p.current.Load().deltas[old].filter())
			}
			b.ReportMetric(float64(len(packed)), "B/delta")
			b.ReportMetric(float64(6+p.filter.M()/8), "B/full")
		})
	}
}
