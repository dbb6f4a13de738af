// Package keyed hashes keys with a secret, for filters whose keys an adversary
// chooses.
//
// Murmur3, which the Sum functions of package bloom compute, has no secret. Anybody can
// make millions of keys a second that have the same digest. Anybody can also make keys
// that set few bits, which filters report as present far more often than others. A
// [Hasher] is SipHash-2-4 with a 128-bit digest (Aumasson and Bernstein, SipHash: a
// fast short-input PRF, 2012). Without the secret, nobody can do better than to try
// keys at random.
//
// The caller supplies 16 secret bytes, and passes the digests to AddHash and
// ContainsHash of any filter. A key of several fields needs the length of each; see the
// example. Java cannot look such keys up with its own Funnels. If a
// filter is asked with another secret than it was filled with, it reports its keys as
// absent. [Hasher.Check] notices that, if [Hasher.Mark] marked the filter when it was
// new.
package keyed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe" // a string's bytes, to hash them where they lie

	"github.com/dchest/siphash"

	"github.com/seed79a3ff49/bloom"
)

// SecretSize is the length of a secret in bytes.
const SecretSize = 16

// ErrSecret is wrapped by the error of [Hasher.Check].
var ErrSecret = errors.New("keyed: the filter was not marked with this secret")

// Hasher hashes keys with a secret. Many goroutines may use one at once. Make it with
// [New]: the zero Hasher has a secret that everybody knows.
type Hasher struct{ k0, k1 uint64 }

// New returns a Hasher with the given secret. The secret should be random, such as 16
// bytes of crypto/rand. Store it where only the filter's users can read it. New returns
// an error unless the secret has [SecretSize] bytes. It does not retain secret.
func New(secret []byte) (*Hasher, error) {
	if len(secret) != SecretSize {
		return nil, fmt.Errorf("keyed: a secret of %d bytes, not %d", len(secret), SecretSize)
	}
	return &Hasher{binary.LittleEndian.Uint64(secret), binary.LittleEndian.Uint64(secret[8:])}, nil
}

// Sum returns the digest of key. It is the same for the same secret on every platform
// and in every version of this package. It does not retain key.
func (h *Hasher) Sum(key []byte) bloom.Hash {
	h1, h2 := siphash.Hash128(h.k0, h.k1, key)
	return bloom.NewHash(h1, h2)
}

// SumString is Sum of key's bytes, without copying them.
func (h *Hasher) SumString(key string) bloom.Hash {
	return h.Sum(unsafe.Slice(unsafe.StringData(key), len(key)))
}

// marks is how many keys Mark adds. A filter with a false-positive rate of p passes
// Check with a wrong secret with a probability of p^marks.
const marks = 8

// mark returns the i-th mark.
func (h *Hasher) mark(i int) bloom.Hash {
	return h.SumString("github.com/seed79a3ff49/bloom/keyed: mark").Salt(uint64(i))
}

// Mark adds 8 keys to a new filter, by which Check recognises the secret. They take the
// room of 8 keys. A filter that forgets keys, such as a window.Filter, forgets these, too.
func (h *Hasher) Mark(set bloom.Set) {
	for i := range marks {
		set.AddHash(h.mark(i))
	}
}

// Check returns an error, which wraps [ErrSecret], unless set was marked with h's
// secret. A filter with another mark, or with none, passes with a probability of
// p^8, p being its false-positive rate.
func (h *Hasher) Check(set bloom.Set) error {
	for i := range marks {
		if !set.ContainsHash(h.mark(i)) {
			return ErrSecret
		}
	}
	return nil
}
