package main

import (
	"bufio"
	"bytes"
	"io"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// tailLines yields the whole lines of OUT's tail, in order.
type tailLines struct {
	in    *bufio.Reader
	delim byte
	line  []byte // the current line, with its delimiter; empty at the end
	bytes int64  // the length of the current line and of all lines after it
}

// tailLines returns the lines of the tail, with the first as the current one. Call it before
// anything is written.
func (o *output) tailLines() (tailLines, error) {
	size := o.lineEnd - o.head
	section := io.NewSectionReader(o.file, o.head, size)
	t := tailLines{in: bufio.NewReaderSize(section, pieceOfOut), delim: o.delim, bytes: size}
	err := t.next()
	return t, err
}

func (t *tailLines) next() error {
	t.bytes -= int64(len(t.line))
	t.line = t.line[:0]
	for t.bytes > 0 {
		piece, err := t.in.ReadSlice(t.delim)
		t.line = append(t.line, piece...)
		if err != bufio.ErrBufferFull {
			return err
		}
	}
	return nil
}

// takeTail adds the lines of OUT's tail to the filter. If the filter forgets lines after a span,
// takeTail ignores a tail that is older than the span.
func (d *deduper) takeTail(cfg *lines.Config) error {
	t, err := d.out.tailLines()
	if err != nil || t.bytes == 0 {
		return err
	}
	stat, err := d.out.file.Stat()
	if err != nil {
		return err
	}
	if span, _ := spanOf(d.seen.f); span > 0 && time.Since(stat.ModTime()) > span {
		d.out.left = tailLines{}
		return nil
	}
	digest := cfg.Digests()
	hs := make([]bloom.Hash, 0, 4096)
	for len(t.line) > 0 {
		if h, ok := digest(bytes.TrimSuffix(t.line, []byte{t.delim})); ok {
			hs = append(hs, h)
		}
		if err := t.next(); err != nil {
			return err
		}
		if len(hs) == cap(hs) || len(t.line) == 0 {
			d.kept = d.seen.addBatch(d.kept[:0], hs)
			d.kept = d.correctBlanks(hs, d.kept)
			d.held += uint64(len(d.kept))
			d.state.unsaved += uint64(len(d.kept))
			hs = hs[:0]
		}
	}
	return nil
}

// skipTail returns fresh, the indexes of the lines of b to write, without the lines that are
// already in the tail. It compares each line only with the next line of the tail, because a run
// with the same input repeats the tail in order.
func (o *output) skipTail(b *lines.Batch, fresh []int) ([]int, error) {
	if len(o.left.line) == 0 {
		return fresh, nil
	}
	news := fresh[:0]
	for i := range b.Hashes {
		isFresh := len(fresh) > 0 && fresh[0] == i
		if isFresh {
			fresh = fresh[1:]
		}
		if bytes.Equal(b.Line(i), o.left.line) {
			if err := o.left.next(); err != nil {
				return nil, err
			}
		} else if isFresh {
			news = append(news, i)
		}
	}
	return news, nil
}

// warnTail warns if this run appended lines, and skipTail did not find the whole tail in the input.
func (d *deduper) warnTail() {
	if n := d.out.left.bytes; n > 0 && d.out.end > d.out.tail {
		d.progress.hide()
		warn("%s has %d bytes that this run does not write: they stay before its lines",
			d.out.name, n)
	}
}
