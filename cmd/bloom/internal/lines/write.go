package lines

import (
	"bytes"
	"context"
	"time"
)

// writeSize is the largest number of bytes in a write. Writes are short, so that finish can tell a
// slow output from one that accepts nothing.
const writeSize = 64 << 10

// write writes the kept lines of each batch, and frees the batch. After an error it drops all
// further lines.
func (r *Reader) write() {
	defer close(r.written)
	for b := range r.out {
		if b == nil {
			r.flushed <- struct{}{}
			continue
		}
		for pending := b.output; r.writeErr == nil && len(pending) > 0; {
			n := r.piece(pending)
			r.writes.Add(1)
			_, r.writeErr = r.cfg.Out.Write(pending[:n])
			r.writes.Add(1)
			if r.writeErr != nil {
				close(r.failed)
				break
			}
			pending = pending[n:]
		}
		if b.long {
			b.Data = nil
			b.output = nil
			b.long = false
			<-r.long
		}
		r.free <- b
	}
}

// piece returns how many bytes of pending to write next. If whole lines fit, it takes only those,
// so that a process that is killed between two writes leaves no half line.
func (r *Reader) piece(pending []byte) int {
	if len(pending) <= writeSize {
		return len(pending)
	}
	if i := bytes.LastIndexByte(pending[:writeSize], r.cfg.Delim); i >= 0 {
		return i + 1
	}
	return writeSize
}

// Patience is how long Each waits, once its ctx is done, for an output that accepts no bytes.
const Patience = 2 * time.Second

// finish waits until all kept lines are written or dropped. It returns false if ctx is done and a
// single write takes longer than Patience.
func (r *Reader) finish(ctx context.Context) bool {
	select {
	case <-r.written:
		return true
	case <-ctx.Done():
	}
	for {
		before := r.writes.Load()
		writing := before%2 == 1
		// Wait many times, each briefly. If the process is suspended, a single long wait could end
		// before the write had time to continue.
		for waits := 0; r.writes.Load() == before; waits++ {
			if writing && waits == manyWaits {
				return false
			}
			select {
			case <-r.written:
				return true
			case <-r.after(Patience / manyWaits):
			}
		}
	}
}

// manyWaits is the number of waits into which finish divides Patience.
const manyWaits = 20

// Keep selects the lines to write to Config.Out. lines has indexes of b.Hashes, in ascending order.
// Keep overwrites them with the numbers of the lines, and moves the lines to the start of b.Data.
func (b *Batch) Keep(lines []int) {
	for n, i := range lines {
		lines[n] = b.line(i)
	}
	size := 0
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && lines[n] == lines[n-1]+1 {
			n++
		}
		start := b.start(lines[0])
		end := b.Ends[lines[n-1]]
		if size < start {
			copy(b.Data[size:], b.Data[start:end])
		}
		size += end - start
		lines = lines[n:]
	}
	b.output = b.Data[:size]
}
