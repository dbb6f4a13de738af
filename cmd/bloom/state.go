package main

import (
	"fmt"
	"strings"
	"time"
)

// state is the file of -state. It remembers from run to run which lines were written. A state
// without a path is not saved.
type state struct {
	path    string
	every   time.Duration // the time between two saves, unless saving takes long
	saved   time.Time     // the time of the last save
	took    time.Duration // the duration of the last save
	unsaved uint64        // the lines of this run, written or about to be, that the file lacks
}

// due reports whether it is time to save. Saving takes at most a twentieth of the run's time.
func (s *state) due() bool {
	return s.unsaved > 0 && time.Since(s.saved) >= max(s.every, 20*s.took)
}

// save waits until all lines that out wrote to a file are on the disk, and then saves seen. In the
// other order a power cut could lose lines that the state has, and no run would write them again.
func (s *state) save(seen *memory, out *output) error {
	if s.path == "" {
		return nil
	}
	start := time.Now()
	if err := out.sync(seen.f); err != nil {
		return err
	}
	if err := save(seen.f, s.path); err != nil {
		return err
	}
	s.unsaved = 0
	s.saved = time.Now()
	s.took = time.Since(start)
	return nil
}

// outRecord describes OUT as the last save of the state found it. It is part of the Comment in the
// state's file, so it is saved together with the filter.
type outRecord struct {
	size   int64  // bytes of OUT whose lines the filter has
	delim  byte   // the byte that ends each line
	digest uint64 // hash of the last bytes before size, or of OUT's path if size is 0
}

const outRecordText = "dedupe -o: %d bytes, lines end with 0x%02x, digest %016x"

func (r outRecord) String() string { return fmt.Sprintf(outRecordText, r.size, r.delim, r.digest) }

// cutOutRecord cuts the record of OUT off a comment.
func cutOutRecord(comment string) (rest string, r outRecord, ok bool) {
	i := strings.LastIndex(comment, "dedupe -o: ")
	if i < 0 {
		return comment, outRecord{}, false
	}
	n, _ := fmt.Sscanf(comment[i:], outRecordText, &r.size, &r.delim, &r.digest)
	if n < 3 {
		return comment, outRecord{}, false
	}
	return strings.TrimSuffix(comment[:i], "; "), r, true
}

// setOutRecord replaces the record of OUT in the comment of f.
func setOutRecord(f infoHolder, r outRecord) {
	info := f.Info()
	rest, _, _ := cutOutRecord(info.Comment)
	info.Comment = joined(rest, r.String())
	f.SetInfo(info)
}

// wholeLines begins the Comment of a state whose keys are whole lines, not a field of them.
const wholeLines = "keys are whole lines"

// recordField records in a new state which field of a line is the key. Field 0 is the whole line.
func recordField(f infoHolder, field int) {
	if field > 0 { // keyRule.setInfo has recorded it
		return
	}
	info := f.Info()
	info.Comment = wholeLines
	f.SetInfo(info)
}

// fieldOf returns the field of a line that is the key, by the Comment of f. known is false if the
// Comment does not say it.
func fieldOf(f infoHolder) (field int, known bool) {
	comment := f.Info().Comment
	if strings.HasPrefix(comment, wholeLines) {
		return 0, true
	}
	_, err := fmt.Sscanf(comment, fieldComment, &field)
	return field, err == nil
}
