package filtertest

import (
	"bytes"
	"sync"
)

// Store is an io.ReaderAt of Data that notes how many bytes it is asked for each time. It fails
// with Err from the given request on, if that is not 0.
type Store struct {
	Data  []byte
	Err   error
	Fails int

	mu    sync.Mutex
	asked []int
}

func (s *Store) ReadAt(p []byte, from int64) (int, error) {
	s.mu.Lock()
	s.asked = append(s.asked, len(p))
	failed := s.Fails > 0 && len(s.asked) >= s.Fails
	s.mu.Unlock()
	if failed {
		return 0, s.Err
	}
	return bytes.NewReader(s.Data).ReadAt(p, from)
}

// Asked returns what the requests since the last call were for.
func (s *Store) Asked() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}
