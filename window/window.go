package window

import (
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/param"
)

// Window is a filter that forgets: a key is remembered for at least Span after
// it was last added and at most Span + Span/Generations. What it calls new has
// not been added for Span; what it calls seen has, but for a fraction FPR of
// errors. Memory is fixed from the start and nothing is ever swept at once.
//
// Time is cut into generations of Span/Generations, of which the current one
// and the Generations before it are live. Each generation is a Bloom filter;
// all lie side by side, so that a position holds one bit for every generation
// and a key's k positions, read once, answer for all of them. The positions of
// a key lie in one block of some 8,192, which has a lock of its own and
// forgets what has expired when it is next touched, whatever the traffic: no
// call ever clears more than one block, which takes microseconds.
//
// A Window is safe for use by many goroutines at once. The zero Filter
// contains nothing and can be decoded into; adding to it panics. A Window must
// not be copied.
type Filter struct {
	span   uint64 // nanoseconds
	gens   uint64 // Config.Generations
	k      int    // even
	blocks []windowBlock

	// A position is a lane of 1<<laneBits bits, the smallest that holds the
	// live generations: generation g has bit g mod the lane's width. Bits of
	// generations that are not live are zero in a block of the current one.
	laneBits uint
	lanes    uint64 // in a block

	now   func() time.Time // nil is time.Now, not read at every call
	epoch time.Time        // when generation 0 began, on the wall clock
	gen   atomic.Uint64    // the newest generation that any clock reading was in
	ends  atomic.Int64     // when that ends, or sooner, in nanoseconds after epoch

	// Where the clock is coarse, fresh says that gen needs no reading of it, until
	// tick clears that. The mutex guards what tick uses and changes: fresh, epoch,
	// gen, ends and due.
	fresh atomic.Bool
	clock sync.Mutex
	due   time.Time // when gen ends, on the monotonic clock; zero if fresh was never set
}

// windowBlock guards a block's words. It fills a cache line.
type windowBlock struct {
	sync.Mutex
	gen   uint64 // up to which the words are cleared of expired generations
	words []uint64
	_     [24]byte
}

// Config configures a Window. Now may be nil; the other fields have no
// defaults.
type Config struct {
	// Capacity is the number of distinct keys expected within a Span, evenly
	// spread over it: each generation is sized for Capacity/Generations. More
	// raise the rate of false positives, as FPR tells; none is ever lost.
	Capacity uint64
	// FPR is the probability, between 0 and 1, that a key is reported as
	// present that was not added within Span + Span/Generations, when every
	// generation holds what it is sized for.
	FPR float64
	// Span is how long, at least, a key is remembered after it was last added.
	Span time.Duration
	// Generations is the number of parts of a Span, 1 to 63: more forget more
	// exactly and cost little more time. Best are 7, 15, 31 and 63, which take
	// less than 1.2 times the ideal of 1.44 log2((Generations+1)/FPR) bits for
	// each key that the live generations are sized for, of which there are
	// Capacity (Generations+1)/Generations. Others have room in each position
	// for the next of these, G, and take (G+1)/(Generations+1) times as much:
	// 24 less than 1.4 times the ideal, 8 less than 2.1 times, 1 less than 4.7.
	Generations int
	// Now tells the time at each call, and must be safe for concurrent use.
	// Where its time stands still, nothing expires; where it steps back, it
	// counts as standing still until it has caught up; where it leaps, all
	// that has expired is forgotten at once. Time further than 292 years from
	// the Window's making stands still.
	//
	// Nil means time.Now. Where a generation lasts a second or more, that is
	// not read at each call, which would take longer than all the rest of it,
	// but ten times a second and when a generation ends, by a timer. As much as
	// the timer is late, commonly less than a millisecond, that generation lasts
	// longer, and so does the memory of its keys. It is never shorter than Span.
	Now func() time.Time
}

const (
	maxGenerations  = 63
	maxWindowK      = 254
	minWindowLanes  = 8192 // in a block, if there are several
	coarsePrecision = 100 * time.Millisecond
	coarseFrom      = time.Second
)

// New returns an empty Window. It returns an error that names the field
// if one is out of range: unless Capacity >= 1, 0 < FPR < 1, Generations is in
// [1, 63], Span is at least Generations nanoseconds and the memory needed can
// be had.
func New(c Config) (*Filter, error) {
	if c.Capacity == 0 {
		return nil, fmt.Errorf("window: Capacity = 0 is not at least 1")
	}
	if err := param.Rate("window", "FPR", c.FPR); err != nil {
		return nil, err
	}
	if err := checkWindow(int64(c.Span), int64(c.Generations)); err != nil {
		return nil, err
	}
	w := &Filter{now: c.Now, span: uint64(c.Span), gens: uint64(c.Generations)}
	w.laneBits = laneBits(w.gens)
	k, blocks, lanes := windowSize(float64(c.Capacity)/float64(c.Generations), c.FPR/float64(c.Generations+1))
	perWord := float64(uint64(64) >> w.laneBits)
	lanes = math.Ceil(lanes/perWord) * perWord
	if words := blocks * lanes / perWord; !(words <= frame.MaxWords) {
		return nil, fmt.Errorf("window: Capacity = %d, FPR = %v need %.3g bytes, more than %d",
			c.Capacity, c.FPR, 8*words, uint64(8*frame.MaxWords))
	}
	w.k = k
	w.lanes = uint64(lanes)
	w.setWords(memory.Words(int(blocks)*w.blockWords()), 0)
	w.epoch = w.time().Round(0)
	return w, nil
}

func checkWindow(span, generations int64) error {
	switch {
	case generations < 1 || generations > maxGenerations:
		return fmt.Errorf("window: Generations = %d is outside [1, %d]", generations, maxGenerations)
	case span < generations:
		return fmt.Errorf("window: Span = %v is too short for %d generations", time.Duration(span), generations)
	}
	return nil
}

// laneBits returns the logarithm of the smallest lane of at least 8 bits that
// holds a bit for each live generation.
func laneBits(generations uint64) uint { return uint(max(3, bits.Len64(generations))) }

// windowSize returns the number of hashes for n keys in a generation of
// false-positive rate p, how many blocks hold it, and of how many positions
// each.
func windowSize(n, p float64) (k int, blocks, lanes float64) {
	// With the fewest hashes that take at most 5 % more memory than the best
	// number, which makes a fifth less of them. They come in pairs.
	ideal := -math.Log2(p)
	for k = 2; k < maxWindowK && float64(k) < ideal && perKey(k, p) > 1.05*ideal/math.Ln2; {
		k += 2
	}
	n = math.Ceil(n)
	blocks = 1
	lanes = n*perKey(k, p) + 8 // what double hashing in a few dozen positions needs more
	if lanes >= 2*minWindowLanes {
		// Blocks get more or less than their share of the keys: Poisson's
		// variance, relative to the mean, is one over the keys of a block.
		// Where the rate grows as the e-th power of the load, its mean grows
		// by e(e-1)/2 times that, to second order.
		fill := math.Pow(p, 1/float64(k))
		e := -float64(k) * math.Log1p(-fill) * (1 - fill) / fill
		p /= math.Exp(max(0, e*(e-1)/2) * perKey(k, p) / minWindowLanes)
		lanes = n * perKey(k, p)
		blocks = math.Floor(lanes / minWindowLanes)
	}
	return k, blocks, math.Ceil(max(lanes/blocks, 64))
}

// perKey returns how many bits a Bloom filter of k hashes has for each key when
// its false-positive rate is p: (1 - e^(-k/perKey))^k = p.
func perKey(k int, p float64) float64 {
	return -float64(k) / math.Log1p(-math.Pow(p, 1/float64(k)))
}

// blockWords returns the number of words in a block.
func (w *Filter) blockWords() int { return int(w.lanes >> (6 - w.laneBits)) }

// setWords cuts words, as they are in generation g, into blocks.
func (w *Filter) setWords(words []uint64, g uint64) {
	n := w.blockWords()
	w.blocks = make([]windowBlock, len(words)/n)
	for i := range w.blocks {
		w.blocks[i].gen = g
		w.blocks[i].words = words[i*n:][:n:n]
	}
	w.gen.Store(g)
	w.ends.Store(0)
}

func (w *Filter) time() time.Time {
	if w.now != nil {
		return w.now()
	}
	return time.Now()
}

// coarse reports whether the clock is not read at every call.
func (w *Filter) coarse() bool { return w.now == nil && w.span >= w.gens*uint64(coarseFrom) }

// generation returns the current generation.
func (w *Filter) generation() uint64 {
	if !w.coarse() {
		w.advance(w.time())
	} else if !w.fresh.Load() {
		w.freshen()
	}
	return w.gen.Load()
}

// freshen reads the clock, and has tick called when it must be read again.
func (w *Filter) freshen() {
	w.clock.Lock()
	defer w.clock.Unlock()
	if w.fresh.Load() {
		return
	}
	now := time.Now()
	left := w.advance(now)
	w.due = now.Add(left)
	w.fresh.Store(true)
	time.AfterFunc(min(left, coarsePrecision), w.tick)
}

// tick has the clock read at the next call. If the generation has ended since
// due, calls have still taken it for the current one; that it lasted until now,
// and all later ones begin so much later, makes them right.
func (w *Filter) tick() {
	w.clock.Lock()
	defer w.clock.Unlock()
	w.fresh.Store(false)
	if !w.due.IsZero() {
		w.epoch = w.epoch.Add(max(0, time.Since(w.due)))
	}
}

// advance moves on to the generation of now, unless it has been left, and
// returns how long that will last, or less. It sets gen before ends: who finds a
// time to be before ends then finds a gen that is at least that time's.
func (w *Filter) advance(now time.Time) (left time.Duration) {
	elapsed := max(0, int64(now.Sub(w.epoch)))
	if ends := w.ends.Load(); elapsed < ends {
		return time.Duration(ends - elapsed)
	}
	hi, lo := bits.Mul64(uint64(elapsed), w.gens)
	g, rest := bits.Div64(hi, lo, w.span) // hi < span: elapsed < 2^63 and gens <= span
	for newest := w.gen.Load(); g > newest && !w.gen.CompareAndSwap(newest, g); {
		newest = w.gen.Load()
	}
	ends := int64(min(uint64(elapsed)+(w.span-rest+w.gens-1)/w.gens, math.MaxInt64))
	w.ends.Store(ends)
	return time.Duration(ends - elapsed)
}

// enter locks h's block, forgets what has expired there, and returns it with the
// state of the generator of positions. The caller unlocks it.
func (w *Filter) enter(h bloom.Hash) (b *windowBlock, x uint64) {
	g := w.generation()
	i, x := bits.Mul64(h.H1, uint64(len(w.blocks)))
	b = &w.blocks[i]
	b.Lock()
	if b.gen < g {
		w.expire(b, g)
	}
	return b, x
}

// expire moves a locked block on to generation g.
func (w *Filter) expire(b *windowBlock, g uint64) {
	var live uint64
	if g-b.gen <= w.gens {
		live = w.columns(g-w.gens, b.gen)
	}
	b.gen = g
	for i := range b.words {
		b.words[i] &= live
	}
}

// columns returns a word with the bits of generations from to to, at most
// 64, set in every lane.
func (w *Filter) columns(from, to uint64) (mask uint64) {
	width := uint64(1) << w.laneBits
	for g := from; g != to+1; g++ {
		mask |= 1 << (g & (width - 1))
	}
	for ; width < 64; width *= 2 {
		mask |= mask << width
	}
	return mask
}

// Add adds key now, or renews it. It reports whether key was not remembered:
// true means that it was certainly not added within Span, false that it
// probably was within Span + Span/Generations. It does not retain key.
func (w *Filter) Add(key []byte) bool { return w.AddHash(bloom.Sum(key)) }

// AddString is Add of key's bytes, without copying them.
func (w *Filter) AddString(key string) bool { return w.AddHash(bloom.SumString(key)) }

// AddHash is Add by digest.
func (w *Filter) AddHash(h bloom.Hash) bool {
	if w.k == 0 {
		panic(errZeroWindow)
	}
	b, x := w.enter(h)
	words := b.words
	lanes, laneBits, wordBits := w.lanes, w.laneBits&7, (6-w.laneBits)&7
	bit := uint64(1) << (b.gen & (1<<laneBits - 1))
	seen := ^uint64(0)
	for i := w.k; i > 0; i -= 2 {
		// The halves of x, h1 + i*h2, are two sequences of positions. One alone
		// has so few different ones in a block that pairs of keys which share
		// all their positions would make false positives of their own.
		p, q := uint64(uint32(x))*lanes>>32, x>>32*lanes>>32
		x += h.H2
		word := &words[p>>wordBits]
		seen &= *word >> (p << laneBits & 63)
		*word |= bit << (p << laneBits & 63)
		word = &words[q>>wordBits]
		seen &= *word >> (q << laneBits & 63)
		*word |= bit << (q << laneBits & 63)
	}
	b.Unlock()
	return seen<<(64-1<<laneBits) == 0
}

// Contains reports whether key is remembered: it is for certain if it was added
// within Span, and with probability FPR if it was not within
// Span + Span/Generations. Looking a key up does not renew it.
func (w *Filter) Contains(key []byte) bool { return w.ContainsHash(bloom.Sum(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (w *Filter) ContainsString(key string) bool { return w.ContainsHash(bloom.SumString(key)) }

// ContainsHash is Contains by digest.
func (w *Filter) ContainsHash(h bloom.Hash) bool {
	if w.k == 0 {
		return false
	}
	b, x := w.enter(h)
	words := b.words
	lanes, laneBits, wordBits := w.lanes, w.laneBits&7, (6-w.laneBits)&7
	seen := ^uint64(0)
	for i := w.k; i > 0; i -= 2 {
		p, q := uint64(uint32(x))*lanes>>32, x>>32*lanes>>32
		x += h.H2
		seen &= words[p>>wordBits] >> (p << laneBits & 63)
		seen &= words[q>>wordBits] >> (q << laneBits & 63)
	}
	b.Unlock()
	return seen<<(64-1<<laneBits) != 0
}

// FPR returns the probability that a key that was not added is reported as
// present, as things are now. It looks at no more than 64 blocks and takes up
// to some milliseconds.
func (w *Filter) FPR() float64 {
	if w.k == 0 {
		return 0
	}
	g := w.generation()
	sample := min(len(w.blocks), 64)
	words := make([]uint64, w.blockWords())
	var sum float64
	for i := range sample {
		b := &w.blocks[i*len(w.blocks)/sample]
		live := w.lockAt(b, g)
		copy(words, b.words)
		b.Unlock()
		none := 1.0 // probability that a key is in no generation
		for c := g - w.gens; c != g+1; c++ {
			ones, mask := 0, w.columns(c, c)&live
			for _, word := range words {
				ones += bits.OnesCount64(word & mask)
			}
			none *= 1 - math.Pow(float64(ones)/float64(w.lanes), float64(w.k))
		}
		sum += 1 - none
	}
	return sum / float64(sample)
}

// lockAt locks b and returns the columns that are live in it and were in
// generation g: other goroutines may have moved on from it.
func (w *Filter) lockAt(b *windowBlock, g uint64) (live uint64) {
	b.Lock()
	if b.gen < g {
		w.expire(b, g)
	}
	if b.gen-g <= w.gens {
		live = w.columns(b.gen-w.gens, g)
	}
	return live
}

const errZeroWindow = "window: Add to a zero Filter: make it with New, or decode into it"
