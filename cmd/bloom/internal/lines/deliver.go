package lines

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Each calls handle with every batch, in order. When tick fires, Each waits until all kept lines
// are written, and calls onTick. It calls one function at a time. Once ctx is done, Each delivers
// the lines that have been read, without waiting long for more.
//
// Each returns when all kept lines are written or, after a write error, dropped. It returns the
// write error, if any, or else the first error from reading or from a function. If ctx is done and
// Config.Out accepts no bytes for Patience, Each returns ErrStuck while a write is still under way.
func (r *Reader) Each(
	ctx context.Context, tick <-chan time.Time, onTick func() error, handle func(*Batch) error,
) error {
	err := r.deliverAll(ctx, tick, onTick, handle)
	close(r.out)
	if !r.finish(ctx) {
		return ErrStuck
	}
	if r.writeErr != nil {
		return r.writeErr
	}
	return err
}

// ErrStuck is the error of Each if it cannot end, because the output accepts no bytes.
var ErrStuck = errors.New("the output accepts nothing")

func (r *Reader) deliverAll(ctx context.Context, tick <-chan time.Time, onTick func() error,
	handle func(*Batch) error,
) error {
	ended := ctx.Done() // nil if ctx never ends; set to nil once ctx has ended
	hasEnded := false
	for {
		var idle <-chan time.Time
		if hasEnded { // wait a moment for a read under way
			idle = r.after(50 * time.Millisecond)
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
			case <-ended: // the output may accept no bytes
				hasEnded = true
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
			hasEnded = true
			ended = nil
			tick = nil
		case <-idle:
			if len(r.queue) == 0 {
				return nil // the goroutine of readFiles probably waits for input
			}
		}
	}
}

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
	r.cfg.Parted = r.cfg.Parted || b.parted
	b.output = nil
	if err := handle(b); err != nil {
		return err
	}
	// Skipped lines are missing from Ends, so r.line becomes too small. No error shows that,
	// because lines are only skipped with SkipBad, which reports only the first bad line.
	r.line += len(b.Ends)
	err := b.err
	if b.bad {
		err = fmt.Errorf("%s: line %d: %w", Shown(b.name), r.line+1, err)
	}
	r.out <- b
	return err
}
