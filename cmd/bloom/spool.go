package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// measured returns a filter of all lines that mk made for as many as there are, or as come with repeats.
func measured(ctx context.Context, cfg *lines.Config, repeats bool, mk func(n uint64) (filter, error)) (filter, error) {
	file, err := temporary("bloom-build-*")
	if err != nil {
		return nil, err
	}
	defer discard(file)
	spool := bufio.NewWriterSize(file, 1<<20)
	var different sample
	var all uint64
	err = scan(ctx, cfg, newProgress(cfg, "read", 0, 0), func(b *lines.Batch) (_ int, err error) {
		different.add(b.Hashes)
		all += uint64(len(b.Hashes))
		for _, h := range b.Hashes {
			var raw [16]byte
			h1, h2 := h.Words()
			binary.LittleEndian.PutUint64(raw[:], h1)
			binary.LittleEndian.PutUint64(raw[8:], h2)
			_, err = spool.Write(raw[:]) // keeps its first error
		}
		return len(b.Ends), err
	})
	if err == nil {
		err = spool.Flush()
	}
	if err != nil {
		return nil, err
	}
	n := different.count()
	if repeats {
		n = all
	}
	f, err := mk(n)
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return f, addSpooled(ctx, f.(hashed), file)
}

// temporary returns a file that nobody else sees.
func temporary(pattern string) (*os.File, error) {
	file, err := os.CreateTemp("", pattern)
	if err == nil {
		os.Remove(file.Name()) // now, where the system permits that: whatever happens, nothing stays
	}
	return file, err
}

// discard closes and removes what temporary returned, if it was called.
func discard(file *os.File) {
	if file != nil {
		file.Close()
		os.Remove(file.Name())
	}
}

func addSpooled(ctx context.Context, f hashed, file io.Reader) error {
	raw := make([]byte, 64<<10)
	var hs []bloom.Hash
	var added []bool
	for {
		n, err := io.ReadFull(file, raw)
		hs = hs[:0]
		for i := 0; i+16 <= n; i += 16 {
			hs = append(hs, bloom.NewHash(binary.LittleEndian.Uint64(raw[i:]), binary.LittleEndian.Uint64(raw[i+8:])))
		}
		added = answers(added, len(hs))
		f.AddBatch(added, hs)
		if _, ok := f.(cuckooFilter); ok && trues(added) < len(hs) {
			return errors.New("the filter is full; no file was changed")
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return errInterrupted
		}
	}
}

// sample estimates the number of different hashes, exactly while they are few. It
// keeps those that begin with level zero bits, and raises the level when they get
// many (Wegman's adaptive sampling; Flajolet, On Adaptive Sampling, 1990). The
// standard error is 1.2/sqrt(maxSample), half a percent.
type sample struct {
	kept  map[bloom.Hash]struct{}
	level uint
}

const maxSample = 1 << 16

func (s *sample) add(hs []bloom.Hash) {
	if s.kept == nil {
		s.kept = map[bloom.Hash]struct{}{}
	}
	for _, h := range hs {
		if !s.wants(h) {
			continue
		}
		s.kept[h] = struct{}{}
		for len(s.kept) > maxSample {
			s.level++
			maps.DeleteFunc(s.kept, func(h bloom.Hash, _ struct{}) bool { return !s.wants(h) })
		}
	}
}

// wants mixes the hash: FNV's first bits are not as random as Murmur3's.
func (s *sample) wants(h bloom.Hash) bool {
	const golden = 0x9e3779b97f4a7c15
	h1, _ := h.Words()
	return (h1^h1>>32)*golden>>(64-s.level) == 0
}

// count returns the number of different hashes, or, if there were many, an estimate
// that is a little too large rather than too small.
func (s *sample) count() uint64 {
	n := uint64(len(s.kept)) << s.level
	if s.level > 0 {
		n += n / 100
	}
	return n
}
