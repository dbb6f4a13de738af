package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

type deduper struct {
	seen     *memory
	state    state
	out      output
	arrived  arrivals
	room     uint64 // the number of lines above which the run warns, or 0 for no limit
	held     uint64 // an estimate of the number of lines in seen
	begun    bool   // lines have arrived
	blank    bool   // the empty line was seen
	warned   bool
	kept     []int // a buffer for the indexes of new lines
	progress *progress
}

func (d *deduper) run(ctx context.Context, cfg *lines.Config) error {
	d.progress = newProgress(cfg, "written")
	d.out.progress = d.progress
	cfg.Out = &d.out
	var ticks <-chan time.Time
	if d.state.file != nil {
		ticker := time.NewTicker(min(time.Second, max(d.state.every, time.Millisecond)))
		defer ticker.Stop()
		ticks = ticker.C
	}
	err := lines.Start(ctx, cfg).Each(ctx, ticks, d.tick, d.write)
	d.progress.end()
	warnInput(cfg)
	if err == lines.ErrStuck {
		if d.state.file != nil {
			err = fmt.Errorf("%w, and %s is as it was last saved", err, d.state.file.path)
		}
		return err
	}
	d.warnFull()
	d.warnTail()
	// After a failed write, seen has lines that were not written, so it is not saved.
	if !d.out.failed && (d.state.unsaved > 0 || err == nil) {
		if saveErr := d.state.save(d.seen, &d.out); err == nil {
			err = saveErr
		}
	}
	return err
}

// tick saves the state when it is due. It returns an error if the output's file was removed.
func (d *deduper) tick() error {
	if err := d.out.checkName(); err != nil {
		return err
	}
	if !d.state.due() {
		return nil
	}
	d.warnFull()
	return d.state.save(d.seen, &d.out)
}

// begin prepares for the first lines. If the state has no record of OUT, begin records OUT and
// saves the state before a line is written. If this run is killed, the next one finds the filter
// and the record.
func (d *deduper) begin() error {
	d.seen.ready()
	if d.out.path == "" || d.out.known {
		return nil
	}
	return d.state.save(d.seen, &d.out)
}

func (d *deduper) write(b *lines.Batch) error {
	d.arrived.used += int64(len(b.Data))
	d.arrived.lines += uint64(len(b.Ends))
	if !d.begun && len(b.Hashes) > 0 {
		if err := d.begin(); err != nil {
			return err
		}
		d.begun = true
	}
	d.kept = d.seen.addBatch(d.kept[:0], b.Hashes)
	d.kept = d.correctBlanks(b.Hashes, d.kept)
	var err error
	if d.kept, err = d.out.skipTail(b, d.kept); err != nil {
		d.out.failed = true // seen has lines that will not be written
		return err
	}
	kept := len(d.kept)
	d.state.unsaved += uint64(kept)
	d.progress.count(len(b.Ends), kept)
	d.held += uint64(kept)
	if d.room > 0 && d.held > d.room {
		d.warn("more than %d different lines (-n)"+leftOut, d.room)
	}
	if kept > 0 {
		b.Keep(d.kept)
	}
	return nil
}

// correctBlanks corrects fresh, the indexes of the new lines: a blank line is new only if no run
// has seen one before, whatever the filter reports. If the filter forgets lines, correctBlanks
// returns fresh unchanged.
func (d *deduper) correctBlanks(hs []bloom.Hash, fresh []int) []int {
	first := slices.IndexFunc(hs, lines.IsBlank)
	if first < 0 || forgets(d.seen.f) {
		return fresh
	}
	fresh = slices.DeleteFunc(fresh, func(i int) bool { return lines.IsBlank(hs[i]) })
	if !d.blank {
		d.blank = true
		recordBlank(d.seen.f)
		i, _ := slices.BinarySearch(fresh, first)
		fresh = slices.Insert(fresh, i, first)
	}
	return fresh
}

const leftOut = ": new lines are left out by mistake more and more often"

func (d *deduper) warnFull() {
	if span, reach := spanOf(d.seen.f); reach < span {
		d.warn("more than %d lines came within %v (-n, --span): lines are remembered for only %v",
			d.seen.f.Info().N, span, reach.Round(time.Second))
	}
	if full(d.seen.f) {
		d.warn("the filter is fuller than it was made for" + leftOut)
	}
}

// warn writes a warning on its first call; later calls do nothing.
func (d *deduper) warn(format string, args ...any) {
	if d.warned {
		return
	}
	d.warned = true
	d.progress.hide()
	warn(format, args...)
}
