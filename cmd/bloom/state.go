package main

import (
	"time"

	"github.com/seed79a3ff49/bloom"
)

// state is the file that remembers from run to run what was written. Without a path nothing
// is saved.
type state struct {
	path  string
	every time.Duration
	saved time.Time     // when it last was what it should be
	took  time.Duration // saving it
	held  uint64        // lines of this run that it has
	lines uint64        // lines of this run that are to be written and that it lacks
	since []bloom.Hash  // their digests; none if they are more than mostSince
}

// mostSince is so many lines that their digests, 4 MB, do not matter beside a filter.
const mostSince = 1 << 18

// note adds the lines of hs that are to be written.
func (s *state) note(hs []bloom.Hash, kept []int) {
	if s.path == "" {
		return
	}
	if s.since == nil { // whole, as growing it leaves twice its memory behind
		s.since = make([]bloom.Hash, 0, mostSince)
	}
	if s.lines += uint64(len(kept)); s.lines > mostSince {
		s.since = s.since[:0]
		return
	}
	for _, i := range kept {
		s.since = append(s.since, hs[i])
	}
}

// wrote returns the digests of the lines that the file lacks, if so many of the run's lines
// were written. It reports whether they are known.
func (s *state) wrote(lines uint64) ([]bloom.Hash, bool) {
	if s.lines > mostSince {
		return nil, false
	}
	return s.since[:lines-s.held], true
}

// due reports whether to save. At most a twentieth of the time is spent on it.
func (s *state) due() bool {
	return s.lines > 0 && time.Since(s.saved) >= max(s.every, 20*s.took)
}

// save saves what was seen, once all of it that is in a file is on the disk. Otherwise lines
// that a power cut took from the file would be in the state, and no run would write them.
func (s *state) save(seen *memory, out *output) error {
	if s.path == "" {
		return nil
	}
	start := time.Now()
	if err := out.sync(); err != nil {
		return err
	}
	if err := out.describe(seen.f); err != nil {
		return err
	}
	if err := seen.f.SaveFile(s.path); err != nil {
		return err
	}
	s.held, s.lines, s.since = s.held+s.lines, 0, s.since[:0]
	s.saved, s.took = time.Now(), time.Since(start)
	return nil
}
