package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// places is a listener with room for maxClients. A new client takes the place of the one that was
// idle for the longest time. So those who send and take little by little hold nobody off.
type places struct {
	net.Listener
	mu    sync.Mutex
	taken map[*client]struct{}
}

// client is a connection that knows when it last sent or took something.
type client struct {
	net.Conn
	of   *places
	last atomic.Int64
}

func (p *places) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &client{Conn: conn, of: p}
	c.last.Store(time.Now().UnixNano())
	p.mu.Lock()
	var idle *client
	if len(p.taken) >= maxClients {
		for other := range p.taken {
			if idle == nil || other.last.Load() < idle.last.Load() {
				idle = other
			}
		}
	}
	p.taken[c] = struct{}{}
	p.mu.Unlock()
	if idle != nil {
		idle.Close()
	}
	return c, nil
}

func (c *client) Read(b []byte) (int, error)  { return c.moved(c.Conn.Read(b)) }
func (c *client) Write(b []byte) (int, error) { return c.moved(c.Conn.Write(b)) }

func (c *client) moved(n int, err error) (int, error) {
	if n > 0 {
		c.last.Store(time.Now().UnixNano())
	}
	return n, err
}

func (c *client) Close() error {
	c.of.mu.Lock()
	delete(c.of.taken, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// backlog sends what is written to it, while more is written. A client may send all of its
// lines before it reads an answer. What it does not take yet waits: a little in memory, and
// the rest in a temporary file.
type backlog struct {
	w     http.ResponseWriter
	files chan struct{} // holds one for each backlog that has a file
	done  chan struct{} // closed once nothing more is sent

	mu       sync.Mutex
	changed  sync.Cond // of any change of what follows
	memory   []byte    // to be sent next
	file     *os.File  // then comes what it holds from one offset to the other
	from, to int64
	ended    bool
	began    bool // something was sent
	err      error
}

// inMemory is how much of an answer waits in memory.
const inMemory = 32 << 10

// errBusy says that too many answers wait in files.
var errBusy = errors.New("too many requests at once")

func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, errBusy.Error(), http.StatusServiceUnavailable)
}

func newBacklog(w http.ResponseWriter, files chan struct{}) *backlog {
	b := &backlog{w: w, files: files, memory: make([]byte, 0, inMemory), done: make(chan struct{})}
	b.changed.L = &b.mu
	go func() {
		defer close(b.done)
		piece := make([]byte, 0, inMemory)
		for b.next(&piece) {
			_, err := w.Write(piece)
			if err == nil {
				err = http.NewResponseController(w).Flush()
			}
			b.fail(err)
		}
	}()
	return b
}

func (b *backlog) Write(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.changed.Signal()
	if b.err != nil {
		return 0, b.err
	}
	if b.from == b.to && len(b.memory)+len(p) <= inMemory {
		b.memory = append(b.memory, p...)
		return len(p), nil
	}
	if b.file == nil {
		select {
		case b.files <- struct{}{}:
		default:
			return 0, errBusy
		}
		if b.file, err = temporary("bloom-serve-*"); err != nil {
			<-b.files
			return 0, err
		}
	}
	n, err = b.file.WriteAt(p, b.to)
	b.to += int64(n)
	return n, err
}

// next waits for the next piece to send. It returns false after the last one.
func (b *backlog) next(piece *[]byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.err == nil && len(b.memory) == 0 && b.from == b.to && !b.ended {
		b.changed.Wait()
	}
	switch {
	case b.err != nil:
		return false
	case len(b.memory) > 0:
		*piece, b.memory = b.memory, (*piece)[:0]
	case b.from < b.to:
		*piece = (*piece)[:min(inMemory, b.to-b.from)]
		_, b.err = b.file.ReadAt(*piece, b.from)
		b.from += int64(len(*piece))
	default:
		return false
	}
	b.began = b.began || b.err == nil
	return b.err == nil
}

func (b *backlog) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = errors.Join(b.err, err)
}

// end returns once all is sent or, after an error, nothing more is. It reports whether
// anything was sent, and returns the first error.
func (b *backlog) end(err error) (began bool, _ error) {
	b.mu.Lock()
	b.ended, b.err = true, errors.Join(b.err, err)
	if b.err != nil && b.began { // nobody waits for a client that gets half an answer
		http.NewResponseController(b.w).SetWriteDeadline(time.Now())
	}
	b.changed.Signal()
	b.mu.Unlock()
	<-b.done
	if b.file != nil {
		discard(b.file)
		<-b.files
	}
	return b.began, b.err
}
