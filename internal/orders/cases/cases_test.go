//go:build orders

// Package cases has the cases of each type that goroutines share. A case states a promise of a
// comment, and tries it in every order. See .ci/run orders, and CONTRIBUTING.md.
package cases

import (
	"fmt"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/orders"
)

type (
	check   = func() error
	threads = []func()
)

// asked is what all types answer.
type asked interface{ ContainsHash(bloom.Hash) bool }

// needs returns an error unless f contains all keys.
func needs(f asked, hs ...bloom.Hash) error {
	for i, h := range hs {
		if !f.ContainsHash(h) {
			return fmt.Errorf("key %d of %d is lost", i, len(hs))
		}
	}
	return nil
}

// small returns a bloom filter of three words with some keys.
func small(hs ...bloom.Hash) *bloom.Filter {
	f := bloom.Must(bloom.NewSize(192, 3))
	for _, h := range hs {
		f.AddHash(h)
	}
	return f
}

// begin is the time at which the cases begin, in nanoseconds since 1970.
const begin = int64(1_700_000_000_000_000_000)

// clock is a clock that a thread moves. Its readings are points.
type clock struct{ orders.Int64 }

func (c *clock) now() time.Time { return time.Unix(0, c.Load()) }
