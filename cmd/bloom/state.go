package main

import (
	"time"
)

// state is the file that remembers from run to run what was written. Without a path nothing
// is saved.
type state struct {
	path  string
	every time.Duration
	saved time.Time     // when it last was what it should be
	took  time.Duration // saving it
	lines uint64        // lines of this run that are to be written and that it lacks
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
	s.lines, s.saved, s.took = 0, time.Now(), time.Since(start)
	return nil
}
