package bloomredis

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

// Window is a filter in Redis that forgets each key after a span of time. Any number of processes
// can share it. Only the server's clock matters, not the clients' clocks.
//
// A key that is not remembered is reported as present with a probability of at most P, whatever the
// traffic. If at most N new keys arrive within any Span, however unevenly, each key that Add
// reported as new is found for at least Span, and for at most Span + Span/Generations. With Renew
// each key is found for at least Span after each Add, and for at most Span + 2 Span/Generations. If
// more keys arrive, the newest N are found, and [Window.Reach] tells how far back every key is
// remembered.
//
// If the server's clock leaps ahead, keys whose Span ends within the leap are forgotten. If it
// steps back, as it may when a replica takes over, no key is forgotten early. After the step, keys
// are found for up to twice as long as usual.
//
// A Window that Redis lost starts over without its keys. The call that notices the loss returns an
// error that wraps [ErrLost], and OnLost is called.
//
// A small Window is one Redis string under its key. A large Window has several strings of at most
// about 32 MB, all but the first under other keys. Each has its part of the keys, with some room
// for an uneven split. The first Add to a string creates it at its full size. With a Span, a string
// expires after all its keys are forgotten. The memory is at most about 1.2 times that of a
// window.Filter, or 1.6 times with more than 7 Generations. The README has sizes.
//
// Once added, a key is in the Window, even if the work for it fails later. A worker that must not
// lose work looks the key up, works, and then adds the key: two workers may then do the same work.
// A worker that must not do work twice adds the key first, with AddOnce.
//
// Many goroutines may call the methods of a Window, and any number of processes may share the key.
// Every call returns when its context ends.
type Window struct {
	keyMethods
	caller
	config WindowConfig
	layout
	args  []any    // the first ARGV of scripts that begin with windowScript
	names []string // the keys of the strings

	mu       sync.Mutex
	epoch    int       // grows when a deletion or a loss may replace strings
	deleting int       // the number of calls of Delete under way
	reopened time.Time // when w.lost last cleared w.known
	known    []known   // for each string
}

// known is what a reply said about a string.
type known struct {
	id   string // "" if no string was found
	over int64  // when all keys of the string are forgotten, in microseconds of the server's clock
}

// WindowConfig configures a [Window]. All processes that share a key must use the same values,
// except for OnLost.
type WindowConfig struct {
	// N is the largest number of new keys within a Span, however unevenly they arrive. It must be
	// at least 1. With Renew, some repeats count as new.
	N uint64
	// P is the highest false-positive rate, between 0 and 1: the probability of reporting a key
	// that is not remembered. A P below 3.2e-17 counts as 3.2e-17. See SizeBytes for the memory.
	P float64
	// Span is how long a key is remembered at least, if no more than N arrive. It must be at least
	// a millisecond for each generation, and less than about 36 years. If Span is 0, there is no
	// clock: the newest N keys are remembered, however old they are.
	Span time.Duration
	// Renew makes each Add remember its key for another Span, even if the key was already there.
	// Use Renew for keys that a later Contains must find, such as revoked tokens. A key is then
	// found for up to Span + 2 Span/Generations. The memory is usually 13 to 21 % larger with 7
	// Generations, and more with fewer. Repeats count towards N, as in a window.Filter: an N of
	// Generations + 1 times the number of different keys in a Span is always enough.
	//
	// Without Renew, a key is remembered for a Span from the Add that returned true, so a key that
	// keeps arriving is new about once per Span. A key that Add mistakenly reports as seen is not
	// stored.
	Renew bool
	// Generations is the number of parts of a Span, 1 to 15; 0 means 7. With more generations, keys
	// are forgotten more punctually, but usually need more memory.
	Generations int
	// OnLost, if not nil, is called by the call that notices a loss, at most once a second.
	OnLost func(error)
}

const (
	maxGenerations     = 15
	defaultGenerations = 7
	forever            = 1 << 60 // microseconds
)

// OpenWindow returns the window under key. It creates nothing: the first Add does. The error wraps
// [bloom.ErrMismatch] if the key holds a window with a different configuration, and
// [bloom.ErrFormat] if it holds any other value. OpenWindow may delete a string that a lost window
// with this configuration has left behind under key; it then returns no error.
//
// OpenWindow returns an error if a field of c is out of range, or if the window would need more
// than about a tebibyte.
//
// To change N or P without forgetting keys, open a second Window under a new key. For a Span, look
// keys up in both Windows and add them to both. Then delete the first.
func OpenWindow(
	ctx context.Context, client redis.UniversalClient, key string, c WindowConfig,
) (*Window, error) {
	c = c.withDefaults()
	l, err := c.layout()
	if err != nil {
		return nil, err
	}
	life, step := int64(forever), int64(forever)
	if c.Span > 0 {
		life = (c.Span.Nanoseconds() + 999) / 1000
		step = (life + int64(c.Generations) - 1) / int64(c.Generations)
	}
	if c.Renew {
		life += step
	}
	w := &Window{caller: caller{client, key}, config: c, layout: l, known: make([]known, l.strings)}
	w.impl = w
	w.args = []any{l.head, l.size(), life, step, l.slack, l.full, l.share, l.k, l.lanes, l.lean}
	if w.names, err = w.windowNames(0, int(l.strings)); err != nil {
		return nil, err
	}
	if err := w.readsMasters(ctx); err != nil {
		return nil, err
	}
	// Any look-up checks whether the configurations agree.
	_, err = w.ContainsHash(ctx, bloom.Hash{})
	if errors.Is(err, ErrLost) { // the look-up may have deleted what was left of a lost window
		_, err = w.ContainsHash(ctx, bloom.Hash{})
	}
	if err != nil {
		return nil, w.noString(err)
	}
	return w, nil
}

const (
	windowName = "bloomredis.Window "
	windowMark = windowName + "1: "
)

// windowNames returns the keys of the strings with the numbers from low to high-1.
func (c caller) windowNames(low, high int) (names []string, err error) {
	for i := low; i < high; i++ {
		name, err := c.beside(fmt.Sprintf("window-%d", i))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			name = c.key
		}
		names = append(names, name)
	}
	return names, nil
}

// Config returns the configuration that OpenWindow was given, with Generations = 7 instead of 0.
func (w *Window) Config() WindowConfig { return w.config }

// String names the key and the configuration. It sends no command.
func (w *Window) String() string {
	return fmt.Sprintf("bloomredis.Window(%q, %s)", w.key, w.config.text())
}

func (c WindowConfig) text() string {
	return fmt.Sprintf("N = %d, P = %v, Span = %v, Generations = %d, Renew = %v",
		c.N, c.P, c.Span, c.Generations, c.Renew)
}

// SizeBytes returns the total length of the strings of a Window with this configuration. It sends
// no command. If a field is out of range, it returns the same error as OpenWindow.
func (c WindowConfig) SizeBytes() (int64, error) {
	l, err := c.withDefaults().layout()
	return int64(l.strings) * l.size(), err
}

func (c WindowConfig) withDefaults() WindowConfig {
	c.Generations = cmp.Or(c.Generations, defaultGenerations)
	return c
}

func (w *Window) addKeys(ctx context.Context, token string, hs []bloom.Hash) ([]bool, error) {
	return w.batch(ctx, windowAddScript, token, hs)
}

func (w *Window) contains(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	return w.batch(ctx, windowContainsScript, "", hs)
}

// windowTrip is the largest number of keys in a round trip.
const windowTrip = 64 * chunk

func (w *Window) batch(
	ctx context.Context, s script, token string, hs []bloom.Hash,
) ([]bool, error) {
	return batch(hs, windowTrip, chunk, w.find, func(calls []*call) (err error) {
		for _, c := range calls {
			if c.keys, err = w.keysFor([]string{w.names[c.place]}, token, c.number); err != nil {
				return err
			}
		}
		err = w.trip(ctx, s, calls)
		for _, c := range calls {
			c.answers = ones(c.answer)
		}
		return err
	})
}

// trip runs a script for calls, as run does. It resends calls that failed because another goroutine
// deleted the window or noticed a loss.
func (w *Window) trip(ctx context.Context, s script, calls []*call) error {
	for len(calls) > 0 {
		w.mu.Lock()
		before, epoch := slices.Clone(w.known), w.epoch
		w.mu.Unlock()
		for _, c := range calls {
			c.args = append(slices.Clip(w.args), before[c.place].id, before[c.place].over, nonce())
			for _, h := range c.hs {
				c.args = w.appendKey(c.args, h)
			}
		}
		if err := w.run(ctx, s, calls...); err != nil {
			return err
		}
		var again []*call
		for _, c := range calls {
			reply, err := w.answer(ctx, c)
			last := before[c.place]
			gone := last.id != "" && last.id != reply.id && c.now <= last.over
			lost := errors.Is(err, ErrLost)
			if lost && w.changed(epoch) {
				again = append(again, c) // the script did nothing
				continue
			}
			// The scripts know only the ids from before the round trip. If a string was lost during
			// the trip, only its new id shows the loss.
			unnoticed := err == nil && gone && !w.changed(epoch)
			switch {
			case lost || unnoticed:
				return w.lost(epoch)
			case err != nil:
				return err
			}
			if reply.id != "" {
				before[c.place] = reply
				w.learn(c.place, last, reply, epoch)
			}
		}
		calls = again
	}
	return nil
}

// learn keeps a reply about string i. before is what was known when the call began. If another call
// has learned something since, either reply may be the older one. learn then keeps the one with the
// later time in over: if that time were too early, a loss would go unnoticed. learn ignores replies
// to calls that began in an earlier epoch.
func (w *Window) learn(i int, before, reply known, epoch int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if epoch == w.epoch && (before == w.known[i] || reply.over >= w.known[i].over) {
		w.known[i] = reply
	}
}

// changed reports whether strings may have been replaced since the given epoch.
func (w *Window) changed(epoch int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return epoch != w.epoch || w.deleting > 0
}

// lost returns the error for a loss. At most once a second, it also calls OnLost and forgets what
// is known about the strings, so that later calls accept the strings that they find.
func (w *Window) lost(epoch int) error {
	err := w.errorf("%w: it is gone or was created again", ErrLost)
	w.mu.Lock()
	first := epoch == w.epoch && time.Since(w.reopened) >= time.Second
	if first {
		w.reopened = time.Now()
		w.epoch++
		clear(w.known)
	}
	w.mu.Unlock()
	if first && w.config.OnLost != nil {
		w.config.OnLost(err)
	}
	return err
}

// answer decodes the reply to a call. It returns what the reply says about the string, and sets
// c.answer and c.now. If the string is what is left of a lost window, answer deletes it.
func (w *Window) answer(ctx context.Context, c *call) (reply known, err error) {
	var head string
	var size int64
	switch {
	case scan(c.reply, &reply.id, &reply.over, &c.now, &c.answer):
		reply.id = reply.id[:min(8, len(reply.id))] // without the bytes that Reset changes
		return reply, nil
	case scan(c.reply, &head): // {'lost'}
		return reply, ErrLost
	case scan(c.reply, new(string), &head, &size):
		r := remains{head, size}
		if !r.fits(w.layout) {
			return reply, w.other(head, size)
		}
		switch gone, err := w.remove(ctx, w.names[c.place], r, false); {
		case err != nil:
			return reply, err
		case !gone:
			return reply, w.other(head, size)
		}
		return reply, ErrLost
	}
	return known{}, w.errorf("unexpected reply %v", c.reply)
}

// other returns the error for a string that begins with head and does not belong to w.
func (w *Window) other(head string, size int64) error {
	config, ok := strings.CutPrefix(head, windowMark)
	config, _, whole := strings.Cut(config, "; ")
	switch {
	case ok && whole && config != w.config.text():
		return w.errorf("%w: it holds a window of %s, want %s",
			bloom.ErrMismatch, config, w.config.text())
	case ok:
		return w.errorf("%w: it holds %d bytes of a window of %d: DeleteWindow removes it",
			bloom.ErrFormat, size, w.size())
	case strings.HasPrefix(head, windowName):
		return w.errorf("%w: %w: it begins with %.24q, want %q",
			bloom.ErrFormat, bloom.ErrVersion, head, windowMark)
	}
	return w.unlike(head, size)
}

// state is the state in the head of a string; see windowScript.
type state struct {
	Seq, Tail, Lost float64
	Planes          [planes]struct{ Ends, Count float64 }
}

// each runs s for every string, and calls visit with the state in the answer and the server's time
// in microseconds. It skips empty answers.
func (w *Window) each(ctx context.Context, s script, visit func(st state, now int64)) error {
	w.store() // panics if OpenWindow was forgotten
	calls := make([]*call, len(w.names))
	for i, name := range w.names {
		calls[i] = &call{place: i, keys: []string{name}}
	}
	if err := w.trip(ctx, s, calls); err != nil {
		return err
	}
	for _, c := range calls {
		var st state
		if c.answer == "" {
			continue
		}
		if _, err := binary.Decode([]byte(c.answer), binary.LittleEndian, &st); err != nil {
			return w.errorf("%d bytes in reply, want %d", len(c.answer), stateSize)
		}
		visit(st, c.now)
	}
	return nil
}

// Reach returns how far back every added key is remembered, in one or two round trips. That is
// Span, unless more than N keys arrived and some were forgotten early. Then it is the time since
// the newest of the forgotten keys was added, or up to Span/Generations less if the clock runs
// evenly. With Renew it may be lower still. It is 0 if Span is 0. Reach does not count keys that
// Reset removed or Redis lost.
func (w *Window) Reach(ctx context.Context) (time.Duration, error) {
	reach := w.config.Span
	err := w.each(ctx, windowStateScript, func(st state, now int64) {
		if st.Lost >= 0 {
			reach = min(reach, time.Duration(max(0, now-int64(st.Lost)))*time.Microsecond)
		}
	})
	return reach, err
}

// Stats returns the window's statistics, in one or two round trips. ApproxCount is the number of
// keys that are remembered; a renewed key can count several times. M is the number of bits of all
// planes, and K is the largest number of bits that a key sets in a plane. OnesCount, FillRatio and
// FPR are estimates from the numbers of keys.
func (w *Window) Stats(ctx context.Context) (bloom.Stats, error) {
	m := float64(w.pages * w.lanes) // bits in a plane of one string
	s := bloom.Stats{
		K:         w.k,
		M:         planes * w.pages * w.lanes * w.strings,
		SizeBytes: int64(w.strings) * w.size(),
	}
	err := w.each(ctx, windowStateScript, func(st state, _ int64) {
		none := 1.0 // the probability that no plane reports an absent key
		for number := st.Tail; number <= st.Seq; number++ {
			n := st.Planes[int(number)%planes].Count
			s.ApproxCount += uint64(n)
			s.OnesCount += uint64(-m * math.Expm1(-n*float64(w.k)/m))
			none *= 1 - rate(w.k, n, float64(w.pages), float64(w.lanes))
		}
		s.FPR += (1 - none) / float64(w.strings)
	})
	if err != nil {
		return bloom.Stats{}, err
	}
	s.FillRatio = float64(s.OnesCount) / float64(s.M)
	return s, nil
}

// Reset removes all keys, for all processes. A concurrent Add or Contains acts before Reset or
// after it. A token of AddOnce that was used before Reset counts as new after it.
func (w *Window) Reset(ctx context.Context) error {
	return w.each(ctx, windowResetScript, func(state, int64) {})
}

// Delete deletes the window, for all processes. To other processes that have used it, the window is
// lost. A later Add to this Window begins a new one. A concurrent Add or Contains acts before
// Delete or after it.
func (w *Window) Delete(ctx context.Context) error {
	forget := func(deleting int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.epoch++
		w.deleting += deleting
		clear(w.known)
	}
	forget(1)
	defer forget(-1)
	return w.deleteStrings(ctx, w.head, w.names, func(name string, r remains) error {
		if r.fits(w.layout) {
			if gone, err := w.remove(ctx, name, r, false); gone || err != nil {
				return err
			}
		}
		return w.other(r.head, r.size)
	})
}

// DeleteWindow deletes the window under key, or what is left of one, for all processes, whatever
// its configuration and version; see [Window.Delete]. It also deletes a long string of zeros, and a
// window's string with zeros in place of its head. It returns no error if there is no string. If
// the key holds any other value, the error wraps [bloom.ErrFormat].
func DeleteWindow(ctx context.Context, client redis.UniversalClient, key string) error {
	c := caller{client, key}
	other := func(name string, r remains) error {
		if zeros := r.isZero(); zeros || r.fitsAny() {
			if gone, err := c.remove(ctx, name, r, zeros); gone || err != nil {
				return err
			}
		}
		return c.unlike(r.head, r.size)
	}
	// Any of the strings may be missing. Each head says how many strings there are. The first 16
	// are deleted last, so that a call that failed can be repeated.
	const probed = 16
	first, err := c.windowNames(0, probed)
	if err != nil {
		return err
	}
	number, err := c.numberOfStrings(ctx, first)
	if err != nil {
		return c.noString(err)
	}
	others, err := c.windowNames(probed, max(number, probed))
	if err != nil {
		return err
	}
	for _, names := range [][]string{others, first} {
		if err := c.deleteStrings(ctx, windowName, names, other); err != nil {
			return c.noString(err)
		}
	}
	return nil
}

// numberOfStrings reads the heads of the strings under names. Each head says how many strings the
// window has. numberOfStrings returns the largest of these numbers, but at most maxStrings, or 0 if
// there is no head.
func (c caller) numberOfStrings(ctx context.Context, names []string) (number int, err error) {
	cmds := make([]redis.Cmder, len(names))
	for i, name := range names {
		cmds[i] = redis.NewStringCmd(ctx, "GETRANGE", name, 0, 1023)
	}
	if err := c.read(ctx, cmds...); err != nil {
		return 0, err
	}
	for _, cmd := range cmds {
		head := cmd.(*redis.StringCmd).Val()
		if !strings.HasPrefix(head, windowName) {
			continue
		}
		_, rest, _ := strings.Cut(head, "; ")
		digits, _, _ := strings.Cut(rest, "\n")
		n, _ := strconv.Atoi(digits)
		number = max(number, min(n, maxStrings))
	}
	return number, nil
}

// deleteStrings deletes the strings that begin with prefix. For a string that begins differently,
// it calls mismatched.
func (c caller) deleteStrings(
	ctx context.Context, prefix string, names []string, mismatched func(string, remains) error,
) error {
	calls := make([]*call, len(names))
	for i, name := range names {
		calls[i] = &call{keys: []string{name}, args: []any{prefix}}
	}
	if err := c.run(ctx, windowDeleteScript, calls...); err != nil {
		return err
	}
	for i, call := range calls {
		var r remains
		switch {
		case scan(call.reply, new(string)):
		case scan(call.reply, &r.head, &r.size):
			if err := mismatched(names[i], r); err != nil {
				return err
			}
		default:
			return c.errorf("unexpected reply %v", call.reply)
		}
	}
	return nil
}

// remains describes a string that a lost window may have left behind.
//
// Scripts of earlier versions of this package wrote to the string after PEXPIRE. If the server was
// older than Redis 7.2, and its clock stepped back during the script, the string had expired for
// the next write. That write made a string without a head: zeros, the state or a part of it, and
// pages.
type remains struct {
	head string // the first kilobyte, or all up to the end of the state
	size int64
}

func (r remains) isZero() bool {
	return r.size > stateSize && strings.Trim(r.head, "\x00") == ""
}

// fits reports whether a window with the layout l may have left r behind.
func (r remains) fits(l layout) bool {
	begins := strings.HasPrefix(r.head, strings.Repeat("\x00", len(windowMark)))
	return begins && (r.size == l.size() || r.size < l.size() && r.hasState(len(l.head)+16))
}

func (r remains) fitsAny() bool {
	for floor := len(windowMark) + 16; floor+stateSize <= len(r.head); floor++ {
		if r.hasState(floor) {
			return true
		}
	}
	return false
}

// hasState reports whether the head begins with zeros and may have a state with keys at offset
// floor.
func (r remains) hasState(floor int) bool {
	var st state
	tooShort := len(r.head) < floor+stateSize
	if tooShort || strings.Trim(r.head[:len(windowMark)], "\x00") != "" {
		return false
	}
	_, _ = binary.Decode([]byte(r.head[floor:]), binary.LittleEndian, &st) // long enough
	counts := 0
	isNumber := func(x float64) bool { return x == math.Trunc(x) && x >= -1 && x < 2*forever }
	right := isNumber(st.Seq) && isNumber(st.Tail) && isNumber(st.Lost)
	for _, plane := range st.Planes {
		right = right && isNumber(plane.Ends) && isNumber(plane.Count)
		if plane.Count >= 1 {
			counts++
		}
	}
	if st.Seq == 0 { // only the count of a plane was written
		return right && counts == 1
	}
	return right && counts > 0 && st.Seq >= st.Tail && st.Seq-st.Tail < planes
}

// remove deletes the string under name if it still matches r, and reports whether it did. If zeros
// is true, remove deletes only a string of zeros.
func (c caller) remove(ctx context.Context, name string, r remains, zeros bool) (bool, error) {
	whole := 0
	if zeros {
		whole = 1
	}
	call := &call{keys: []string{name}, args: []any{r.head, r.size, whole}}
	if err := c.run(ctx, windowRemainsScript, call); err != nil {
		return false, err
	}
	return call.reply == "gone", nil
}
