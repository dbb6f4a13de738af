// Package sieve drops repeats. A [Queue] is a to-visit list without repeats, and [Distinct] drops
// repeats from any sequence.
//
//	seen, err := bloom.New(1_000_000, 0.001)
//	if err != nil {
//		return err
//	}
//	queue := sieve.New(seen, bloom.SumString)
//	queue.Push("/a") // true
//	queue.Push("/a") // false: a repeat
//	page, ok := queue.Pop()
//
// Both remember keys in a set, such as a [bloom.Filter], instead of a map. Each key then needs only
// a few bits, whatever its length. A key that the set remembers does not pass again. The price is
// that a new key may be dropped as a repeat; the probability is the set's false-positive rate.
//
// Any [bloom.Set] will do. If the set forgets a key, as a window.Filter does, the key passes again.
// If no new key may be dropped, use a map. A queue and its set must be saved together; see [Queue].
package sieve

import (
	"fmt"
	"iter"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Queue is a first-in, first-out queue, such as the to-visit list of a crawler or of a graph
// search. It drops values whose keys its set remembers. If the set never forgets, each key passes
// at most once.
//
// A Queue must be made with [New]; Push to the zero Queue panics. A Queue is not safe for
// concurrent use, even if its set is. A Queue must not be copied.
//
// If only the set is saved, the queued values are lost: their keys are in the set, so the values
// cannot be pushed again. So save both, first the queue and then the set, and push nothing in
// between. To save the queue, write the values that [Queue.All] yields to a file, together with the
// values that were popped but are not finished yet. Replace each file as a whole; SaveFile does,
// and package file helps.
//
// After a crash between the two steps, nothing is lost, and keys that the saved set lacks may pass
// a second time. If the set were saved first, or a value were pushed in between, the saved set
// could have a key whose value is in no saved queue, and which would never be visited. To continue,
// load the set, make a queue with it, and pass the saved values to [Queue.Requeue].
type Queue[T any] struct {
	_    nocopy.Locker
	set  bloom.Set
	hash func(T) bloom.Hash
	// The queued values are the n elements of buf that begin with buf[head]; buf[0] follows the
	// last element. All other elements are zero. len(buf) is 0 or a power of two.
	buf     []T
	head, n int
	changes uint // counts calls of Requeue and Pop that changed the queue
}

// minBuf is the smallest length of buf once the queue has held a value.
const minBuf = 16

// New returns an empty queue. Keys that are already in set count as seen. Other code may also use
// set: a Queue only calls AddHash, once for each Push. hash returns the digest of a value's key. It
// must depend only on what identifies a value:
//
//	sieve.New(filter, func(p Page) bloom.Hash { return bloom.SumString(p.URL) })
//
// New panics if set or hash is nil.
func New[T any](set bloom.Set, hash func(T) bloom.Hash) *Queue[T] {
	if set == nil || hash == nil {
		panic("sieve: New needs a set and a hash")
	}
	return &Queue[T]{set: set, hash: hash}
}

// Push appends v to the queue unless the set remembers its key. It reports whether it appended v.
//
// Memory grows and shrinks with the queue: there is room for at most four times the queued values,
// or for 16. On average, a call copies a constant number of values. A queue of steady length does
// not allocate.
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

// Requeue appends v to the queue without asking the set. It is for values that were pushed before,
// such as those of a saved queue, or a value that was popped and must be tried again.
func (q *Queue[T]) Requeue(v T) {
	if q.n == len(q.buf) {
		q.resize(max(minBuf, 2*q.n))
	}
	q.buf[(q.head+q.n)&(len(q.buf)-1)] = v
	q.n++
	q.changes++
}

// Peek returns the oldest value and true, and leaves the value in the queue. If the queue is empty,
// it returns the zero value and false.
func (q *Queue[T]) Peek() (T, bool) {
	for v := range q.All() {
		return v, true
	}
	var zero T
	return zero, false
}

// Pop removes the oldest value, and returns it and true. If the queue is empty, it returns the zero
// value and false. The queue keeps no reference to the value. If a value with the same key is
// pushed later, it is dropped while the set remembers the key.
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
	// The buffer shrinks when it is a quarter full. After a resize that copied n values, at least
	// n/2 calls precede the next one.
	if q.n <= len(q.buf)/4 && len(q.buf) > minBuf {
		q.resize(len(q.buf) / 2)
	}
	return v, true
}

// Len returns the number of queued values.
func (q *Queue[T]) Len() int { return q.n }

// String returns the name of q's type and the number of queued values.
func (q *Queue[T]) String() string { return fmt.Sprintf("sieve.Queue(%d values)", q.Len()) }

// All yields the queued values, oldest first, and leaves them in the queue. It panics if the loop
// changes the queue and continues. A loop that pushes values must call Pop instead.
func (q *Queue[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		changes := q.changes
		for i := range q.n {
			if !yield(q.buf[(q.head+i)&(len(q.buf)-1)]) {
				return
			}
			if q.changes != changes {
				panic("sieve: the Queue changed during a loop over All: loop over Pop instead")
			}
		}
	}
}

// resize moves the queued values to the start of a new buffer.
func (q *Queue[T]) resize(size int) {
	buf := make([]T, size)
	tail := copy(buf, q.buf[q.head:])
	copy(buf[tail:], q.buf[:q.head])
	q.buf, q.head = buf, 0
}

// Distinct yields the values in seq whose keys are new to set. It yields each value as soon as seq
// does, and stores none. set and hash are as in [New].
//
// A loop over the result adds the keys of seq to set. So unless set forgets keys, a second loop
// over the same values yields none of those that the first loop got. Distinct panics if seq, set or
// hash is nil.
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
