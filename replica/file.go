package replica

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/files"
)

// FileSource loads the whole file at Path whenever its bytes have changed, however that happened: a
// file that was replaced by another one of the same size and time, as "cp -p" and "rsync -t" do, is
// loaded, too. Where the system tells no time of change, as on Windows, it misses a file that was
// written in place and has its old time and size.
//
// A version consists of the file's time, its size, and a checksum of its bytes, for which a
// FileSource reads the file once more; if the time alone changes, nothing is loaded. A load that
// has begun goes on even if the context ends.
//
// Many goroutines may use a FileSource concurrently. It must not be copied.
type FileSource struct {
	Path string

	mu   sync.Mutex
	last files.Identity // of the file at Path, when it was last looked at
}

// Fetch implements [Source].
func (s *FileSource) Fetch(ctx context.Context, have string) (Update, error) {
	if err := ctx.Err(); err != nil {
		return Update{}, err
	}
	return s.fetch(have, bloom.LoadFile)
}

// fetch is like Fetch, with load instead of bloom.LoadFile. A test passes a load that also replaces
// the file.
func (s *FileSource) fetch(have string, load func(string) (*bloom.Filter, error)) (Update, error) {
	id, err := s.identify()
	if err != nil {
		return Update{}, fmt.Errorf("replica: %w", err)
	}
	made := id.Modified()
	content := fmt.Sprintf("%x-%s", id.Size(), id.Sum())
	version := fmt.Sprintf("%x-%s", made.UnixNano(), content)
	if _, old, _ := strings.Cut(have, "-"); old == content { // at most the time is another one
		return Update{Version: have}, nil
	}
	f, err := load(s.Path)
	if err != nil {
		return Update{}, fmt.Errorf("replica: %w", err)
	}
	return Update{Version: version, Full: f, Made: made}, nil
}

// identify returns the identity of the file. It comes before the file is loaded: if the file is
// replaced in between, the older version is returned, and the next fetch loads the file again.
func (s *FileSource) identify() (files.Identity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := files.Identify(s.Path, s.last)
	if err == nil {
		s.last = id
	}
	return id, err
}
