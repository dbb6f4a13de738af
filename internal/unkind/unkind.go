// Package unkind provides readers and writers that are as unhelpful as their contracts allow, and
// servers and clients that are slow, unusual or faulty. A test of a function that takes a reader,
// for example, tries all of the readers. Package filtertest has ways to replace a file.
package unkind

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing/iotest"
)

// ErrStore is the error of the failing readers, and of the failing writers that return an error.
var ErrStore = errors.New("the store failed")

// Readers returns readers of data that return no error except io.EOF.
func Readers(data []byte) map[string]io.Reader {
	whole := func() io.Reader { return bytes.NewReader(data) }
	return map[string]io.Reader{
		"plain":                  struct{ io.Reader }{whole()},
		"a byte at a time":       iotest.OneByteReader(whole()),
		"half of what is asked":  iotest.HalfReader(whole()),
		"EOF with the last byte": iotest.DataErrReader(whole()),
		"nothing, then a byte":   &hesitant{r: iotest.OneByteReader(whole())},
	}
}

type hesitant struct {
	r     io.Reader
	asked bool
}

func (h *hesitant) Read(p []byte) (int, error) {
	h.asked = !h.asked
	if h.asked {
		return 0, nil
	}
	return h.r.Read(p)
}

// FailingReaders returns readers that return data, which may be a whole binary form, and then
// ErrStore.
func FailingReaders(data []byte) map[string]io.Reader {
	behind := func() io.Reader {
		return io.MultiReader(bytes.NewReader(data), iotest.ErrReader(ErrStore))
	}
	return map[string]io.Reader{
		"an error after the last byte":    behind(),
		"an error with the last byte":     iotest.DataErrReader(behind()),
		"a byte at a time, then an error": iotest.OneByteReader(behind()),
		"an error once, then the end":     io.MultiReader(bytes.NewReader(data), new(failsOnce)),
	}
}

type failsOnce struct{ failed bool }

func (r *failsOnce) Read([]byte) (int, error) {
	if r.failed {
		return 0, io.EOF
	}
	r.failed = true
	return 0, ErrStore
}

// ReaderAts returns io.ReaderAts of data that return no error except io.EOF.
func ReaderAts(data []byte) map[string]io.ReaderAt {
	return map[string]io.ReaderAt{
		"plain":                  bytes.NewReader(data),
		"EOF with the last byte": atEOF{data},
		"fewer bytes are an EOF": io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))),
		"writes after the bytes": scratch{data},
	}
}

// atEOF returns io.EOF with the last byte, as the contract of io.ReaderAt permits.
type atEOF struct{ data []byte }

func (r atEOF) ReadAt(p []byte, offset int64) (int, error) {
	if offset >= int64(len(r.data)) {
		return 0, io.EOF
	}
	n := copy(p, r.data[offset:])
	if offset+int64(n) == int64(len(r.data)) {
		return n, io.EOF
	}
	return n, nil
}

// scratch writes to all of p even if it returns fewer bytes, as the contract of io.ReaderAt
// permits.
type scratch struct{ data []byte }

func (r scratch) ReadAt(p []byte, offset int64) (int, error) {
	for i := range p {
		p[i] = 0xee
	}
	return bytes.NewReader(r.data).ReadAt(p, offset)
}

// FailingReaderAts returns io.ReaderAts that fail at request n, counting from 1, and at all later
// ones.
func FailingReaderAts(data []byte, n int) map[string]io.ReaderAt {
	return map[string]io.ReaderAt{
		"an error and no byte":        newFailingAt(data, n, false),
		"an error and all but a byte": newFailingAt(data, n, true),
	}
}

func newFailingAt(data []byte, n int, whole bool) *failingAt {
	r := &failingAt{data: data, whole: whole}
	r.left.Store(int64(n))
	return r
}

type failingAt struct {
	data  []byte
	left  atomic.Int64 // number of requests up to the first that fails
	whole bool         // a failing request fills p, but returns a count that is one too low
}

func (r *failingAt) ReadAt(p []byte, offset int64) (int, error) {
	if r.left.Add(-1) > 0 {
		return bytes.NewReader(r.data).ReadAt(p, offset)
	}
	if r.whole {
		n, _ := bytes.NewReader(r.data).ReadAt(p, offset)
		return n - min(n, 1), ErrStore
	}
	return 0, ErrStore
}

// Writers returns writers that accept at most n bytes. A write beyond that returns ErrStore, or
// only a short count.
func Writers(n int) map[string]io.Writer {
	return map[string]io.Writer{
		"an error":           &failingWriter{left: n, err: ErrStore},
		"a short write":      &failingWriter{left: n},
		"half, and an error": &failingWriter{left: n, err: ErrStore, half: true},
	}
}

type failingWriter struct {
	left int
	err  error
	half bool // the failing write accepts at most half of its bytes
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if len(p) <= w.left {
		w.left -= len(p)
		return len(p), nil
	}
	n := w.left
	if w.half {
		n = min(n, len(p)/2)
	}
	w.left = 0
	return n, w.err
}

// Server is a way to answer a request for data.
type Server struct {
	Name  string
	Whole bool // the client gets all of data, or a 304; if false, the answer is faulty
	Serve func(w http.ResponseWriter, r *http.Request, data []byte)
}

// Servers returns servers that send tag, in quotes, as the entity tag of data.
func Servers(tag string) []Server {
	strong := strconv.Quote(tag)
	plain := func(
		etag string, write func(w http.ResponseWriter, data []byte),
	) func(http.ResponseWriter, *http.Request, []byte) {
		return func(w http.ResponseWriter, r *http.Request, data []byte) {
			w.Header()["Etag"] = []string{etag}
			if r.Header.Get("If-None-Match") == etag {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			write(w, data)
		}
	}
	whole := func(w http.ResponseWriter, data []byte) {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data)
	}
	flushed := func(w http.ResponseWriter, data []byte) {
		_, _ = w.Write(data)
		w.(http.Flusher).Flush()
	}
	// raw fills in {tag} and {length} in head.
	raw := func(head string) func(w http.ResponseWriter, data []byte) {
		return func(w http.ResponseWriter, data []byte) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			head := strings.NewReplacer("{tag}", strong, "{length}", strconv.Itoa(len(data))).Replace(head)
			_, _ = io.WriteString(conn, head+"\r\n\r\n"+string(data))
			_ = conn.Close()
		}
	}
	return []Server{
		{"strong tag", true, plain(strong, whole)},
		{"weak tag", true, plain("W/"+strong, whole)},
		{"no length", true, plain(strong, func(w http.ResponseWriter, data []byte) {
			w.(http.Flusher).Flush()
			flushed(w, data)
		})},
		{"in pieces", true, plain(strong, func(w http.ResponseWriter, data []byte) {
			for piece := range slices.Chunk(data, 16) {
				flushed(w, piece)
			}
		})},
		{"identity named", true, plain(strong, func(w http.ResponseWriter, data []byte) {
			w.Header().Set("Content-Encoding", " Identity ")
			whole(w, data)
		})},
		{"other spellings", true, plain(strong, raw(
			"HTTP/1.1 200 fine\r\neTAG:{tag}\r\ncontent-LENGTH:  {length}\r\nCONTENT-encoding:IDENTITY"))},
		{"HTTP 1.0", true, plain(strong, raw("HTTP/1.0 200 OK\r\nETag: {tag}"))},
		{"an answer before", true, plain(strong, raw(
			"HTTP/1.1 103 Early Hints\r\nETag: \"early\"\r\n\r\nHTTP/1.1 200 OK\r\nETag: {tag}"))},
		{"the length twice", true, plain(strong, raw(
			"HTTP/1.1 200 OK\r\nETag: {tag}\r\nContent-Length: {length}\r\nContent-Length: {length}"))},
		{"two lengths", false, plain(strong, raw(
			"HTTP/1.1 200 OK\r\nETag: {tag}\r\nContent-Length: {length}\r\nContent-Length: 9"))},
		{"a longer length", false, plain(strong, raw(
			"HTTP/1.1 200 OK\r\nETag: {tag}\r\nContent-Length: {length}0"))},
		{"early end", false, plain(strong, func(w http.ResponseWriter, data []byte) {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			flushed(w, data[:len(data)/2])
			panic(http.ErrAbortHandler)
		})},
		{"early end without a length", false, plain(strong, func(w http.ResponseWriter, data []byte) {
			flushed(w, data[:len(data)/2])
			panic(http.ErrAbortHandler)
		})},
		{"early end of HTTP 1.0", false, plain(strong, func(w http.ResponseWriter, data []byte) {
			raw("HTTP/1.0 200 OK\r\nETag: {tag}")(w, data[:len(data)/2])
		})},
		{"an error's page with status 200", false, plain(strong, func(w http.ResponseWriter, _ []byte) {
			_, _ = io.WriteString(w, "<html>down for maintenance</html>")
		})},
		{"redirect", true, func(w http.ResponseWriter, r *http.Request, data []byte) {
			if r.URL.Path != "/moved" {
				w.Header().Set("ETag", `"of the redirect"`)
				http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
				return
			}
			plain(strong, whole)(w, r, data)
		}},
	}
}

// Client describes a way to send a request.
type Client struct {
	Name  string
	Whole bool // waits for the whole answer
	Send  func(conn *net.TCPConn, head, body string) error
}

// Clients returns clients that are slow or break the connection. The head of a request ends with an
// empty line.
func Clients() []Client {
	write := func(conn *net.TCPConn, pieces ...string) error {
		for _, piece := range pieces {
			if _, err := io.WriteString(conn, piece); err != nil {
				return err
			}
		}
		return nil
	}
	closes := func(err error, conn *net.TCPConn) error { return errors.Join(err, conn.Close()) }
	return []Client{
		{"a byte at a time", true, func(conn *net.TCPConn, head, body string) error {
			n := min(len(body), 9)
			return write(conn, append(strings.Split(head+body[:n], ""), body[n:])...)
		}},
		{"ends its side", true, func(conn *net.TCPConn, head, body string) error {
			return errors.Join(write(conn, head, body), conn.CloseWrite())
		}},
		{"says nothing", false, func(conn *net.TCPConn, _, _ string) error { return conn.Close() }},
		{"breaks off in the head", false, func(conn *net.TCPConn, head, _ string) error {
			return closes(write(conn, head[:len(head)-2]), conn)
		}},
		{"breaks off after the head", false, func(conn *net.TCPConn, head, _ string) error {
			return closes(write(conn, head), conn)
		}},
		{"breaks off in the body", false, func(conn *net.TCPConn, head, body string) error {
			return closes(write(conn, head, body[:max(len(body)-1, 0)]), conn)
		}},
		{"ends its side in the body", false, func(conn *net.TCPConn, head, body string) error {
			err := write(conn, head, body[:max(len(body)-1, 0)])
			return errors.Join(err, conn.CloseWrite())
		}},
		{"resets in the body", false, func(conn *net.TCPConn, head, body string) error {
			err := write(conn, head, body[:max(len(body)-1, 0)])
			return closes(errors.Join(err, conn.SetLinger(0)), conn)
		}},
		{"resets in the answer", false, func(conn *net.TCPConn, head, body string) error {
			err := write(conn, head, body)
			if err == nil {
				_, err = conn.Read(make([]byte, 1))
			}
			return closes(errors.Join(err, conn.SetLinger(0)), conn)
		}},
	}
}
