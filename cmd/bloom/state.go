package main

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// state is the file of --state, which remembers from run to run which lines were written. A state
// without a file is not saved.
type state struct {
	file    *target
	every   time.Duration // the time between two saves, unless saving takes long
	saved   time.Time
	took    time.Duration // the duration of the last save
	unsaved uint64        // the number of lines, written or about to be written, that the file lacks
}

// due reports whether there are unsaved lines and the last save was long enough ago: s.every, or
// twenty times the duration of that save if this is longer.
func (s *state) due() bool {
	return s.unsaved > 0 && time.Since(s.saved) >= max(s.every, 20*s.took)
}

// save waits until all lines that out wrote to a file are on disk, and then saves seen. In the
// other order a power cut could lose lines that the state has, and no run would write them again.
func (s *state) save(seen *memory, out *output) error {
	if s.file == nil {
		return nil
	}
	start := time.Now()
	if err := out.sync(seen.f); err != nil {
		return err
	}
	if err := s.file.save(seen.f); err != nil {
		return err
	}
	s.unsaved = 0
	s.saved = time.Now()
	s.took = time.Since(start)
	return nil
}

// outRecord describes OUT as the last save of the state found it.
type outRecord struct {
	size   int64  // the length of OUT's head in bytes; the filter has the lines of the head
	delim  byte   // the byte that ends each line
	digest uint64 // what output.digest returned for size
}

func outRecordOf(f informed) (r outRecord, ok bool) {
	facts := factsOf(f)
	size, err1 := strconv.ParseInt(facts.Get(outSizeFact), 10, 64)
	delim, err2 := strconv.ParseUint(facts.Get(outDelimFact), 10, 8)
	digest, err3 := strconv.ParseUint(facts.Get(outDigestFact), 16, 64)
	if cmp.Or(err1, err2, err3) != nil || size < 0 {
		return outRecord{}, false
	}
	return outRecord{size: size, delim: byte(delim), digest: digest}, true
}

func setOutRecord(f infoHolder, r outRecord) {
	changeFacts(f, func(facts url.Values) {
		facts.Set(outSizeFact, strconv.FormatInt(r.size, 10))
		facts.Set(outDelimFact, strconv.Itoa(int(r.delim)))
		facts.Set(outDigestFact, fmt.Sprintf("%016x", r.digest))
	})
}
