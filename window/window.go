// Package window provides a filter that remembers a key for a span of time, and
// then forgets it by itself.
//
// A [Filter] answers whether a key was added lately: within the last hour, or day.
// Programs drop repeated clicks and events with it. Its memory is fixed from the
// start, whatever the keys' size. An added key is certainly found for Span. Soon
// after, it is a key like any other that was not added: it is reported as present
// with a probability of FPR.
//
// The caller supplies the number of keys in a Span, the rate, and the Span; see
// [Config].
//
// # Handle first, then add
//
// A window cannot take a key back. A program that adds an event's id, and then fails to
// handle the event, drops the sender's repetition for a Span: the event is lost. So ask
// with Contains, handle, and then Add. If two equal ids come at once, both are handled:
// neither is there yet. [Filter.Do] keeps the right order and has the second wait for the
// first. Its example answers a webhook. The example program [kafka] reads a topic.
//
// Add first where a lost event does less harm than one that is handled twice. Of several
// goroutines that Add a new id at once, at most one gets true.
//
// # Restarts
//
// [LoadOrNew] loads what [Filter.SaveFile] saved, or makes a new window. Save when the
// program ends, and every minute or so. After a crash, ids that were added since the last
// save are new again. Time goes on while no program runs: what has expired meanwhile is
// forgotten.
//
// A window's Capacity and Span are fixed. To change them without forgetting, make a second
// window, and ask both for one Span; see the second example of LoadOrNew.
//
// # How long a key is remembered
//
// Time is cut into generations. There are Generations of them in a Span. A key belongs to
// the generation in which it was last added. The filter holds the current
// generation and the Generations before it. So a key stays for Span at least, and
// for Span + Span/Generations at most. With 4 generations:
//
//	generation     0       1       2       3       4       5       6
//	           |-------|-------|-------|-------|-------|-------|-------|
//	added early x......................................|                    5/4 of Span
//	added late        x................................|                    Span
//	added again x.................x....................................|
//
// [Filter.Add] renews a key that is there. [Filter.Contains] does not.
//
// The filter reads the time from Config.Now. Without Now, generations of a second or more
// end by a timer. A late timer keeps keys longer, never shorter. To deduplicate a log by
// its own time instead, let Now return the time of the newest event.
//
// # Price
//
// Each generation may err, so a window is larger than a [bloom.Filter], which
// has 9.6 bits a key at 1 % and 14.4 at 0.1 %. The table shows a window's bits for
// each key of Capacity. Its last line is the longest time that a key is remembered, in
// Spans:
//
//	Generations     1      3      7     15     31     63
//	FPR = 1 %    90.2   34.9   16.2   16.9   17.6   19.0
//	FPR = 0.1 % 131.7   46.8   22.0   22.5   22.9   24.3
//	Spans           2   1.33   1.14   1.07   1.03   1.02
//
// The default is 15. Each generation has a bit in a lane of 8, 16, 32 or 64 bits.
// Numbers other than 7, 15, 31 and 63 waste some of the bits.
//
// More keys than Capacity raise the rate of false positives, which [Filter.FPR]
// estimates. No key is forgotten early. Nothing sweeps the whole filter: the lanes are cut
// into blocks of some 8,192, and a block clears what has expired when it is next
// touched. Only calls for that block wait meanwhile.
//
// # Something else
//
// Take package flower where memory is short, and recent keys matter more than a
// certain answer. A [picture] shows how windows and flowers of one size forget. Take a
// map where every answer must be right.
//
// [kafka]: https://github.com/seed79a3ff49/bloom/tree/main/examples/kafka
// [picture]: https://github.com/seed79a3ff49/bloom/blob/main/docs/memory.svg
package window

import (
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Filter remembers keys for a span of time. It is safe for use by many goroutines
// at once, except for decoding and SetInfo, which need the Filter to themselves. Look-ups take
// no lock, but for the first in a block after a generation's end. Add takes its block's lock.
//
// The zero Filter contains nothing and can be decoded into. Adding to it panics. A
// Filter must not be copied.
type Filter struct {
	_ nocopy.Locker
	filter
}

// filter is what a Filter is. It is small, so that String and the methods that encode it have
// it by value: packages fmt, json and gob find them where a Filter is held by value.
type filter struct {
	*state // nil in the zero Filter
	info   bloom.Info
	now    func() time.Time // Config's
}

type state struct {
	layout
	clock    clock
	capacity uint64
	fpr      float64
	blocks   []block
	array    []uint64 // the blocks' words, one block after the other

	doing    sync.Mutex
	underWay map[bloom.Hash]chan struct{} // keys in Do, closed at their end
}

func (s *state) zero() bool { return s == nil }

// block is the state of a block's words. Bits of generations that are not live in gen
// are zero. Whoever writes gen or words holds the lock. A look-up holds none, and loads
// them atomically, gen first. gen changes after the words were cleared for it: who finds
// the new gen finds nothing that has expired.
type block struct {
	sync.Mutex
	gen atomic.Uint64
}

// Config configures a Filter.
type Config struct {
	// Capacity is the number of keys that are expected within a Span, evenly
	// spread over it. A key counts once in each generation in which it is added.
	// If all keys come back all the time, Capacity is the number of keys in a
	// generation, times Generations. More keys raise the rate of false positives.
	Capacity uint64
	// FPR is the probability, between 0 and 1, that Contains reports a key that
	// was not added within Span + Span/Generations, when every generation holds
	// its part of Capacity. Generations + 1 generations share it. A share of
	// less than 1e-12 counts as 1e-12.
	FPR float64
	// Span is how long, at least, a key is remembered after it was last added. It is
	// at least a millisecond for each generation.
	Span time.Duration
	// Generations is the number of parts of a Span, from 1 to 63. Zero means 15.
	// The package comment shows what the number costs.
	Generations int
	// Now returns the time. It is called at each call, and must be safe for concurrent use.
	// Nil means the system's time.
	//
	// If Now does not advance, or goes back, nothing expires until it catches up. If it
	// leaps ahead, all that has expired is forgotten at once. Time further than 292 years
	// from the making of the Filter does not advance. The zero Time, which Now may return
	// before a first event, counts as the beginning of 1970 when the Filter is made.
	Now func() time.Time
}

// New returns an empty filter. Its Info has Capacity as N and FPR as P. New returns an
// error that names the field unless Capacity >= 1, 0 < FPR < 1, 0 <= Generations <= 63,
// Span is at least a millisecond for each generation, and the filter has at most a
// tebibyte. Where the machine lacks that memory the process ends, as with make.
func New(c Config) (*Filter, error) {
	c = c.withDefaults()
	l, err := c.layout()
	if err != nil {
		return nil, err
	}
	epoch := time.Now()
	if c.Now != nil {
		epoch = c.Now()
	}
	if epoch.IsZero() { // from which today is too far
		epoch = time.Unix(0, 0)
	}
	s := &state{layout: l, capacity: c.Capacity, fpr: c.FPR}
	s.clock.now = c.Now
	s.clock.set(uint64(c.Span), uint64(c.Generations), epoch, 0)
	s.setArray(memory.Words(int(l.blockCount*l.words())), 0)
	return &Filter{filter: filter{s, bloom.Info{N: c.Capacity, P: c.FPR}, c.Now}}, nil
}

// Config returns the configuration of f: what New was given, or what the bytes say
// that f was decoded from. Generations is not zero where the default was taken. The
// zero Filter has the zero Config.
func (f *filter) Config() Config {
	if f.zero() {
		return Config{}
	}
	return Config{
		Capacity:    f.capacity,
		FPR:         f.fpr,
		Span:        time.Duration(f.clock.span),
		Generations: int(f.clock.gens),
		Now:         f.now,
	}
}

// String describes f in a few words. It does not list keys.
func (f filter) String() string {
	c := f.Config()
	return fmt.Sprintf("window.Filter(span %v, %d generations, %d bytes)", c.Span, c.Generations, f.SizeBytes())
}

// setArray makes array, as it is in generation g, the words of f.
func (s *state) setArray(array []uint64, g uint64) {
	s.array = array
	s.blocks = make([]block, s.blockCount)
	for i := range s.blocks {
		s.blocks[i].gen.Store(g)
	}
}

// find returns the number of h's block, and what next makes the positions in it of.
func (s *state) find(h bloom.Hash) (block, x, step uint64) {
	x, step = h.Words()
	block, x = bits.Mul64(x, s.blockCount)
	return block, x, step
}

// curve bends the sequences of positions: in its halves are the first 32 bits of
// the golden ratio's fraction and of the square root of two's.
const curve = 0x9e3779b9_6a09e667

// next returns a pair of positions in a block of width bits, and what makes the next pair.
//
// The halves of x are two sequences of positions. One alone has so few different ones in
// a block that pairs of keys which share all their positions would make false positives
// of their own. A step that always is the same would have keys whose step is almost zero
// set one position k times. So it grows by curve each time. (Dillinger and Manolios,
// Bloom Filters in Probabilistic Verification, 2004: enhanced double hashing.)
func next(x, step, width uint64) (p, q, nextX, nextStep uint64) {
	return uint64(uint32(x)) * width >> 32, x >> 32 * width >> 32, x + step, step + curve
}

// large reports whether it pays to ask for the memory of all positions of a key at once: where
// the filter is larger than the processor's caches. The processor reads some ahead by
// itself, but not past a lock, and not as many as the memory can bring.
func (s *state) large() bool { return len(s.array) >= 1<<20 }

func (s *state) prefetch(words []uint64, x, step uint64) {
	prefetch(&words[0], x, step, uint64(len(words))*64, s.k/2)
}

// wordsOf returns the words of block i.
func (s *state) wordsOf(i uint64) []uint64 {
	n := s.words()
	return s.array[i*n:][:n]
}

// expire moves a locked block on to generation g, if it is in an earlier one.
func (s *state) expire(b *block, words []uint64, g uint64) {
	gen := b.gen.Load()
	if gen >= g {
		return
	}
	var live uint64
	if g-gen <= s.clock.gens {
		live = s.columns(g-s.clock.gens, gen)
	}
	for i, word := range words {
		memory.Store(&words[i], word&live)
	}
	b.gen.Store(g)
}

// columns returns a word with the bits of generations from to to, at most
// 64, set in every lane.
func (s *state) columns(from, to uint64) (mask uint64) {
	width := uint64(1) << s.laneBits
	for g := from; g != to+1; g++ {
		mask |= 1 << (g & (width - 1))
	}
	for ; width < 64; width *= 2 {
		mask |= mask << width
	}
	return mask
}

// Add adds key, or renews it if it is there. It reports whether key was new: true
// means that it was certainly not added within Span, false that it probably was
// added within Span + Span/Generations. Of several goroutines that add a new key at
// once, at most one gets true. Add does not retain key.
func (f *Filter) Add(key []byte) bool { return f.AddHash(bloom.Sum(key)) }

// AddString is Add of key's bytes, without copying them.
func (f *Filter) AddString(key string) bool { return f.AddHash(bloom.SumString(key)) }

// AddHash is Add by digest.
func (f *Filter) AddHash(h bloom.Hash) bool {
	if f.zero() {
		panic(errZero)
	}
	s := f.state
	g := s.clock.generation()
	block, x, step := s.find(h)
	b, words := &s.blocks[block], s.wordsOf(block)
	if s.large() {
		s.prefetch(words, x, step)
	}
	b.Lock()
	s.expire(b, words, g)
	// A block has width bits. Those of a bit's place in its word that lane selects are
	// where the bit's lane begins.
	width, lane := uint64(len(words))*64, uint64(64)-1<<(s.laneBits&63)
	bit := uint64(1) << (b.gen.Load() &^ lane & 63)
	seen := ^uint64(0)
	for i := s.k; i > 0; i -= 2 {
		var p, q uint64
		p, q, x, step = next(x, step, width)
		word := &words[p>>6]
		seen &= *word >> (p & lane & 63)
		memory.Store(word, *word|bit<<(p&lane&63))
		word = &words[q>>6]
		seen &= *word >> (q & lane & 63)
		memory.Store(word, *word|bit<<(q&lane&63))
	}
	b.Unlock()
	return seen<<(lane&63) == 0
}

// Contains reports whether key is remembered. It certainly is if it was added
// within Span. If it was not added within Span + Span/Generations, Contains reports
// true with the probability that [Filter.FPR] estimates. Contains does not renew key.
func (f *Filter) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (f *Filter) ContainsString(key string) bool { return f.ContainsHash(bloom.SumString(key)) }

// ContainsHash is Contains by digest.
func (f *Filter) ContainsHash(h bloom.Hash) bool {
	if f.zero() {
		return false
	}
	s := f.state
	g := s.clock.generation()
	block, x, step := s.find(h)
	b, words := &s.blocks[block], s.wordsOf(block)
	if s.large() {
		s.prefetch(words, x, step)
	}
	if b.gen.Load() < g {
		b.Lock()
		s.expire(b, words, g)
		b.Unlock()
	}
	width, lane := uint64(len(words))*64, uint64(64)-1<<(s.laneBits&63)
	seen := ^uint64(0)
	for i := s.k; i > 0; i -= 2 {
		// By half time, most absent keys are known to be absent. Asking each time
		// would keep the processor from reading ahead.
		if 2*i <= s.k && seen<<(lane&63) == 0 {
			return false
		}
		var p, q uint64
		p, q, x, step = next(x, step, width)
		seen &= atomic.LoadUint64(&words[p>>6]) >> (p & lane & 63)
		seen &= atomic.LoadUint64(&words[q>>6]) >> (q & lane & 63)
	}
	return seen<<(lane&63) != 0
}

// Reset forgets all keys. A key that is being added meanwhile may be remembered afterwards.
func (f *Filter) Reset() {
	if f.zero() {
		return
	}
	for i := range f.blocks {
		f.blocks[i].Lock()
		memory.ClearAtomic(f.wordsOf(uint64(i)))
		f.blocks[i].Unlock()
	}
}

// FPR estimates the probability that a key which was not added is reported as
// present now; see [Filter.Stats].
func (f *Filter) FPR() float64 { return f.Stats().FPR }

// Stats returns the figures of f. M, OnesCount and FillRatio cover the Generations + 1
// generations that are remembered. ApproxCount estimates how many keys are remembered, and counts a
// key once in each generation in which it was added, as Capacity does. In a filter of more
// than 64 blocks, which has half a million positions, Stats reads 64 of them and estimates
// the rest, so that its time does not grow with the filter.
func (f *Filter) Stats() bloom.Stats {
	if f.zero() {
		return bloom.Stats{}
	}
	g := f.clock.generation()
	n, gens := f.blockCount, f.clock.gens+1
	sample := min(n, 64)
	words := make([]uint64, f.words())
	var ones [maxGenerations + 1]uint64 // by age
	var rates float64
	for i := range sample {
		at := i * n / sample
		live := f.lockAt(at, g)
		copy(words, f.wordsOf(at))
		f.blocks[at].Unlock()
		none := 1.0 // probability that a key is in no generation
		for age := range gens {
			count, mask := 0, f.columns(g-age, g-age)&live
			for _, word := range words {
				count += bits.OnesCount64(word & mask)
			}
			ones[age] += uint64(count)
			none *= 1 - math.Pow(float64(count)/float64(f.lanes), float64(f.k))
		}
		rates += 1 - none
	}
	s := bloom.Stats{M: n * f.lanes * gens, K: f.k, FPR: rates / float64(sample), SizeBytes: f.SizeBytes()}
	scale := float64(n) / float64(sample)
	for _, ones := range ones[:gens] {
		s.OnesCount += uint64(float64(ones) * scale)
		s.ApproxCount += uint64(float64(bloom.StatsOf(sample*f.lanes, f.k, ones).ApproxCount) * scale)
	}
	s.FillRatio = float64(s.OnesCount) / float64(s.M)
	return s
}

// LogValue returns the Stats, so that package log/slog does not write the whole filter.
func (f *Filter) LogValue() slog.Value { return slog.AnyValue(f.Stats()) }

// lockAt locks block i and returns the columns that are live in it and were in
// generation g: other goroutines may have moved on from it.
func (s *state) lockAt(i, g uint64) (live uint64) {
	b := &s.blocks[i]
	b.Lock()
	s.expire(b, s.wordsOf(i), g)
	if gen := b.gen.Load(); gen-g <= s.clock.gens {
		live = s.columns(gen-s.clock.gens, g)
	}
	return live
}

const errZero = "window: Add to a zero Filter: make it with New, or decode into it"
