package lines

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// limit is how long these tests wait for what should come at once.
const limit = time.Minute

// bounded ends the program if the test takes longer than limit.
func bounded(t *testing.T) {
	timer := time.AfterFunc(limit, func() { panic(t.Name() + " hangs") })
	t.Cleanup(func() { timer.Stop() })
}

// fired is a timer that is over.
var fired = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// full returns a Reader whose queue is full of batches of a line, as if its goroutines of reading
// and hashing had done their work.
func full(cfg *Config) *Reader {
	cfg.Delim = '\n'
	r := newReader(cfg)
	for i := range cap(r.queue) {
		b := <-r.free
		b.Data = append(strconv.AppendInt(b.Data, int64(i), 10), '\n')
		b.Ends = []int{len(b.Data)}
		b.Hashes = make([]bloom.Hash, 1)
		b.ready <- struct{}{}
		r.queue <- b
	}
	return r
}

// keep keeps all lines of a batch of full.
func keep(b *Batch) error {
	b.Keep([]int{0})
	return nil
}

// ended is a context that is done.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestEndedQueue: what was read is delivered, however late, even if the wait for a read under way
// is over.
func TestEndedQueue(t *testing.T) {
	bounded(t)
	for range 30 {
		r := full(new(Config))
		r.after = func(time.Duration) <-chan time.Time { return fired }
		go r.write()
		delivered := 0
		require.NoError(t, r.Each(ended(), nil, nil, func(*Batch) error {
			delivered++
			return nil
		}))
		require.Equal(t, cap(r.queue), delivered)
	}
}

// TestEndlessContext: a context without a Done channel never ends, so that Each waits for input.
func TestEndlessContext(t *testing.T) {
	bounded(t)
	r := full(new(Config))
	r.after = func(time.Duration) <-chan time.Time {
		t.Error("it waits for a time")
		return fired
	}
	close(r.queue)
	go r.write()
	delivered := 0
	require.NoError(t, r.Each(context.Background(), nil, nil, func(*Batch) error {
		delivered++
		return nil
	}))
	require.Equal(t, cap(r.queue), delivered)
}

// slowly is an output that takes a write when it may.
type slowly struct {
	begun chan struct{} // yields when a write begins
	may   chan struct{} // lets it end
	taken int
}

func (s *slowly) Write(p []byte) (int, error) {
	s.begun <- struct{}{}
	<-s.may
	s.taken += len(p)
	return len(p), nil
}

// next lets the write under way end, and returns when the next one has begun, or all have ended.
func (s *slowly) next(t *testing.T, r *Reader) {
	select {
	case s.may <- struct{}{}:
		s.begins(t, r)
	case <-r.written:
	}
}

// begins waits until a write begins, or all have ended.
func (s *slowly) begins(t *testing.T, r *Reader) {
	select {
	case <-s.begun:
	case <-r.written:
	case <-time.After(limit):
		t.Error("no write begins")
	}
}

// TestStuck: once ctx is done, Each gives up an output that takes nothing for Patience. It does not
// give up what only takes long: writes that end at last, a goroutine of writing that does not run,
// or a whole program that stood still, and then finds that time has passed.
func TestStuck(t *testing.T) {
	const all = -1
	for _, test := range []struct {
		name  string
		late  int // the number of waits before the goroutine of writing begins
		every int // a write ends at the wait of that number after the last one
		last  int // the number of writes that end
		stuck bool
	}{
		{name: "no write ends", every: 1, last: 0, stuck: true},
		{name: "the second write does not end", every: manyWaits / 2, last: 1, stuck: true},
		{name: "a write ends too late", every: manyWaits + 1, last: all, stuck: true},
		{name: "each write takes nearly Patience", every: manyWaits, last: all},
		{name: "the program stood still in the first wait", every: 2, last: all},
		{name: "writing begins late", late: 10 * manyWaits, every: 1, last: all},
	} {
		t.Run(test.name, func(t *testing.T) {
			bounded(t)
			out := &slowly{begun: make(chan struct{}), may: make(chan struct{})}
			r := full(&Config{Out: out})
			close(r.queue)
			early := -test.late // counts the waits before writing begins, up to 1
			waits, writes := 0, 0
			r.after = func(d time.Duration) <-chan time.Time {
				if d != Patience/manyWaits {
					return nil // it is that for a read under way
				}
				if early < 1 {
					if early++; early == 1 {
						go r.write()
						out.begins(t, r)
					}
					return fired
				}
				if waits++; waits == test.every && writes != test.last {
					waits = 0
					writes++
					out.next(t, r)
				}
				return fired
			}
			err := r.Each(ended(), nil, nil, keep)
			if !test.stuck {
				require.NoError(t, err)
				require.Greater(t, out.taken, cap(r.queue))
				return
			}
			require.Equal(t, ErrStuck, err)
			require.Equal(t, max(test.last, 0), writes)
			require.Equal(t, manyWaits, waits)
		})
	}
}

// TestTick: when a tick comes, all lines that were kept before are written, and more can follow.
func TestTick(t *testing.T) {
	bounded(t)
	var out bytes.Buffer
	r := full(&Config{Out: &out})
	go r.write()
	tick := make(chan time.Time, 1)
	tick <- time.Time{}
	kept := 0
	require.NoError(t, r.Each(t.Context(), tick, func() error {
		require.Equal(t, kept, bytes.Count(out.Bytes(), []byte("\n")))
		close(r.queue) // no earlier, so that Each takes the tick
		return nil
	}, func(b *Batch) error {
		kept++
		return keep(b)
	}))
	require.Equal(t, cap(r.queue), kept)
	require.Equal(t, kept, bytes.Count(out.Bytes(), []byte("\n")))
}

// failing is an output that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestFailedOutput: an error of the output ends Each while it waits for input or for a tick.
func TestFailedOutput(t *testing.T) {
	bounded(t)
	for _, tick := range []chan time.Time{nil, make(chan time.Time, 1)} {
		r := full(&Config{Out: failing{}})
		go r.write()
		require.Equal(t, io.ErrClosedPipe, r.Each(t.Context(), tick, func() error {
			t.Error("a tick, and the lines are not written")
			return nil
		}, func(b *Batch) error {
			if cap(tick) > len(tick) {
				tick <- time.Time{}
			}
			return keep(b)
		}))
	}
}

// TestStuckFlush: Each also ends when ctx is done while it waits for lines that the output does not
// take, and calls onTick no more.
func TestStuckFlush(t *testing.T) {
	bounded(t)
	out := &slowly{begun: make(chan struct{}), may: make(chan struct{})}
	r := full(&Config{Out: out})
	r.after = func(time.Duration) <-chan time.Time { return fired }
	go r.write()
	ctx, cancel := context.WithCancel(t.Context())
	tick := make(chan time.Time)
	tickOnce := func() {
		defer cancel()
		tick <- time.Time{} // Each takes it in time, whatever it does first
		select {
		case <-out.begun:
		case <-time.After(limit):
			t.Error("nothing is written")
		}
	}
	delivered := 0
	err := r.Each(ctx, tick, func() error {
		t.Error("a tick before the lines are written")
		return nil
	}, func(b *Batch) error {
		if delivered == 0 { // before the first batch, a tick has nothing to wait for
			go tickOnce()
		}
		delivered++
		return keep(b)
	})
	require.Equal(t, ErrStuck, err)
	require.Equal(t, cap(r.queue), delivered)
}
