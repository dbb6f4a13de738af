package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/replica"
)

// TestServe asks a server, replaces its file, and ends it.
func TestServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	good(t, "apple\n", "build", "-n", "1000", "-p", "1e-9", "-o", path)
	cmd := command(t, "serve", "-addr", "127.0.0.1:0", path)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	log := bufio.NewReader(stderr)
	line, err := log.ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`http://\S+`).FindString(line)
	require.NotEmpty(t, url, line)

	ask := func(method, path, body string) (answer string, status int) {
		t.Helper()
		req, err := http.NewRequest(method, url+path, strings.NewReader(body))
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(data), resp.StatusCode
	}
	for _, test := range []struct{ request, body, want string }{
		{"GET /contains?key=apple", "", "true\n 200"},
		{"GET /contains?key=pear", "", "false\n 200"},
		{"GET /contains", "", "a key is missing: /contains?key=K\n 400"},
		{"POST /contains", "pear\napple\nplum", "apple\n 200"},
		{"POST /contains?v=1", "pear\napple\nplum", "pear\nplum\n 200"},
		{"POST /contains", strings.Repeat("x", maxLine+1), "bufio.Scanner: token too long\n 400"},
		{"GET /nothing", "", "404 page not found\n 404"},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		answer, status := ask(method, path, test.body)
		require.Equal(t, test.want, fmt.Sprint(answer, " ", status), test.request)
	}
	info, _ := ask("GET", "/info", "")
	require.Contains(t, info, `"type":"bloom.Filter"`)

	near := replica.New(replica.HTTP(url+"/filter", nil), replica.Config{})
	require.NoError(t, near.Refresh(context.Background()))
	require.True(t, near.ContainsString("apple"))
	require.False(t, near.ContainsString("pear"))
	before := near.Version()
	require.NoError(t, near.Refresh(context.Background()))
	require.Equal(t, before, near.Version())

	good(t, "pear\n", "add", path)
	require.Eventually(t, func() bool {
		require.NoError(t, near.Refresh(context.Background()))
		return near.Version() != before && near.ContainsString("pear")
	}, time.Minute, 10*time.Millisecond)
	answer, _ := ask("GET", "/contains?key=pear", "")
	require.Equal(t, "true\n", answer)

	write(t, path, "no filter")
	line, err = log.ReadString('\n')
	require.NoError(t, err)
	requireError(t, line, "going on with the old filter")
	answer, _ = ask("GET", "/contains?key=pear", "")
	require.Equal(t, "true\n", answer)

	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
}

func TestServeHex(t *testing.T) {
	s := &server{path: filepath.Join(t.TempDir(), "list")}
	s.key.Hex = true
	good(t, "hi\n", "build", "-type", "blocked", "-o", s.path)
	require.NoError(t, s.load())
	require.True(t, s.now.Load().filter.ContainsHash(s.now.Load().sum([]byte("hi"))))
	for body, want := range map[string]string{"6869\n": "6869\n", "6870\n": "", "6\n": "400"} {
		w := httptest.NewRecorder()
		s.check(w, httptest.NewRequest("POST", "/contains", strings.NewReader(body)))
		if want == "400" {
			require.Equal(t, http.StatusBadRequest, w.Code)
			continue
		}
		require.Equal(t, want, w.Body.String())
	}
}

// TestServeCounting: of a counting filter replicas get the plain one.
func TestServeCounting(t *testing.T) {
	s := &server{path: filepath.Join(t.TempDir(), "list")}
	good(t, "hi\n", "build", "-n", "100", "-type", "counting", "-o", s.path)
	require.NoError(t, s.load())
	web := httptest.NewServer(s.now.Load().version)
	defer web.Close()
	near := replica.New(replica.HTTP(web.URL, nil), replica.Config{})
	require.NoError(t, near.Refresh(context.Background()))
	require.True(t, near.ContainsString("hi"))
	require.False(t, near.ContainsString("ho"))
}
