package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/foreign"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/window"
)

// kind is a type of filter.
type kind struct {
	name string // the type in Go, or the library

	// accepts reports whether a file that begins with head may have the type. sure reports whether
	// the size of such a file confirms the type. If sure is nil, the head is enough.
	accepts func(head []byte) bool
	sure    func(head []byte, size int64) bool
	load    func(path string) (filter, error)
	matches func(f filter) bool // reports whether f has the type; nil for other libraries' types

	flag    string                                        // what build --type calls it, or ""
	create  func(n uint64, p float64) (hashFilter, error) // makes build's filter; nil if flag is ""
	least   float64                                       // the lower bound of p
	plan    planner                                       // nil leaves the type out of plan
	note    string                                        // what plan says about the type
	merge   func(a, b filter) error                       // adds the keys of b to a; nil if impossible
	figures func(f filter, r *report)                     // adds values of this type only; may be nil
	bits    string                                        // the word for bits; "" means "bits"
	set     string                                        // the word for set bits; "" means "set"
	sum     string                                        // the checksum of a file; "" means CRC-32C

	// guava returns the filter that serve sends for f, which may be f itself. If guava is nil,
	// serve sends none.
	guava func(f filter) *bloom.Filter
	// span returns how long f is meant to remember keys, and how far back it now has every key. It
	// is nil for types that do not forget keys after a time.
	span func(f filter) (span, reach time.Duration)

	// remove removes the key with digest h from f. It returns false if f does not have the key. It
	// is nil for types that keys cannot be removed from.
	remove func(f filter, h bloom.Hash) bool

	counts  bool // a key that is added twice must be removed twice
	repeats bool // repetitions of a key need room, too
	forgets bool // keys are forgotten
	keeps   bool // extra keys do not raise the rate above the planned one
	opaque  bool // only the type's own library can hash keys for it
}

var kinds = []kind{
	{
		name:    "bloom.Filter",
		accepts: isGuava,
		sure:    isWholeGuava,
		load:    loader(bloom.LoadFile),
		matches: isA[*bloom.Filter],
		flag:    "guava",
		create:  maker(exact(bloom.New)),
		plan:    planGuava,
		note:    "Guava's: Java reads it",
		merge:   merged[*bloom.Filter],
		guava:   func(f filter) *bloom.Filter { return f.(*bloom.Filter) },
		figures: func(f filter, r *report) {
			r.Strategy = fmt.Sprintf("Mitz%d", 32<<f.(*bloom.Filter).Strategy())
			if r.Size == f.Stats().SizeBytes { // the file is in Guava's form, without a trailer
				r.Checksum = "none"
			}
		},
	},
	{
		name:    "blocked.Filter",
		accepts: isFrame(form.Blocked),
		load:    loader(blocked.LoadFile),
		matches: isA[*blocked.Filter],
		flag:    "blocked",
		create:  maker(blocked.New),
		least:   limits.BlockedRate,
		plan:    planBlocked,
		note:    "the fastest",
		merge:   merged[*blocked.Filter],
		figures: func(f filter, r *report) { r.Lines = f.(*blocked.Filter).Lines() },
	},
	{
		name:    "growing.Filter",
		accepts: isFrame(form.Growing),
		load:    loader(growing.LoadFile),
		matches: isA[*growing.Filter],
		flag:    "growing",
		create:  maker(growing.New),
		least:   limits.GrowingRate,
		plan:    planGrowing,
		note:    "n need not be known",
		keeps:   true,
	},
	{
		name:    "counting.Filter",
		accepts: isFrame(form.Counting),
		load:    loader(counting.LoadFile),
		matches: isA[*counting.Filter],
		flag:    "counting",
		create:  maker(exact(counting.New)),
		plan:    planCounting,
		note:    "keys can be removed; gives a bloom.Filter",
		merge:   merged[*counting.Filter],
		guava:   func(f filter) *bloom.Filter { return f.(*counting.Filter).Bloom() },
		remove:  removed[*counting.Filter],
		counts:  true,
	},
	{
		name:    "cuckoo.Filter",
		accepts: isFrame(form.Cuckoo),
		load: func(path string) (filter, error) {
			f, err := cuckoo.LoadFile(path)
			return checked(cuckooFilter{f}, err)
		},
		matches: isA[cuckooFilter],
		flag:    "cuckoo",
		create: func(n uint64, p float64) (hashFilter, error) {
			return checked(newCuckoo(max(n, 1), p)) // cuckoo.New sets the N and P of the Info
		},
		least:   limits.CuckooRate,
		plan:    planCuckoo,
		note:    "keys can be removed; refuses when full",
		set:     "those of tags",
		remove:  removed[cuckooFilter],
		counts:  true,
		repeats: true,
		keeps:   true,
	},
	{
		name:    "window.Filter",
		accepts: isFrame(form.Window),
		load:    loader(window.LoadFile),
		matches: isA[*window.Filter],
		plan:    planWindow,
		note:    "dedupe --span: forgets a key after a time, in which n keys come",
		figures: func(f filter, r *report) {
			span, reach := windowSpan(f)
			seconds := reach.Seconds()
			r.Span, r.Reach = span.Seconds(), &seconds
		},
		span:    windowSpan,
		forgets: true,
		keeps:   true,
	},
	{
		name:    "flower.Filter",
		accepts: isFrame(form.Flower),
		load:    loader(flower.LoadFile),
		matches: isA[*flower.Filter],
		plan:    planFlower,
		note:    "in Go only: remembers 90 % of the last n keys of an endless stream",
		bits:    "slots",
		forgets: true,
		keeps:   true,
	},
	{
		name:    "DCSO bloom",
		accepts: begins("\x01\x00\x00\x00\x00\x00\x00\x00"),
		load:    foreignLoader("DCSO's bloom", foreign.NewDCSO, withKeys),
		sum:     "none",
	},
	{
		name:    "holiman bloomfilter",
		accepts: begins("\x00\x00\x00\x00\x00\x00\x00\x00v02\n"),
		load:    foreignLoader("holiman's bloomfilter", foreign.NewHoliman, withoutKeys),
		sum:     "SHA-384",
		opaque:  true,
	},
	{
		name:    "Spark",
		accepts: isSpark,
		sure:    isWholeSpark,
		load:    foreignLoader("Spark", foreign.NewSpark, withKeys),
		sum:     "none",
	},
	{
		name: "bits-and-blooms",
		accepts: func(head []byte) bool {
			return begins("\x00\x00")(head) || begins("{")(bytes.TrimLeft(head, " \t\r\n"))
		},
		sure: func([]byte, int64) bool { return false }, // accepts takes other files, too
		load: foreignLoader("bits-and-blooms", foreign.NewBitsAndBlooms, withKeys),
		sum:  "none",
	},
}

func kindOf(head []byte) (kind, bool) {
	for _, k := range kinds {
		if k.accepts(head) {
			return k, true
		}
	}
	return kind{}, false
}

// kindOfFilter returns the type of f, or the zero kind for another library's filter.
func kindOfFilter(f filter) kind {
	for _, k := range kinds {
		if k.matches != nil && k.matches(f) {
			return k
		}
	}
	return kind{}
}

// namesOf joins the nonempty results of name for all kinds. With the conjunction "or" it returns
// "a, b or c".
func namesOf(name func(kind) string, conjunction string) string {
	var names []string
	for _, k := range kinds {
		if n := name(k); n != "" {
			names = append(names, n)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}

// kindFor returns the kind that build --type=name makes. name is the kind's flag, or the Go type
// that info shows, with or without .Filter.
func kindFor(name string) (k kind, ok bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool {
		short, _ := strings.CutSuffix(k.name, ".Filter")
		return k.flag != "" && (name == k.flag || name == k.name || name == short)
	})
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

func forgets(f filter) bool { return kindOfFilter(f).forgets }

func spanOf(f filter) (span, reach time.Duration) {
	k := kindOfFilter(f)
	if k.span == nil {
		return 0, 0
	}
	return k.span(f)
}

func windowSpan(f filter) (span, reach time.Duration) {
	w := f.(*window.Filter)
	return w.Config().Span, w.Reach()
}

// full reports whether f probably has a higher rate than it was made for. With as many lines as it
// was made for, about half of its bits are set, or up to 0.6 of them if it has few bits for a key.
func full(f filter) bool {
	stats, n := f.Stats(), f.Info().N
	tooMany := n == 0 || stats.ApproxCount > n+n/10 // the count is an estimate
	return !kindOfFilter(f).keeps && stats.FillRatio > 0.55 && tooMany
}

func isA[F filter](f filter) bool {
	_, ok := f.(F)
	return ok
}

func merged[F interface {
	filter
	Merge(F) error
}](a, b filter) error {
	return a.(F).Merge(b.(F))
}

func removed[F interface {
	filter
	RemoveHash(h bloom.Hash) bool
}](f filter, h bloom.Hash) bool {
	return f.(F).RemoveHash(h)
}

// methodsOf returns f as hashed if it is a filter of this module, and as keyed if it is a filter of
// another library. The other result is nil; both are nil if the kind of f is opaque.
func methodsOf(f filter) (hashed hashFilter, keyed keyedFilter) {
	if hashed, ok := f.(hashFilter); ok {
		return hashed, nil
	}
	keyed, _ = f.(keyedFilter)
	return nil, keyed
}

func isFrame(k *form.Kind) func(head []byte) bool {
	return func(head []byte) bool { return form.KindOf(head) == k }
}

func begins(magic string) func(head []byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// A Spark filter begins with 32-bit numbers: the version, k, in version 2 a seed, and the number of
// words. A bits-and-blooms filter begins with 64-bit numbers: m, k, and in most cases m again. With
// an m of 2^32 or more, it can begin like a Spark filter.

// sparkHead has the numbers at the beginning of a Spark filter, and their size in bytes.
type sparkHead struct{ version, k, seed, words, size uint32 }

// sparkHeadOf decodes head, which must be at least 16 bytes long.
func sparkHeadOf(head []byte) sparkHead {
	at := func(i int) uint32 { return binary.BigEndian.Uint32(head[i:]) }
	if at(0) == 2 {
		return sparkHead{version: 2, k: at(4), seed: at(8), words: at(12), size: 16}
	}
	return sparkHead{version: at(0), k: at(4), words: at(8), size: 12}
}

// isSpark reports whether head probably begins a Spark filter, and not a bits-and-blooms filter. It
// assumes that k is at most 1,024.
func isSpark(head []byte) bool {
	if len(head) < 16 {
		return false
	}
	h := sparkHeadOf(head)
	switch {
	case h.words == 0:
		return false
	case h.version == 1: // in bits-and-blooms, words would be the upper half of k, which is 0
		return true
	case h.version != 2:
		return false
	case h.seed != 0 || h.words > 1024: // in bits-and-blooms, these two would be k
		return true
	}
	m := head[:8]
	mAgain := len(head) >= 24 && (bytes.Equal(head[16:24], m) ||
		binary.LittleEndian.Uint64(head[16:]) == binary.BigEndian.Uint64(m))
	return h.k != 0 && h.k <= 1024 && !mAgain
}

// isWholeSpark reports whether a Spark filter that begins with head has the given size. Other
// files, such as videos, may begin like one.
func isWholeSpark(head []byte, size int64) bool {
	h := sparkHeadOf(head)
	return size == int64(h.size)+8*int64(h.words)
}

// isGuava reports whether head begins with a strategy and a number of hashes above 0.
func isGuava(head []byte) bool {
	return len(head) >= form.HeaderSize && head[0] <= 1 && head[1] != 0
}

// isWholeGuava reports whether a file in Guava's form that begins with head has the given size,
// with or without a trailer. Other files may begin like one.
func isWholeGuava(head []byte, size int64) bool {
	rest := size - form.HeaderSize - 8*int64(binary.BigEndian.Uint32(head[2:]))
	return rest == 0 || form.IsTrailerSize(rest)
}

func loader[F hashFilter](load func(string) (F, error)) func(string) (filter, error) {
	return func(path string) (filter, error) { return checked(load(path)) }
}

// checked returns a nil filter after an error, because f may be a nil pointer.
func checked[F hashFilter](f F, err error) (hashFilter, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
