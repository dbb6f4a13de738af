package bloombenthos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"
)

// limit is how long a test waits for anything. A busy machine needs some seconds, and only what
// hangs needs as long.
const limit = time.Minute

// soon waits until condition returns true.
func soon(t testing.TB, condition func() bool, msg ...any) {
	t.Helper()
	for began := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(began), limit, msg...)
	}
}

// receive waits for a value of c.
func receive[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(limit):
		require.Fail(t, "nothing came")
	}
	return v
}

// childVariable has the configuration that a child of the tests runs, or makes it
// bloom-connect.
const childVariable = "BLOOMBENTHOS_TEST_CHILD"

func TestMain(m *testing.M) {
	if conf := os.Getenv(childVariable); conf != "" {
		runChild(conf)
		return
	}
	os.Exit(m.Run())
}

func runChild(conf string) {
	if conf == "bloom-connect" {
		service.RunCLI(context.Background(), OpenCaches)
		return
	}
	b := service.NewStreamBuilder()
	err := b.SetYAML(conf)
	if err == nil {
		var s *service.Stream
		if s, err = b.Build(); err == nil {
			err = s.Run(context.Background())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// dedupe is a pipeline with a cache, whose configuration follows.
const dedupe = `
pipeline:
  processors:
    - dedupe:
        cache: seen
        key: ${! content() }
        drop_on_err: false
output:
  drop: {}
metrics:
  test_metrics: {}
logger:
  level: OFF
cache_resources:
  - label: seen
    `

// stream is a pipeline that runs.
type stream struct {
	t      testing.TB
	stream *service.Stream
	handle service.MessageBatchHandlerFunc
	ended  chan error
	mu     sync.Mutex
	out    []string
}

// build makes a pipeline of conf with linting, or without.
func build(t testing.TB, conf string, lint bool) (*stream, error) {
	s := &stream{t: t, ended: make(chan error, 1)}
	b := service.NewStreamBuilder()
	if !lint {
		b.DisableLinting()
	}
	err := b.SetYAML(conf)
	if err != nil {
		return nil, err
	}
	if s.handle, err = b.AddBatchProducerFunc(); err != nil {
		return nil, err
	}
	if !strings.Contains(conf, "test_sink") {
		if err = b.AddConsumerFunc(s.consume); err != nil {
			return nil, err
		}
	}
	s.stream, err = b.Build()
	return s, err
}

func (s *stream) consume(_ context.Context, m *service.Message) error {
	b, err := m.AsBytes()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = append(s.out, string(b))
	return err
}

// start runs a pipeline, until stop or the end of the test.
func start(t testing.TB, conf string) *stream {
	t.Helper()
	theMetrics.Lock()
	theMetrics.values = map[string]float64{}
	theMetrics.Unlock()
	s, err := build(t, conf, true)
	require.NoError(t, err)
	go func() { s.ended <- s.stream.Run(context.Background()) }()
	t.Cleanup(func() { _ = s.stream.StopWithin(time.Second) })
	return s
}

func (s *stream) stop() {
	s.t.Helper()
	var err error
	soon(s.t, func() bool {
		err = s.stream.StopWithin(limit)
		return err == nil || err.Error() != "stream has not been run yet"
	})
	require.NoError(s.t, err)
	require.NoError(s.t, receive(s.t, s.ended))
}

// send sends a batch, waits for its acknowledgement and returns what passed.
func (s *stream) send(ids ...string) []string {
	s.t.Helper()
	passed, err := s.try(ids...)
	require.NoError(s.t, err)
	return passed
}

func (s *stream) try(ids ...string) ([]string, error) {
	var batch service.MessageBatch
	for _, id := range ids {
		batch = append(batch, service.NewMessage([]byte(id)))
	}
	s.mu.Lock()
	s.out = nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := s.handle(ctx, batch)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out, err
}

// metrics has what engines exported since the test began, by name and label.
type metrics struct {
	sync.Mutex
	values map[string]float64
}

var theMetrics metrics

func init() {
	service.MustRegisterMetricsExporter("test_metrics", service.NewConfigSpec(),
		func(*service.ParsedConfig, *service.Logger) (service.MetricsExporter, error) {
			return &theMetrics, nil
		})
}

type metric struct{ name string }

func (m *metrics) NewCounterCtor(name string, _ ...string) service.MetricsExporterCounterCtor {
	return func(labels ...string) service.MetricsExporterCounter {
		return metric{name + " " + labels[0]}
	}
}

func (m *metrics) NewGaugeCtor(name string, _ ...string) service.MetricsExporterGaugeCtor {
	return func(labels ...string) service.MetricsExporterGauge {
		return metric{name + " " + labels[0]}
	}
}

func (m *metrics) NewTimerCtor(name string, _ ...string) service.MetricsExporterTimerCtor {
	return func(...string) service.MetricsExporterTimer { return metric{} }
}

func (m *metrics) Close(context.Context) error { return nil }

func (m *metrics) valueOf(name string) float64 {
	m.Lock()
	defer m.Unlock()
	return m.values[name+" seen"]
}

func (m metric) Timing(int64) {}

func (m metric) Incr(delta int64) {
	theMetrics.Lock()
	defer theMetrics.Unlock()
	theMetrics.values[m.name] += float64(delta)
}

func (m metric) Set(value int64) { m.SetFloat64(float64(value)) }

func (m metric) SetFloat64(value float64) {
	theMetrics.Lock()
	defer theMetrics.Unlock()
	theMetrics.values[m.name] = value
}

// open opens the cache, which the engine does for the first message.
func (s *stream) open() error {
	return s.stream.Resources().AccessCache(context.Background(), "seen", func(service.Cache) {})
}

// A program that imports only this package starts.
func TestImportedAlone(t *testing.T) {
	out, err := exec.Command("go", "run", "./testdata/alone").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
