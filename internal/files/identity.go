package files

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Identity tells a file at one time from the file at the same path at another time. Equal facts of
// the system do not prove that nothing changed, because tools keep them: "cp -p", "rsync -t" and
// tar set the time of the last write, and all filters of one list have one size. Nor do other facts
// prove a change: chmod, ln and backups change the time of the last change. Therefore the bytes
// decide, and the facts only tell when they must be read again.
type Identity struct {
	facts facts
	sum   [sha256.Size]byte
	seen  time.Time // when the file was first seen to have these facts
	read  time.Time // when reading began
}

// facts is what the system reports about a file. On systems without a time of change, such as
// Windows, a file that is overwritten and gets its old time back has the same facts as before.
type facts struct {
	info    fs.FileInfo
	changed time.Time // when the inode last changed, which no program can set; zero: unknown
}

func factsOf(info fs.FileInfo) facts { return facts{info, changed(info)} }

func (f facts) equal(g facts) bool {
	return os.SameFile(f.info, g.info) && f.info.Size() == g.info.Size() &&
		f.info.ModTime().Equal(g.info.ModTime()) && f.changed.Equal(g.changed)
}

// Identify returns the identity of the file at path, which must be a regular file or a link to one.
// It does not read the file if previous, an earlier identity, has the same facts and is settled. A
// zero previous makes it read the file.
//
// Whoever loads a file calls Identify first: if the file is replaced in between, the next identity
// differs.
func Identify(path string, previous Identity) (Identity, error) {
	if previous.facts.info != nil && previous.settled() {
		info, err := os.Stat(path)
		if err != nil {
			return Identity{}, err
		}
		if previous.facts.equal(factsOf(info)) {
			return previous, nil
		}
	}
	file, info, err := OpenRegular(path)
	if err != nil {
		return Identity{}, err
	}
	defer file.Close()
	id := Identity{facts: factsOf(info), read: time.Now()}
	id.seen = id.read
	if previous.facts.info != nil && previous.facts.equal(id.facts) {
		id.seen = previous.seen
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return Identity{}, err
	}
	sum.Sum(id.sum[:0])
	return id, nil
}

// settled reports whether a write after the file was read must change the facts. Systems tell time
// in ticks: a write within the tick in which the facts were taken leaves them as they are.
func (i Identity) settled() bool {
	last := i.facts.changed
	if last.IsZero() {
		last = i.facts.info.ModTime()
	}
	tick := 100 * time.Millisecond // ten times that of the slowest kernels
	if last.Nanosecond() == 0 {
		tick = 3 * time.Second // some file systems store whole seconds, and FAT every second one
	}
	// The second condition is for a server of files whose clock is ahead of the clock here.
	return i.read.Sub(last) > tick || i.read.Sub(i.seen) > tick
}

// Same reports whether the files of i and other have the same bytes.
func (i Identity) Same(other Identity) bool { return i.sum == other.sum }

// Modified returns the file's time of modification, which programs can set.
func (i Identity) Modified() time.Time { return i.facts.info.ModTime() }

// Size returns the size of the file in bytes.
func (i Identity) Size() int64 { return i.facts.info.Size() }

// Sum returns a checksum of the file's bytes, in hexadecimal digits. Files of other bytes have
// other checksums.
func (i Identity) Sum() string { return fmt.Sprintf("%x", i.sum[:16]) }

// OpenRegular opens the file at path for reading, and returns its FileInfo. It refuses anything but
// a regular file, because opening a pipe would wait for a writer.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	beforeOpen()
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	// The file at path may be another one by now.
	if info, err = file.Stat(); err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// beforeOpen is what a test does between two steps of OpenRegular.
var beforeOpen = func() {}
