package bloomredis

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/guava"
	"github.com/seed79a3ff49/bloom/internal/param"
)

// Window is a filter in Redis that forgets. A key is remembered for at least
// Span after it was last added, by whatever process, and for at most
// Span + Span/Generations. Adding a key again renews it. The clock is the
// server's. The clocks of clients do not matter.
//
// Time is cut into generations of Span/Generations. The current generation and
// the Generations before it are live. Each is a Redis string, in Guava's binary
// form, that exists only if keys were added in its time. All of them expire by
// themselves: a Window that nobody adds to leaves nothing behind in Redis.
//
// Where the server's clock steps back, as it may when a replica takes over, time
// stands still until the clock has caught up.
//
// The price is time: a call reads each live string. The gain is memory, some
// fiftieth of what a key of Redis for each of yours takes; the README has figures.
//
// The methods of a Window may be called by many goroutines at once, and any
// number of processes may share the key. Every call ends when its context does.
type Window struct {
	caller
	config  WindowConfig
	params  guava.Header // of each generation
	length  int64        // of a generation, in microseconds
	pinned  string       // what all that share the key must agree in
	strings string       // generation g is under this, ":" and g

	mu   sync.Mutex
	seen sight
}

// sight is what was seen under the key: the id of a window, if there was one, and
// its newest generation.
type sight struct {
	id     string
	newest int64
}

// WindowConfig configures a [Window]. All processes that share a key must agree
// in it.
type WindowConfig struct {
	// Capacity is the number of distinct keys expected within a Span, evenly
	// spread over it: each generation is sized for Capacity/Generations. More
	// keys raise the rate of false positives; none is ever lost.
	Capacity uint64
	// FPR is the probability, between 0 and 1, that a key is reported as present
	// that was not added within Span + Span/Generations, when each generation
	// holds what it is sized for. The memory for it grows as in a Filter down to
	// rates of about 1e-6, and much faster below: 16 bits a key at 1e-2 and 40 at
	// 1e-6, but 600 at 1e-9, for a Capacity of a million. See SizeBytes.
	FPR float64
	// Span is how long, at least, a key is remembered after it was last added.
	// It is at least a millisecond for each generation.
	Span time.Duration
	// Generations is the number of parts of a Span, 1 to 63. With more of them a key
	// is forgotten more exactly, and a look-up reads more strings, up to
	// Generations + 1. 0 means 7.
	Generations int
}

const (
	maxGenerations     = 63
	defaultGenerations = 7
)

// OpenWindow returns the window under key. Nothing is written before the first
// Add. If there is a window of another configuration, the error wraps
// [bloom.ErrMismatch]. If the key holds any other value, OpenWindow returns an
// error that wraps [bloom.ErrFormat]. OpenWindow returns an error that names the
// field if one is out of range: unless Capacity >= 1, 0 < FPR < 1, Generations
// is in [0, 63], Span is at least a millisecond for each generation and a
// generation fits into a Redis string of 512 MB.
func OpenWindow(ctx context.Context, client redis.UniversalClient, key string, c WindowConfig) (*Window, error) {
	c = c.withDefaults()
	params, err := c.params()
	if err != nil {
		return nil, err
	}
	us := (c.Span.Nanoseconds() + 999) / 1000
	w := &Window{
		caller: caller{client, key},
		config: c,
		params: params,
		length: (us + int64(c.Generations) - 1) / int64(c.Generations),
	}
	w.pinned = fmt.Sprintf("window of %d generations of %d us, %v", c.Generations, w.length, params)
	if w.strings, err = w.beside("window"); err != nil {
		return nil, err
	}
	_, err = w.ContainsBatch(ctx, make([]bloom.Hash, 1)) // to compare configurations
	if redis.HasErrorPrefix(err, "WRONGTYPE ") {
		err = w.errorf("%w: it holds no string", bloom.ErrFormat)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Config returns what OpenWindow was given. Generations is not zero where the
// default was taken.
func (w *Window) Config() WindowConfig { return w.config }

// SizeBytes returns the length of all strings of a Window of this configuration, while
// all its generations are live. It asks no server. It returns the errors of OpenWindow
// for fields that are out of range.
func (c WindowConfig) SizeBytes() (int64, error) {
	c = c.withDefaults()
	params, err := c.params()
	if err != nil {
		return 0, err
	}
	return int64(c.Generations+1) * params.Size(), nil
}

func (c WindowConfig) withDefaults() WindowConfig {
	if c.Generations == 0 {
		c.Generations = defaultGenerations
	}
	return c
}

// params returns the parameters of each generation.
func (c WindowConfig) params() (h guava.Header, err error) {
	switch {
	case c.Capacity == 0:
		return h, fmt.Errorf("bloomredis: Capacity = 0 is not at least 1")
	case c.Generations < 1 || c.Generations > maxGenerations:
		return h, fmt.Errorf("bloomredis: Generations = %d is outside [0, %d]", c.Generations, maxGenerations)
	case c.Span < time.Duration(c.Generations)*time.Millisecond:
		return h, fmt.Errorf("bloomredis: Span = %v is too short for %d generations of a millisecond", c.Span, c.Generations)
	}
	if err := param.Rate("bloomredis", "FPR", c.FPR); err != nil {
		return h, err
	}
	// A false positive of the window is one of any live generation.
	g := uint64(c.Generations)
	n, p := c.Capacity/g+min(c.Capacity%g, 1), c.FPR/float64(g+1)
	h, err = paramsFor(n, p)
	if err == nil {
		for h.Size() <= maxSize && rateAtMost(h, n) > p {
			h.Words += 1 + h.Words/64
		}
	}
	if err != nil || h.Size() > maxSize {
		return h, fmt.Errorf("bloomredis: Capacity = %d, FPR = %v need a generation of more than %d bytes or %d hashes", c.Capacity, c.FPR, maxSize, guava.MaxK)
	}
	return h, nil
}

// rateAtMost returns a bound of the false-positive rate of n keys. To the
// theory's rate it adds what double hashing does, which is known within a factor
// of two. Where a generation holds few keys, that is most of it.
func rateAtMost(h guava.Header, n uint64) float64 {
	m := 64 * uint64(h.Words)
	fill := -math.Expm1(-float64(h.K) * float64(n) / float64(m))
	return bloom.FalsePositiveRate(m, h.K, n) + 2*guava.DoubleHashing(fill, m, h.K)
}

// Add adds key now, or renews it, in one round trip. It reports whether key was
// not remembered: true means that it was certainly not added within Span, false
// that it probably was within Span + Span/Generations. Of all clients that add a
// new key at once, one hears true. When Add returns an error, the key may have been
// added or not. Add is never sent again once it may have arrived, whatever the
// client's MaxRetries.
func (w *Window) Add(ctx context.Context, key []byte) (bool, error) {
	return w.AddHash(ctx, bloom.Sum(key))
}

// AddString is Add of key's bytes, without copying them.
func (w *Window) AddString(ctx context.Context, key string) (bool, error) {
	return w.AddHash(ctx, bloom.SumString(key))
}

// AddHash is Add by digest.
func (w *Window) AddHash(ctx context.Context, h bloom.Hash) (bool, error) {
	added, err := w.AddBatch(ctx, []bloom.Hash{h})
	return err == nil && added[0], err
}

// AddBatch adds hs in order and returns for each what Add would. Those that the
// server refuses for now come last. It takes one round trip for up to 13,107 of
// them at a rate of 1 % and the default of Generations, and for up to 5,698 at
// 1e-6. When it returns an error, any of hs may have been added or not.
func (w *Window) AddBatch(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	return w.batch(ctx, w.runOnce, windowAddScript, hs)
}

// Contains reports whether key is remembered, in one round trip. It certainly is if
// it was added within Span. If it was not added within Span + Span/Generations,
// Contains reports true with probability FPR. Looking a key up does not renew it.
func (w *Window) Contains(ctx context.Context, key []byte) (bool, error) {
	return w.ContainsHash(ctx, bloom.Sum(key))
}

// ContainsString is Contains of key's bytes, without copying them.
func (w *Window) ContainsString(ctx context.Context, key string) (bool, error) {
	return w.ContainsHash(ctx, bloom.SumString(key))
}

// ContainsHash is Contains by digest.
func (w *Window) ContainsHash(ctx context.Context, h bloom.Hash) (bool, error) {
	found, err := w.ContainsBatch(ctx, []bloom.Hash{h})
	return err == nil && found[0], err
}

// ContainsBatch returns Contains of each of hs, in as many round trips as AddBatch.
func (w *Window) ContainsBatch(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	return w.batch(ctx, w.run, windowContainsScript, hs)
}

type runner func(ctx context.Context, s script, keys []string, lists ...[]any) ([]any, error)

func (w *Window) batch(ctx context.Context, run runner, s script, hs []bloom.Hash) ([]bool, error) {
	dst := make([]bool, 0, len(hs))
	var at []uint64
	for hs := range trips(hs, w.params.K) {
		w.mu.Lock()
		seen := w.seen
		w.mu.Unlock()
		var lists [][]any
		for part := range slices.Chunk(hs, chunk) {
			args := make([]any, 0, 10+w.params.K*len(part))
			args = append(args, w.args(seen)...)
			args = append(args, fmt.Sprintf("%x", nonce()), w.params.Append(nil))
			for _, h := range part {
				at = offsets(at[:0], w.params, h)
				for _, offset := range at {
					args = append(args, offset)
				}
			}
			lists = append(lists, args)
		}
		replies, err := run(ctx, s, []string{w.key}, lists...)
		if err != nil {
			return nil, err
		}
		for _, reply := range replies {
			saw, answers, err := w.answer(reply)
			if err != nil {
				return nil, err
			}
			// The script knows only what was seen before the first of them.
			if seen.id != "" && seen.id != saw.id && seen.newest+int64(w.config.Generations) >= saw.newest {
				return nil, w.errorf("%w: it is gone or was created anew", ErrLost)
			}
			seen = saw
			w.see(saw)
			dst = appendAnswers(dst, answers)
		}
	}
	return w.complete(dst, hs)
}

// args returns the first arguments of all scripts.
func (w *Window) args(seen sight) []any {
	return []any{w.pinned, w.length, w.config.Generations, w.params.Size(), w.strings, seen.id, seen.newest, w.params.K}
}

// see remembers the newest window that was seen. Calls may return out of order.
func (w *Window) see(saw sight) {
	w.mu.Lock()
	if saw.id != "" && saw.newest >= w.seen.newest {
		w.seen = saw
	}
	w.mu.Unlock()
}

// answer returns what a script saw and answers.
func (w *Window) answer(reply any) (saw sight, answers string, err error) {
	switch {
	case scan(reply, &saw.id, &saw.newest, &answers):
		return saw, answers, nil
	case !scan(reply, &saw.id, &answers):
		err = w.errorf("unexpected reply %v", reply)
	case saw.id == "lost":
		err = w.errorf("%w: %s", ErrLost, answers)
	case strings.HasPrefix(answers, "window of "):
		err = w.errorf("%w: it holds a %s, want a %s", bloom.ErrMismatch, answers, w.pinned)
	default:
		err = w.errorf("%w: it holds no window but % x...", bloom.ErrFormat, answers[:min(16, len(answers))])
	}
	return sight{}, "", err
}

// Delete deletes the window, for all processes. The calls of those that have
// used it return errors that wrap [ErrLost], for as long as it would have had
// keys. Later calls of this Window begin a new one.
func (w *Window) Delete(ctx context.Context) error {
	replies, err := w.run(ctx, windowDeleteScript, []string{w.key}, w.args(sight{}))
	if err != nil {
		return err
	}
	if _, _, err := w.answer(replies[0]); err != nil {
		return err
	}
	w.mu.Lock()
	w.seen = sight{}
	w.mu.Unlock()
	return nil
}
