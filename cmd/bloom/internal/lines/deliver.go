package lines

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Each calls handle with every batch, in order. When tick fires, it calls onTick, once all that was
// kept so far is written. It calls one function at a time. After ctx's end it still delivers what was
// read, without waiting for more. Each returns once what was kept is written, with the first error:
// of reading, of writing or of a function. If ctx has ended and Config.Out takes nothing for
// Patience, it returns ErrStuck, and a write is still under way.
func (r *Reader) Each(
	ctx context.Context, tick <-chan time.Time, onTick func() error, handle func(*Batch) error,
) error {
	err := r.each(ctx, tick, onTick, handle)
	close(r.out)
	if !r.finish(ctx) {
		return ErrStuck
	}
	if r.writeErr != nil {
		return r.writeErr
	}
	return err
}

// ErrStuck: the run was to end, and the output took nothing for Patience.
var ErrStuck = errors.New("the output takes nothing")

func (r *Reader) each(ctx context.Context, tick <-chan time.Time, onTick func() error,
	handle func(*Batch) error,
) error {
	ended := ctx.Done()
	for {
		var idle <-chan time.Time
		if ended == nil { // the end has come: deliver what was read, and what a read under way brings
			idle = time.After(50 * time.Millisecond)
		}
		select {
		case b, ok := <-r.queue:
			if !ok {
				return nil
			}
			if err := r.deliver(b, handle); err != nil {
				return err
			}
		case <-r.failed:
			return r.writeErr
		case <-tick:
			r.out <- nil
			select {
			case <-r.flushed:
			case <-ended: // the output may take nothing
				ended = nil
				tick = nil
				continue
			}
			if r.writeErr != nil {
				return r.writeErr
			}
			if err := onTick(); err != nil {
				return err
			}
		case <-ended:
			ended = nil
			tick = nil
		case <-idle:
			return nil // the read waits for input
		}
	}
}

// deliver calls handle with b, once its digests are there, and has what it keeps written.
func (r *Reader) deliver(b *Batch, handle func(*Batch) error) error {
	<-b.ready
	if b.first {
		r.line = 0
	}
	if b.skipped > 0 {
		if r.cfg.Bad == 0 {
			r.cfg.FirstBad = fmt.Errorf("%s: line %d: %w", Shown(b.name), r.line+b.skipAt+1, b.skip)
		}
		r.cfg.Bad += b.skipped
	}
	r.cfg.Blanks += b.blanks
	r.cfg.Keys += b.keys
	b.kept = nil
	if err := handle(b); err != nil {
		return err
	}
	r.line += len(b.Ends) // wrong once lines were skipped; then no line is an error
	err := b.err
	if b.bad {
		err = fmt.Errorf("%s: line %d: %w", Shown(b.name), r.line+1, err)
	}
	r.out <- b
	return err
}
