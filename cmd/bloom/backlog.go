package main

import (
	"errors"
	"net/http"
	"os"
	"sync"
	"time"
)

// backlog sends what is written to it, while more is written. A client may send all of its
// lines before it reads an answer. What it does not take yet waits: a little in memory, and
// the rest in a temporary file.
type backlog struct {
	w    http.ResponseWriter
	done chan struct{} // closed once nothing more is sent

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
const inMemory = 128 << 10

func newBacklog(w http.ResponseWriter) *backlog {
	b := &backlog{w: w, memory: make([]byte, 0, inMemory), done: make(chan struct{})}
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
		if b.file, err = temporary("bloom-serve-*"); err != nil {
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
	discard(b.file)
	return b.began, b.err
}
