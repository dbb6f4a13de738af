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

// Identity identifies the content that a path held at some time, by its checksum. The facts that
// the system reports about a file only decide when to read the file again. Equal facts do not prove
// that nothing changed: "cp -p", "rsync -t" and tar preserve the modification time, and filters
// with the same parameters have the same size. Different facts do not prove a change either: chmod,
// ln and backups set the time of the last change.
type Identity struct {
	facts facts
	sum   [sha256.Size]byte
	seen  time.Time // when a file with these facts was first seen
	read  time.Time // when reading the file began
}

// facts is what the system reports about a file. On systems that report no time of change, such as
// Windows, a file keeps its facts if it is overwritten with the same number of bytes and gets its
// old modification time back.
type facts struct {
	info    fs.FileInfo
	changed time.Time // when the inode last changed; programs cannot set it; zero if unknown
}

func factsOf(info fs.FileInfo) facts { return facts{info, changed(info)} }

func (f facts) equal(g facts) bool {
	return os.SameFile(f.info, g.info) && f.info.Size() == g.info.Size() &&
		f.info.ModTime().Equal(g.info.ModTime()) && f.changed.Equal(g.changed)
}

// Identify returns the identity of the file at path, which must be a regular file or a link to one.
// If previous is settled and the facts have not changed, Identify returns previous without reading
// the file. With a zero previous, it reads the file.
//
// A program should call Identify before it loads a file, not after: the file may be replaced in
// between.
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
	if previous.facts.equal(id.facts) { // false for a zero previous, as os.SameFile is for nil
		id.seen = previous.seen
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return Identity{}, err
	}
	sum.Sum(id.sum[:0])
	return id, nil
}

// clockSkew is how far a file server's clock may lag; by default, Kerberos allows no more.
const clockSkew = 5 * time.Minute

// settled reports whether enough time has passed that a write after the file was read changes the
// facts. File times are coarse: a write in the same tick of the clock as the previous one may leave
// the facts unchanged.
func (i Identity) settled() bool {
	last := i.facts.changed
	if last.IsZero() {
		last = i.facts.info.ModTime()
	}
	tick := 100 * time.Millisecond // ten ticks of the slowest kernels
	if last.Nanosecond() == 0 {
		tick = 3 * time.Second // some file systems store whole seconds, and FAT multiples of two
	}
	// A file is settled if it changed long enough ago, even if its server's clock lags by clockSkew,
	// or if its facts have stayed the same for longer than a tick.
	return i.read.Sub(last) > tick+clockSkew || i.read.Sub(i.seen) > tick
}

// Same reports whether both files have the same bytes.
func (i Identity) Same(other Identity) bool { return i.sum == other.sum }

// Modified returns the file's modification time, which programs can set.
func (i Identity) Modified() time.Time { return i.facts.info.ModTime() }

func (i Identity) Size() int64 { return i.facts.info.Size() }

// Sum returns the first half of the SHA-256 checksum of the file's bytes, in hexadecimal.
func (i Identity) Sum() string { return fmt.Sprintf("%x", i.sum[:16]) }

// OpenRegular opens the file at path for reading, and returns its FileInfo. It refuses a file that
// is not regular, because opening a pipe would wait for a writer.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	irregular := &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	if !info.Mode().IsRegular() {
		return nil, nil, irregular
	}
	beforeOpen()
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	// The file may have been replaced after os.Stat.
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = irregular
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// beforeOpen is a hook for tests.
var beforeOpen = func() {}
