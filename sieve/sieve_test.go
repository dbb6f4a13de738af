package sieve

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// exactSet is a Set without false positives.
type exactSet map[bloom.Hash]bool

func (s exactSet) AddHash(h bloom.Hash) bool {
	added := !s[h]
	s[h] = true
	return added
}

func (s exactSet) ContainsHash(h bloom.Hash) bool { return s[h] }

// checkSieve checks what must hold of a queue between any two calls.
func checkSieve(t *testing.T, s *Queue[uint64]) {
	t.Helper()
	size := len(s.buf)
	if size&(size-1) != 0 || s.n > size || size > max(minSieve, 4*s.n) {
		t.Fatalf("len(buf) = %d, n = %d", size, s.n)
	}
	for i := s.n; i < size; i++ {
		if s.buf[(s.head+i)%size] != 0 {
			t.Fatalf("place %d of %d is not zero, with head = %d, n = %d", (s.head+i)%size, size, s.head, s.n)
		}
	}
}

// Three walks against a slice and a map: one that hovers, one that fills and
// drains in waves, and one that mostly repeats keys.
func TestSieveRandomWalk(t *testing.T) {
	for _, walk := range []struct {
		name string
		keys uint64
		push func(step int) float64 // probability of a Push
	}{
		{"hover", 1 << 60, func(int) float64 { return 0.5 }},
		{"waves", 1 << 60, func(step int) float64 { return []float64{0.9, 0.1}[step/1000%2] }},
		{"repeats", 500, func(int) float64 { return 0.9 }},
	} {
		t.Run(walk.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			s := New(exactSet{}, bloom.SumUint64)
			seen := map[uint64]bool{}
			var queue []uint64
			for step := range 10_000 {
				if rng.Float64() < walk.push(step) {
					v := rng.Uint64N(walk.keys) + 1
					require.Equal(t, !seen[v], s.Push(v))
					if !seen[v] {
						queue = append(queue, v)
					}
					seen[v] = true
				} else {
					v, ok := s.Pop()
					require.Equal(t, len(queue) > 0, ok)
					if !ok {
						require.Zero(t, v)
					} else {
						require.Equal(t, queue[0], v)
						queue = queue[1:]
					}
				}
				require.Equal(t, len(queue), s.Len())
				checkSieve(t, s)
			}
			for _, want := range queue {
				v, ok := s.Pop()
				require.True(t, ok)
				require.Equal(t, want, v)
				checkSieve(t, s)
			}
			_, ok := s.Pop()
			require.False(t, ok)
		})
	}
}

// everything is a Set that takes every key for new.
type everything struct{}

func (everything) AddHash(bloom.Hash) bool      { return true }
func (everything) ContainsHash(bloom.Hash) bool { return false }

func TestSieveMemoryStaysBounded(t *testing.T) {
	s := New[uint64](everything{}, bloom.SumUint64)
	const length = 100
	for i := range uint64(2_000_000) {
		s.Push(i)
		if i >= length {
			v, _ := s.Pop()
			if v != i-length || len(s.buf) > 4*length {
				t.Fatalf("step %d: popped %d, len(buf) = %d", i, v, len(s.buf))
			}
		}
	}

	for i := range uint64(1 << 20) {
		s.Push(i)
	}
	for s.Len() > 0 {
		s.Pop()
	}
	assert.Len(t, s.buf, minSieve, "after a million are popped")
}

// A value of steady length is popped into places that stay: what was there must
// be garbage all the same.
func TestSieveKeepsNoPopped(t *testing.T) {
	s := New(everything{}, func(p *[64]byte) bloom.Hash { return bloom.Sum(p[:]) })
	var popped []weak.Pointer[[64]byte]
	for range 10 {
		s.Push(new([64]byte))
		s.Push(new([64]byte))
		v, _ := s.Pop()
		popped = append(popped, weak.Make(v))
	}
	runtime.GC()
	for i, p := range popped {
		assert.Nil(t, p.Value(), "value %d", i)
	}
	assert.Equal(t, 10, s.Len())
}

// At no length does a queue that goes up and down by one keep resizing.
func TestSieveDoesNotThrash(t *testing.T) {
	for _, start := range []int{0, 100} { // grown to, or shrunk to
		for length := range 100 {
			s := New[uint64](everything{}, bloom.SumUint64)
			for range max(start, length) {
				s.Push(1)
			}
			for s.Len() > length {
				s.Pop()
			}
			assert.Zero(t, testing.AllocsPerRun(3, func() {
				s.Push(1)
				s.Pop()
			}), "length %d", length)
		}
	}
}

func TestSieveAllocatesNothing(t *testing.T) {
	f := bloom.Must(bloom.New(100_000, 0.01))
	s := New(f, bloom.SumString)
	keys := make([]string, 30_000)
	for i := range keys {
		keys[i] = fmt.Sprint("https://example.com/", i)
	}
	next := 0
	push := func() {
		s.Push(keys[next])
		next++
	}
	for range 1000 {
		push()
	}
	assert.Zero(t, testing.AllocsPerRun(20_000, func() {
		push()
		s.Pop()
		s.Push(keys[0])
	}))
}

// Over a filter, new keys are lost at the filter's rate and no faster: of n
// keys, the i-th finds i-1 before it.
func TestSieveLosesAtTheFiltersRate(t *testing.T) {
	const n = 20_000
	f := bloom.Must(bloom.New(n, 0.05))
	s := New(f, bloom.SumUint64)
	mean, variance, dropped := 0.0, 0.0, 0.0
	for i := range uint64(n) {
		p := f.FPR()
		mean += p
		variance += p * (1 - p)
		if !s.Push(i) {
			dropped++
		}
		if s.Push(i) {
			t.Fatalf("%d admitted twice", i)
		}
	}
	assert.InDelta(t, 0, (dropped-mean)*(dropped-mean)/variance, 4.5*4.5, "%v dropped, %v expected", dropped, mean)
	assert.EqualValues(t, n-dropped, s.Len())
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
	assert.Equal(t, []string{"c", "d"}, slices.Collect(distinct), "a second range goes on with the set")
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

func TestSieveNeedsSetAndHash(t *testing.T) {
	none := func(func(uint64) bool) {}
	for name, f := range map[string]func(){
		"New set":       func() { New(nil, bloom.SumUint64) },
		"New hash":      func() { New[uint64](exactSet{}, nil) },
		"Distinct set":  func() { Distinct(none, nil, bloom.SumUint64) },
		"Distinct hash": func() { Distinct[uint64](none, exactSet{}, nil) },
	} {
		assert.Panics(t, f, name)
	}
}

func BenchmarkSieve(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("len=%d", n), func(b *testing.B) {
			s := New[uint64](everything{}, bloom.SumUint64)
			for i := range uint64(n) {
				s.Push(i)
			}
			b.ReportAllocs()
			for b.Loop() {
				v, _ := s.Pop()
				s.Push(v)
			}
		})
	}
}
