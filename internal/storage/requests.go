package storage

import "sync"

// MaxRequests is the largest number of concurrent requests of one look-up.
const MaxRequests = 64

// Requests runs up to MaxRequests requests concurrently, until one of them fails.
type Requests struct {
	tokens  chan struct{} // an element for each request that runs
	running sync.WaitGroup
	mu      sync.Mutex
	failure error // the first error
}

// NewRequests returns Requests that runs nothing yet.
func NewRequests() *Requests {
	return &Requests{tokens: make(chan struct{}, MaxRequests)}
}

// Go runs request once fewer than MaxRequests run, and returns true when it has started. After a
// request has failed, Go runs nothing and returns false.
func (r *Requests) Go(request func() error) bool {
	r.tokens <- struct{}{}
	if r.err() != nil {
		<-r.tokens
		return false
	}
	r.running.Add(1)
	go func() {
		defer r.running.Done()
		if err := request(); err != nil {
			r.fail(err)
		}
		<-r.tokens
	}()
	return true
}

func (r *Requests) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

func (r *Requests) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure == nil {
		r.failure = err
	}
}

// Wait waits until no request runs, and returns the first error.
func (r *Requests) Wait() error {
	r.running.Wait()
	return r.err()
}
