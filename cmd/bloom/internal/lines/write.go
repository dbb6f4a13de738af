package lines

import (
	"context"
	"time"
)

// writeSize is how much is written at a time, so that a slow reader shows progress.
const writeSize = 64 << 10

// write writes what is kept, and frees the batches. After an error it writes nothing more.
func (r *Reader) write() {
	defer close(r.written)
	for b := range r.out {
		if b == nil {
			r.flushed <- struct{}{}
			continue
		}
		for left := b.kept; r.writeErr == nil && len(left) > 0; {
			n := min(len(left), writeSize)
			_, r.writeErr = r.cfg.Out.Write(left[:n])
			if r.writeErr != nil {
				close(r.failed)
				break
			}
			r.pieces.Add(1)
			left = left[n:]
		}
		if b.long {
			b.Data = nil
			b.kept = nil
			b.long = false
			<-r.long
		}
		r.free <- b
	}
}

// Patience is how long the output may take nothing once a run is to end.
var Patience = 2 * time.Second

// finish waits until all is written, and reports whether it is.
func (r *Reader) finish(ctx context.Context) bool {
	select {
	case <-r.written:
		return true
	case <-ctx.Done():
	}
	for {
		before := r.pieces.Load()
		select {
		case <-r.written:
			return true
		case <-time.After(Patience):
		}
		if r.pieces.Load() == before {
			return false
		}
	}
}

// Keep has the lines of these digests, whose numbers ascend, written to Config.Out. It moves them
// to the start of b's data, except those that are there already, and neighbours at once. It
// overwrites lines.
func (b *Batch) Keep(lines []int) {
	for n, i := range lines {
		lines[n] = b.line(i)
	}
	to := 0
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && lines[n] == lines[n-1]+1 {
			n++
		}
		from := b.start(lines[0])
		end := b.Ends[lines[n-1]]
		if to < from {
			copy(b.Data[to:], b.Data[from:end])
		}
		to += end - from
		lines = lines[n:]
	}
	b.kept = b.Data[:to]
}
