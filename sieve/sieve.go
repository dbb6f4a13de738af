package sieve

import (
	"iter"

	"github.com/seed79a3ff49/bloom"
)

// Queue is a first-in, first-out queue that admits each key at most once: the
// to-visit list of a crawler or a graph search. What was admitted is remembered
// by a Set rather than a map, so a key that has left the queue costs the few bits
// that the Set spends on it.
//
// A new key is dropped as if seen with the Set's false-positive probability. A
// Set that forgets, such as a Window, lets a key in again once it has forgotten
// it.
//
// A Sieve is not safe for concurrent use, even over a Set that is: the queue
// needs a lock, or a goroutine that owns it. It must not be copied after first
// use.
type Queue[T any] struct {
	set  bloom.Adder
	hash func(T) bloom.Hash
	// The queued values are the n from buf[head] on, wrapping; all other places
	// are zero. len(buf) is 0 or a power of two.
	buf     []T
	head, n int
}

// minSieve is the least capacity of a Sieve that was ever pushed to.
const minSieve = 16

// New returns an empty queue that asks set whether it has seen a value's
// hash. Keys already in set count as seen, and set may be shared. hash says what
// makes two values the same key, so it must depend on nothing else:
//
//	sieve.New(filter, func(p Page) bloom.Hash { return bloom.SumString(p.URL) })
//
// It panics if set or hash is nil.
func New[T any](set bloom.Adder, hash func(T) bloom.Hash) *Queue[T] {
	if set == nil || hash == nil {
		panic("sieve: New needs a set and a hash")
	}
	return &Queue[T]{set: set, hash: hash}
}

// Push appends v to the queue, unless the set has seen its key. It reports
// whether it did: false means that v was dropped.
//
// Memory follows the length of the queue both ways: there is room for at most
// four times the values queued, or for 16. The copying takes constant time per
// call on average, and a queue of steady length allocates nothing.
func (s *Queue[T]) Push(v T) bool {
	if !s.set.AddHash(s.hash(v)) {
		return false
	}
	if s.n == len(s.buf) {
		s.resize(max(minSieve, 2*s.n))
	}
	s.buf[(s.head+s.n)&(len(s.buf)-1)] = v
	s.n++
	return true
}

// Pop removes the value that was admitted first and returns it, or reports
// false if the queue is empty. Later Pushes of that key are still dropped. The
// Sieve keeps no reference to a value it has returned.
func (s *Queue[T]) Pop() (T, bool) {
	var zero T
	if s.n == 0 {
		return zero, false
	}
	v := s.buf[s.head]
	s.buf[s.head] = zero
	s.head = (s.head + 1) & (len(s.buf) - 1)
	s.n--
	// At a quarter, not at half: after either resize, at least half as many calls
	// as it copied values lead to the next, whichever way the length goes.
	if s.n <= len(s.buf)/4 && len(s.buf) > minSieve {
		s.resize(len(s.buf) / 2)
	}
	return v, true
}

// Len returns the number of values queued.
func (s *Queue[T]) Len() int { return s.n }

// resize moves the queue to the start of a new buffer.
func (s *Queue[T]) resize(size int) {
	buf := make([]T, size)
	tail := copy(buf, s.buf[s.head:])
	copy(buf[tail:], s.buf[:s.head])
	s.buf, s.head = buf, 0
}

// Distinct returns the values of seq without repeats: each one whose hash set
// has not seen. It holds no values back and keeps none. A new key is dropped
// with set's false-positive probability.
//
// Ranging over the result adds to set, so keys already there are not yielded,
// and a second range goes on where the first one stopped: over the same values
// it yields nothing that the first did. It panics if set or hash is nil.
func Distinct[T any](seq iter.Seq[T], set bloom.Adder, hash func(T) bloom.Hash) iter.Seq[T] {
	if set == nil || hash == nil {
		panic("sieve: Distinct needs a set and a hash")
	}
	return func(yield func(T) bool) {
		for v := range seq {
			if set.AddHash(hash(v)) && !yield(v) {
				return
			}
		}
	}
}
