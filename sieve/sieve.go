// Package sieve drops repeats: from a to-visit list, as [Queue] does, and from any
// sequence, as [Distinct] does.
//
// Both remember keys in a set of the caller's, such as a [bloom.Filter], instead of
// a map. A key then costs the few bits that the set spends on it, whatever its
// length. No key passes a second time while the set remembers it. The price is that
// a new key is dropped, as if seen, with the set's false-positive probability.
//
// Any [bloom.Set] will do. One that forgets, such as a window.Filter, lets a key
// pass again once it has forgotten it. Take a map where no key may be dropped.
//
// # Saving a queue
//
// A set that is saved without its queue loses what was queued: those keys are in
// the set, so they cannot be pushed again. Save both, the queue before the set:
//
//  1. Write the values that [Queue.All] yields to a file, and with them those that
//     were popped but not yet dealt with.
//  2. Then save the set. Nothing may be pushed between the two.
//
// After a crash between the two, the saved queue is newer than the saved set. Keys that
// the set does not know yet may pass a second time, and nothing is lost. In the other
// order, a key in the set but not in the queue would never be visited. The same would
// happen to a key that is pushed between the two. Each of the
// files must be replaced as a whole, as the SaveFile methods do.
//
// To go on, load the set, make a queue with it, and pass the values to [Queue.Requeue].
package sieve

import (
	"fmt"
	"iter"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Queue is a first-in, first-out queue that drops keys which its set remembers: the
// to-visit list of a crawler or a graph search. Over a set that never forgets, it admits
// each key at most once.
//
// Make it with [New]: Push to the zero Queue panics. A Queue is not safe for concurrent
// use, even over a set that is: it needs a lock, or a goroutine that owns it. It must
// not be copied.
type Queue[T any] struct {
	_    nocopy.Locker
	set  bloom.Set
	hash func(T) bloom.Hash
	// The queued values are the n from buf[head] on, wrapping. All other places
	// are zero. len(buf) is 0 or a power of two.
	buf     []T
	head, n int
	changes uint // counts calls of Requeue and Pop that changed the queue
}

// minBuf is the least capacity of a queue that ever held a value.
const minBuf = 16

// New returns an empty queue that asks set whether it has seen a value's hash. Keys
// already in set count as seen. Others may share set: Queue calls only its AddHash, once for
// each Push. Values of the same hash are the same key. So hash must depend on nothing but
// what identifies a value:
//
//	sieve.New(filter, func(p Page) bloom.Hash { return bloom.SumString(p.URL) })
//
// It panics if set or hash is nil.
func New[T any](set bloom.Set, hash func(T) bloom.Hash) *Queue[T] {
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
func (q *Queue[T]) Push(v T) bool {
	if q.set == nil {
		panic("sieve: Push to a zero Queue: make it with New")
	}
	if !q.set.AddHash(q.hash(v)) {
		return false
	}
	q.Requeue(v)
	return true
}

// Requeue appends v to the queue without asking the set, and without adding v's
// key to it. It is for values that were pushed before: those of a saved queue, or
// one that was popped and must be tried again.
func (q *Queue[T]) Requeue(v T) {
	if q.n == len(q.buf) {
		q.resize(max(minBuf, 2*q.n))
	}
	q.buf[(q.head+q.n)&(len(q.buf)-1)] = v
	q.n++
	q.changes++
}

// Peek returns the oldest value and leaves it in the queue, or reports false if the
// queue is empty.
func (q *Queue[T]) Peek() (T, bool) {
	for v := range q.All() {
		return v, true
	}
	var zero T
	return zero, false
}

// Pop removes the oldest value and returns it, or reports false if the queue is
// empty. A later Push of its key is dropped as long as the set remembers it. The queue
// keeps no reference to a value that it has returned.
func (q *Queue[T]) Pop() (T, bool) {
	var zero T
	if q.n == 0 {
		return zero, false
	}
	v := q.buf[q.head]
	q.buf[q.head] = zero
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
	q.changes++
	// At a quarter, not at half: after either resize, at least half as many calls
	// as it copied values lead to the next, whichever way the length goes.
	if q.n <= len(q.buf)/4 && len(q.buf) > minBuf {
		q.resize(len(q.buf) / 2)
	}
	return v, true
}

// Len returns the number of values queued.
func (q *Queue[T]) Len() int { return q.n }

// String says how many values are queued, and none of them.
func (q *Queue[T]) String() string { return fmt.Sprintf("sieve.Queue(%d values)", q.Len()) }

// All yields the values queued, oldest first, and leaves them where they are. It panics if
// the loop goes on after it has changed the queue: to visit what is pushed, loop over Pop.
func (q *Queue[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		changes := q.changes
		for i := range q.n {
			if !yield(q.buf[(q.head+i)&(len(q.buf)-1)]) {
				return
			}
			if q.changes != changes {
				panic("sieve: the Queue changed while All was ranged over: loop over Pop")
			}
		}
	}
}

// resize moves the queue to the start of a new buffer.
func (q *Queue[T]) resize(size int) {
	buf := make([]T, size)
	tail := copy(buf, q.buf[q.head:])
	copy(buf[tail:], q.buf[:q.head])
	q.buf, q.head = buf, 0
}

// Distinct yields the values of seq whose keys set does not remember. It yields a value
// as soon as seq does, and keeps none.
//
// Ranging over the result adds to set. So keys that were already there are not
// yielded, and a second range goes on where the first one stopped: over the same
// values it yields nothing that the first did. Distinct panics if seq, set or hash
// is nil.
func Distinct[T any](seq iter.Seq[T], set bloom.Set, hash func(T) bloom.Hash) iter.Seq[T] {
	if seq == nil || set == nil || hash == nil {
		panic("sieve: Distinct needs a sequence, a set and a hash")
	}
	return func(yield func(T) bool) {
		for v := range seq {
			if set.AddHash(hash(v)) && !yield(v) {
				return
			}
		}
	}
}
