package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if os.Getenv("GUARD_MAIN") != "" {
		main()
		return
	}
	m.Run()
}

// start runs the program, and returns its address when it answers.
func start(t *testing.T, path string) (*exec.Cmd, string) {
	cmd := exec.Command(os.Args[0], "-addr", "127.0.0.1:0", "-db", path, "-every", "20ms")
	cmd.Env = append(os.Environ(), "GUARD_MAIN=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return cmd, strings.TrimSpace(line)
}

// call returns the status, and an error if the server was killed.
func call(method, url string) (int, error) {
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// TestKilled takes names by 8 clients while the filter is rebuilt, and kills the server again and
// again. A name that was answered by 201 is taken from then on.
func TestKilled(t *testing.T) {
	const clients, kills = 8, 20
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = clients
	path := filepath.Join(t.TempDir(), "users.db")
	rnd := rand.New(rand.NewPCG(1, 2))
	taken := make([][]string, clients)
	var names atomic.Int64 // in taken
	// check asks for the last names of a client, and for some of all.
	check := func(url string, c, last int) {
		for i := range last + 5 {
			at := len(taken[c]) - 1 - i
			if i >= last {
				at = rand.IntN(len(taken[c]) + 1)
			}
			if at < 0 || at >= len(taken[c]) {
				continue
			}
			status, err := call("GET", url+"users/"+taken[c][at])
			if err != nil {
				return // killed
			}
			assert.Equal(t, http.StatusOK, status, "%s was taken", taken[c][at])
		}
	}
	for round := range kills + 1 {
		cmd, url := start(t, path)
		var wg sync.WaitGroup
		for c := range clients {
			wg.Add(1)
			go func() {
				defer wg.Done()
				check(url, c, 100) // after the start, beside the first load and after it
				for i := 0; ; i++ {
					name := fmt.Sprintf("user-%d-%d-%d", round, c, i)
					status, err := call("PUT", url+"users/"+name)
					if err != nil {
						return // killed; the name may be taken or not
					}
					if !assert.Equal(t, http.StatusCreated, status, name) {
						return
					}
					taken[c] = append(taken[c], name)
					names.Add(1)
					check(url, c, 3)
				}
			}()
		}
		enough := names.Load() + 2*clients
		time.Sleep(time.Duration(200+rnd.IntN(200)) * time.Millisecond)
		for began := time.Now(); names.Load() < enough; time.Sleep(time.Millisecond) {
			require.Less(t, time.Since(began), time.Minute, "no names are taken")
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		wg.Wait()
	}
	_, url := start(t, path)
	for c := range clients {
		check(url, c, len(taken[c]))
	}
	t.Logf("%d names", names.Load())
}

func TestServe(t *testing.T) {
	cmd, url := start(t, filepath.Join(t.TempDir(), "users.db"))
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "users/ada", 404}, {"PUT", "users/ada", 201}, {"GET", "users/ada", 200},
		{"PUT", "users/ada", 409}, {"GET", "users/bob", 404},
	} {
		status, err := call(c.method, url+c.path)
		require.NoError(t, err)
		require.Equal(t, c.want, status, "%s %s", c.method, c.path)
	}
	resp, err := http.Get(url + "metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	for _, want := range []string{
		`bloom_lookups_total{filter="users",result="hit"} 1`, `bloom_filter_keys{filter="users"} 1`,
		"\nusers_load_seconds ",
	} {
		require.Contains(t, string(text), want)
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
}
