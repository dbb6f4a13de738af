// Package dcso reads and writes the filters of github.com/DCSO/bloom, whose best
// known one is CIRCL's hashlookup file.
//
// Its file is 64-bit little-endian numbers: a 1, n, p (a float64), k, m, the number
// of keys, and the words of the bits, ceil(m/64) of them. Whatever follows is the
// user's. There is no checksum.
package dcso

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/durable"
)

const (
	headerSize = 48
	maxK       = 1024 // of p = 1e-300, and so of every filter in its right mind
	maxM       = 1 << 43

	prime      = 18446744073709551557 // the largest below 2^64
	multiplier = 18446744073709550147 // the next hash is this one times that, modulo prime
)

// Filter is a DCSO filter. It takes digests that Sum made.
type Filter struct {
	n    uint64 // keys that it is made for
	p    float64
	k    uint64
	m    uint64
	keys uint64 // that were new when they were added
	bits []uint64
	data []byte // the user's
}

// New returns an empty filter of the size that DCSO's command makes.
func New(n uint64, p float64) (*Filter, error) {
	if !(p > 0 && p < 1) {
		return nil, fmt.Errorf("dcso: p = %v is outside (0, 1)", p)
	}
	n = max(n, 1)
	bits := math.Abs(math.Ceil(float64(n) * math.Log(p) / math.Pow(math.Log(2), 2)))
	k := math.Ceil(math.Ln2 * bits / float64(n))
	if bits > maxM || k > maxK {
		return nil, fmt.Errorf("dcso: n = %d, p = %v need more than %d bits or %d hashes", n, p, uint64(maxM), maxK)
	}
	m := uint64(bits)
	return &Filter{n: n, p: p, k: uint64(k), m: m, bits: make([]uint64, (m+63)/64)}, nil
}

// Is reports whether data begins like a DCSO filter's file. Guava's do not: there the
// second byte is the number of hashes, which is not 0.
func Is(data []byte) bool {
	return len(data) >= 8 && binary.LittleEndian.Uint64(data) == 1
}

// Sum returns the digest of key: H1 is its 64-bit FNV-1 hash, H2 is not used.
func Sum(key []byte) bloom.Hash {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = h*1099511628211 ^ uint64(c)
	}
	return bloom.NewHash(h, 0)
}

// AddHash adds a key and reports whether it was new for certain.
func (f *Filter) AddHash(h bloom.Hash) bool {
	x, _ := h.Words()
	isNew := false
	x %= prime
	for range f.k {
		x = x * multiplier % prime
		word, bit := &f.bits[x%f.m/64], uint64(1)<<(x%f.m%64)
		isNew = isNew || *word&bit == 0
		*word |= bit
	}
	if isNew {
		f.keys++
	}
	return isNew
}

// AddBatch adds keys and sets added, if it is not nil, to what AddHash returns for each.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	for i, h := range hs {
		isNew := f.AddHash(h)
		if added != nil {
			added[i] = isNew
		}
	}
}

// ContainsBatch sets found to what ContainsHash returns for each key.
func (f *Filter) ContainsBatch(found []bool, hs []bloom.Hash) {
	for i, h := range hs {
		found[i] = f.ContainsHash(h)
	}
}

// ContainsHash reports whether a key may have been added.
func (f *Filter) ContainsHash(h bloom.Hash) bool {
	x, _ := h.Words()
	x %= prime
	for range f.k {
		x = x * multiplier % prime
		if f.bits[x%f.m/64]>>(x%f.m%64)&1 == 0 {
			return false
		}
	}
	return true
}

// Merge makes f the union of f and g. It returns an error, and leaves f as it was,
// unless the two were made alike.
func (f *Filter) Merge(g *Filter) error {
	if f.n != g.n || f.p != g.p || f.k != g.k || f.m != g.m {
		return fmt.Errorf("dcso: filters differ in n, p, k or m: %d, %v, %d, %d and %d, %v, %d, %d",
			f.n, f.p, f.k, f.m, g.n, g.p, g.k, g.m)
	}
	for i, w := range g.bits {
		f.bits[i] |= w
	}
	f.keys = f.Stats().ApproxCount
	return nil
}

// Info returns what f is made for, all that its file says. So SetInfo does nothing.
func (f *Filter) Info() bloom.Info   { return bloom.Info{N: f.n, P: f.p} }
func (f *Filter) SetInfo(bloom.Info) {}

// Stats returns the figures of f.
func (f *Filter) Stats() bloom.Stats {
	ones := 0
	for _, w := range f.bits {
		ones += bits.OnesCount64(w)
	}
	m, k, fill := float64(f.m), float64(f.k), float64(ones)/float64(f.m)
	return bloom.Stats{
		M: f.m, K: int(f.k), OnesCount: uint64(ones), FillRatio: fill,
		ApproxCount: uint64(math.Round(-m / k * math.Log1p(-min(fill, 1-0.5/m)))),
		FPR:         math.Pow(fill, k), SizeBytes: f.size(),
	}
}

// size returns the length of f's file.
func (f *Filter) size() int64 { return headerSize + 8*int64(len(f.bits)) + int64(len(f.data)) }

// WriteTo writes f's file to w.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	out := bufio.NewWriterSize(w, 64<<10)
	var buf []byte
	for _, x := range []uint64{1, f.n, math.Float64bits(f.p), f.k, f.m, f.keys} {
		buf = binary.LittleEndian.AppendUint64(buf, x)
	}
	out.Write(buf)
	for _, x := range f.bits {
		out.Write(binary.LittleEndian.AppendUint64(buf[:0], x))
	}
	out.Write(f.data)
	return f.size(), out.Flush()
}

// SaveFile replaces the file at path, atomically and durably.
func (f *Filter) SaveFile(path string) error {
	if err := durable.Save(path, f); err != nil {
		return fmt.Errorf("dcso: saving: %w", err)
	}
	return nil
}

// LoadFile reads a filter from a file.
func LoadFile(path string) (*Filter, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("dcso: loading: %w", err)
	}
	defer file.Close()
	f, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, path)
	}
	return f, nil
}

// Read reads a filter from r, to its end. It takes memory as data arrives.
func Read(r io.Reader) (*Filter, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	head, err := in.Peek(headerSize)
	if err != nil {
		return nil, readError(err)
	}
	if !Is(head) {
		return nil, invalid("it starts with % x, not with a 1 of 64 bits", head[:8])
	}
	get := func(i int) uint64 { return binary.LittleEndian.Uint64(head[8*i:]) }
	f := &Filter{n: get(1), p: math.Float64frombits(get(2)), k: get(3), m: get(4), keys: get(5)}
	switch {
	case !(f.p > 0 && f.p < 1):
		return nil, invalid("p = %v is outside (0, 1)", f.p)
	case f.k < 1 || f.k > maxK:
		return nil, invalid("k = %d is outside [1, %d]", f.k, maxK)
	case f.m < 1 || f.m > maxM:
		return nil, invalid("m = %d is outside [1, %d]", f.m, uint64(maxM))
	}
	in.Discard(headerSize)
	words := (f.m + 63) / 64
	f.bits = make([]uint64, 0, min(words, 1<<14))
	buf := make([]byte, 64<<10)
	for left := words; left > 0; {
		chunk := buf[:8*min(left, uint64(len(buf)/8))]
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, readError(err)
		}
		if have := uint64(len(f.bits)); have == uint64(cap(f.bits)) {
			f.bits = append(make([]uint64, 0, min(words, 4*have)), f.bits...)
		}
		for ; len(chunk) > 0; chunk = chunk[8:] {
			f.bits = append(f.bits, binary.LittleEndian.Uint64(chunk))
			left--
		}
	}
	if rest := f.m % 64; rest > 0 && f.bits[words-1]>>rest != 0 {
		return nil, invalid("bits beyond m = %d are set", f.m)
	}
	if f.data, err = io.ReadAll(in); err != nil {
		return nil, readError(err)
	}
	return f, nil
}

// invalid returns an error that wraps bloom.ErrFormat.
func invalid(format string, args ...any) error { return &formatError{fmt.Errorf(format, args...)} }

type formatError struct{ cause error }

func (e *formatError) Error() string   { return "dcso: invalid format: " + e.cause.Error() }
func (e *formatError) Unwrap() []error { return []error{bloom.ErrFormat, e.cause} }

// readError returns the error for a reader that failed. One that ended too early had bytes of
// the wrong format.
func readError(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return invalid("truncated: %w", err)
	}
	return fmt.Errorf("dcso: reading: %w", err)
}
