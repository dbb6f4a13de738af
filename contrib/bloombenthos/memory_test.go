package bloombenthos

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/bloblang"
	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/redpanda-data/benthos/v4/public/service/integration"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// testCache makes a cache that is closed at the end of the test, if not before.
func testCache(t testing.TB, conf string, now func() time.Time) *cache {
	t.Helper()
	return testCacheOf(t, conf, clock{now: now})
}

func testCacheOf(t testing.TB, conf string, by clock) *cache {
	t.Helper()
	parsed, err := memorySpec().ParseYAML(conf, nil)
	require.NoError(t, err)
	c, err := newMemoryCache(parsed, service.MockResources(), by)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(context.Background())) })
	return c
}

func TestConfigErrors(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign")
	require.NoError(t, bloom.Must(bloom.New(10, 0.01)).SaveFile(foreign))
	damaged := filepath.Join(dir, "damaged")
	w := bloom.Must(window.New(window.Config{N: 10, P: 0.01, Span: time.Hour}))
	require.NoError(t, w.SaveFile(damaged))
	b, err := os.ReadFile(damaged)
	require.NoError(t, err)
	b[len(b)/2] ^= 1
	require.NoError(t, os.WriteFile(damaged, b, 0o600))
	other := filepath.Join(dir, "other")
	require.NoError(t, w.SaveFile(other))

	for conf, want := range map[string][]string{
		"bloom: {capacity: -1}":                            {"capacity"},
		"bloom: {capacity: many}":                          {"capacity"},
		"bloom: {span: 1h}":                                {"capacity: it is required with a span"},
		"bloom: {capacity: 10, fpr: 0}":                    {"fpr"},
		"bloom: {capacity: 10, fpr: 1}":                    {"fpr"},
		"bloom: {capacity: 10, fpr: .nan}":                 {"fpr"},
		"bloom: {capacity: 10, span: -1h}":                 {"span", "-1h"},
		"bloom: {capacity: 10, span: 1ms}":                 {"span: ", "Span = 1ms is "},
		"bloom: {capacity: 10, span: long}":                {"span", "long"},
		"bloom: {save_every: 0s}":                          {"save_every", "0s"},
		"bloom: {capacity: 9000000000000000000, span: 1h}": {"capacity: window: N = 9000000000000000000 is "},
		"bloom: {capacity: 10, path: " + dir +
			"}": {"path", dir},
		"bloom: {capacity: 10, path: " + foreign + "}":                      {"path", foreign},
		"bloom: {capacity: 10, span: 1h, path: " + foreign + "}":            {"path", foreign},
		"bloom: {capacity: 10, fpr: 0.01, span: 1h, path: " + damaged + "}": {"path", damaged},
		"bloom: {capacity: 10, fpr: 1e-10, path: " + other +
			"2}": {"fpr: growing: p = 1e-10 is "},
		"bloom: {capacity: 10, span: 1ms, path: " + other + "2}":          {"span: window: Span = 1ms is "},
		"bloom: {capacity: 10, fpr: 0.01, span: 2h, path: " + other + "}": {"path", other, "Span"},
		"bloom: {renew: true}":                       {"span"},
		"bloom: {time: 'root = this'}":               {"span"},
		"bloom: {capacity: 10, span: 1h, time: '='}": {"expected"},
		"bloom: {capacity: 10, fpr: 0.01, span: 1h, renew: true, path: " + other +
			"}": {"path", other, "Renew"},
		"bloom: {capacity: 10, fpr: 0.02, span: 1h, path: " + other +
			"}": {"path", other, "P = 0.02"},
		"bloom: {capacity: 11, fpr: 0.01, span: 1h, path: " + other +
			"}": {"path", other, "N = 11"},
		"bloom_redis: {key: a, capacity: 10, span: 1h}":                                              {"url"},
		"bloom_redis: {url: 'http://127.0.0.1:1', key: a, capacity: 10, span: 1h}":                   {"url"},
		"bloom_redis: {url: 'redis://127.0.0.1:1', capacity: 10, span: 1h}":                          {"key"},
		"bloom_redis: {url: 'redis://127.0.0.1:1', key: a, span: 1h}":                                {"capacity"},
		"bloom_redis: {url: 'redis://127.0.0.1:1', key: a, capacity: 0, span: 1h}":                   {"capacity"},
		"bloom_redis: {url: 'redis://127.0.0.1:1', key: a, capacity: 10}":                            {"span"},
		"bloom_redis: {url: 'redis://127.0.0.1:1', key: a, capacity: 10, span: 1ms}":                 {"span: ", "Span = 1ms is "},
		"bloom_redis: {url: 'redis://127.0.0.1:1', key: a, capacity: 10, span: 1h, fpr: 2}":          {"fpr"},
		"bloom_redis: {url: 'redis://127.0.0.1:1', key: a, capacity: 10, span: 1h}":                  {"url", "127.0.0.1:1"},
		"bloom_redis: {url: 'redis://127.0.0.1:1', key: a, capacity: 9000000000000000000, span: 1h}": {"capacity: "},
	} {
		for _, lint := range []bool{true, false} { // the constructor checks what a program did not lint
			s, err := build(t, dedupe+conf, lint)
			if err == nil {
				err = s.open()
			}
			if assert.Error(t, err, conf) {
				for _, word := range want {
					assert.ErrorContains(t, err, word, conf)
				}
			}
		}
	}
}

func TestMethods(t *testing.T) {
	ctx := context.Background()
	for _, conf := range []string{"capacity: 10", "{capacity: 10, span: 1h}"} {
		c := testCache(t, conf, nil)
		_, err := c.Get(ctx, "a")
		assert.Equal(t, service.ErrKeyNotFound, err)
		assert.NoError(t, c.Add(ctx, "a", []byte("value"), nil))
		assert.Equal(t, service.ErrKeyAlreadyExists, c.Add(ctx, "a", nil, nil))
		value, err := c.Get(ctx, "a")
		assert.NoError(t, err)
		assert.Empty(t, value)
		assert.NotNil(t, value)
		assert.NoError(t, c.Set(ctx, "b", nil, nil))
		assert.NoError(t, c.Set(ctx, "b", nil, nil), "Set replaces")
		assert.Equal(t, service.ErrKeyAlreadyExists, c.Add(ctx, "b", nil, nil))
		assert.ErrorContains(t, c.Delete(ctx, "a"), "cannot be deleted")
	}
}

// The other tests of the engine's suite read values back, which a filter does not keep.
func TestEngineSuite(t *testing.T) {
	integration.CacheTests(integration.CacheTestMissingKey()).Run(t, `
cache_resources:
  - label: testcache
    bloom:
      capacity: 1000
      span: 1h
`)
}

func TestDedupe(t *testing.T) {
	for _, conf := range []string{"bloom: {}", "bloom: {capacity: 1000, span: 1h}"} {
		s := start(t, dedupe+conf)
		assert.Equal(t, []string{"a"}, s.send("a"))
		assert.Empty(t, s.send("a"))
		assert.Equal(t, []string{"b", "c", "d"}, s.send("b", "a", "c", "b", "d", "c"), "a batch")
		s.stop()
	}
}

func TestRestart(t *testing.T) {
	for _, fields := range []string{"", "capacity: 1000, span: 1h, "} {
		conf := fmt.Sprintf("%sbloom: {%spath: %s}", dedupe, fields, filepath.Join(t.TempDir(), "ids"))
		s := start(t, conf)
		assert.Equal(t, []string{"a", "b"}, s.send("a", "b"))
		s.stop()
		s = start(t, conf)
		assert.Equal(t, []string{"c"}, s.send("a", "b", "c"))
		s.stop()
	}
}

func TestClose(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ids")
	for range 20 { // closed at any moment of a save
		c := testCache(t, "{save_every: 1us, path: "+path+"}", nil)
		require.NoError(t, c.Set(ctx, "a", nil, nil))
		assert.NoError(t, c.Close(ctx))
		assert.NoError(t, c.Close(ctx), "twice")
	}
	_, err := os.Stat(path)
	assert.NoError(t, err)
	entries, err := os.ReadDir(filepath.Dir(path))
	assert.NoError(t, err)
	assert.Len(t, entries, 1, "no half file is left, and no lock")

	c := testCache(t, "path: "+filepath.Join(t.TempDir(), "ids"), nil)
	f := c.set.(memory).filter
	_, unlock, err := hold("")
	require.NoError(t, err)
	missing := filepath.Join(t.TempDir(), "no folder", "ids")
	c.set = memory{filter: f, path: missing, unlock: unlock}
	assert.ErrorContains(t, c.Close(ctx), "no folder")
	c.set = memory{filter: f, unlock: unlock}
}

// watchedFilter is a filter whose SaveFile is watched.
type watchedFilter struct {
	filter
	saving func()
}

func (f watchedFilter) SaveFile(path string) error {
	f.saving()
	return f.filter.SaveFile(path)
}

// The last save comes before the lock's end. Otherwise the next process could load the file before
// that save.
func TestLastSaveIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids")
	_, unlock, err := hold(path)
	require.NoError(t, err)
	saves := 0
	m := memory{path: path, unlock: unlock,
		filter: watchedFilter{bloom.Must(growing.New(0, 0.01)), func() {
			saves++
			_, _, err := hold(path)
			assert.ErrorContains(t, err, "is in use by another cache or program")
		}}}
	require.NoError(t, m.close())
	require.Equal(t, 1, saves)
}

// TestFailedSaveFreesTheFile: if the last save fails, Close says so, the file is unlocked, and the
// next cache with the label is another one.
func TestFailedSaveFreesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids")
	res := service.MockResources()
	open := func() *cache {
		c, err := openOnce(res, func() (*cache, error) {
			parsed, err := memorySpec().ParseYAML("path: "+path, nil)
			if err != nil {
				return nil, err
			}
			return newMemoryCache(parsed, res, clock{})
		})
		require.NoError(t, err)
		return c
	}
	c := open()
	m := c.set.(memory)
	m.path = filepath.Join(t.TempDir(), "no folder", "ids")
	c.set = m
	require.ErrorContains(t, c.Close(t.Context()), "no folder")
	next := open()
	require.NotSame(t, c, next)
	require.NoError(t, next.Close(t.Context()))
}

// TestCommandWaits: the command bloom and a cache keep each other from the same file, however long
// its name is and by whatever link it is named.
func TestCommandWaits(t *testing.T) {
	command := filepath.Join(t.TempDir(), "bloom")
	out, err := exec.Command("go", "build", "-C", "../../cmd/bloom", "-o", command,
		".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, size := range []int{3, 201, 212, 250} {
		dir := t.TempDir()
		path := filepath.Join(dir, strings.Repeat("n", size))
		link := filepath.Join(dir, "link")
		require.NoError(t, os.Symlink(path, link))
		require.NoError(t, bloom.Must(growing.New(0, 1e-9)).SaveFile(path))
		for _, name := range []string{path, link} {
			c := testCache(t, "path: "+name, nil)
			cmd := exec.Command(command, "add", "--wait", "0s", path)
			cmd.Stdin = strings.NewReader("a\n")
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), "is in use: another bloom")

			cmd = exec.Command(command, "add", path)
			cmd.Stdin = strings.NewReader("b\n")
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			said, err := bufio.NewReader(stderr).ReadString('\n')
			require.NoError(t, err)
			require.Contains(t, said, "waiting for another bloom")
			require.NoError(t, c.Add(t.Context(), "c", nil, nil))
			require.NoError(t, c.Close(t.Context()))
			require.NoError(t, cmd.Wait())
			f := bloom.Must(growing.LoadFile(path))
			require.True(t, f.ContainsString("b"))
			require.True(t, f.ContainsString("c"))
			info, err := os.Lstat(link)
			require.NoError(t, err)
			require.NotZero(t, info.Mode()&fs.ModeSymlink, "a save replaces the file, not the link")
			require.Len(t, bloom.Must(os.ReadDir(dir)), 2, "nothing is left beside the file and the link")
			require.NoError(t, bloom.Must(growing.New(0, 1e-9)).SaveFile(path))
		}
	}
}

// slowSet saves until it is released.
type slowSet struct {
	memory
	began, release, closing chan struct{}
}

func (s slowSet) save() error {
	select {
	case s.began <- struct{}{}:
	default: // once more, after Close has begun
	}
	<-s.release
	return nil
}

func (s slowSet) close() error {
	close(s.closing)
	return nil
}

// A save that is under way ends before Close does: the file is the next process's then.
func TestCloseWaits(t *testing.T) {
	s := slowSet{memory{filter: bloom.Must(growing.New(0, 0.01))}, make(chan struct{}, 1),
		make(chan struct{}), make(chan struct{})}
	c := newCache(s, 0, time.Millisecond, clock{}, service.MockResources())
	receive(t, s.began)
	closed := make(chan error)
	go func() { closed <- c.Close(context.Background()) }()
	select {
	case <-s.closing:
		t.Error("closed beside a save")
	case <-time.After(50 * time.Millisecond): // time to close too early
	}
	close(s.release)
	assert.NoError(t, receive(t, closed))
}

// reachSet has a reach that the test sets.
type reachSet struct {
	memory
	reach *time.Duration
	err   *error
}

func (s reachSet) figures(context.Context) (bloom.Stats, time.Duration, error) {
	return bloom.Stats{}, *s.reach, *s.err
}

// The log says once that ids are forgotten early, however often the figures are shown, and once
// that they no longer are.
func TestShortReachIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	logger := service.NewLoggerFromSlog(slog.New(slog.NewTextHandler(&log, nil)))
	reach, failure := time.Hour, error(nil)
	s := reachSet{memory{filter: bloom.Must(growing.New(0, 0.01)),
		unlock: func() error { return nil }}, &reach, &failure}
	res := service.MockResources(service.MockResourcesOptUseLogger(logger))
	c := newCache(s, time.Hour, time.Hour, clock{}, res)
	const short, again = "more ids came than capacity", "are remembered again"
	for _, step := range []struct {
		reach  time.Duration
		err    error
		said   string // what the step logs
		silent int    // how many more times it is shown
	}{
		{time.Hour, nil, "", 2},
		{time.Hour - 1, nil, short, 3},
		{time.Minute, nil, "", 1},
		{time.Hour, errors.New("no figures"), "", 1},
		{time.Hour, nil, again, 2},
		{time.Second, nil, short, 1},
		{time.Hour, nil, again, 1},
	} {
		reach, failure = step.reach, step.err
		log.Reset()
		c.show(context.Background())
		said := log.String()
		for range step.silent {
			c.show(context.Background())
		}
		assert.Equal(t, said, log.String(), "%+v", step)
		if step.said == "" {
			assert.Empty(t, said, "%+v", step)
		} else {
			assert.Equal(t, 1, strings.Count(said, step.said), "%+v: %s", step, said)
			assert.Equal(t, 1, strings.Count(said, "\n"), "%+v: %s", step, said)
		}
	}
	require.NoError(t, c.Close(context.Background()))
}

// The log says once that an id has no time, however many come.
func TestMissingTimeIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	mapping, err := bloblang.Parse(`root = this.split("@").index(1)`)
	require.NoError(t, err)
	logger := service.NewLoggerFromSlog(slog.New(slog.NewTextHandler(&log, nil)))
	clock := &times{mapping: mapping, log: logger}
	for range 3 {
		clock.see("undated")
		clock.see("late@9999-01-01T00:00:00Z")
	}
	assert.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	assert.Contains(t, log.String(), "undated")
}

func TestOpenCaches(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name string, parts ...string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(parts, "")), 0o600))
		return file
	}
	b, err := os.ReadFile("dedupe.yaml")
	require.NoError(t, err)
	pipeline, caches, found := strings.Cut(string(b), "cache_resources:")
	require.True(t, found)
	caches = "cache_resources:" + caches
	damaged := caches + "      path: " + write("damaged", "hello") + "\n"
	whole, broken, rest := write("whole.yaml", pipeline, caches),
		write("broken.yaml", pipeline, damaged), write("rest.yaml", pipeline)
	write("good/a/caches.yaml", caches)
	write("bad/a/caches.yaml", damaged)
	write("bad/other.yaml", "rate_limit_resources: []\n")

	write("redis/caches.yaml", "cache_resources: [{label: seen, bloom_redis: {url: "+
		"'redis://127.0.0.1:1', key: ids, capacity: 10, span: 1h}}]\n")

	for _, test := range []struct {
		args   string
		starts bool
	}{
		{"run " + whole, true},
		{"run " + broken, false},
		{"run -r " + dir + "/good/a/caches.yaml " + rest, true},
		{"run -r " + dir + "/bad/a/caches.yaml " + rest, false},
		{"run -r " + dir + "/bad/other.yaml -r " + dir + "/bad/*/*.yaml " + rest, false},
		{"run -r " + dir + "/bad/** " + rest, false},
		{"run -r " + dir + "/good/**/caches.yaml " + rest, true},
		{"-r " + dir + "/bad/a/caches.yaml run " + rest, false},
		{"-r " + dir + "/bad/a/caches.yaml -c " + rest, false},
		{"run -r " + dir + "/redis/caches.yaml " + rest, false},
		{"streams --no-api -r " + dir + "/bad/a/caches.yaml " + rest, false},
	} {
		child := exec.Command(self, strings.Fields(test.args)...)
		child.Env = append(os.Environ(), childVariable+"=bloom-connect")
		b, err := child.CombinedOutput()
		out := string(b)
		if test.starts {
			assert.NoError(t, err, test.args)
			assert.Equal(t, 10, strings.Count(out, `{"id":`), "%s: %s", test.args, out)
			continue
		}
		assert.Error(t, err, test.args)
		assert.Contains(t, out, `bloombenthos: cache "seen": `, test.args)
		assert.Regexp(t, dir+"/damaged|url, key: 127.0.0.1:1: ", out, test.args)
		assert.NotContains(t, out, "Launching", test.args)
	}
}

// The engine makes a cache for each message that is among the first.
func TestOpenOnce(t *testing.T) {
	s := start(t, dedupe+"bloom: {path: "+filepath.Join(t.TempDir(), "ids")+"}")
	var opened [2]*cache
	for i := range opened {
		c, err := openOnce(s.stream.Resources(), func() (*cache, error) {
			return testCache(t, "{}", nil), nil
		})
		require.NoError(t, err)
		opened[i] = c
	}
	assert.Same(t, opened[0], opened[1])
	require.NoError(t, opened[0].Close(context.Background()))
	c, err := openOnce(s.stream.Resources(), func() (*cache, error) {
		return testCache(t, "{}", nil), nil
	})
	require.NoError(t, err)
	assert.NotSame(t, opened[0], c, "a closed one is opened again")
}

// now is the time of caches of the type test_bloom, which are those of the type bloom.
var now atomic.Pointer[time.Time]

func init() {
	service.MustRegisterCache("test_bloom", memorySpec(),
		func(conf *service.ParsedConfig, res *service.Resources) (service.Cache, error) {
			return newMemoryCache(conf, res, clock{now: func() time.Time { return *now.Load() }})
		})
}

// past is when messages came that say it: with the same ids in each run, chance plays no part.
var past = time.Date(2024, 5, 17, 10, 0, 0, 0, time.UTC)

// day sends so many messages a second through an engine whose cache remembers for 800 seconds,
// in simulated time. Repetitions never pass, and of the others all do but a billionth. It
// returns the least and the peak memory of the engine.
func day(t testing.TB, rate, seconds int) (least, peak uint64) {
	const span = 800
	clock := past
	now.Store(&clock)
	b := service.NewStreamBuilder()
	require.NoError(t, b.SetYAML(
		strings.ReplaceAll(fmt.Sprintf("%stest_bloom: {capacity: %d, span: %ds}", dedupe, rate*span,
			span), "test_metrics", "none")))
	send, err := b.AddBatchProducerFunc()
	require.NoError(t, err)
	passed, lost := 0, 0
	require.NoError(t, b.AddBatchConsumerFunc(
		func(_ context.Context, batch service.MessageBatch) error {
			passed += len(batch)
			return nil
		}))
	s, err := b.Build()
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()

	id := func(second, i int) *service.Message {
		return service.NewMessage(strconv.AppendInt(nil, int64(second*rate+i), 10))
	}
	for second := range seconds {
		at := clock.Add(time.Duration(second) * time.Second)
		now.Store(&at)
		var batch service.MessageBatch
		for i := range rate {
			batch = append(batch, id(second, i))
		}
		batch = append(batch, id(second, 0))
		want := rate
		if second >= span {
			batch = append(batch, id(second-span, 1))
		}
		if forgotten := span + span/7 + 2; second >= forgotten {
			batch = append(batch, id(second-forgotten, 2))
			want++
		}
		passed = 0
		require.NoError(t, send(context.Background(), batch))
		require.LessOrEqual(t, passed, want, "second %d", second)
		lost += want - passed
		if second >= span && second%300 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC() // what pools held before the first collection
			runtime.ReadMemStats(&m)
			if least == 0 {
				least, peak = m.HeapAlloc, m.HeapAlloc
			}
			least, peak = min(least, m.HeapAlloc), max(peak, m.HeapAlloc)
		}
	}
	require.NoError(t, s.StopWithin(limit))
	require.NoError(t, receive(t, ended))
	t.Logf("heap: %d to %d bytes; lost: %d of %d", least, peak, lost, rate*seconds)
	assert.LessOrEqual(t, lost, 3) // three more than expected, and 0.13 are of the largest
	return least, peak
}

// The benchmark has ten times as many messages a second, for twelve hours.
func TestHour(t *testing.T) {
	seconds := 3600
	if testing.Short() {
		seconds = 1200
	}
	least, peak := day(t, 300, seconds)
	assert.Less(t, float64(peak), 1.05*float64(least))
}

// Twelve hours of 3,000 messages a second: 130 million messages.
func BenchmarkTwelveHours(b *testing.B) {
	if testing.Short() {
		b.Skip("it takes a quarter of an hour")
	}
	for b.Loop() {
		least, peak := day(b, 3000, 12*3600)
		assert.Less(b, float64(peak), 1.05*float64(least))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(12*3600*3000), "ns/message")
}

// The counts are of this instance, and the gauges of the filter, which another instance may
// have filled. All are whole numbers, and none is 0 for one in a billion.
func TestMetrics(t *testing.T) {
	url, _ := startRedis(t)
	for _, conf := range []string{
		"bloom: {capacity: 1000, span: 1h, save_every: 1ms}",
		"bloom_redis: {url: '" + url + "', key: ids, capacity: 1000, span: 1h}",
	} {
		log := filepath.Join(t.TempDir(), "log")
		conf := strings.Replace(dedupe, "level: OFF", "level: WARN\n  file: {path: "+log+"}", 1) + conf
		s := start(t, conf)
		shows := func(name string, least, peak float64) {
			t.Helper()
			if strings.Contains(conf, "bloom_redis") { // shown at the start, and then each minute
				s.stop()
				s = start(t, conf)
				require.NoError(t, s.open())
			}
			soon(t, func() bool {
				is := theMetrics.valueOf(name)
				return least <= is && is <= peak && is == math.Trunc(is)
			}, "%s %s", conf, name)
		}
		s.send("a", "b", "a", "c", "a")
		assert.Equal(t, 2.0, theMetrics.valueOf("bloom_hits"), conf)
		assert.Equal(t, 3.0, theMetrics.valueOf("bloom_misses"), conf)
		shows("bloom_rate_per_trillion", 0, 100)
		shows("bloom_fill_per_million", 1, 5000)
		shows("bloom_reach_seconds", 3600, 3600)
		for i := range 3000 { // three times the capacity
			s.send(fmt.Sprint(i))
		}
		shows("bloom_rate_per_trillion", 100, 1000) // never above fpr
		shows("bloom_reach_seconds", 0, 3599)
		s.stop()
		said, err := os.ReadFile(log)
		require.NoError(t, err)
		assert.Contains(t, string(said), "more ids came than capacity: those of the last ")
	}
}

// Of two caches with one file, one starts. After its end, and after a crash, the next one does.
func TestOneCacheAFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "ids"), filepath.Join(dir, "link")
	first := testCache(t, "path: "+path, nil)
	require.NoError(t, first.set.save())
	require.NoError(t, os.Symlink(path, link))
	for _, path := range []string{path, link} {
		parsed, err := memorySpec().ParseYAML("path: "+path, nil)
		require.NoError(t, err)
		_, err = newMemoryCache(parsed, service.MockResources(), clock{})
		require.ErrorContains(t, err, "ids is in use by another cache or program")
	}
	require.NoError(t, first.Close(context.Background()))
	// A cache that does not open, here because of its span, does not hold the file.
	parsed, err := memorySpec().ParseYAML("{capacity: 10, span: 1h, path: "+path+"}", nil)
	require.NoError(t, err)
	_, err = newMemoryCache(parsed, service.MockResources(), clock{})
	require.ErrorIs(t, err, bloom.ErrFormat)
	testCache(t, "path: "+path, nil)
}

// A look-up moves the clock of the messages, as an added id does.
func TestLookUpMovesTheClock(t *testing.T) {
	ctx := context.Background()
	c := testCache(t, `{capacity: 10, span: 1h, time: 'root = this.split("@").index(1)'}`, nil)
	const old = "a@2024-05-17T10:00:00Z"
	require.NoError(t, c.Add(ctx, old, nil, nil))
	require.NoError(t, firstError(c.Get(ctx, old)))
	require.ErrorIs(t, firstError(c.Get(ctx, "b@2024-05-17T13:00:00Z")), service.ErrKeyNotFound)
	require.ErrorIs(t, firstError(c.Get(ctx, old)), service.ErrKeyNotFound, "its span is over")
}

func firstError(_ []byte, err error) error { return err }

// What waits during an outage comes together. All of it passes, and no repetition does that is not
// older than the span: in messages' own time where capacity is what comes in a span, and otherwise
// where it has room for what waited, too.
func TestOutage(t *testing.T) {
	const hourly, span = 100, 24
	for _, hours := range []int{3, 12, 24} {
		for conf, capacity := range map[string]int{
			`bloom: {span: 24h, time: 'root = this.split("@").index(1)', capacity: %d}`: hourly * span,
			`test_bloom: {span: 24h, capacity: %d}`:                                     2 * hourly * span,
		} {
			s := start(t, dedupe+fmt.Sprintf(conf, capacity))
			began := past
			var sent []string
			for hour := 1; hour <= 3*span; hour++ {
				if hour > span && hour < span+hours { // nothing arrives
					continue
				}
				clock := began.Add(time.Duration(hour) * time.Hour)
				now.Store(&clock)
				again := sent[max(0, len(sent)-hourly*(span-hours)):] // of the last span, whatever waited
				fresh := []string{}
				for i := len(sent); i < hourly*hour; i++ {
					fresh = append(fresh,
						fmt.Sprintf("%d@%s", i, began.Add(time.Duration(i)*time.Hour/hourly).Format(time.RFC3339)))
				}
				require.Equal(t, fresh, s.send(fresh...), "hour %d", hour)
				require.Empty(t, s.send(append(again, fresh...)...), "hour %d", hour)
				sent = append(sent, fresh...)
			}
			s.stop()
		}
	}
}

// With the messages' own time, what waited during an outage is remembered as it came: the newest
// messages alone decide what is forgotten.
func TestTime(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ids")
	conf := `{capacity: 110, fpr: 1e-12, span: 1h, path: ` + path +
		`, time: 'root = this.split("@").index(1)'}`
	c := testCache(t, conf, nil)
	id := func(i int, at time.Time) string { return fmt.Sprintf("%d@%s", i, at.Format(time.RFC3339)) }
	began := past
	require.NoError(t, c.Add(ctx, "early@2999-01-01T00:00:00Z", nil, nil))
	for i := range 2000 { // 100 in each hour, all together
		at := began.Add(time.Duration(i) * 36 * time.Second)
		require.NoError(t, c.Add(ctx, id(i, at), nil, nil))
		if i >= 99 { // what came within an hour
			old := i - 99
			require.Equal(t, service.ErrKeyAlreadyExists,
				c.Add(ctx, id(old, began.Add(time.Duration(old)*36*time.Second)), nil, nil), i)
		}
		if i == 1000 {
			require.NoError(t, c.Close(ctx))
			c = testCache(t, conf, nil)
			require.NoError(t, c.Add(ctx, "late@2999-01-01T00:00:00Z", nil, nil))
		}
		if i == 1100 {
			require.NoError(t, c.Add(ctx, "none", nil, nil))
		}
	}
	_, reach, err := c.set.figures(ctx)
	require.NoError(t, err)
	require.Equal(t, time.Hour, reach)
	require.NoError(t, c.Add(ctx, id(0, began), nil, nil), "forgotten")
	// A time in the future is none, and forgets nothing. A clock that is a little ahead is right.
	for _, wrong := range []string{
		"2999-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
		time.Now().Add(time.Hour).Format(time.RFC3339), "1e12",
	} {
		require.NoError(t, c.Add(ctx, "wrong@"+wrong, nil, nil))
		require.Equal(t, service.ErrKeyAlreadyExists, c.Add(ctx, "wrong@"+wrong, nil, nil))
		_, err := c.Get(ctx, "absent@"+wrong)
		require.Equal(t, service.ErrKeyNotFound, err)
		for i := 1901; i < 2000; i++ {
			require.Equal(t, service.ErrKeyAlreadyExists,
				c.Add(ctx, id(i, began.Add(time.Duration(i)*36*time.Second)), nil, nil), "%s, %d", wrong, i)
		}
	}
	before := time.Now()
	require.NoError(t, c.Add(ctx, id(7, before.Add(10*time.Second)), nil, nil))
	require.WithinRange(t, c.set.(memory).times.now(), before, time.Now())
}

// TestRestartOfABacklog: messages waited for longer than the span. After a clean end and a restart
// no id passes a second time, whatever number of ids the file has; with some, a piece of the
// filter's memory is just full.
func TestRestartOfABacklog(t *testing.T) {
	ctx := context.Background()
	at := time.Now().Add(-72 * time.Hour).Unix()
	for ids := 1790; ids <= 1797; ids++ {
		path := filepath.Join(t.TempDir(), "ids")
		conf := `{capacity: 100000, span: 24h, path: ` + path +
			`, time: 'root = this.split("@").index(1).number()'}`
		c := testCache(t, conf, nil)
		id := func(i int) string { return fmt.Sprintf("%d@%d", i, at) }
		for i := range ids {
			require.NoError(t, c.Add(ctx, id(i), nil, nil))
		}
		require.NoError(t, c.Close(ctx))
		c = testCache(t, conf, nil)
		for i := range ids {
			require.ErrorIs(t, c.Add(ctx, id(i), nil, nil), service.ErrKeyAlreadyExists,
				"%d of %d ids", i, ids)
		}
		require.NoError(t, c.Close(ctx))
	}
}

// TestIdsWithoutATime: ids that come before the first message with a time are remembered for a span
// from that time, also if the metrics are shown before it.
func TestIdsWithoutATime(t *testing.T) {
	ctx := context.Background()
	c := testCache(t, `{capacity: 100, span: 1h, time: 'root = this.split("@").index(1)'}`, nil)
	require.NoError(t, c.Add(ctx, "undated", nil, nil))
	_, reach, err := c.set.figures(ctx)
	require.NoError(t, err)
	require.Equal(t, time.Hour, reach)
	require.NoError(t, c.Add(ctx, "a@2024-05-17T10:00:00Z", nil, nil))
	require.ErrorIs(t, c.Add(ctx, "undated", nil, nil), service.ErrKeyAlreadyExists)
	require.NoError(t, c.Add(ctx, "b@2024-05-17T10:59:00Z", nil, nil))
	require.ErrorIs(t, firstError(c.Get(ctx, "undated")), nil)
	require.NoError(t, c.Add(ctx, "c@2024-05-17T13:00:00Z", nil, nil))
	require.ErrorIs(t, firstError(c.Get(ctx, "undated")), service.ErrKeyNotFound)
}

// TestMessagesWithoutAnId: with the key of the README, messages without an id pass, each of them.
func TestMessagesWithoutAnId(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, key, found := strings.Cut(string(page), "            key: ")
	require.True(t, found, "the page begins with a configuration")
	key, _, _ = strings.Cut(key, "\n")
	s := start(t, "pipeline: {processors: [{dedupe: {cache: seen, key: "+key+"}}]}\n"+
		"cache_resources: [{label: seen, bloom: {capacity: 100, span: 1h}}]\n")
	passed := s.send(`{"x":1}`, `{"id":1}`, `{"x":2}`, `{"id":1}`, `{"x":2}`, `{"id":null}`)
	require.Equal(t, []string{`{"x":1}`, `{"id":1}`, `{"x":2}`, `{"x":2}`, `{"id":null}`}, passed)
}
