package replica

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/files"
)

// FileSource loads the whole file at Path whenever its content has changed. It also notices a new
// file that has the size and the modification time of the old one, for example after "cp -p" or
// "rsync -t". On systems that report no time of change, such as Windows, it may miss a file that
// was written in place and has its old size and time. On every system it may miss later writes
// through a memory map that another program keeps, because only the first such write changes the
// times.
//
// A version consists of the file's modification time, its size, and a checksum of its bytes. To
// compute the checksum, a FileSource reads the file once more. If only the time changes, it loads
// nothing. Once a load has begun, it continues even if the context ends.
//
// Many goroutines may use a FileSource. It must not be copied.
type FileSource struct {
	Path string

	mu   sync.Mutex
	last files.Identity // the identity of the file at Path when it was last examined
}

// Fetch implements [Source].
func (s *FileSource) Fetch(ctx context.Context, have string) (Update, error) {
	if err := ctx.Err(); err != nil {
		return Update{}, err
	}
	return s.fetch(have, bloom.LoadFile)
}

// fetch is like Fetch, but calls load instead of bloom.LoadFile, so that a test can replace the
// file during a load.
func (s *FileSource) fetch(have string, load func(string) (*bloom.Filter, error)) (Update, error) {
	id, err := s.identify()
	if err != nil {
		return Update{}, fmt.Errorf("replica: %w", err)
	}
	made := id.Modified()
	content := fmt.Sprintf("%x-%s", id.Size(), id.Sum())
	version := fmt.Sprintf("%x-%s", made.UnixNano(), content)
	if _, old, _ := strings.Cut(have, "-"); old == content { // at most the time differs
		return Update{Version: have}, nil
	}
	f, err := load(s.Path)
	if err != nil {
		return Update{}, fmt.Errorf("replica: %w", err)
	}
	return Update{Version: version, Full: f, Made: made}, nil
}

// identify must be called before the file is loaded. If the content changes in between, fetch
// returns the new filter with the old version, and the next fetch loads the file again.
func (s *FileSource) identify() (files.Identity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := files.Identify(s.Path, s.last)
	s.last = id // speed
	return id, err
}
