package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// TestMain is the program itself where a test runs it as one.
func TestMain(m *testing.M) {
	if os.Getenv("CRAWLER_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestSaveOrder: the queue is saved even where the filter then cannot be.
func TestSaveOrder(t *testing.T) {
	s := state{t.TempDir()}
	require.NoError(t, os.Mkdir(s.seenFile(), 0o777)) // which no file replaces
	require.Error(t, s.save(frontier{Queued: []string{"/"}}, bloom.Must(bloom.New(10, 0.01))))
	require.FileExists(t, s.frontierFile())
}

// TestResume ends the program by Ctrl-C in the middle of a crawl, and starts it
// again. It then fetches what the first one left.
func TestResume(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("one process cannot send another Ctrl-C")
	}
	const workers = "4"
	for _, test := range []struct {
		name  string
		crash func(dir string) // what a crash leaves of the state
		most  int              // fetches of one URL
	}{
		{"saved", func(string) {}, 1},
		{"set not saved", func(dir string) { os.Remove(filepath.Join(dir, "seen.bloom")) }, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(300)
			var served atomic.Int32
			var open atomic.Bool
			hanging := make(chan struct{}, 4)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if served.Add(1) > 100 && !open.Load() {
					hanging <- struct{}{}
					<-r.Context().Done()
					return
				}
				s.ServeHTTP(w, r)
			}))
			defer server.Close()
			dir := filepath.Join(t.TempDir(), "state")
			crawl := func(more ...string) (*exec.Cmd, *bytes.Buffer) {
				cmd := exec.Command(os.Args[0], append([]string{"-start", server.URL, "-state", dir, "-workers", workers, "-p", "1e-9"}, more...)...)
				cmd.Env = append(os.Environ(), "CRAWLER_TEST_MAIN=1")
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				require.NoError(t, cmd.Start())
				return cmd, &out
			}

			cmd, out := crawl()
			for range cap(hanging) {
				<-hanging
			}
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			require.Error(t, cmd.Wait())
			require.Contains(t, out.String(), "crawler: interrupted\n")
			distinct, most := s.served()
			require.Equal(t, 100, distinct)
			require.Equal(t, 1, most)

			test.crash(dir)
			open.Store(true)
			cmd, out = crawl()
			require.NoError(t, cmd.Wait(), out)
			distinct, most = s.served()
			assert.Equal(t, len(s.urls()), distinct, "a URL was lost")
			assert.Equal(t, test.most, most)
			assert.Contains(t, out.String(), " 0 left at the end")

			cmd, out = crawl("-max-pages", "1e3")
			require.NoError(t, cmd.Wait(), out)
			assert.Contains(t, out.String(), "fetched     0: ")
			other := exec.Command(os.Args[0], "-start", "http://other.example", "-state", dir)
			other.Env = cmd.Env
			said, err := other.CombinedOutput()
			require.Error(t, err)
			assert.Contains(t, string(said), "crawler: "+dir+" holds a crawl of http://127.0.0.1")
		})
	}
}
