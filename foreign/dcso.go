package foreign

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/gunzip"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// DCSO is a filter of github.com/DCSO/bloom in version 1 of its form, such as CIRCL's hashlookup
// file. A DCSO must not be copied.
//
// The original has neither a JSON form nor a text form, so MarshalJSON and MarshalText return an
// error.
type DCSO struct {
	_ nocopy.Locker
	dcso
}

type dcso struct {
	noText
	table
	n     uint64 // number of keys that the filter was made for
	p     float64
	added uint64 // number of keys that were new
	data  []byte // user data after the filter
}

const (
	dcsoHead       = 48
	dcsoPrime      = 18446744073709551557 // the largest prime below 2^64
	dcsoMultiplier = 18446744073709550147 // multiplies a hash to make the next one
)

// NewDCSO returns the filter in data. User data may follow the filter, as DCSO's form allows;
// WriteTo writes it again. If the original's WriteFilter has compressed the bytes with gzip,
// decompress them first.
func NewDCSO(data []byte) (*DCSO, error) {
	f, err := parseDCSO(data)
	if err != nil {
		return nil, decodeError(err)
	}
	return &DCSO{dcso: f}, nil
}

func parseDCSO(data []byte) (dcso, error) {
	if gunzip.Begins(data) {
		return dcso{}, errZipped
	}
	if len(data) < dcsoHead {
		return dcso{}, form.ErrTruncated
	}
	var head [6]uint64
	form.GetWords(head[:], data, form.LittleEndian)
	version, n, k, m, added := head[0], head[1], head[3], head[4], head[5]
	p := math.Float64frombits(head[2])
	if version != 1 {
		return dcso{}, fmt.Errorf("it starts with % x, not with a 64-bit 1", data[:8])
	}
	if !(p > 0 && p < 1) {
		return dcso{}, fmt.Errorf("p = %v is outside (0, 1)", p)
	}
	if err := checkSizes(m, k); err != nil {
		return dcso{}, err
	}
	body := data[dcsoHead:]
	size := wordsFor(m)
	if size > uint64(len(body)/8) {
		return dcso{}, form.ErrTruncated
	}
	words := bitwords.Make(int(size))
	form.GetWords(words, body, form.LittleEndian)
	t, err := newTable(words, m, m, k, int64(len(data)))
	return dcso{table: t, n: n, p: p, added: added, data: bytes.Clone(body[8*size:])}, err
}

// fnv1 returns the same hash as hash/fnv.New64.
func fnv1(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = h*1099511628211 ^ uint64(c)
	}
	return h
}

// Contains reports whether key may have been added. The original calls it Check.
func (f *DCSO) Contains(key []byte) bool { return f.ContainsHash64(fnv1(key)) }

// ContainsString is like Contains. It does not copy key.
func (f *DCSO) ContainsString(key string) bool { return f.Contains(bitwords.BytesOf(key)) }

// ContainsHash64 is like Contains, but takes the 64-bit FNV-1 hash of a key, which hash/fnv.New64
// computes.
func (f *DCSO) ContainsHash64(hash uint64) bool {
	hash %= dcsoPrime
	for range f.k {
		hash = hash * dcsoMultiplier % dcsoPrime
		if !f.isSet(hash) {
			return false
		}
	}
	return f.k != 0
}

// Add adds key. It returns true if key was certainly new, and false if it was probably added
// before.
func (f *DCSO) Add(key []byte) bool { return f.AddHash64(fnv1(key)) }

// AddString is like Add. It does not copy key.
func (f *DCSO) AddString(key string) bool { return f.Add(bitwords.BytesOf(key)) }

// AddHash64 is like Add, but takes the hash of a key; see [DCSO.ContainsHash64].
func (f *DCSO) AddHash64(hash uint64) bool {
	f.checkMade()
	isNew := false
	hash %= dcsoPrime
	for range f.k {
		hash = hash * dcsoMultiplier % dcsoPrime
		isNew = f.set(hash) || isNew
	}
	if isNew {
		f.added++
	}
	return isNew
}

// WriteTo writes f in DCSO's form. It returns an error if f is zero.
func (f *DCSO) WriteTo(w io.Writer) (int64, error) {
	if f.k == 0 {
		return 0, form.NoForm("foreign")
	}
	head := []uint64{1, f.n, math.Float64bits(f.p), uint64(f.k), f.m, f.added}
	first := form.AppendWords(nil, head, form.LittleEndian)
	n, err := form.WriteWords(w, first, f.words, form.LittleEndian)
	if err != nil {
		return n, err
	}
	more, err := form.WriteFull(w, f.data)
	return n + int64(more), err
}

// String returns the name of f's type and its parameters.
func (f dcso) String() string { return f.describe("foreign.DCSO") }

// LogValue implements slog.LogValuer. The value is the result of String.
func (f dcso) LogValue() slog.Value { return slog.StringValue(f.String()) }
