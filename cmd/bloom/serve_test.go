package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/publish"
	"github.com/seed79a3ff49/bloom/internal/unkind"
	"github.com/seed79a3ff49/bloom/replica"
)

// TestServeProgram asks a server, replaces its file, and ends it.
func TestServeProgram(t *testing.T) {
	defaultSignals(t)
	t.Chdir(t.TempDir())
	good(t, "apple\n", "build -n 1000 -p 1e-9 -o list")
	cmd, url, log := startServe(t, "list")
	for _, test := range []struct{ request, body, want string }{
		{"GET /contains?key=apple", "", "true\n 200"},
		{"GET /contains?key=pear", "", "false\n 200"},
		{"GET /contains", "", "a key is missing: /contains?key=K\n 400"},
		{"POST /contains", "pear\napple\nplum", "apple\n 200"},
		{"POST /contains?v=1", "pear\napple\nplum", "pear\nplum\n 200"},
		{"GET /nothing", "", "404 page not found\n 404"},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		answer, resp := ask(t, method, url+path, test.body)
		require.Equal(t, test.want, fmt.Sprint(answer, " ", resp.StatusCode), test.request)
	}
	info, _ := ask(t, "GET", url+"/info", "")
	require.Contains(t, info, `"type":"bloom.Filter"`)

	near := replica.New(&replica.HTTPSource{URL: url + "/filter", Client: http.DefaultClient},
		replica.Config{})
	require.NoError(t, near.Refresh(t.Context()))
	require.True(t, near.ContainsString("apple"))
	require.False(t, near.ContainsString("pear"))
	before := near.Version()
	good(t, "pear\n", "add list")
	becomes(t, func() bool {
		require.NoError(t, near.Refresh(t.Context()))
		return near.Version() != before && near.ContainsString("pear")
	})
	answer, _ := ask(t, "GET", url+"/contains?key=pear", "")
	require.Equal(t, "true\n", answer)

	write(t, "list", "no filter")
	says := func(want string) {
		t.Helper()
		line, err := log.ReadString('\n')
		require.NoError(t, err)
		requireError(t, line, want)
	}
	says(`continuing with the old filter: list is not a filter: it begins with "no filte"`)
	answer, _ = ask(t, "GET", url+"/contains?key=pear", "")
	require.Equal(t, "true\n", answer, "a damaged file replaces no filter")
	require.NoError(t, os.Remove("list"))
	says("continuing with the old filter: list: no such file or directory")
	good(t, "plum\n", "build --force -n 1000 -p 1e-9 -o list")
	becomes(t, func() bool {
		answer, _ := ask(t, "GET", url+"/contains?key=plum", "")
		return answer == "true\n"
	})
	says("list can be loaded again, and is served")
	write(t, "list", "no filter again")
	says(`continuing with the old filter: list is not a filter: it begins with "no filte"`)

	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
}

// ask returns the answer to a request whose header has these names and values.
func ask(
	t testing.TB, method, url, body string, header ...string,
) (answer string, resp *http.Response) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	for ; len(header) > 0; header = header[2:] {
		req.Header.Set(header[0], header[1])
	}
	req.Host = req.Header.Get("Host") // a header of its own in Go
	resp, err = http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(data), resp
}

// startServe starts the command, and returns its address and what it says.
func startServe(
	t *testing.T, path string, flags ...string,
) (cmd *exec.Cmd, url string, log *bufio.Reader) {
	t.Helper()
	cmd = command(t, "serve --addr 127.0.0.1:0 "+path, flags...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	log = bufio.NewReader(stderr)
	line, err := log.ReadString('\n')
	require.NoError(t, err)
	url = regexp.MustCompile(`http://\S+`).FindString(line)
	require.NotEmpty(t, url, line)
	return cmd, url, log
}

// serverOf returns a server of the file at path.
func serverOf(t testing.TB, path string) *server {
	t.Helper()
	s := newServer(path, lines.Key{}, serveCommand().Flags())
	require.NoError(t, s.load())
	return s
}

// serving returns a server of a file that was built with the given flags.
func serving(t testing.TB, list, flags string) (*server, *httptest.Server) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fruit.bloom")
	good(t, list, "build "+flags+" -o", path)
	s := serverOf(t, path)
	web := httptest.NewServer(s.handler())
	t.Cleanup(func() { ends(t, web.Close) })
	return s, web
}

func has(t *testing.T, s *server, key string) bool {
	t.Helper()
	found, err := s.contains(s.now.Load(), []byte(key), new([]byte))
	require.NoError(t, err)
	return found
}

// TestServeIsReplaced: serve answers from its file, however the file was replaced.
func TestServeIsReplaced(t *testing.T) {
	for _, way := range filtertest.Replacements(t) {
		t.Run(way.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			of := func(n uint64, key string) []byte {
				f := bloom.Must(bloom.New(n, 1e-9))
				f.AddString(key)
				return bloom.Must(f.MarshalBinary())
			}
			way.Begin(t, path, of(1000, "first"))
			s := newServer(path, lines.Key{}, serveCommand().Flags())
			require.NoError(t, s.load())
			for i, key := range []string{"same size", "same size again", "other size"} {
				way.Replace(t, path, of(1000+uint64(i/2), key))
				loaded, err := s.reload()
				require.NoError(t, err)
				require.True(t, loaded, key)
				require.True(t, has(t, s, key), key)
			}
			require.NoError(t, os.Chmod(path, 0o600))
			loaded, err := s.reload()
			require.NoError(t, err)
			require.False(t, loaded, "its bytes are the same")
		})
	}
}

// TestServeHeaders compares the whole header of each answer with a literal one.
func TestServeHeaders(t *testing.T) {
	_, web := serving(t, "apple\n", "-n 10 -p 0.01")
	_, blocked := serving(t, "apple\n", "--type blocked")
	const (
		text  = "Content-Type: text/plain; charset=utf-8\n"
		sniff = "X-Content-Type-Options: nosniff\n"
		// The digest of the bytes that Guava writes for this filter.
		tag = "Etag: W/\"nowbWiMSPf-f7bmfgMJd9w\"\n"
	)
	refusal := func(length int) string {
		return fmt.Sprintf("Content-Length: %d\n", length) + text + sniff
	}
	const page = "Cache-Control: no-store\n" +
		"Content-Security-Policy: default-src 'none'; style-src 'sha256-STYLE'; img-src data:; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'\n" +
		"Content-Type: text/html; charset=utf-8\n" +
		"Referrer-Policy: no-referrer\n" + sniff
	const form = "application/x-www-form-urlencoded"
	full := strings.Repeat("x", maxBody)
	for _, test := range []struct {
		name, request, body string
		header              []string
		status              int
		want                string
	}{
		{"a key", "GET /contains?key=apple", "", nil, 200, "Content-Length: 5\n" + text + sniff},
		{"no key", "GET /contains", "", nil, 400, refusal(34)},
		{"lines", "POST /contains", "apple\n", nil, 200, "Content-Length: 6\n" + text + sniff},
		{"no line", "POST /contains", "plum\n", nil, 200, "Content-Length: 0\n" + text + sniff},
		{"compressed", "POST /contains", "x", []string{"Content-Encoding", "br"}, 415, refusal(41)},
		{"too large", "POST /contains", full + "x", nil, 413, "Connection: close\n" + refusal(47)},
		{"page", "GET /", "", nil, 200, page},
		{"form", "POST /", "lines=apple", []string{"Content-Type", form}, 200, page},
		{"info", "GET /info", "", nil, 200,
			"Content-Length: LENGTH\nContent-Type: application/json\n" + sniff},
		{"filter", "GET /filter", "", []string{"Accept-Encoding", "identity"}, 200,
			"Cache-Control: no-cache\n" +
				"Content-Length: 74\nContent-Type: application/octet-stream\n" + tag +
				"Vary: Accept-Encoding\n" + sniff},
		{"filter by gzip", "GET /filter", "", []string{"Accept-Encoding", "gzip"}, 200,
			"Cache-Control: no-cache\n" +
				"Content-Encoding: gzip\nContent-Length: LENGTH\nContent-Type: " +
				"application/octet-stream\n" + tag + "Vary: Accept-Encoding\n" + sniff},
		{"filter as before", "GET /filter", "",
			[]string{"If-None-Match", `"x", W/"nowbWiMSPf-f7bmfgMJd9w"`}, 304,
			"Cache-Control: no-cache\n" + tag + "Vary: Accept-Encoding\n" + sniff},
		{"no such filter", "GET blocked/filter", "", nil, 404, refusal(62)},
		{"no such page", "GET /nothing", "", nil, 404, refusal(19)},
		{"no such method", "DELETE /filter", "", nil, 405, "Allow: GET, HEAD\n" + refusal(19)},
	} {
		t.Run(test.name, func(t *testing.T) {
			method, path, _ := strings.Cut(test.request, " ")
			url := web.URL + path
			if of, ok := strings.CutPrefix(path, "blocked"); ok {
				url = blocked.URL + of
			}
			answer, resp := ask(t, method, url, test.body, test.header...)
			require.Equal(t, test.status, resp.StatusCode, answer)
			require.Contains(t, resp.Header, "Date")
			resp.Header.Del("Date")
			if strings.HasPrefix(path, "/filter") && test.status < 400 {
				made, err := http.ParseTime(resp.Header.Get("Last-Modified"))
				require.NoError(t, err)
				exactly, err := time.Parse(time.RFC3339Nano, resp.Header.Get(publish.MadeHeader))
				require.NoError(t, err)
				require.True(t, made.Equal(exactly.Truncate(time.Second)))
				resp.Header.Del("Last-Modified")
				resp.Header.Del(publish.MadeHeader)
			}
			var got strings.Builder
			require.NoError(t, resp.Header.Write(&got))
			want := strings.NewReplacer("STYLE", styleDigest(t), "LENGTH",
				fmt.Sprint(len(answer))).Replace(test.want)
			if resp.Close { // Go takes this line out of the header.
				want = strings.Replace(want, "Connection: close\n", "", 1)
			}
			require.Equal(t, want, strings.ReplaceAll(got.String(), "\r\n", "\n"))
			require.Equal(t, strings.Contains(test.want, "Connection: close"), resp.Close)
		})
	}
}

// styleDigest returns the digest of the page's style, as a browser computes it.
func styleDigest(t *testing.T) string {
	style := regexp.MustCompile("(?s)<style>(.*)</style>").FindStringSubmatch(read(t, "serve.html"))
	digest := sha256.Sum256([]byte(style[1]))
	return base64.StdEncoding.EncodeToString(digest[:])
}

// TestServeBodies: lines of a body are looked up as check looks up lines of a file.
func TestServeBodies(t *testing.T) {
	_, plain := serving(t, "apple\npear\n\n", "")
	_, windows := serving(t, "apple\r\npear\r\n", "")
	_, kept := serving(t, "apple\r\npear\r\n", "--keep-cr")
	_, hex := serving(t, "6869\n", "--hex --type blocked")
	_, folded := serving(t, "apple\n", "--fold-case")
	const form = "application/x-www-form-urlencoded"
	long := strings.Repeat("x", maxBody-1) + "\n"
	for _, test := range []struct {
		name, url, kind, body string
		status                int
		want                  string
	}{
		{"found lines", plain.URL, "", "apple\n\nplum\npear", 200, "apple\npear\n"},
		{"absent lines", plain.URL + "/contains?v=1", "", "apple\n\nplum\npear", 200, "plum\n"},
		{"the last one without a newline", plain.URL + "/contains?v=1", "", "plum", 200, "plum\n"},
		{"a carriage return", plain.URL, "", "apple\r\nplum\r\n", 200, "apple\r\n"},
		{"a list from Windows", windows.URL, "", "apple\r\npear\n", 200, "apple\r\npear\n"},
		{"absent from it", windows.URL + "/contains?v=1", "", "apple\r\npear\n", 200, ""},
		{"with carriage returns", kept.URL, "", "apple\r\npear\n", 200, "apple\r\n"},
		{"in any case", folded.URL, "", "APPLE\nPEAR\n", 200, "APPLE\n"},
		{"a form", plain.URL, form, "apple\n", 200, "apple\n"},
		{"an empty form", plain.URL, form, "", 200, ""},
		{"newlines that curl -d strips", plain.URL, form, "applepear", 400, "the body has no newline: " +
			"curl -d strips them, curl --data-binary @FILE keeps them\n"},
		{"no form", plain.URL, "text/plain", "apple", 200, "apple\n"},
		{"the mark of UTF-8", plain.URL, "", "\xef\xbb\xbfapple\n", 200, "apple\n"},
		{"the longest line", plain.URL + "/contains?v=1", "", long, 200, long},
		{"one byte more", plain.URL + "/contains?v=1", "", long + "x", 413,
			"the body has more than 8 MiB: send it in parts\n"},
		{"hexadecimal", hex.URL, "", "6869\n6870\n", 200, "6869\n"},
		{"not hexadecimal", hex.URL, "", "6869\n6\n", 400,
			"line 2: \"6\" is not an even number of hexadecimal digits\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(test.url, "/contains") {
				test.url += "/contains"
			}
			got, resp := ask(t, "POST", test.url, test.body, "Content-Type", test.kind)
			require.Equal(t, test.status, resp.StatusCode)
			require.True(t, test.want == got, "%.80q", got)
		})
	}
}

// TestServeSelectsLines compares the answers for random bodies with those of a map.
func TestServeSelectsLines(t *testing.T) {
	s, web := serving(t, numbers(0, 1000), "-p 1e-9")
	body := numbers(500, 20_000) // several pieces
	require.Greater(t, len(body), 2*bodyPiece)
	found, _ := ask(t, "POST", web.URL+"/contains", body)
	require.Equal(t, numbers(500, 1000), found)
	absent, resp := ask(t, "POST", web.URL+"/contains?v=1", body)
	require.Equal(t, numbers(1000, 20_000), absent)
	require.EqualValues(t, len(absent), resp.ContentLength)
	ask(t, "POST", web.URL+"/", "lines=apple")
	becomes(t, func() bool { return len(s.pieces) == 0 })
}

// TestServeTime: a client has a minute, and a second more for each 128 KiB.
func TestServeTime(t *testing.T) {
	require.Equal(t, time.Minute, patience(0))
	require.Equal(t, time.Minute+64*time.Second, patience(8<<20))
	require.Equal(t, time.Minute+8192*time.Second, patience(1<<30))

	s, _ := serving(t, "apple\n", "-n 10M")
	web := s.httpServer()
	require.Equal(t, 10*time.Second, web.ReadHeaderTimeout)
	require.Equal(t, 124*time.Second, web.ReadTimeout)
	require.Equal(t, 124*time.Second, web.WriteTimeout)
	require.Equal(t, 30*time.Second, web.IdleTimeout)
	require.Equal(t, 64<<10, web.MaxHeaderBytes)

	size := bloom.Must(bloom.LoadFile(s.path)).SizeBytes()
	for _, test := range []struct {
		request, body string
		size          int64
	}{
		{"POST /contains?v=1", strings.Repeat("x\n", 1<<20), 2 << 20},
		{"GET /filter", "", size},
		{"GET /", "", 8 << 20},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		w := &clockedWriter{ResponseRecorder: httptest.NewRecorder()}
		before := time.Now()
		web.Handler.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(test.body)))
		after := time.Now()
		require.Equal(t, 200, w.Code, test.request)
		require.False(t, w.deadline.Before(before.Add(patience(test.size))), test.request)
		require.False(t, w.deadline.After(after.Add(patience(test.size))), test.request)
	}
}

// clockedWriter keeps the time until which it may be written to.
type clockedWriter struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (w *clockedWriter) SetWriteDeadline(at time.Time) error {
	w.deadline = at
	return nil
}

// TestServeClients: a connection waits while as many as there may be are open.
func TestServeClients(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer inner.Close()
	var closed atomic.Bool
	counted := &countedListener{Listener: inner}
	limited := &limitListener{counted, make(chan struct{}, 2)}
	var accepted []net.Conn
	for range 2 {
		client, err := net.Dial("tcp", inner.Addr().String())
		require.NoError(t, err)
		defer client.Close()
		conn, err := limited.Accept()
		require.NoError(t, err)
		accepted = append(accepted, conn)
	}
	counted.onAccept = func() {
		assert.True(t, closed.Load(), "a third connection is accepted beside two")
	}
	third := make(chan error, 1)
	go func() {
		_, err := limited.Accept()
		third <- err
	}()
	client, err := net.Dial("tcp", inner.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	closed.Store(true)
	require.NoError(t, accepted[0].Close())
	accepted[0].Close() // A second Close gives no second place back.
	ends(t, func() { require.NoError(t, <-third) })
	require.Len(t, limited.places, 2)
	require.Implements(t, (*interface{ CloseWrite() error })(nil), accepted[1])

	require.NoError(t, accepted[1].Close())
	require.NoError(t, inner.Close())
	_, err = limited.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	require.Len(t, limited.places, 1, "a failure takes no place")
}

type countedListener struct {
	net.Listener
	onAccept func()
}

func (l *countedListener) Accept() (net.Conn, error) {
	if l.onAccept != nil {
		l.onAccept()
	}
	return l.Listener.Accept()
}

// TestServeSlowClients: slow requests, as many as there are places but one, delay no quick one, and
// take little memory.
func TestServeSlowClients(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "apple\n", "build -o list")
	cmd, url, _ := startServe(t, "list")
	for range maxClients - 1 {
		client, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		require.NoError(t, err)
		defer client.Close()
		_, err = fmt.Fprintf(client,
			"POST /contains HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\nap", maxBody)
		require.NoError(t, err)
	}
	quick := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: watchdog}
	for range 20 {
		resp, err := quick.Post(url+"/contains", "text/plain", strings.NewReader("pear\napple\n"))
		require.NoError(t, err)
		answer, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "apple\n", string(answer))
	}
	require.Less(t, peak(t, cmd), 200_000, "kilobytes; the race detector takes 130,000")
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
}

// TestServeStops: a signal lets a request end that has begun, and accepts no other.
func TestServeStops(t *testing.T) {
	defaultSignals(t)
	t.Chdir(t.TempDir())
	good(t, "apple\n", "build -o list")
	cmd, url, _ := startServe(t, "list")
	address := strings.TrimPrefix(url, "http://")
	client, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.SetDeadline(time.Now().Add(watchdog)))
	send(t, client, "POST /contains HTTP/1.1\r\nHost: localhost\r\nExpect: "+
		"100-continue\r\nContent-Length: 6\r\n\r\n")
	receive(t, client, "HTTP/1.1 100 Continue\r\n\r\n")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	becomes(t, func() bool {
		other, err := net.Dial("tcp", address)
		if err == nil {
			other.Close()
		}
		return err != nil
	})
	send(t, client, "apple\n")
	resp, err := http.ReadResponse(bufio.NewReader(client), nil)
	require.NoError(t, err)
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "apple\n", string(answer))
	require.NoError(t, cmd.Wait())
}

// TestSecondSignal: a second signal immediately ends a command that the first one lets end slowly,
// here a server that waits for a request to end.
func TestSecondSignal(t *testing.T) {
	defaultSignals(t)
	t.Chdir(t.TempDir())
	good(t, "apple\n", "build -o list")
	cmd, url, _ := startServe(t, "list")
	client, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.SetDeadline(time.Now().Add(watchdog)))
	send(t, client, "POST /contains HTTP/1.1\r\nHost: localhost\r\nExpect: "+
		"100-continue\r\nContent-Length: 6\r\n\r\n")
	receive(t, client, "HTTP/1.1 100 Continue\r\n\r\n")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	becomes(t, func() bool { // the first signal may not have been taken when the second one comes
		cmd.Process.Signal(syscall.SIGTERM)
		return len(ended) > 0
	})
	require.Error(t, <-ended)
	require.Equal(t, "signal: terminated", cmd.ProcessState.String(), "it waited for the request")
}

// TestServeIsBusy: large bodies and downloads are refused while as many as there may be are under
// way. Small bodies need no place.
func TestServeIsBusy(t *testing.T) {
	s, web := serving(t, "apple\n", "")
	for range maxPieces {
		s.pieces <- struct{}{}
	}
	for range maxDownloads {
		s.downloads <- struct{}{}
	}
	for request, body := range map[string]string{
		"GET /filter":    "",
		"POST /":         "lines=" + strings.Repeat("x", bodyPiece),
		"POST /contains": strings.Repeat("x", bodyPiece+1),
	} {
		method, path, _ := strings.Cut(request, " ")
		answer, resp := ask(t, method, web.URL+path, body)
		require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, request)
		require.Equal(t, "too many requests at once\n", answer, request)
		require.Equal(t, "1", resp.Header.Get("Retry-After"), request)
	}
	body := "apple\n" + strings.Repeat("x", bodyPiece-7)
	got, _ := ask(t, "POST", web.URL+"/contains", body)
	require.Equal(t, "apple\n", got)
	got, _ = ask(t, "POST", web.URL, "lines=apple", "Content-Type",
		"application/x-www-form-urlencoded")
	require.Contains(t, got, "1 of 1 line is probably in the list.")
	require.Len(t, s.pieces, maxPieces, "those who got no place give none back")
	require.Len(t, s.downloads, maxDownloads)
}

// TestServeSilentClients: clients that announce large bodies, and send a part or nothing, keep
// nobody else from sending one. Those that break off keep no place.
func TestServeSilentClients(t *testing.T) {
	s, web := serving(t, numbers(0, 1000), "-p 1e-9")
	for i := range 64 {
		client, err := net.Dial("tcp", web.Listener.Addr().String())
		require.NoError(t, err)
		defer client.Close()
		path := []string{"/", "/contains"}[i%2]
		send(t, client, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\n"+
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n", path,
			maxPasted))
		if i >= 32 {
			send(t, client, strings.Repeat("x\n", bodyPiece/2+1))
			if i >= 48 {
				require.NoError(t, client.Close())
			}
		}
	}
	becomes(t, func() bool { return len(s.pieces) == 16 })
	found, _ := ask(t, "POST", web.URL+"/contains", numbers(500, 100_000))
	require.Equal(t, numbers(500, 1000), found)
	page, _ := ask(t, "POST", web.URL, "lines="+strings.Repeat("x%0a", bodyPiece), "Content-Type",
		"application/x-www-form-urlencoded")
	require.Contains(t, page, "0 of ")
	web.CloseClientConnections()
	becomes(t, func() bool { return len(s.pieces) == 0 })
}

// TestServeUnkindClients: a client that sends slowly gets the answer of any other. One that breaks
// off keeps no place, and nobody else notices it.
func TestServeUnkindClients(t *testing.T) {
	s, web := serving(t, numbers(0, 1000), "-n 200k")
	s.downloads = make(chan struct{}, 3)
	s.pieces = make(chan struct{}, 8)
	lines := strings.Repeat("x\n", bodyPiece) + "line 7\n"
	const form = "Content-Type: application/x-www-form-urlencoded\r\n"
	for _, request := range []struct{ line, headers, body string }{
		{"GET /contains?key=line+7", "", ""},
		{"GET /filter", "", ""},
		{"POST /contains", "", lines},
		{"POST /", form, "lines=" + strings.Repeat("x%0a", bodyPiece/4) + "line+7"},
	} {
		head := fmt.Sprintf("%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+
			"%sContent-Length: %d\r\n\r\n", request.line, request.headers, len(request.body))
		answer := func(send func(conn *net.TCPConn, head, body string) error) string {
			conn, err := net.Dial("tcp", web.Listener.Addr().String())
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, conn.SetDeadline(time.Now().Add(watchdog)))
			require.NoError(t, send(conn.(*net.TCPConn), head, request.body))
			got, _ := io.ReadAll(conn) // an error if the client has closed it
			return dates.ReplaceAllString(string(got), "")
		}
		plainly := func(conn *net.TCPConn, head, body string) error {
			_, err := io.WriteString(conn, head+body)
			return err
		}
		want := answer(plainly)
		require.Contains(t, want, " 200 OK", request.line)
		for _, client := range unkind.Clients() {
			for range 2 {
				got := answer(client.Send)
				require.True(t, !client.Whole || got == want, "%s: %s", request.line, client.Name)
			}
			becomes(t, func() bool { return len(s.pieces)+len(s.downloads) == 0 })
			require.True(t, want == answer(plainly), "%s after a client that %s", request.line, client.Name)
		}
	}
}

var dates = regexp.MustCompile("Date: .*\r\n")

// TestServeFlags: each flag reaches what it is for.
func TestServeFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	f := bloom.Must(bloom.New(100, 1e-9))
	for _, key := range []string{"a", "\xff", "b\r", ""} {
		f.AddString(key)
	}
	require.NoError(t, f.SaveFile("list")) // without a Hash, so that the flags decide
	for _, test := range []struct{ flags, host, path, without, with string }{
		{"--fold-case", "", "/contains?key=A", "false\n 200", "true\n 200"},
		{"--hex", "", "/contains?key=ff", "false\n 200", "true\n 200"},
		{"--keep-cr", "", "/contains?key=b%0d", "false\n 200", "true\n 200"},
		{"--blank", "", "/contains?key=",
			"the key is empty, and lists have no blank lines (see --blank)\n 400", "true\n 200"},
		{"--host fruit", "fruit", "/contains?key=a",
			"\"fruit\" is not a name of this server; bloom serve --host NAME adds one\n 403", "true\n 200"},
		{"--host fruit --host x", "x", "/contains?key=a",
			"\"x\" is not a name of this server; bloom serve --host NAME adds one\n 403", "true\n 200"},
	} {
		for flags, want := range map[string]string{"": test.without, test.flags: test.with} {
			cmd, url, _ := startServe(t, "list", strings.Fields(flags)...)
			answer, resp := ask(t, "GET", url+test.path, "", "Host", test.host)
			require.Equal(t, want, fmt.Sprint(answer, " ", resp.StatusCode), flags)
			require.NoError(t, cmd.Process.Kill())
			cmd.Wait()
		}
	}
	cmd, url, _ := startServe(t, "list", "--addr", ":0")
	require.NotContains(t, url, "127.0.0.1", "--addr :0 listens on all addresses")
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
}

// TestServeRefuses: a compressed body is not looked up as if it were lines, and no page of another
// name gets answers from a loopback address.
func TestServeRefuses(t *testing.T) {
	s, web := serving(t, "apple\n", "")
	s.local, s.hosts = true, []string{"fruit.example", "other.example:8443"}
	for _, test := range []struct {
		method, path, host, coding, body string
		status                           int
	}{
		{"POST", "/contains", "", "", "apple\n", 200},
		{"POST", "/contains", "", "identity", "apple\n", 200},
		{"POST", "/contains", "", "gzip", gzipped("apple\n"), 415},
		{"POST", "/contains", "", "br", "apple\n", 415},
		{"POST", "/contains", "", "", gzipped("apple\n"), 415},
		{"POST", "/contains", "", "", zstded("apple\n"), 415},
		{"POST", "/contains", "", "", "BZh91AY&SY\x10", 415},
		{"POST", "/", "", "gzip", gzipped("lines=apple"), 415},
		{"GET", "/", "localhost", "", "", 200},
		{"GET", "/info", "LOCALHOST.:8080", "", "", 200},
		{"GET", "/filter", "127.0.0.1:1", "", "", 200},
		{"GET", "/contains?key=apple", "[::1]:8080", "", "", 200},
		{"GET", "/info", "::1", "", "", 200},
		{"GET", "/info", "Fruit.Example:8080", "", "", 200},
		{"GET", "/info", "other.example:8443", "", "", 200},
		{"GET", "/info", "other.example:1", "", "", 403},
		{"GET", "/info", "evil.example", "", "", 403},
		{"GET", "/", "localhost.evil.example:8080", "", "", 403},
		{"POST", "/contains", "10.0.0.1", "", "apple\n", 403},
	} {
		answer, resp := ask(t, test.method, web.URL+test.path, test.body, "Host", test.host,
			"Content-Encoding", test.coding)
		require.Equal(t, test.status, resp.StatusCode, "%+v: %s", test, answer)
		switch {
		case test.status == 403:
			require.Equal(t, fmt.Sprintf("%q is not a name of this server; bloom serve --host NAME "+
				"adds one\n", test.host), answer)
		case test.status == 415 && test.body[:2] == "BZ":
			require.Equal(t, "it is compressed with bzip2: unpack it first: bzip2 -dc\n", answer)
		case test.status == 415:
			require.Equal(t, "the body is compressed: send it unpacked\n", answer)
		}
	}
	s.local = false
	_, resp := ask(t, "GET", web.URL+"/info", "", "Host", "any.example")
	require.Equal(t, 200, resp.StatusCode)
}

// TestServeNames: a name of the server is known in each of its spellings, and what only contains it
// is another name.
func TestServeNames(t *testing.T) {
	s := &server{hosts: []string{"fruit.example", "other.example:8443"}}
	for name, known := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.255.0.9": true, "fruit.example": true,
		"other.example": false, "example": false, "10.0.0.1": false, "0.0.0.0": false, "local": false,
	} {
		for _, spelled := range []string{name, strings.ToUpper(name), name + "."} {
			for _, host := range []string{spelled, spelled + ":1", spelled + ":8443"} {
				want := known || strings.EqualFold(host, "other.example:8443")
				require.Equal(t, want, s.answersFor(host), host)
			}
		}
		for _, around := range [][2]string{
			{".", ""}, {"", ".."}, {"", ".evil.example"}, {"evil.", ""}, {"evil-", ""}, {"x", ""}, {"", "x"},
			{"", "%"}, {" ", ""}, {"", "/"}, {"", "@evil.example"}, {"evil.example:1@", ""},
		} {
			for _, port := range []string{"", ":80"} {
				host := around[0] + name + around[1] + port
				require.False(t, s.answersFor(host), host)
			}
		}
	}
	for host, want := range map[string]bool{
		"": true, "[::1]": true, "[::1]:80": true, "::1": true, "[::2]:80": false, "::": false,
		"[::ffff:127.0.0.1]": true, "[fe80::1]": false, "other.example:8443": true,
	} {
		require.Equal(t, want, s.answersFor(host), host)
	}
}

// TestServeSlowDownload: a slow download goes on while the file is replaced by ones that differ
// little, and has the bytes of its version. It breaks off if the file is replaced by another list.
func TestServeSlowDownload(t *testing.T) {
	s, web := serving(t, numbers(0, 100_000), "-n 200k")
	before := read(t, s.path)
	require.Greater(t, len(before), 3*bodyPiece)
	start := func() (slow *stuckWriter, ended chan any) {
		slow = &stuckWriter{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}),
			again: make(chan struct{})}
		ended = make(chan any, 1)
		go func() {
			defer func() { ended <- recover() }()
			web.Config.Handler.ServeHTTP(slow, httptest.NewRequest("GET", "/filter", nil))
		}()
		ends(t, func() { <-slow.begun })
		return slow, ended
	}
	replaced := func(line string) {
		t.Helper()
		loaded, err := s.reload()
		require.NoError(t, err)
		require.True(t, loaded)
		require.True(t, has(t, s, line))
	}
	slow, ended := start()
	for _, key := range []string{"pear", "plum", "fig"} {
		good(t, key+"\n", "add", s.path)
		replaced(key)
	}
	close(slow.again)
	ends(t, func() { require.Nil(t, <-ended) })
	require.True(t, before == slow.Body.String(), "another version than the one that was asked for")

	slow, ended = start()
	good(t, numbers(100_000, 200_000), "build --force -n 200k -o", s.path)
	replaced("line 100000")
	close(slow.again)
	ends(t, func() { require.Equal(t, http.ErrAbortHandler, <-ended) })
	require.Empty(t, s.downloads)
}

// stuckWriter waits in its first Write.
type stuckWriter struct {
	*httptest.ResponseRecorder
	once         sync.Once
	begun, again chan struct{}
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	w.once.Do(func() {
		close(w.begun)
		<-w.again
	})
	return w.ResponseRecorder.Write(p)
}

// TestServePatches: a replica follows a served list by patches, also from a restarted server,
// if that one has served its version.
func TestServePatches(t *testing.T) {
	for _, kind := range []string{"guava", "counting"} {
		s, web := serving(t, numbers(0, 10_000), "-n 20k --type "+kind)
		var statuses []int
		client := &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
			resp, err := http.DefaultTransport.RoundTrip(req)
			statuses = append(statuses, resp.StatusCode)
			return resp, err
		})}
		src := &replica.HTTPSource{URL: web.URL + "/filter", Client: client}
		near := replica.New(src, replica.Config{})
		require.NoError(t, near.Refresh(t.Context()))
		for i := range 3 {
			for range i { // one, two and three versions behind
				good(t, fmt.Sprintln("between", i), "add", s.path)
				bloom.Must(s.reload())
			}
			good(t, fmt.Sprintln("new", i), "add", s.path)
			bloom.Must(s.reload())
			require.NoError(t, near.Refresh(t.Context()))
			require.True(t, near.ContainsString(fmt.Sprint("new ", i)))
		}
		require.NoError(t, near.Refresh(t.Context()))
		require.Equal(t, []int{200, 226, 226, 226, 304}, statuses, kind)
		copied, _ := ask(t, "GET", web.URL+"/filter", "")
		got := new(bloom.Filter)
		require.NoError(t, got.UnmarshalBinary([]byte(copied)))
		require.True(t, got.Equal(near.Snapshot()))
		require.Equal(t, got.Info(), near.Info())

		restarted := httptest.NewServer(serverOf(t, s.path).handler())
		src.URL = restarted.URL + "/filter"
		require.NoError(t, near.Refresh(t.Context()))
		require.Equal(t, 304, statuses[len(statuses)-1], "the same file has the same version")
		restarted.Close()
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }

// TestServeWatches: each tick looks at the file. A damaged file, and one with keys of another
// kind, is refused, and the old filter answers until there is a good one.
func TestServeWatches(t *testing.T) {
	s, _ := serving(t, "apple\n", "-n 1000 -p 1e-9")
	whole := read(t, s.path)
	for name, damaged := range map[string]string{
		"no filter": "no filter",
		"empty":     "",
		"cut":       whole[:len(whole)/2],
		"changed":   whole[:100] + "\x55" + whole[101:],
	} {
		write(t, s.path, damaged)
		later := time.Now().Add(time.Minute) // the clock of a file system may be a coarse one
		require.NoError(t, os.Chtimes(s.path, later, later))
		for range 2 { // a file that could not be loaded is tried again
			loaded, err := s.reload()
			require.Error(t, err, name)
			require.False(t, loaded, name)
			require.True(t, has(t, s, "apple"), name)
		}
	}
	require.NoError(t, os.Remove(s.path))
	_, err := s.reload()
	require.ErrorIs(t, err, fs.ErrNotExist)

	good(t, "pear\n", "build -n 1000 -p 1e-9 -o", s.path)
	ctx, cancel := context.WithCancel(t.Context())
	ticks := make(chan time.Time)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watch(ctx, ticks)
	}()
	// The second one is taken after the first one's work.
	ends(t, func() { ticks <- time.Time{}; ticks <- time.Time{} })
	require.True(t, has(t, s, "pear"))
	require.False(t, has(t, s, "apple"))
	cancel()
	ends(t, func() { <-done })
}

// TestServeBodyThenFilter: a body is looked up in the filter that is served when it has arrived.
func TestServeBodyThenFilter(t *testing.T) {
	s, web := serving(t, "apple\n", "-n 1000")
	good(t, "pear\n", "add", s.path)
	body := onRead{strings.NewReader("pear\n"), func() {
		require.NoError(t, s.load())
	}}
	w := httptest.NewRecorder()
	web.Config.Handler.ServeHTTP(w, httptest.NewRequest("POST", "/contains", body))
	require.Equal(t, "pear\n", w.Body.String())
}

// onRead calls before in each Read.
type onRead struct {
	io.Reader
	before func()
}

func (r onRead) Read(p []byte) (int, error) {
	r.before()
	return r.Reader.Read(p)
}

// TestServeReplacedMeanwhile: a file that is replaced while it is loaded is loaded again.
func TestServeReplacedMeanwhile(t *testing.T) {
	s, _ := serving(t, "apple\n", "-n 1000")
	s.open = func(path string) (*loaded, error) {
		f, err := load(path)
		s.open = loadKeys
		good(t, "pear\n", "add", path)
		return f, err
	}
	require.NoError(t, s.load())
	again, err := s.reload()
	require.NoError(t, err)
	require.True(t, again)
	require.True(t, has(t, s, "pear"))
}

// TestServeFollowsTheType: once a client has asked for /filter, further versions are published while
// the file's type has Guava's form.
func TestServeFollowsTheType(t *testing.T) {
	s, _ := serving(t, "apple\n", "-n 1000")
	first := s.follow()
	require.NotNil(t, first)
	for flags, published := range map[string]bool{"--type growing": false, "-n 1000": true} {
		good(t, "pear\n", "build --force "+flags+" -o", s.path)
		again, err := s.reload()
		require.NoError(t, err)
		require.True(t, again)
		require.Equal(t, published, s.follow() != nil, flags)
	}
}

// TestReasons: while a file is written in place, each attempt to load it fails otherwise, for one
// reason.
func TestReasons(t *testing.T) {
	require.Empty(t, reasonOf(nil))
	other := errors.New("disk error")
	require.Equal(t, "disk error", reasonOf(other))
	for _, kind := range []error{fs.ErrNotExist, fs.ErrPermission, bloom.ErrVersion, bloom.ErrFormat} {
		require.Equal(t, kind.Error(), reasonOf(fmt.Errorf("f: %w at byte 7", kind)))
	}
}

// TestServeStart: serve says at its start what it doubts, and what keeps it from serving.
func TestServeStart(t *testing.T) {
	t.Chdir(t.TempDir())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	good(t, "a\n", "build -n 10 -o list")
	good(t, "x,y\n", "add --force -f 1 list")
	good(t, "a\n", "build -n 10 -o theirs")
	f := bloom.Must(bloom.LoadFile("theirs"))
	f.UpdateInfo(func(i *bloom.Info) { i.Hash = "by hand" })
	require.NoError(t, f.SaveFile("theirs"))
	for path, says := range map[string]string{
		"list": "list has keys of several fields, or of fields and whole lines (--force): this run " +
			"looks lines up with no -f",
		"theirs": `theirs says that its keys are "by hand", but bloom looks lines up as the flags say`,
	} {
		_, stderr, status := bloomRun(t, "", "serve --addr", taken.Addr().String(), path)
		require.Equal(t, 1, status, path)
		warning, listen, _ := strings.Cut(stderr, "\n")
		require.Equal(t, "bloom: warning: "+says, warning)
		requireError(t, listen, "listen tcp "+taken.Addr().String()+": bind: ...")
	}
	good(t, "a\n", "build -n 10 --shard 0/1 -o whole")
	good(t, "a\n", "build -n 10 --shard 1/2 -o half")
	saying(t, 1, "listen tcp "+taken.Addr().String()+": bind: ...", "", "serve --addr",
		taken.Addr().String(), "whole")
	saying(t, 1, "half is one of 2 shards, and lacks the lines of the others", "", "serve half")
}

// TestServeMemory: a filter is in memory once, and twice while it is reloaded.
func TestServeMemory(t *testing.T) {
	const size = 32 << 20
	s, web := serving(t, "apple\n", fmt.Sprint("-p 0.001 -n ", size*8/15))
	var before, after runtime.MemStats
	s.now.Store(nil)
	debug.FreeOSMemory()
	runtime.ReadMemStats(&before)
	require.NoError(t, s.load())
	for i := range 3 {
		good(t, fmt.Sprintln(i), "add", s.path)
		loaded, err := s.reload()
		require.NoError(t, err)
		require.True(t, loaded)
		resp, err := http.Get(web.URL + "/filter")
		require.NoError(t, err)
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc-before.HeapAlloc), int64(1.5*size))
	require.Less(t, int64(after.HeapSys-before.HeapSys), int64(2.5*size))
}

// TestServeFilter: replicas get the filter, of a counting one the plain filter.
func TestServeFilter(t *testing.T) {
	for _, kind := range []string{"guava", "counting"} {
		for _, n := range []string{"10", "10000"} { // a full one and a sparse one
			s, web := serving(t, numbers(0, 10), "-n "+n+" --type "+kind)
			near := replica.New(&replica.HTTPSource{URL: web.URL + "/filter",
				Client: http.DefaultClient}, replica.Config{})
			require.NoError(t, near.Refresh(t.Context()))
			require.True(t, near.ContainsString("line 9"))
			require.False(t, near.ContainsString("ho"))
			version := near.Version()
			require.NotEmpty(t, version)
			require.NoError(t, near.Refresh(t.Context()))
			require.Equal(t, version, near.Version())

			// A copy is a file as build makes it, with its Info: check obeys it.
			copied, head := ask(t, "GET", web.URL+"/filter", "")
			if kind == "guava" {
				require.True(t, copied == read(t, s.path), "/filter differs from the file")
			}
			got := new(bloom.Filter)
			require.NoError(t, got.UnmarshalBinary([]byte(copied)))
			require.Equal(t, s.now.Load().filter.Info(), got.Info())
			require.Equal(t, got.Info(), near.Info())

			// A client that has the version receives no filter.
			_, again := ask(t, "GET", web.URL+"/filter", "", "If-None-Match",
				`"other", `+head.Header.Get("ETag"))
			require.Equal(t, http.StatusNotModified, again.StatusCode)
			becomes(t, func() bool { return len(s.downloads) == 0 }) // the places are given back
		}
	}
	_, web := serving(t, "hi\n", "--type blocked")
	answer, resp := ask(t, "GET", web.URL+"/filter", "")
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	require.Equal(t, "a blocked.Filter cannot be sent in the form of a Guava filter\n", answer)
}
