package bloomredis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

// Window is a filter in Redis that forgets. A key is remembered for at least
// Span after it was last added, by whatever process, and for at most
// Span + Span/Generations. Adding a key again renews it. The clock is the
// server's. The clocks of clients do not matter.
//
// Time is cut into generations of Span/Generations. The current generation and
// the Generations before it are live. A Window is one Redis string under its key, or
// several of about 32 MB, the others beside the key. A string is made by the first
// Add to it, in its full size. It expires by itself when all its keys are forgotten.
//
// Where the server's clock steps back, as it may when a replica takes over, nothing
// is forgotten until the clock has caught up. Where it steps forward, keys are
// forgotten early by as much.
//
// The memory is about that of a window.Filter, and some fiftieth of a key of Redis for
// each of yours. The README has figures.
//
// A key is in the Window from its Add on, whatever becomes of the work that it is for.
// A worker that must not lose work looks a key up, works, and then adds it; of two that
// do so at once, both work. One that must not work twice adds first, by AddOnce.
//
// The methods of a Window may be called by many goroutines at once, and any
// number of processes may share the key. Every call ends when its context does.
type Window struct {
	keyMethods
	caller
	config WindowConfig
	layout
	length int64    // of a generation, in microseconds
	head   string   // what the strings begin with: what all that share the key must agree in
	names  []string // of the strings

	mu       sync.Mutex
	deletes  int // begun and ended ones
	deleting int // under way
	seen     []sight
}

// sight is what was seen of a string: its id, if there was one, and its newest
// generation.
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
	// holds what it is sized for. It is shared by Generations + 1 generations. A share
	// of less than 1e-12 counts as 1e-12. See SizeBytes for the memory.
	FPR float64
	// Span is how long, at least, a key is remembered after it was last added.
	// It is at least a millisecond for each generation.
	Span time.Duration
	// Generations is the number of parts of a Span, 1 to 63. With more of them a key
	// is forgotten more exactly, and calls take longer. 0 means 15.
	Generations int
}

const (
	maxGenerations     = 63
	defaultGenerations = 15
)

// OpenWindow returns the window under key. Nothing is written before the first
// Add. If there is a window of another configuration, the error wraps
// [bloom.ErrMismatch]. If the key holds any other value, the error wraps
// [bloom.ErrFormat]. OpenWindow returns an error that names the field if one is out
// of range: unless Capacity >= 1, 0 < FPR < 1, Generations is in [0, 63], Span is at
// least a millisecond for each generation and the window takes at most a tebibyte.
//
// To go on with another Capacity or FPR without forgetting, open a second Window under
// another key. For a Span, look keys up in both and add them to both. Then delete the
// first one.
func OpenWindow(ctx context.Context, client redis.UniversalClient, key string, c WindowConfig) (*Window, error) {
	c = c.withDefaults()
	l, err := c.layout()
	if err != nil {
		return nil, err
	}
	us := (c.Span.Nanoseconds() + 999) / 1000
	w := &Window{
		caller: caller{client, key},
		config: c,
		layout: l,
		length: (us + int64(c.Generations) - 1) / int64(c.Generations),
		head:   fmt.Sprintf("%-160s", fmt.Sprintf("%s%s; %d", windowMagic, c.text(), l.strings)),
		seen:   make([]sight, l.strings),
	}
	w.in = w
	if w.names, err = w.windowNames(0, int(l.strings)); err != nil {
		return nil, err
	}
	if _, err = w.beside("once"); err != nil {
		return nil, err
	}
	if _, err = w.ContainsHash(ctx, bloom.Hash{}); err != nil { // to compare configurations
		return nil, w.notWindow(err)
	}
	return w, nil
}

const windowMagic = "bloomredis.Window 1: "

// windowNames returns the names of strings from and up to to.
func (c caller) windowNames(from, to int) (names []string, err error) {
	for i := from; i < to; i++ {
		name := c.key
		if i > 0 {
			if name, err = c.beside(fmt.Sprintf("window-%d", i)); err != nil {
				return nil, err
			}
		}
		names = append(names, name)
	}
	return names, nil
}

// notWindow returns err, or a better one if the key holds another type.
func (c caller) notWindow(err error) error {
	if replied(err, "WRONGTYPE") {
		return c.errorf("%w: it holds no string", bloom.ErrFormat)
	}
	return err
}

// Config returns what OpenWindow was given. Generations is not zero where the
// default was taken.
func (w *Window) Config() WindowConfig { return w.config }

// String names the key and the configuration. It asks no server.
func (w *Window) String() string {
	return fmt.Sprintf("bloomredis.Window(%q, %s)", w.key, w.config.text())
}

func (c WindowConfig) text() string {
	return fmt.Sprintf("Capacity = %d, FPR = %v, Span = %v, Generations = %d", c.Capacity, c.FPR, c.Span, c.Generations)
}

// SizeBytes returns the length of all strings of a Window of this configuration. It
// asks no server. It returns the errors of OpenWindow for fields that are out of range.
func (c WindowConfig) SizeBytes() (int64, error) {
	l, err := c.withDefaults().layout()
	return int64(l.strings) * l.size(), err
}

func (c WindowConfig) withDefaults() WindowConfig {
	c.Generations = cmp.Or(c.Generations, defaultGenerations)
	return c
}

func (w *Window) add(ctx context.Context, token string, hs []bloom.Hash) ([]bool, error) {
	return w.batch(ctx, windowAddScript, token, hs)
}

func (w *Window) contains(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	return w.batch(ctx, windowContainsScript, "", hs)
}

// windowTrip is how many keys a round trip takes.
const windowTrip = 64 * chunk

func (w *Window) batch(ctx context.Context, s script, token string, hs []bloom.Hash) ([]bool, error) {
	all := make([]bool, len(hs))
	parts := cut(hs, chunk, w.find)
	for i, p := range parts {
		var keys []byte
		for _, h := range p.hs {
			keys = w.appendKey(keys, h)
		}
		p.call = w.newCall(p.of, w.half, keys)
		if err := w.addToken(p.call, token, i); err != nil {
			return nil, err
		}
	}
	for len(parts) > 0 {
		n, keys := 0, 0
		for ; n < len(parts) && (n == 0 || keys+len(parts[n].hs) <= windowTrip); n++ {
			keys += len(parts[n].hs)
		}
		err := w.trip(ctx, s, parts[:n], func(p *part, _ int64, answers string) error {
			if len(answers) != len(p.at) {
				return w.errorf("%d answers in reply, want %d", len(answers), len(p.at))
			}
			for i, at := range p.at {
				all[at] = answers[i] == '1'
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		parts = parts[n:]
	}
	return all, nil
}

// newCall returns a call of a script for a string, and for keys with half positions in a
// cell.
func (w *Window) newCall(of, half int, keys []byte) *call {
	return &call{
		keys: []string{w.names[of]},
		args: []any{w.head, w.length, w.config.Generations, w.size(), w.width, half, keys},
	}
}

// trip runs a script for parts, in one round trip. It calls take with what the script
// answers for each, and the generation that it took for the current one.
func (w *Window) trip(ctx context.Context, s script, parts []*part, take func(p *part, current int64, answers string) error) error {
	for len(parts) > 0 {
		seen, deletes := w.sights(parts)
		calls := make([]*call, len(parts))
		for i, p := range parts {
			saw := seen[p.of]
			p.call.args = append(p.call.args[:7], saw.id, saw.newest)
			if !s.repeats { // it may make a new string, which gets this id
				p.call.args = append(p.call.args, nonce())
			}
			calls[i] = p.call
		}
		if err := w.run(ctx, s, calls...); err != nil {
			return err
		}
		var again []*part
		for _, p := range parts {
			saw, current, answers, err := w.answer(p.call.reply)
			before := seen[p.of]
			switch gone := before.id != "" && before.id != saw.id && before.newest+int64(w.config.Generations) >= current; {
			case errors.Is(err, ErrLost) && w.deletedSince(deletes):
				again = append(again, p) // the script did nothing
				continue
			case err != nil:
				return err
			case gone && !w.deletedSince(deletes): // the script knew only what was seen before the first of them
				return w.errorf("%w: it is gone or was created anew", ErrLost)
			}
			if saw.id != "" {
				seen[p.of] = saw
				w.see(p.of, saw, deletes)
			}
			if err := take(p, current, answers); err != nil {
				return err
			}
		}
		parts = again
	}
	return nil
}

// sights returns what was seen of the strings of parts, and what see wants to know.
func (w *Window) sights(parts []*part) (seen map[int]sight, deletes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen = make(map[int]sight)
	for _, p := range parts {
		seen[p.of] = w.seen[p.of]
	}
	return seen, w.deletes
}

// see remembers the newest that was seen of a string. Calls may return out of order.
// Those that began before Delete returned do not count.
func (w *Window) see(i int, saw sight, deletes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if deletes == w.deletes && saw.newest >= w.seen[i].newest {
		w.seen[i] = saw
	}
}

// deletedSince reports whether Delete has run since sights, in part at least.
func (w *Window) deletedSince(deletes int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return deletes != w.deletes || w.deleting > 0
}

// answer returns what a script saw and answers.
func (w *Window) answer(reply any) (saw sight, current int64, answers string, err error) {
	var head string
	var size int64
	switch {
	case scan(reply, &saw.id, &saw.newest, &current, &answers):
		return saw, current, answers, nil
	case scan(reply, &head): // {'lost'}
		err = w.errorf("%w: it is gone or was created anew", ErrLost)
	case scan(reply, new(string), &head, &size):
		err = w.other(head, size)
	default:
		err = w.errorf("unexpected reply %v", reply)
	}
	return sight{}, 0, "", err
}

// other returns an error for a string that is not of w.
func (w *Window) other(head string, size int64) error {
	config, ok := strings.CutPrefix(head, windowMagic)
	config, _, whole := strings.Cut(config, "; ")
	switch {
	case ok && whole && config != w.config.text():
		return w.errorf("%w: it holds a window of %s, want %s", bloom.ErrMismatch, config, w.config.text())
	case ok:
		return w.errorf("%w: it holds %d bytes of a window of %d: DeleteWindow removes it", bloom.ErrFormat, size, w.size())
	}
	return w.errorf("%w: %s", bloom.ErrFormat, unlike(head, size))
}

// Reset removes all keys, for all processes. Calls beside Reset act before or after it.
func (w *Window) Reset(ctx context.Context) error {
	w.store() // panics if Open was forgotten
	parts := make([]*part, len(w.names))
	for i := range parts {
		parts[i] = &part{of: i, call: w.newCall(i, 0, nil)}
	}
	return w.trip(ctx, windowResetScript, parts, func(*part, int64, string) error { return nil })
}

// Delete deletes the window, for all processes. The calls of others that have
// used it return errors that wrap [ErrLost], for as long as it would have had
// keys. Later calls of this Window begin a new one. Calls beside Delete act before
// or after it.
func (w *Window) Delete(ctx context.Context) error {
	forget := func(deleting int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.deletes++
		w.deleting += deleting
		clear(w.seen)
	}
	forget(1)
	defer forget(-1)
	_, err := w.deleteStrings(ctx, w.head, w.names, w.other)
	return err
}

// DeleteWindow deletes whatever is left of a window under key, of any configuration,
// for all processes; see [Window.Delete]. It returns no error if there is nothing. If
// the key holds any other value, the error wraps [bloom.ErrFormat].
func DeleteWindow(ctx context.Context, client redis.UniversalClient, key string) error {
	c := caller{client, key}
	other := func(head string, size int64) error { return c.errorf("%w: %v", bloom.ErrFormat, unlike(head, size)) }
	for from, to := 0, 1; from < to; {
		names, err := c.windowNames(from, to)
		if err != nil {
			return err
		}
		heads, err := c.deleteStrings(ctx, windowMagic, names, other)
		if err != nil {
			return c.notWindow(err)
		}
		next := to
		for _, head := range heads {
			_, rest, _ := strings.Cut(head, "; ")
			number, _, _ := strings.Cut(rest, " ")
			n, _ := strconv.Atoi(number)
			next = max(next, n)
		}
		if from == 0 && heads[0] == "" {
			next = 16 // the first string may be gone alone
		}
		from, to = to, next
	}
	return nil
}

// deleteStrings deletes strings that begin with begins, and returns the heads of
// those that were there.
func (c caller) deleteStrings(ctx context.Context, begins string, names []string, other func(string, int64) error) (heads []string, err error) {
	calls := make([]*call, len(names))
	for i, name := range names {
		calls[i] = &call{keys: []string{name}, args: []any{begins}}
	}
	if err := c.run(ctx, windowDeleteScript, calls...); err != nil {
		return nil, err
	}
	for _, call := range calls {
		head, ok := call.reply.(string)
		var size int64
		if !ok && scan(call.reply, new(string), &head, &size) {
			return nil, other(head, size)
		} else if !ok {
			return nil, c.errorf("unexpected reply %v", call.reply)
		}
		heads = append(heads, head)
	}
	return heads, nil
}
