package publish

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// changing returns a Publisher of a filter of size bytes, and a function that flips n random bits
// and publishes. The Publisher has a version.
func changing(size int) (p *Publisher, publish func(n int) string) {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := make([]uint64, size/8)
	p = New()
	publish = func(n int) string {
		for range n {
			words[rnd.IntN(len(words))] ^= 1 << rnd.IntN(64)
		}
		return p.Publish(bloom.Must(bloom.NewWords(words, 3)), true, time.Now())
	}
	publish(len(words) * 32)
	return p, publish
}

// TestPatchIsMadeOnce: clients that are as far behind share a patch, also if they ask in parallel.
func TestPatchIsMadeOnce(t *testing.T) {
	p, publish := changing(1 << 20)
	have := publish(1)
	for range 5 {
		publish(1000)
	}
	const clients = 8
	var got [clients][]byte
	filtertest.AtOnce(clients, func(i int) { _, got[i], _ = p.Since(have) })
	require.NotEmpty(t, got[0])
	for i := range got {
		require.Same(t, &got[0][0], &got[i][0])
	}
	require.Less(t, filtertest.Allocated(func() { p.Since(have) }), uint64(10_000))
}

// TestDearPatches: a client gets the whole filter if making its patch takes longer than sending the
// filter, and a patch if clients were as far behind before.
func TestDearPatches(t *testing.T) {
	const size = 4 << 20
	p, publish := changing(size)
	changes := 8 * size / 200 // in two steps more than cheapBits
	isPatch := func(have string) bool {
		version, patch, full := p.Since(have)
		require.Equal(t, p.current.Load().version, version.Name)
		require.True(t, (patch == nil) == (full != nil))
		return patch != nil
	}
	versions := []string{publish(1)}
	behind := func(n int) string { return versions[len(versions)-1-n] }
	for range 4 {
		versions = append(versions, publish(changes))
	}
	require.True(t, isPatch(behind(1)))
	require.False(t, isPatch(behind(2)))
	for range 3 { // clients stay two versions behind
		versions = append(versions, publish(changes))
		require.True(t, isPatch(behind(1)))
		require.True(t, isPatch(behind(2)))
		require.False(t, isPatch(behind(3)), "more bits than Publish works on in all")
		require.False(t, isPatch(behind(4)), "more bits than Publish works on")
	}
	versions = append(versions, publish(changes), publish(changes))
	require.False(t, isPatch(behind(2)), "nobody wanted it")
}

// TestPatchesTakeLessThanAFilter: however many versions are asked for, steps and patches have
// together about as many bytes as the filter.
func TestPatchesTakeLessThanAFilter(t *testing.T) {
	const size = 1 << 18
	p, publish := changing(size)
	var versions []string
	for i := range 4 * History {
		changes := 2000
		if i >= 2*History {
			changes *= 10
		}
		versions = append(versions, publish(changes))
		for _, have := range versions {
			p.Since(have)
		}
		total := 0
		seen := map[*patch]bool{}
		for _, s := range p.current.Load().past {
			seen[s.patch] = true
			if s.since != nil {
				seen[s.since()] = true
			}
		}
		for d := range seen {
			total += len(d.data)
		}
		require.Less(t, total, size+2*smallPatch)
	}
}

// heap returns the size of what is in memory.
func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// stuckWriter is a ResponseWriter that keeps nothing, and whose first Write waits.
type stuckWriter struct {
	header  http.Header
	status  int
	once    sync.Once
	begun   chan struct{}
	release chan struct{}
}

func (w *stuckWriter) Header() http.Header { return w.header }

func (w *stuckWriter) WriteHeader(status int) { w.status = status }

func (w *stuckWriter) Write(p []byte) (int, error) {
	w.once.Do(func() {
		close(w.begun)
		<-w.release
	})
	return len(p), nil
}

// TestSlowPatchClients: clients stop reading in the patch for an old version, some in the same one,
// some in that of another release each. They keep less than a filter and a piece each in memory.
func TestSlowPatchClients(t *testing.T) {
	const size = 4 << 20
	const rounds, clients = 30, 4
	p, publish := changing(size)
	release := make(chan struct{})
	var done sync.WaitGroup
	start := func(have string) int {
		w := &stuckWriter{header: http.Header{}, begun: make(chan struct{}), release: release}
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header.Set("If-None-Match", `"`+have+`"`)
		req.Header.Set("A-IM", DeltaIM)
		done.Add(1)
		go func() {
			defer done.Done()
			p.ServeHTTP(w, req)
		}()
		filtertest.Receive(t, "the client gets bytes", w.begun)
		return w.status
	}
	statuses := map[int]int{}
	publish(1)
	before := heap()
	for range rounds {
		have := publish(1)
		publish(150_000)
		for range clients {
			statuses[start(have)]++
		}
	}
	// Memory has the patches of the present release, too.
	assert.Less(t, heap()-before, 2*size+rounds*clients*(64<<10))
	assert.Greater(t, statuses[http.StatusIMUsed], 8*clients, "nobody gets a patch")
	assert.Greater(t, statuses[http.StatusOK], clients, "everybody keeps a patch")
	close(release)
	done.Wait()
	require.Zero(t, p.sent)
	have := publish(1)
	publish(150_000)
	require.Equal(t, http.StatusIMUsed, start(have), "those who have gone keep nothing")
	done.Wait()
}

// brokenWriter is a ResponseWriter whose client has gone.
type brokenWriter struct {
	header http.Header
	status int
}

func (w *brokenWriter) Header() http.Header { return w.header }

func (w *brokenWriter) WriteHeader(status int) { w.status = status }

func (w *brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestPatchClientsBreakOff: clients that have gone in a patch keep no room from others.
func TestPatchClientsBreakOff(t *testing.T) {
	p, publish := changing(4 << 20)
	large := slices.Repeat([]int{150_000}, 10) // patches of together more than a filter
	for _, changes := range append(large, 1) {
		have := publish(1)
		publish(changes)
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := &brokenWriter{header: http.Header{}}
			req := httptest.NewRequest(method, "/", nil)
			req.Header.Set("If-None-Match", `"`+have+`"`)
			req.Header.Set("A-IM", DeltaIM)
			p.ServeHTTP(w, req)
			require.Equal(t, http.StatusIMUsed, w.status)
			require.Zero(t, p.sent)
		}
	}
}

// TestNewestVersionIsPatched: of the versions that a client has, the newest one is patched.
func TestNewestVersionIsPatched(t *testing.T) {
	p, publish := changing(1 << 16)
	versions := []string{publish(10), publish(10), publish(10)}
	require.Equal(t, versions[2], publish(0))
	publish(10)
	for _, have := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2}, {0, 2, 1}} {
		w := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header.Set("A-IM", DeltaIM)
		for _, i := range have {
			req.Header.Add("If-None-Match", `"`+versions[i]+`"`)
		}
		p.ServeHTTP(w, req)
		require.Equal(t, http.StatusIMUsed, w.Code)
		require.Equal(t, `"`+versions[2]+`"`, w.Header().Get("Delta-Base"))
	}
}

// TestExactVersionsNameTheInfo: filters of the same bits and another Info have other versions, and
// those of the same bits and Info have the same version in every Publisher.
func TestExactVersionsNameTheInfo(t *testing.T) {
	versions := map[string]bloom.Info{}
	for _, info := range []bloom.Info{
		{},
		{Hash: "xxh3"},
		{Comment: "xxh3"},
		{Meta: "a=b"},
		{N: 1},
	} {
		var names []string
		for range 2 {
			f := bloom.Must(bloom.NewSize(1024, 5))
			f.AddString("a")
			f.UpdateInfo(func(i *bloom.Info) { *i = info })
			names = append(names, NewExact().Publish(f, true, time.Time{}))
		}
		require.Equal(t, names[0], names[1])
		require.NotContains(t, versions, names[0])
		versions[names[0]] = info
	}
	other := bloom.Must(bloom.NewSize(1024, 5))
	other.AddString("b")
	require.NotContains(t, versions, NewExact().Publish(other, true, time.Time{}))
}

// TestMade: each version was made later than the one before it, even if the clock steps back or
// stands still. Exact versions have the times of their files.
func TestMade(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 7))
	for _, exact := range []bool{false, true} {
		p := New()
		if exact {
			p = NewExact()
		}
		clock, last := time.Unix(1_000_000_000, 500), time.Time{}
		f := bloom.Must(bloom.NewSize(1<<16, 5))
		for i := range uint64(200) {
			steps := []time.Duration{-time.Hour, -time.Second, -1, 0, 1, time.Millisecond, time.Hour}
			clock = clock.Add(steps[rng.IntN(len(steps))])
			f.AddHash(bloom.SumUint64(i))
			p.Publish(f, false, clock)
			made := p.Version().Made
			switch {
			case exact || clock.After(last):
				require.Equal(t, clock, made)
			default:
				require.True(t, made.After(last), "%v, and then %v", last, made)
			}
			last = made
		}
	}
}

// TestPackedPieces: a piece has at least a hundredth of its length when it is packed, and unpacks.
func TestPackedPieces(t *testing.T) {
	for _, n := range []int{0, 6, 8, 1000, 8000, pieceSize} {
		for _, data := range [][]byte{make([]byte, n), bytes.Repeat([]byte("0123456789"), n)[:n]} {
			packed := pack(data)
			require.GreaterOrEqual(t, 100*len(packed), n)
			got, err := io.ReadAll(bloom.Must(gzip.NewReader(bytes.NewReader(packed))))
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got))
		}
	}
}

// writer is an io.Writer that calls the function.
type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestAnswerHasOneVersion: an answer has the bits of the version with which it began, whenever the
// next version is published. The word that changes is at each border of a piece.
func TestAnswerHasOneVersion(t *testing.T) {
	const size = 2*pieceWords + 5
	words := make([]uint64, size)
	for i := range words {
		words[i] = uint64(i)
	}
	first := bloom.Must(bloom.NewWords(words, 3))
	for _, changed := range []int{
		0, pieceWords - 1, pieceWords, 2 * pieceWords, size - 1,
	} {
		next := slices.Clone(words)
		next[changed] ^= 1<<63 | 1
		second := bloom.Must(bloom.NewWords(next, 3))
		for at := range 5 { // the header, three pieces, and the trailer
			for _, gzipped := range []bool{false, true} {
				p := New()
				p.Publish(first, true, time.Now())
				var sent bytes.Buffer
				writes := 0
				err := p.bodyOf(p.current.Load()).send(writer(func(piece []byte) (int, error) {
					if writes == at {
						p.Publish(second, true, time.Now())
					}
					writes++
					return sent.Write(piece)
				}), gzipped)
				require.NoError(t, err)
				require.Equal(t, 5, writes)
				body := io.Reader(&sent)
				if gzipped {
					body = bloom.Must(gzip.NewReader(&sent))
				}
				got := new(bloom.Filter)
				require.NoError(t, got.UnmarshalBinary(bloom.Must(io.ReadAll(body))))
				require.True(t, got.Equal(first),
					"word %d changes at write %d, gzip %v", changed, at, gzipped)
				if !gzipped {
					continue
				}
				sent.Reset()
				require.NoError(t, p.bodyOf(p.current.Load()).send(&sent, true))
				body = bloom.Must(gzip.NewReader(&sent))
				require.NoError(t, got.UnmarshalBinary(bloom.Must(io.ReadAll(body))))
				require.True(t, got.Equal(second), "after word %d changed at write %d", changed, at)
			}
		}
	}
}

// TestVersionsWithoutPatches: after a version that differs too much, an answer goes on with the bits
// of that version, or breaks off if the Publisher is exact.
func TestVersionsWithoutPatches(t *testing.T) {
	words := make([]uint64, 3*pieceWords)
	rng := rand.New(rand.NewPCG(73, 9))
	for i := range words {
		words[i] = rng.Uint64()
	}
	first := bloom.Must(bloom.NewWords(slices.Clone(words), 3))
	words[len(words)-1] ^= 1
	second := bloom.Must(bloom.NewWords(slices.Clone(words), 3))
	for i := range words {
		words[i] = rng.Uint64()
	}
	third := bloom.Must(bloom.NewWords(words, 3))
	for _, p := range []*Publisher{New(), NewExact()} {
		p.Publish(first, true, time.Now())
		var sent bytes.Buffer
		writes := 0
		err := p.bodyOf(p.current.Load()).send(writer(func(piece []byte) (int, error) {
			switch writes {
			case 0: // the header
				p.Publish(second, true, time.Now())
			case 1:
				p.Publish(third, true, time.Now())
			}
			writes++
			return sent.Write(piece)
		}), false)
		if p.exact {
			require.ErrorIs(t, err, errReplaced)
			require.Equal(t, 2, writes)
			continue
		}
		require.NoError(t, err)
		got := new(bloom.Filter)
		require.NoError(t, got.UnmarshalBinary(sent.Bytes()))
		want := bloom.Must(first.MarshalBinary())[:form.HeaderSize+pieceSize]
		want = append(want, bloom.Must(third.MarshalBinary())[len(want):]...)
		require.True(t, bytes.Equal(want, bloom.Must(got.MarshalBinary())))
	}
}

// TestPieces: an answer is whole, however the filter's words fill its pieces.
func TestPieces(t *testing.T) {
	for size, pieces := range map[int]int{
		1: 1, pieceWords - 1: 1, pieceWords: 1, pieceWords + 1: 2, 2 * pieceWords: 2,
	} {
		f := bloom.Must(bloom.NewWords(filtertest.Words(size), 3))
		p := New()
		p.Publish(f, true, time.Now())
		for _, gzipped := range []bool{false, true} {
			var sent bytes.Buffer
			writes := 0
			require.NoError(t, p.bodyOf(p.current.Load()).send(writer(func(piece []byte) (int, error) {
				writes++
				return sent.Write(piece)
			}), gzipped))
			require.Equal(t, 1+pieces+1, writes, "%d words", size)
			body := io.Reader(&sent)
			if gzipped {
				body = bloom.Must(gzip.NewReader(&sent))
			}
			got := new(bloom.Filter)
			require.NoError(t, got.UnmarshalBinary(bloom.Must(io.ReadAll(body))), "%d words", size)
			require.True(t, got.Equal(f), "%d words", size)
		}
	}
}

// TestPatchesLeadToTheRelease: there is a patch from each of the last History versions, and it
// leads to the current one.
func TestPatchesLeadToTheRelease(t *testing.T) {
	p, publish := changing(1 << 16)
	filters := map[string]*bloom.Filter{}
	versions := []string{p.Version().Name}
	for range History + 3 {
		filters[versions[len(versions)-1]] = p.current.Load().filter.Clone()
		versions = append(versions, publish(1))
		for i, have := range versions[:len(versions)-1] {
			version, patch, full := p.Since(have)
			require.Equal(t, versions[len(versions)-1], version.Name)
			if behind := len(versions) - 1 - i; behind > History {
				require.NotNil(t, full, "%d behind", behind)
				continue
			}
			require.NotNil(t, patch, "%d behind", len(versions)-1-i)
			got := filters[have].Clone()
			require.NoError(t, got.Patch(patch))
			require.True(t, got.Equal(p.current.Load().filter))
		}
	}
}

// TestExactVersionReturns: during an answer of an exact Publisher, its version is replaced twice, at
// last by one that differs too much, and then published again. The answer goes on.
func TestExactVersionReturns(t *testing.T) {
	words := filtertest.Words(3 * pieceWords)
	first := bloom.Must(bloom.NewWords(words, 3))
	words[len(words)-1] ^= 1
	second := bloom.Must(bloom.NewWords(words, 3))
	p := NewExact()
	version := p.Publish(first, false, time.Now())
	var sent bytes.Buffer
	writes := 0
	require.NoError(t, p.bodyOf(p.current.Load()).send(writer(func(piece []byte) (int, error) {
		switch writes {
		case 0: // the header
			p.Publish(second, true, time.Now())
		case 1:
			p.Publish(bloom.Must(bloom.NewSize(first.M(), first.K())), true, time.Now())
			require.Equal(t, version, p.Publish(first, false, time.Now()))
			require.Empty(t, p.current.Load().past)
		}
		writes++
		return sent.Write(piece)
	}), false))
	got := new(bloom.Filter)
	require.NoError(t, got.UnmarshalBinary(sent.Bytes()))
	require.True(t, got.Equal(first))
}

// TestInfoIsAVersion: a filter with the same bits and another Info is another version.
func TestInfoIsAVersion(t *testing.T) {
	f := bloom.Must(bloom.NewSize(1024, 5))
	for _, p := range []*Publisher{New(), NewExact()} {
		version := p.Publish(f, false, time.Now())
		require.True(t, p.Has(f))
		require.Equal(t, version, p.Publish(f, false, time.Now()))
		f.UpdateInfo(func(i *bloom.Info) { i.Comment += "another" })
		require.False(t, p.Has(f))
		require.NotEqual(t, version, p.Publish(f, false, time.Now()))
	}
}

// TestOtherParameters: a filter of another size, number of positions or strategy is published during
// an answer. The answer breaks off.
func TestOtherParameters(t *testing.T) {
	const bits = 64 * 3 * pieceWords
	first := bloom.Must(bloom.NewSize(bits, 3))
	data := bloom.Must(first.MarshalBinary())
	data[0] = byte(bloom.Mitz32)
	mitz32 := new(bloom.Filter)
	require.NoError(t, mitz32.UnmarshalBinary(data))
	for name, second := range map[string]*bloom.Filter{
		"smaller":    bloom.Must(bloom.NewSize(bits/3, 3)),
		"larger":     bloom.Must(bloom.NewSize(2*bits, 3)),
		"another K":  bloom.Must(bloom.NewSize(bits, 4)),
		"a strategy": mitz32,
	} {
		for _, gzipped := range []bool{false, true} {
			for _, p := range []*Publisher{New(), NewExact()} {
				p.Publish(first, true, time.Now())
				writes := 0
				err := p.bodyOf(p.current.Load()).send(writer(func(piece []byte) (int, error) {
					if writes++; writes == 2 { // the header and a piece
						p.Publish(second, true, time.Now())
					}
					return len(piece), nil
				}), gzipped)
				require.ErrorIs(t, err, errReplaced, name)
				require.Equal(t, 2, writes, name)
			}
		}
	}
}

// TestSendFails: a client that has gone ends the answer, and nothing more is written to it.
func TestSendFails(t *testing.T) {
	p, _ := changing(1 << 20)
	for _, gzipped := range []bool{false, true} {
		for last := range 5 {
			writes := 0
			err := p.bodyOf(p.current.Load()).send(writer(func(piece []byte) (int, error) {
				if writes++; writes > last {
					return 0, io.ErrClosedPipe
				}
				return len(piece), nil
			}), gzipped)
			require.ErrorIs(t, err, io.ErrClosedPipe)
			require.Equal(t, last+1, writes)
		}
		err := p.bodyOf(p.current.Load()).send(&filtertest.LimitedWriter{Err: io.ErrClosedPipe}, gzipped)
		require.ErrorIs(t, err, io.ErrClosedPipe)
	}
}
