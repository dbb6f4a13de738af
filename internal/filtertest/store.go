package filtertest

import (
	"bytes"
	"sync"
)

// Store is an io.ReaderAt that reads from Data and records the length of each request. If Fails is
// not 0, the request with that number and all later ones return Err. Requests are counted from 1;
// Asked starts the count again.
type Store struct {
	Data  []byte
	Err   error
	Fails int

	mu      sync.Mutex
	lengths []int
}

func (s *Store) ReadAt(p []byte, offset int64) (int, error) {
	s.mu.Lock()
	s.lengths = append(s.lengths, len(p))
	failed := s.Fails > 0 && len(s.lengths) >= s.Fails
	s.mu.Unlock()
	if failed {
		return 0, s.Err
	}
	return bytes.NewReader(s.Data).ReadAt(p, offset)
}

// Asked returns the lengths of the requests since the last call of Asked.
func (s *Store) Asked() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	lengths := s.lengths
	s.lengths = nil
	return lengths
}
