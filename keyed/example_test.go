package keyed_test

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/keyed"
)

// The two keys here have the same Murmur3 digest. An adversary who gains from a false positive can
// compute such keys in no time, for example to get a message dropped as seen, or to get a rival's
// address reported as blocked.
func Example() {
	const (
		victim = "https://example.org/victims.html"
		forged = "https://attacker\xd5(\xcb\x17\xf9\x13.\x19\xec\b\x14\x98i\xf0\x80\xcd"
	)
	f := bloom.Must(bloom.New(1000, 1e-6))
	f.AddString(forged)
	fmt.Println("Murmur3 finds the victim:", f.ContainsString(victim))

	secret := make([]byte, keyed.SecretSize)
	rand.Read(secret) // once; then keep it
	h := bloom.Must(keyed.New(secret))
	f = bloom.Must(bloom.New(1000, 1e-6))
	f.AddHash(h.SumString(forged))
	fmt.Println("SipHash finds the victim:", f.ContainsHash(h.SumString(victim)))
	fmt.Println("SipHash finds what was added:", f.ContainsHash(h.SumString(forged)))
	// Output:
	// Murmur3 finds the victim: true
	// SipHash finds the victim: false
	// SipHash finds what was added: true
}

// A filter that is loaded with the wrong secret would find none of its keys. Mark the new
// filter, and check it wherever it is loaded.
func ExampleHasher_Check() {
	ours := bloom.Must(keyed.New([]byte("0123456789abcdef")))
	f := bloom.Must(bloom.New(1000, 1e-6))
	ours.Mark(f)
	f.AddHash(ours.SumString("alice"))
	saved := bloom.Must(f.MarshalBinary())

	var loaded bloom.Filter
	if err := loaded.UnmarshalBinary(saved); err != nil {
		panic(err)
	}
	fmt.Println(ours.Check(&loaded))
	theirs := bloom.Must(keyed.New([]byte("fedcba9876543210")))
	fmt.Println(theirs.Check(&loaded))
	fmt.Println(loaded.ContainsHash(theirs.SumString("alice")))
	// Output:
	// <nil>
	// keyed: the filter was not marked with this secret
	// false
}

// In a key of several strings, each string follows its length. Without the lengths, ("ab", "c") and
// ("a", "bc") would be one key, and an adversary could choose such pairs.
func ExampleHasher_Sum_fields() {
	h := bloom.Must(keyed.New([]byte("0123456789abcdef")))
	sum := func(tenant, user string) bloom.Hash {
		key := make([]byte, 0, 64)
		for _, field := range []string{tenant, user} {
			key = binary.AppendUvarint(key, uint64(len(field)))
			key = append(key, field...)
		}
		return h.Sum(key)
	}
	f := bloom.Must(bloom.New(1000, 1e-6))
	f.AddHash(sum("ab", "c"))
	fmt.Println(f.ContainsHash(sum("ab", "c")), f.ContainsHash(sum("a", "bc")))
	// Output: true false
}
