// Package keyed hashes keys with a secret. It is for filters in which an adversary may choose keys.
//
// The Sum functions of package bloom compute Murmur3, which has no secret. An adversary can make
// millions of keys a second that share a digest, or that set so few bits of a filter that it
// reports them as present far more often than other keys. A [Hasher] computes SipHash-2-4 with a
// 128-bit digest (Aumasson and Bernstein, SipHash: a fast short-input PRF, 2012). Without the
// secret, an adversary can only try keys at random.
//
//	h, err := keyed.New(secret)
//	if err != nil {
//		return err
//	}
//	seen, err := bloom.New(1_000_000, 0.01)
//	if err != nil {
//		return err
//	}
//	h.Mark(seen)
//	seen.AddHash(h.SumString("ada"))
//
// The secret is 16 bytes long. The digests are for the methods of any filter that take a Hash, such
// as AddHash and ContainsHash. If a key has several fields, hash each with its length; see the
// example. Java's Funnels cannot compute these digests.
//
// Except for false positives, keys that were added with one secret are not found with another. If
// [Hasher.Mark] was called for the new filter, [Hasher.Check] can recognize a wrong secret.
package keyed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"unsafe" // to hash the bytes of a string without copying them

	"github.com/dchest/siphash"

	"github.com/seed79a3ff49/bloom"
)

// SecretSize is the length of a secret in bytes.
const SecretSize = 16

// ErrSecret is wrapped by the error of [Hasher.Check].
var ErrSecret = errors.New("keyed: the filter was not marked with this secret")

// Hasher hashes keys with a secret. Many goroutines may use a Hasher. A Hasher must be made with
// [New]: the zero Hasher panics when it hashes. Packages fmt, log/slog and encoding/json do not
// print the secret.
type Hasher struct {
	secret func() (k0, k1 uint64) // a function, so that code that prints all fields cannot print it
}

// New returns a Hasher with the given secret, which should be random, such as 16 bytes from
// crypto/rand. Store the secret where only the users of the filter can read it. New returns an
// error unless secret is [SecretSize] bytes long. It does not retain secret.
func New(secret []byte) (*Hasher, error) {
	if len(secret) != SecretSize {
		return nil, &bloom.ParamError{
			Package: "keyed", Param: "len(secret)", Value: len(secret),
			Bound: fmt.Sprintf("not %d", SecretSize),
		}
	}
	k0, k1 := binary.LittleEndian.Uint64(secret), binary.LittleEndian.Uint64(secret[8:])
	return &Hasher{func() (uint64, uint64) { return k0, k1 }}, nil
}

// Format implements fmt.Formatter. It writes "keyed.Hasher".
func (h Hasher) Format(f fmt.State, _ rune) { io.WriteString(f, "keyed.Hasher") }

// LogValue implements slog.LogValuer. It returns "keyed.Hasher".
func (h Hasher) LogValue() slog.Value { return slog.StringValue("keyed.Hasher") }

// Sum returns the digest of key. With the same secret, the digest is the same on every platform and
// in every version of this package. Sum does not retain key.
func (h *Hasher) Sum(key []byte) bloom.Hash {
	if h.secret == nil {
		panic("keyed: use of a zero Hasher: make it with New")
	}
	k0, k1 := h.secret()
	return bloom.NewHash(siphash.Hash128(k0, k1, key))
}

// SumString is like Sum.
func (h *Hasher) SumString(key string) bloom.Hash {
	return h.Sum(unsafe.Slice(unsafe.StringData(key), len(key)))
}

const marks = 8

func (h *Hasher) mark(i int) bloom.Hash {
	return h.SumString("github.com/seed79a3ff49/bloom/keyed: mark").Salt(uint64(i))
}

// Mark adds 8 keys to a new filter, so that [Hasher.Check] can recognize the secret. Make the
// filter large enough for 8 more keys. A filter that forgets keys, such as a window.Filter, also
// forgets these.
func (h *Hasher) Mark(set bloom.Set) {
	for i := range marks {
		set.AddHash(h.mark(i))
	}
}

// Check returns nil if set contains the keys that [Hasher.Mark] adds, and otherwise an error that
// wraps [ErrSecret]. It misses a wrong secret with a probability of about p^8, where p is the set's
// false-positive rate.
func (h *Hasher) Check(set bloom.Set) error {
	for i := range marks {
		if !set.ContainsHash(h.mark(i)) {
			return ErrSecret
		}
	}
	return nil
}
