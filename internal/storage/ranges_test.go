package storage_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/form"
	. "github.com/seed79a3ff49/bloom/internal/storage"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestRanges: Ranges does 1, 2, 4 and so on steps of a key at a time, until one fails.
func TestRanges(t *testing.T) {
	const steps, apart = 10, 100_000
	data := make([]byte, (steps+1)*apart)
	for good := range steps + 1 {
		clear(data)
		for step := range good {
			data[step*apart] = 1
		}
		s := &filtertest.Store{Data: data}
		found := []bool{good%2 == 0}
		require.NoError(t, Ranges("test", s, found, steps, 2, func(_, step int) int64 {
			return int64(step) * apart
		},
			func(_, _ int, data []byte) bool { return data[0] == 1 }))
		require.Equal(t, good == steps, found[0])
		asked := s.Asked()
		require.Len(t, asked, []int{1, 3, 3, 7, 7, 7, 7, 10, 10, 10, 10}[good])
		for _, n := range asked {
			require.Equal(t, 2, n)
		}
	}
	found := []bool{true}
	require.NoError(t, Ranges("test", nil, found, 0, 1, nil, nil))
	require.False(t, found[0], "of no steps none is found")
}

// TestRangesJoin: ranges that are near each other are one request of at most 256 KiB.
func TestRangesJoin(t *testing.T) {
	for _, test := range []struct{ keys, apart, requests int }{
		{1, 0, 1}, {1000, 0, 1}, {1000, 200, 1}, {10, 32 + 16<<10, 1}, {10, 33 + 16<<10, 10},
		{20, 16 << 10, 2}, {3, 256 << 10, 3}, {300, 20 << 10, 300},
	} {
		s := &filtertest.Store{Data: make([]byte, test.keys*test.apart+32)}
		for i := range test.keys {
			s.Data[i*test.apart+31] = byte(i % 2)
		}
		found := make([]bool, test.keys)
		require.NoError(t, Ranges("test", s, found, 1, 32, func(key, _ int) int64 {
			return int64((test.keys - 1 - key) * test.apart)
		},
			func(_, _ int, data []byte) bool { return len(data) == 32 && data[31] == 1 }))
		if test.apart > 0 {
			for key := range found {
				require.Equal(t, (test.keys-1-key)%2 == 1, found[key])
			}
		}
		asked := s.Asked()
		require.Len(t, asked, test.requests, "%+v", test)
		for _, n := range asked {
			require.LessOrEqual(t, n, 256<<10)
		}
	}
}

// TestRefusedRequests: after a request has failed, Go refuses any number of requests, and none of
// them counts as running.
func TestRefusedRequests(t *testing.T) {
	down := errors.New("down")
	requests := NewRequests()
	require.True(t, requests.Go(func() error { return down }))
	require.Equal(t, down, requests.Wait())
	refused := make(chan int, 1)
	go func() {
		n := 0
		for range 2 * MaxRequests {
			if !requests.Go(func() error { return nil }) {
				n++
			}
		}
		refused <- n
	}()
	require.Equal(t, 2*MaxRequests, filtertest.Receive(t, "all requests are refused", refused))
}

// TestRangesFail: if one request of many fails, all answers are true, and soon no more requests are
// made.
func TestRangesFail(t *testing.T) {
	const keys, apart = 1000, 32 << 10
	down := errors.New("down")
	s := &filtertest.Store{Data: make([]byte, keys*apart), Err: down}
	for _, s.Fails = range []int{1, 2, 500} {
		found := make([]bool, keys)
		err := Ranges("test", s, found, 3, 1, func(key, _ int) int64 {
			return int64(key) * apart
		}, func(int, int, []byte) bool { return false })
		require.ErrorIs(t, err, down)
		require.NotErrorIs(t, err, form.ErrFormat)
		require.Equal(t, keys, filtertest.Count(found), "true answers")
		require.Less(t, len(s.Asked()), s.Fails+2*64)
	}
	short := &filtertest.Store{Data: make([]byte, 10)}
	err := Ranges("test", short, make([]bool, 1), 1, 8, func(int, int) int64 { return 5 }, nil)
	require.ErrorIs(t, err, form.ErrFormat, "what is not there is no answer")
}
