package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// FileSource loads the whole file at Path whenever the file has been replaced, which
// bloom.Filter.SaveFile does atomically. A version is the file's time, size and last bytes, which
// contain a checksum if SaveFile wrote the file. A load that has begun goes on even if the context
// ends. Many goroutines may use a FileSource concurrently.
type FileSource struct {
	Path string
}

// Fetch implements [Source].
func (s *FileSource) Fetch(ctx context.Context, have string) (Update, error) {
	if err := ctx.Err(); err != nil {
		return Update{}, err
	}
	return s.fetch(have, bloom.LoadFile)
}

// fetch is Fetch with load in place of bloom.LoadFile. A test passes a load that also replaces the
// file.
func (s *FileSource) fetch(have string, load func(string) (*bloom.Filter, error)) (Update, error) {
	// The version is read before the file: if the file is replaced in between, the older version is
	// returned, and the next fetch loads the file again.
	version, made, err := s.version()
	if err != nil {
		return Update{}, fmt.Errorf("replica: %w", err)
	}
	if version == have {
		return Update{Version: have}, nil
	}
	f, err := load(s.Path)
	if err != nil {
		return Update{}, fmt.Errorf("replica: %w", err)
	}
	return Update{Version: version, Full: f, made: made}, nil
}

// version returns the version of the file, and the time when it was written.
func (s *FileSource) version() (version string, made time.Time, err error) {
	file, size, err := storage.OpenRegular(s.Path)
	if err != nil {
		return "", made, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", made, err
	}
	tail := make([]byte, min(16, size))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return "", made, err
	}
	made = info.ModTime()
	return fmt.Sprintf("%x-%x-%x", made.UnixNano(), size, tail), made, nil
}
