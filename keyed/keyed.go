// Package keyed hashes keys with a secret, for filters whose keys an adversary
// chooses.
//
// Murmur3, which the Sum functions of package bloom compute, has no secret. Anybody can
// make millions of keys a second that have the same digest. Anybody can also make keys
// that set few bits. Filters report such keys as present far more often than others. A
// [Hasher] computes SipHash-2-4 with a 128-bit digest (Aumasson and Bernstein, SipHash: a
// fast short-input PRF, 2012). Without the secret one can only try keys at random.
//
// The caller supplies 16 secret bytes, and passes the digests to AddHash and
// ContainsHash of any filter. A key of several fields needs the length of each; see the
// example. Java's Funnels cannot compute these digests.
//
// A filter that is asked with another secret than it was filled with reports its keys as
// absent. [Hasher.Check] notices that, if [Hasher.Mark] marked the filter when it was
// new.
package keyed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"unsafe" // a string's bytes, to hash them where they lie

	"github.com/dchest/siphash"

	"github.com/seed79a3ff49/bloom"
)

// SecretSize is the length of a secret in bytes.
const SecretSize = 16

// ErrSecret is wrapped by the error of [Hasher.Check].
var ErrSecret = errors.New("keyed: the filter was not marked with this secret")

// Hasher hashes keys with a secret. Many goroutines may use one at once. Make it with
// [New]: the zero Hasher panics when it hashes. Packages fmt, log/slog and encoding/json
// write a Hasher without its secret.
type Hasher struct {
	secret func() (k0, k1 uint64) // what prints unexported fields does not look into a function
}

// New returns a Hasher with the given secret. The secret should be random, such as 16
// bytes of crypto/rand. Store it where only the filter's users can read it. New returns
// an error unless the secret has [SecretSize] bytes. It does not retain secret.
func New(secret []byte) (*Hasher, error) {
	if len(secret) != SecretSize {
		return nil, fmt.Errorf("keyed: a secret of %d bytes, not %d", len(secret), SecretSize)
	}
	k0, k1 := binary.LittleEndian.Uint64(secret), binary.LittleEndian.Uint64(secret[8:])
	return &Hasher{func() (uint64, uint64) { return k0, k1 }}, nil
}

// Format implements fmt.Formatter. It writes "keyed.Hasher" whatever the verb is.
func (h Hasher) Format(f fmt.State, _ rune) { io.WriteString(f, "keyed.Hasher") }

// LogValue implements slog.LogValuer. It returns "keyed.Hasher".
func (h Hasher) LogValue() slog.Value { return slog.StringValue("keyed.Hasher") }

// Sum returns the digest of key. It is the same for the same secret on every platform
// and in every version of this package. It does not retain key.
func (h *Hasher) Sum(key []byte) bloom.Hash {
	if h.secret == nil {
		panic("keyed: use of a zero Hasher: make it with New")
	}
	k0, k1 := h.secret()
	return bloom.NewHash(siphash.Hash128(k0, k1, key))
}

// SumString is Sum of key's bytes, without copying them.
func (h *Hasher) SumString(key string) bloom.Hash {
	return h.Sum(unsafe.Slice(unsafe.StringData(key), len(key)))
}

// marks is the number of keys that Mark adds. A filter with a false-positive rate of p passes
// Check of a wrong secret with a probability of p^marks.
const marks = 8

// mark returns the i-th mark.
func (h *Hasher) mark(i int) bloom.Hash {
	return h.SumString("github.com/seed79a3ff49/bloom/keyed: mark").Salt(uint64(i))
}

// Mark adds 8 keys to a new filter, by which [Hasher.Check] recognises the secret. Make the
// filter for 8 keys more. A filter that forgets keys, such as a window.Filter, forgets the
// mark, too.
func (h *Hasher) Mark(set bloom.Set) {
	for i := range marks {
		set.AddHash(h.mark(i))
	}
}

// Check returns an error that wraps [ErrSecret] unless set was marked with h's secret. A
// filter with another mark, or with none, passes with a probability of p^8, where p is the
// filter's false-positive rate.
func (h *Hasher) Check(set bloom.Set) error {
	for i := range marks {
		if !set.ContainsHash(h.mark(i)) {
			return ErrSecret
		}
	}
	return nil
}
