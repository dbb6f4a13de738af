package sieve

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// exactSet is a set without false positives.
type exactSet map[bloom.Hash]bool

func (s exactSet) AddHash(h bloom.Hash) bool {
	added := !s[h]
	s[h] = true
	return added
}

func (s exactSet) ContainsHash(h bloom.Hash) bool { return s[h] }

// check checks the invariants of a queue.
func check(t *testing.T, q *Queue[uint64]) {
	t.Helper()
	size := len(q.buf)
	if size&(size-1) != 0 || q.n > size || size > max(minBuf, 4*q.n) {
		t.Fatalf("len(buf) = %d, n = %d", size, q.n)
	}
	for i := q.n; i < size; i++ {
		if q.buf[(q.head+i)%size] != 0 {
			t.Fatalf("place %d of %d is not zero, with head = %d, n = %d", (q.head+i)%size, size,
				q.head, q.n)
		}
	}
}

// The test compares a queue with a slice and a map on three walks. One keeps its length, one fills
// and drains in waves, and one mostly repeats keys.
func TestRandomWalk(t *testing.T) {
	for _, walk := range []struct {
		name string
		keys uint64
		push func(step int) float64 // the probability of a Push
	}{
		{"hover", 1 << 60, func(int) float64 { return 0.5 }},
		{"waves", 1 << 60, func(step int) float64 { return []float64{0.9, 0.1}[step/1000%2] }},
		{"repeats", 500, func(int) float64 { return 0.9 }},
	} {
		t.Run(walk.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			q := New(exactSet{}, bloom.SumUint64)
			seen := map[uint64]bool{}
			var queue []uint64
			for step := range 10_000 {
				if rng.Float64() < walk.push(step) {
					v := rng.Uint64N(walk.keys) + 1
					require.Equal(t, !seen[v], q.Push(v))
					if !seen[v] {
						queue = append(queue, v)
					}
					seen[v] = true
				} else {
					v, ok := q.Pop()
					require.Equal(t, len(queue) > 0, ok)
					if !ok {
						require.Zero(t, v)
					} else {
						require.Equal(t, queue[0], v)
						queue = queue[1:]
					}
				}
				if step%37 == 0 && len(queue) > 0 { // a value that was popped is queued again
					v := rng.Uint64N(walk.keys) + 1
					q.Requeue(v)
					queue = append(queue, v)
				}
				require.Equal(t, len(queue), q.Len())
				first, ok := q.Peek()
				require.Equal(t, len(queue) > 0, ok)
				if ok {
					require.Equal(t, queue[0], first)
				} else {
					require.Zero(t, first)
				}
				require.True(t, step%50 > 0 || slices.Equal(queue, slices.Collect(q.All())))
				check(t, q)
			}
			for _, want := range queue {
				v, ok := q.Pop()
				require.True(t, ok)
				require.Equal(t, want, v)
				check(t, q)
			}
			_, ok := q.Pop()
			require.False(t, ok)
		})
	}
}

// TestAll stops early, and finds the queue as it was.
func TestAll(t *testing.T) {
	q := New[uint64](everything{}, bloom.SumUint64)
	for range q.All() {
		t.Error("an empty queue has a value")
	}
	for i := range uint64(20) {
		q.Push(i)
		q.Pop()
		q.Push(100 + i)
	}
	for range 2 {
		var got []uint64
		for v := range q.All() {
			if got = append(got, v); len(got) == 3 {
				break
			}
		}
		require.Equal(t, []uint64{10, 110, 11}, got)
		require.Equal(t, 20, q.Len())
	}
}

// everything is a set that reports every key as new.
type everything struct{}

func (everything) AddHash(bloom.Hash) bool      { return true }
func (everything) ContainsHash(bloom.Hash) bool { panic("a Queue only adds to its set") }

func TestMemoryStaysBounded(t *testing.T) {
	q := New[uint64](everything{}, bloom.SumUint64)
	const length = 100
	for i := range uint64(2_000_000) {
		q.Push(i)
		if i >= length {
			v, _ := q.Pop()
			if v != i-length || len(q.buf) > 4*length {
				t.Fatalf("step %d: popped %d, len(buf) = %d", i, v, len(q.buf))
			}
		}
	}

	for i := range uint64(1 << 20) {
		q.Push(i)
	}
	for q.Len() > 0 {
		q.Pop()
	}
	assert.Len(t, q.buf, minBuf, "after a million are popped")
}

// A queue of steady length keeps its buffer. The buffer must not keep values that were popped.
func TestKeepsNoPopped(t *testing.T) {
	q := New(everything{}, func(p *[64]byte) bloom.Hash { return bloom.Sum(p[:]) })
	var popped []weak.Pointer[[64]byte]
	for range 10 {
		q.Push(new([64]byte))
		q.Push(new([64]byte))
		v, _ := q.Pop()
		popped = append(popped, weak.Make(v))
	}
	runtime.GC()
	for i, p := range popped {
		assert.Nil(t, p.Value(), "value %d", i)
	}
	assert.Equal(t, 10, q.Len())
}

// If the length of a queue goes up and down by one, the queue does not resize each time, at any
// length.
func TestDoesNotThrash(t *testing.T) {
	for _, start := range []int{0, 100} { // the queue grows or shrinks to the length
		for length := range 100 {
			q := New[uint64](everything{}, bloom.SumUint64)
			for range max(start, length) {
				q.Push(1)
			}
			for q.Len() > length {
				q.Pop()
			}
			assert.Zero(t, testing.AllocsPerRun(3, func() {
				q.Push(1)
				q.Pop()
			}), "length %d", length)
		}
	}
}

func TestDistinct(t *testing.T) {
	set := exactSet{}
	set.AddHash(bloom.SumString("known"))
	words := slices.Values([]string{"b", "a", "b", "known", "", "c", "", "a", "d"})
	distinct := Distinct(words, set, bloom.SumString)

	var got []string
	for w := range distinct {
		if got = append(got, w); len(got) == 3 {
			break
		}
	}
	assert.Equal(t, []string{"b", "a", ""}, got)
	assert.False(t, set.ContainsHash(bloom.SumString("c")), "read past the break")
	assert.Equal(t, []string{"c", "d"}, slices.Collect(distinct),
		"a second range goes on with the set")
	assert.Empty(t, slices.Collect(distinct))
	assert.Empty(t, slices.Collect(Distinct(slices.Values([]string(nil)), set, bloom.SumString)))
}

func TestDistinctAllocatesNothing(t *testing.T) {
	f := bloom.Must(bloom.New(1000, 0.01))
	keys := make([]uint64, 1000)
	for i := range keys {
		keys[i] = uint64(i / 2)
	}
	distinct := Distinct(slices.Values(keys), f, bloom.SumUint64)
	n := 0
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		f.Reset()
		for range distinct {
			n++
		}
	}))
	assert.Positive(t, n)
}

// TestString: the text of a queue has none of its values.
func TestString(t *testing.T) {
	q := New(bloom.Must(bloom.New(100, 0.01)), bloom.SumString)
	q.Push("secret")
	require.Equal(t, "sieve.Queue(1 values)", fmt.Sprint(q))
}

func TestNeedsSetAndHash(t *testing.T) {
	none := func(func(uint64) bool) {}
	for _, test := range []struct {
		want string
		do   func()
	}{
		{"sieve: New needs a set and a hash", func() { New(nil, bloom.SumUint64) }},
		{"sieve: New needs a set and a hash", func() { New[uint64](exactSet{}, nil) }},
		{"sieve: Push to a zero Queue: make it with New", func() { new(Queue[uint64]).Push(1) }},
		{"sieve: Distinct needs a sequence, a set and a hash", func() {
			Distinct(none, nil, bloom.SumUint64)
		}},
		{"sieve: Distinct needs a sequence, a set and a hash", func() {
			Distinct[uint64](none, exactSet{}, nil)
		}},
		{"sieve: Distinct needs a sequence, a set and a hash", func() {
			Distinct(nil, exactSet{}, bloom.SumUint64)
		}},
	} {
		assert.PanicsWithValue(t, test.want, test.do)
	}
}

// TestAllOfChanged: All panics if the loop changes the queue and continues.
func TestAllOfChanged(t *testing.T) {
	q := New(bloom.Must(bloom.New(100, 1e-6)), bloom.SumString)
	for name, change := range map[string]func(){
		"Push": func() {
			q.Push("new")
		}, "Requeue": func() { q.Requeue("again") }, "Pop": func() { q.Pop() },
	} {
		for i := range 3 {
			q.Requeue(strconv.Itoa(i))
		}
		require.PanicsWithValue(t,
			"sieve: the Queue changed during a loop over All: loop over Pop instead", func() {
				for range q.All() {
					change()
				}
			}, name)
		for range q.All() { // a change is allowed if the loop then ends
			change()
			break
		}
	}
	q.Push("new") // the queue drops the value and does not change
	for range q.All() {
		q.Push("new")
	}
}

// asked is a set that counts the calls of AddHash.
type asked struct {
	exactSet
	adds int
}

func (s *asked) AddHash(h bloom.Hash) bool {
	s.adds++
	return s.exactSet.AddHash(h)
}

// TestAsksOnce: each Push asks the set once, and no other method does. What other code added to the
// set counts as seen, and what the set has forgotten passes again.
func TestAsksOnce(t *testing.T) {
	set := &asked{exactSet: exactSet{}}
	set.exactSet.AddHash(bloom.SumString("known"))
	q := New(set, bloom.SumString)
	require.False(t, q.Push("known"), "in the set before New")
	require.True(t, q.Push("a"))
	require.False(t, q.Push("a"), "while it is queued")
	set.exactSet.AddHash(bloom.SumString("b"))
	require.False(t, q.Push("b"), "added by other code")
	require.Equal(t, 4, set.adds)
	q.Requeue("a")
	q.Requeue("new to the set")
	require.Equal(t, []string{"a", "a", "new to the set"}, slices.Collect(q.All()))
	q.Peek()
	for range 4 {
		q.Pop()
	}
	require.Equal(t, 0, q.Len())
	require.Equal(t, "sieve.Queue(0 values)", q.String())
	require.Equal(t, 4, set.adds)
	require.False(t, q.Push("a"), "after Pop")
	require.True(t, q.Push("new to the set"), "Requeue adds to no set")
	delete(set.exactSet, bloom.SumString("a"))
	require.True(t, q.Push("a"), "forgotten by the set")

	set.adds = 0
	seen := 0
	for v := range Distinct(slices.Values([]string{"known", "c", "c", "d"}), set, bloom.SumString) {
		seen++
		require.Equal(t, map[string]int{"c": 2, "d": 4}[v], set.adds, "%s is late", v)
	}
	require.Equal(t, 2, seen)
}
