package bloom_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/seed79a3ff49/bloom"
)

// keyedSum is a 128-bit hash that cannot be predicted without secret:
// HMAC-SHA-256, truncated. SipHash-128 would serve as well, and faster.
func keyedSum(secret []byte, key string) bloom.Hash {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(key))
	d := mac.Sum(nil)
	return bloom.Hash{
		H1: binary.LittleEndian.Uint64(d),
		H2: binary.LittleEndian.Uint64(d[8:]),
	}
}

// Murmur3 has no secret: keys that collide are computed in no time, such as the
// two here. That matters where keys come from people who gain by a false
// positive: who want a message dropped as seen, or a rival's address reported
// as blocked. A keyed hash leaves them nothing but trying keys one by one, at
// the filter's own rate, for as long as the secret is kept.
//
// The price is a slower hash, and Java: Guava reads and merges such a filter,
// but finds no key in it, for it cannot be given another hash. The secret must
// be kept with the filter, and another secret makes another filter.
func ExampleFilter_AddHash() {
	const (
		victim = "https://example.org/victims.html"
		forged = "https://attacker\xd5(\xcb\x17\xf9\x13.\x19\xec\b\x14\x98i\xf0\x80\xcd"
	)
	plain := bloom.Must(bloom.New(1000, 1e-6))
	plain.AddString(forged)
	fmt.Println("Murmur3 finds", victim, plain.ContainsString(victim))

	secret := make([]byte, 32)
	rand.Read(secret)
	keyed := bloom.Must(bloom.New(1000, 1e-6))
	keyed.AddHash(keyedSum(secret, forged))
	fmt.Println("HMAC finds", victim, keyed.ContainsHash(keyedSum(secret, victim)))
	fmt.Println("HMAC finds what was added", keyed.ContainsHash(keyedSum(secret, forged)))

	// Output:
	// Murmur3 finds https://example.org/victims.html true
	// HMAC finds https://example.org/victims.html false
	// HMAC finds what was added true
}
