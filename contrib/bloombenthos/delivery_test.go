package bloombenthos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sink is an output of the tests.
type sink struct {
	fails    bool
	attempts chan string
	written  []string
}

var theSink *sink // of the test that runs

func init() {
	service.MustRegisterOutput("test_sink", service.NewConfigSpec(),
		func(*service.ParsedConfig, *service.Resources) (service.Output, int, error) {
			return theSink, 1, nil
		})
}

func (s *sink) Connect(context.Context) error { return nil }
func (s *sink) Close(context.Context) error   { return nil }

func (s *sink) Write(_ context.Context, m *service.Message) error {
	b, err := m.AsBytes()
	if s.fails {
		select {
		case s.attempts <- string(b):
		default:
		}
		return errors.New("the output is away")
	}
	s.written = append(s.written, string(b))
	return err
}

// A message comes again that failed at the output of a process that is no more.
func TestDelivery(t *testing.T) {
	for file, want := range map[string][]string{
		"dedupe.yaml":       nil,
		"acknowledged.yaml": {`{"id":1}`},
	} {
		t.Run(file, func(t *testing.T) {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			before, after, found := strings.Cut(string(b), "input:\n") // that of the test
			require.True(t, found)
			_, after, found = strings.Cut(after, "\n\n")
			require.True(t, found)
			conf := strings.ReplaceAll(before+after, "stdout:", "test_sink:")
			conf = strings.ReplaceAll(conf, "path: seen.window", "")
			dir := t.TempDir()
			conf += "      path: " + filepath.Join(dir, "ids") + "\nlogger: {level: OFF}\n"

			theSink = &sink{fails: true, attempts: make(chan string, 1)}
			s := start(t, conf)
			ctx, cancel := context.WithCancel(context.Background())
			sent := make(chan error, 1)
			go func() {
				sent <- s.handle(ctx, service.MessageBatch{service.NewMessage([]byte(`{"id":1}`))})
			}()
			assert.Equal(t, `{"id":1}`, receive(t, theSink.attempts))
			_ = s.stream.StopWithin(2 * time.Second)
			cancel()
			assert.Error(t, receive(t, sent), "not acknowledged")
			_ = os.Remove(filepath.Join(dir, ".ids.bloom-lock")) // as the end of a process does

			theSink = &sink{}
			s = start(t, conf)
			s.send(`{"id":1}`)
			assert.Equal(t, want, theSink.written)
			s.send(`{"id":1}`)
			assert.Equal(t, want, theSink.written, "acknowledged by now")
			s.send(`{"id":2}`)
			assert.Equal(t, append(want, `{"id":2}`), theSink.written)
			s.stop()
		})
	}
}

// Processes are killed while they accept and save ids. An id that was accepted before the
// last save is never accepted again.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids")
	conf := `
input:
  stdin: {}
pipeline:
  threads: 1
  processors:
    - dedupe: {cache: seen, key: '${! content() }'}
output:
  stdout: {}
logger: {level: OFF}
cache_resources:
  - label: seen
    bloom: {capacity: 100000, span: 1h, save_every: 1ms, path: ` + path + `}
`
	self, err := os.Executable()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(24, 1))
	var accepted []string // before a save
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		child := exec.Command(self)
		child.Env = append(os.Environ(), childVariable+"="+conf)
		child.Stderr = os.Stderr
		in, err := child.StdinPipe()
		require.NoError(t, err)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		watchdog := time.AfterFunc(limit, func() { _ = child.Process.Kill() })
		lines := bufio.NewScanner(out)
		read := func() string {
			require.True(t, lines.Scan(), "the child ended: %v", lines.Err())
			return lines.Text()
		}

		id := fmt.Sprint("settled ", round)
		_, err = io.WriteString(in, strings.Join(append(accepted, id), "\n")+"\n")
		require.NoError(t, err)
		require.Equal(t, id, read(), "it alone is new")
		accepted = append(accepted, id)
		for range 2 { // the second of two saves began after id was accepted
			before := saved(path)
			soon(t, func() bool { return saved(path).After(before) })
		}
		for i := range 200 { // which may be lost
			_, err = fmt.Fprintln(in, "in flight", round, i)
			require.NoError(t, err)
		}
		for range r.IntN(200) {
			read()
		}
		watchdog.Stop()
		require.NoError(t, child.Process.Kill())
		assert.Error(t, child.Wait())
	}
}

// saved returns when the file was saved last.
func saved(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
