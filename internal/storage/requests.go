package storage

import "sync"

// MaxRequests is the largest number of requests that one look-up runs concurrently.
const MaxRequests = 64

// Requests runs up to MaxRequests requests concurrently, until one fails.
type Requests struct {
	tokens  chan struct{} // has an element for each running request
	running sync.WaitGroup
	mu      sync.Mutex
	failure error // the first error
}

func NewRequests() *Requests {
	return &Requests{tokens: make(chan struct{}, MaxRequests)}
}

// Go waits until fewer than MaxRequests requests run, then starts request and returns true. After a
// request has failed, Go starts nothing and returns false.
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

// Wait waits for all running requests, and returns the first error.
func (r *Requests) Wait() error {
	r.running.Wait()
	return r.err()
}
