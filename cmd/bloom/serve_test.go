package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/replica"
)

// TestServe asks a server, replaces its file, and ends it.
func TestServe(t *testing.T) {
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

	near := replica.New(&replica.HTTPSource{URL: url + "/filter", Client: http.DefaultClient}, replica.Config{})
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
	line, err := log.ReadString('\n')
	require.NoError(t, err)
	requireError(t, line, "going on with the old filter")
	answer, _ = ask(t, "GET", url+"/contains?key=pear", "")
	require.Equal(t, "true\n", answer)

	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
}

// ask returns the answer to a request whose header has these names and values.
func ask(t testing.TB, method, url, body string, header ...string) (answer string, resp *http.Response) {
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
func startServe(t *testing.T, path string) (cmd *exec.Cmd, url string, log *bufio.Reader) {
	t.Helper()
	cmd = command(t, "serve -addr 127.0.0.1:0", path)
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
	found, err := s.has(s.now.Load(), []byte(key), new([]byte))
	require.NoError(t, err)
	return found
}

// TestServeBodies: what a body says is what a file says.
func TestServeBodies(t *testing.T) {
	_, plain := serving(t, "apple\npear\n\n", "")
	_, windows := serving(t, "apple\r\npear\r\n", "")
	_, kept := serving(t, "apple\r\npear\r\n", "-keep-cr")
	_, hex := serving(t, "6869\n", "-hex -type blocked")
	const form = "application/x-www-form-urlencoded"
	long := strings.Repeat("x", maxLine)
	for _, test := range []struct {
		url, kind, body string
		status          int
		want            string
	}{
		{plain.URL, "", "apple\n\nplum\npear", 200, "apple\npear\n"},
		{plain.URL + "/contains?v=1", "", "apple\n\nplum\npear", 200, "plum\n"},
		{plain.URL, "", "apple\r\nplum\r\n", 200, "apple\r\n"},
		{windows.URL, "", "apple\r\npear\n", 200, "apple\r\npear\n"},
		{windows.URL + "/contains?v=1", "", "apple\r\npear\n", 200, ""},
		{kept.URL, "", "apple\r\npear\n", 200, "apple\r\n"},
		{plain.URL, form, "apple\n", 200, "apple\n"},
		{plain.URL, form, "", 200, ""},
		{plain.URL, form, "applepear", 400, errStripped.Error() + "\n"},
		{plain.URL, "text/plain", "apple", 200, "apple\n"},
		{plain.URL + "/contains?v=1", "", long + "\n", 200, long + "\n"},
		{plain.URL + "/contains?v=1", "", long + "x\n", 400, "line 1: it is longer than 65536 bytes\n"},
		{hex.URL, "", "6869\n6870\n", 200, "6869\n"},
		{hex.URL, "", "6869\n6\n", 400, "line 2: \"6\" is not an even number of hexadecimal digits\n"},
	} {
		if !strings.Contains(test.url, "/contains") {
			test.url += "/contains"
		}
		got, resp := ask(t, "POST", test.url, test.body, "Content-Type", test.kind)
		require.Equal(t, test.status, resp.StatusCode, "%.80q", test.body)
		require.Equal(t, test.want, got, "%.80q", test.body)
	}
}

// TestServeAsTheyCome: a line is answered before the next one is sent, and a line that
// is wrong after answers were sent cuts the connection.
func TestServeAsTheyCome(t *testing.T) {
	_, web := serving(t, "6869\n", "-hex")
	body, send := io.Pipe()
	go io.WriteString(send, "6869\n")
	resp, err := http.Post(web.URL+"/contains", "text/plain", body)
	require.NoError(t, err)
	defer resp.Body.Close()
	answers := bufio.NewReader(resp.Body)
	for range 3 {
		answer, err := answers.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "6869\n", answer)
		go io.WriteString(send, "6869\n")
	}
	_, err = answers.ReadString('\n')
	require.NoError(t, err)
	go io.WriteString(send, "no hex\n")
	_, err = answers.ReadString('\n')
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// TestServeSendsFirst: a client may send all of its lines before it reads an answer. The
// answers do not wait in memory.
func TestServeSendsFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "pear\n", "build -p 1e-9 -o list")
	cmd, url, _ := startServe(t, "list")
	client, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.SetDeadline(time.Now().Add(watchdog)))
	line := strings.Repeat("apple", 12) + "\n"
	body := strings.Repeat(line, maxBody/len(line))
	_, err = fmt.Fprintf(client, "POST /contains?v=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", len(body))
	require.NoError(t, err)
	_, err = io.WriteString(client, body)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(client), nil)
	require.NoError(t, err)
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.True(t, body == string(answer))
	require.Less(t, peak(t, cmd), 100_000)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
}

// TestServeSlowReader: what a client does not take yet waits in a file, in order. An answer
// that ends in an error ends at once, whatever the client takes.
func TestServeSlowReader(t *testing.T) {
	var want bytes.Buffer
	taken := make(chan struct{})
	w := &slow{ResponseRecorder: httptest.NewRecorder(), taken: taken}
	files := make(chan struct{}, 1)
	b := newBacklog(w, files)
	for i := range 50_000 {
		if i == 40_000 { // it takes what was in memory, and more comes, which is to wait for the file
			ends(t, func() { taken <- struct{}{}; taken <- struct{}{} })
		}
		fmt.Fprintln(io.MultiWriter(&want, b), "line", i)
	}
	require.NotNil(t, b.file)
	close(taken)
	require.LessOrEqual(t, cap(b.memory), inMemory)
	end := func(b *backlog, with, want error, began bool) {
		t.Helper()
		ends(t, func() {
			got, err := b.end(with)
			assert.ErrorIs(t, err, want)
			assert.Equal(t, began, got)
		})
	}
	end(b, nil, nil, true)
	require.True(t, want.String() == w.Body.String())
	require.ErrorIs(t, b.file.Close(), os.ErrClosed, "the descriptor is given back")
	require.NoFileExists(t, b.file.Name())
	require.Empty(t, files, "and the place")

	broken := errors.New("broken")
	b = newBacklog(&slow{ResponseRecorder: httptest.NewRecorder(), taken: taken, err: broken}, files)
	_, err := b.Write([]byte("x"))
	require.NoError(t, err)
	ends(t, func() { <-b.done })
	_, err = b.Write([]byte("x"))
	require.ErrorIs(t, err, broken)
	end(b, nil, broken, true)

	end(newBacklog(&slow{ResponseRecorder: httptest.NewRecorder()}, files), broken, broken, false)

	w = &slow{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), taken: make(chan struct{})}
	b = newBacklog(w, files)
	_, err = b.Write([]byte("x"))
	require.NoError(t, err)
	ends(t, func() { <-w.begun })
	end(b, broken, broken, true) // does not wait for who takes nothing
}

// slow is a client that takes nothing until it may.
type slow struct {
	*httptest.ResponseRecorder
	begun, taken chan struct{}
	err          error
}

func (s *slow) SetWriteDeadline(time.Time) error {
	if s.begun != nil {
		close(s.taken)
	}
	return nil
}

func (s *slow) FlushError() error { return s.err }

func (s *slow) Write(p []byte) (int, error) {
	if s.begun != nil {
		close(s.begun)
	}
	<-s.taken
	return s.ResponseRecorder.Write(p)
}

// TestServeSlowClients: quick requests are answered beside any number of slow ones. Of these the one
// that was idle for the longest time gives its place away.
func TestServeSlowClients(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "apple\n", "build -o list")
	cmd, url, _ := startServe(t, "list")
	slow := make([]net.Conn, maxClients+10)
	for i := range slow {
		var err error
		slow[i], err = net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		require.NoError(t, err)
		defer slow[i].Close()
		fmt.Fprintf(slow[i], "POST /contains HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nap")
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
	closed := 0
	for _, client := range slow {
		client.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := client.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			closed++
		}
	}
	require.GreaterOrEqual(t, closed, 10)
	require.Less(t, closed, 100)
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
}

// TestServeFiles: so many answers wait in files, and no more. Those that wait in memory need no place.
func TestServeFiles(t *testing.T) {
	s, web := serving(t, "apple\n", "")
	for range maxLong {
		s.files <- struct{}{}
		s.filters <- struct{}{}
	}
	_, resp := ask(t, "GET", web.URL+"/filter", "")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	got, _ := ask(t, "POST", web.URL+"/contains", "pear\napple\n")
	require.Equal(t, "apple\n", got)
	b := newBacklog(&slow{ResponseRecorder: httptest.NewRecorder(), taken: make(chan struct{})}, s.files)
	_, err := b.Write(make([]byte, 2*inMemory))
	require.ErrorIs(t, err, errBusy)
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
		answer, resp := ask(t, test.method, web.URL+test.path, test.body, "Host", test.host, "Content-Encoding", test.coding)
		require.Equal(t, test.status, resp.StatusCode, "%+v: %s", test, answer)
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
		if test.status == 403 {
			require.Contains(t, answer, "serve -host")
		}
	}
	s.local = false
	_, resp := ask(t, "GET", web.URL+"/info", "", "Host", "any.example")
	require.Equal(t, 200, resp.StatusCode)
}

// TestServeHoldsTwo: a filter that an answer uses stays, and the file is not loaded a
// third time beside it.
func TestServeHoldsTwo(t *testing.T) {
	s, web := serving(t, "apple\n", "-n 1000")
	body, send := io.Pipe()
	go io.WriteString(send, "apple\n")
	resp, err := http.Post(web.URL+"/contains", "text/plain", body)
	require.NoError(t, err)
	defer resp.Body.Close()
	replaced := func(key string, want bool) {
		t.Helper()
		good(t, key+"\n", "add", s.path)
		loaded, err := s.reload()
		require.NoError(t, err)
		require.Equal(t, want, loaded)
		require.Equal(t, want, has(t, s, key))
	}
	replaced("pear", true)
	replaced("plum", false)
	go func() {
		io.WriteString(send, "pear\napple\n") // asked of the filter that it began with
		send.Close()
	}()
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "apple\napple\n", string(got))
	becomes(t, func() bool { // once the answer has ended
		loaded, err := s.reload()
		require.NoError(t, err)
		return loaded
	})
	replaced("fig", true)
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

// TestServeMemory: a filter is in memory once, and twice while it is loaded anew.
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
			s, web := serving(t, numbers(0, 10), "-n "+n+" -type "+kind)
			near := replica.New(&replica.HTTPSource{URL: web.URL + "/filter", Client: http.DefaultClient}, replica.Config{})
			require.NoError(t, near.Refresh(t.Context()))
			require.True(t, near.ContainsString("line 9"))
			require.False(t, near.ContainsString("ho"))
			version := near.Version()
			require.NotEmpty(t, version)
			require.NoError(t, near.Refresh(t.Context()))
			require.Equal(t, version, near.Version())

			// Who has the version gets no filter, whatever else he has.
			_, head := ask(t, "GET", web.URL+"/filter", "")
			_, again := ask(t, "GET", web.URL+"/filter", "", "If-None-Match", `"other", `+head.Header.Get("ETag"))
			require.Equal(t, http.StatusNotModified, again.StatusCode)
			becomes(t, func() bool { return len(s.filters) == 0 }) // the places are given back
		}
	}
	_, web := serving(t, "hi\n", "-type blocked")
	_, resp := ask(t, "GET", web.URL+"/filter", "")
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
}
