package main

import (
	"fmt"
	"strings"
	"time"
)

// state is the file that remembers from run to run which lines were written. Without a path nothing
// is saved.
type state struct {
	path    string
	every   time.Duration // the longest time between two saves
	saved   time.Time     // when it was last saved
	took    time.Duration // to save it
	unsaved uint64        // lines of this run that are written, or will be, and that the file lacks
}

// due reports whether to save. Saving takes at most a twentieth of the time.
func (s *state) due() bool {
	return s.unsaved > 0 && time.Since(s.saved) >= max(s.every, 20*s.took)
}

// save saves seen after all lines that out wrote to a file are on the disk. Otherwise a power cut
// could take lines that the state has from the file, and no run would write them again.
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

// outRecord is what a state records of OUT. It is part of the comment in the state's file, so
// that it is saved together with the filter.
type outRecord struct {
	size   int64  // bytes of lines that the filter has
	delim  byte   // ends each line
	digest uint64 // of the last bytes before size, or of OUT's path if size is 0
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

// wholeLines is what the comment of a state begins with whose keys are no field of the lines.
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

// fieldOf returns which field of the lines was the key, by what the comment of f says.
func fieldOf(f infoHolder) (field int, known bool) {
	comment := f.Info().Comment
	if strings.HasPrefix(comment, wholeLines) {
		return 0, true
	}
	_, err := fmt.Sscanf(comment, fieldComment, &field)
	return field, err == nil
}
