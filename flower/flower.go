package flower

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/param"
)

var errZeroForm = errors.New("flower: the zero value has no binary form")

// Filter is a filter that remembers recent keys better than old ones, in memory
// that is fixed whatever is added and however long: it tells which events in an
// endless stream recur.
//
// It is one array of slots, each empty or with a fingerprint of a few bits. A
// key writes its fingerprint into several slots, over whatever is there, and
// is remembered while any of them still has it. So no key is sure to be found,
// but for the one added last, and how long it takes until a key is forgotten is
// counted in additions, not in time: Recall tells the probability, and Optimal
// finds the array for a given one. See Window for certainty, and for spans of
// time.
//
// A Flower is safe for use by many goroutines at once and takes no locks. The
// zero Filter contains nothing and can be decoded into; adding to it panics.
type Filter struct {
	words []uint64
	slots uint64
	ways  int
	bits  uint
}

// Config configures a Flower. The useful settings are 8 bits with 1 to
// 3 ways and 16 bits with 4 to 32.
type Config struct {
	// Slots is how many fingerprints there is room for, at least 1.
	Slots uint64
	// Ways is how many slots a key writes, 1 to 64. More remember recent keys
	// better and old ones worse.
	Ways int
	// Bits is the size of a fingerprint, 8, 16 or 32. Once all slots are
	// written, a key that never was added is reported as present with
	// probability 1 - (1 - 1/(2^Bits - 1))^Ways.
	Bits int
}

const maxWays = 64

// New returns an empty Flower, which takes Slots*Bits/8 bytes. It returns
// an error that names the field if one is out of range.
func New(c Config) (*Filter, error) {
	words, err := c.words()
	if err != nil {
		return nil, err
	}
	return &Filter{words: memory.Words(int(words)), slots: c.Slots, ways: c.Ways, bits: uint(c.Bits)}, nil
}

// words returns the number of words for c, and an error if it is out of range.
func (c Config) words() (uint64, error) {
	switch {
	case c.Bits != 8 && c.Bits != 16 && c.Bits != 32:
		return 0, fmt.Errorf("flower: Bits = %d is none of 8, 16, 32", c.Bits)
	case c.Ways < 1 || c.Ways > maxWays:
		return 0, fmt.Errorf("flower: Ways = %d is outside [1, %d]", c.Ways, maxWays)
	}
	perWord := 64 / uint64(c.Bits)
	if c.Slots < 1 || c.Slots > frame.MaxWords*perWord {
		return 0, fmt.Errorf("flower: Slots = %d is outside [1, %d] for %d bits", c.Slots, frame.MaxWords*perWord, c.Bits)
	}
	return (c.Slots + perWord - 1) / perWord, nil
}

// Add adds key, so that Contains finds it with probability Recall(t) after t
// other keys were added. It reports whether key was not remembered before. Of
// several goroutines that add the same new key at once, one or more get true.
// It does not retain key.
func (f *Filter) Add(key []byte) bool { return f.AddHash(bloom.Sum(key)) }

// AddString is Add of key's bytes, without copying them.
func (f *Filter) AddString(key string) bool { return f.AddHash(bloom.SumString(key)) }

// AddHash is Add by digest.
func (f *Filter) AddHash(h bloom.Hash) bool {
	if f.ways == 0 {
		panic(errZeroFlower)
	}
	// Looking first keeps a key that has a slot twice from finding itself, and
	// lets the reads, which may miss the cache, overlap as the writes do not.
	seen := f.ContainsHash(h)
	fingerprint := f.fingerprint(h)
	for i, x := 0, h.H1; i < f.ways; i++ {
		word, shift := f.slot(x)
		x += h.H2
		for {
			old := atomic.LoadUint64(word)
			// The rest of the word is other slots, which others may be writing.
			now := old&^(f.mask()<<shift) | fingerprint<<shift
			if old == now || atomic.CompareAndSwapUint64(word, old, now) {
				break
			}
		}
	}
	return !seen
}

// Contains reports whether key is remembered. Both answers can be wrong, with
// the probabilities that Recall and Config's Bits tell.
func (f *Filter) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (f *Filter) ContainsString(key string) bool { return f.ContainsHash(bloom.SumString(key)) }

// ContainsHash is Contains by digest.
func (f *Filter) ContainsHash(h bloom.Hash) bool {
	fingerprint := f.fingerprint(h)
	for i, x := 0, h.H1; i < f.ways; i++ {
		word, shift := f.slot(x)
		x += h.H2
		if atomic.LoadUint64(word)>>shift&f.mask() == fingerprint {
			return true
		}
	}
	return false
}

const errZeroFlower = "flower: Add to a zero Filter: make it with New, or decode into it"

func (f *Filter) mask() uint64 { return 1<<f.bits - 1 }

// fingerprint returns h's fingerprint, from 1 on, as an empty slot has 0. It
// takes the low half of H1, where slot takes the high bits.
func (f *Filter) fingerprint(h bloom.Hash) uint64 {
	return 1 + uint64(uint32(h.H1))*f.mask()>>32
}

// slot returns the word with the slot that x, h1 + i*h2, selects, and where in
// the word it is.
func (f *Filter) slot(x uint64) (word *uint64, shift uint64) {
	i, _ := bits.Mul64(x, f.slots)
	i *= uint64(f.bits)
	return &f.words[i>>6], i & 63
}

// Recall returns the probability with which a key is found after t other keys
// have been added to a Flower that was full of others before it. Of its n
// slots each still has its fingerprint with probability q = (1-1/s)^(nt), and
// else that of another key, which may be the same:
//
//	1 - (1 - (q + (1-q) 2^-b))^n
//
// As t grows, this falls to the rate of false positives.
func (f *Filter) Recall(t uint64) float64 {
	if f.ways == 0 {
		return 0
	}
	return recall(float64(t), float64(f.slots), float64(f.ways), f.bits)
}

func recall(t, slots, ways float64, bits uint) float64 {
	q := 1.0
	if t > 0 {
		q = math.Exp(ways * t * math.Log1p(-1/slots))
	}
	yes := q + (1-q)*math.Ldexp(1, -int(bits))
	return -math.Expm1(ways * math.Log1p(-yes))
}

// Optimal returns the configuration of the smallest Flower that finds a key
// with probability recall after t other keys were added, and reports a key that
// was never added with a probability of at most fpr even when all slots are
// full. It returns an error unless t >= 1, 0 < recall < 1, 0 < fpr < 1 and
// there is one that this machine can hold.
//
// Memory grows in proportion to t. At 1 % false positives, a million additions
// take 5.2 MB for 90 % recall and 18.9 MB for 99 %.
func Optimal(t uint64, recall, fpr float64) (Config, error) {
	if t < 1 {
		return Config{}, fmt.Errorf("flower: t = 0 is not at least 1")
	}
	if err := param.Rate("flower", "recall", recall); err != nil {
		return Config{}, err
	}
	if err := param.Rate("flower", "fpr", fpr); err != nil {
		return Config{}, err
	}
	var best Config
	smallest := math.Inf(1)
	for _, bits := range []int{8, 16, 32} {
		for ways := 1; ways <= maxWays; ways++ {
			// Two fingerprints, of 2^b - 1 kinds, are the same: a little more
			// often than Recall's formula has it.
			same := 1 / (math.Ldexp(1, bits) - 1)
			if -math.Expm1(float64(ways)*math.Log1p(-same)) > fpr {
				break
			}
			slots := slotsFor(float64(t), recall, float64(ways), uint(bits))
			if size := slots * float64(bits); size < smallest {
				smallest = size
				best = Config{Ways: ways, Bits: bits}
				if slots < math.MaxInt64 {
					best.Slots = uint64(slots)
				}
			}
		}
	}
	if best.Ways == 0 {
		return Config{}, fmt.Errorf("flower: fpr = %v is too small for 32 bits", fpr)
	}
	if _, err := best.words(); err != nil {
		return Config{}, fmt.Errorf("flower: t = %d, recall = %v, fpr = %v need %.3g bytes, more than %d",
			t, recall, fpr, smallest/8, uint64(8*frame.MaxWords))
	}
	return best, nil
}

// slotsFor returns the smallest number of slots with which recall(t) is at
// least want.
func slotsFor(t, want, ways float64, bits uint) float64 {
	// Recall's formula, solved for q and then for s.
	same := math.Ldexp(1, -int(bits))
	yes := -math.Expm1(math.Log1p(-want) / ways)
	q := (yes - same) / (1 - same)
	if q <= 0 {
		return 1 // chance is enough
	}
	slots := max(1, math.Ceil(-1/math.Expm1(math.Log(q)/(ways*t))))
	for slots < 1<<53 && recall(t, slots, ways, bits) < want { // rounding
		slots++
	}
	return slots
}

// The parameters of a Flower's frame. Its words are the slots, from the least
// significant bits of the first word on.
const (
	flowerSlots = iota
	flowerWays
	flowerBits
	flowerParams
)

// AppendBinary appends f's binary form, which carries a checksum, to b. A key
// whose Add returned before the call is in it, unless since overwritten. It
// returns an error only for the zero Filter, which has none.
func (f *Filter) AppendBinary(b []byte) ([]byte, error) {
	if f.ways == 0 {
		return b, errZeroForm
	}
	return frame.Flower.Append(b, f.params(), f.words), nil
}

// MarshalBinary returns f's binary form; see AppendBinary.
func (f *Filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes f's binary form to w through a small buffer; see AppendBinary.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	if f.ways == 0 {
		return 0, errZeroForm
	}
	return frame.Flower.Write(w, f.params(), f.words)
}

func (f *Filter) params() []uint64 { return []uint64{f.slots, uint64(f.ways), uint64(f.bits)} }

// UnmarshalBinary makes f the Flower whose binary form data is, to the last
// byte. On error, which wraps bloom.ErrFormat, f is unchanged. It does not retain
// data, and must have f to itself.
func (f *Filter) UnmarshalBinary(data []byte) error {
	params, words, err := frame.Flower.Unmarshal(data, checkParams)
	if err != nil {
		return err
	}
	f.restore(params, words)
	return nil
}

// ReadFrom makes f the Flower whose binary form r yields next, and reads no
// byte more. It allocates as data arrives. On error f is unchanged; the error is
// r's own or, if r ends too early or holds anything else, wraps ErrFormat.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	params, words, n, err := frame.Flower.Read(r, checkParams)
	if err != nil {
		return n, err
	}
	f.restore(params, words)
	return n, nil
}

// checkParams returns how many words there should be.
func checkParams(p []uint64) (uint64, error) {
	return Config{
		Slots: p[flowerSlots],
		Ways:  int(min(p[flowerWays], math.MaxInt32)),
		Bits:  int(min(p[flowerBits], math.MaxInt32)),
	}.words()
}

func (f *Filter) restore(p, words []uint64) {
	*f = Filter{words: words, slots: p[flowerSlots], ways: int(p[flowerWays]), bits: uint(p[flowerBits])}
}

// SaveFile writes f's binary form to a file at path, for LoadFile. Whatever happens
// meanwhile, a crash included, path holds what it held before or all of f. See
// [bloom.Filter.SaveFile] for permissions, links and temporary files.
func (f *Filter) SaveFile(path string) error {
	if f.ways == 0 {
		return errZeroForm
	}
	return frame.Flower.SaveFile(path, f)
}

// LoadFile reads a filter from a file that SaveFile wrote. It returns an error,
// which wraps ErrFormat, if the file has changed since.
func LoadFile(path string) (*Filter, error) {
	f := new(Filter)
	if err := frame.Flower.LoadFile(path, f); err != nil {
		return nil, err
	}
	return f, nil
}
