package bloomredis

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed79a3ff49/bloom"
)

// keyMethods has the methods that take keys. Filter, Sharded and Window share them.
type keyMethods struct{ impl store }

type store interface {
	// addKeys adds hs, and reports for each of them whether it was new. token may be empty.
	addKeys(ctx context.Context, token string, hs []bloom.Hash) ([]bool, error)
	contains(ctx context.Context, hs []bloom.Hash) ([]bool, error)
}

func (k *keyMethods) store() store {
	if k.impl == nil {
		panic(errNotOpen)
	}
	return k.impl
}

// Add adds key, usually in one round trip, and reports whether key was new: true means that key was
// certainly new, false that some process probably added it before. If several clients add the same
// new key concurrently, at most one call returns true.
//
// On an error, Add returns false, and the key may have been added or not. Do not repeat the call:
// if the first call arrived, the second returns false, and a job that runs only after true never
// runs. Either continue as if key were new, which may run a job twice, or use AddOnce, which can be
// repeated. The client does not resend an Add that may have arrived, whatever its MaxRetries.
func (k *keyMethods) Add(ctx context.Context, key []byte) (bool, error) {
	return k.AddHash(ctx, bloom.Sum(key))
}

// AddString is like Add.
func (k *keyMethods) AddString(ctx context.Context, key string) (bool, error) {
	return k.AddHash(ctx, bloom.SumString(key))
}

// AddHash is like Add.
func (k *keyMethods) AddHash(ctx context.Context, h bloom.Hash) (bool, error) {
	var added [1]bool
	err := k.AddBatch(ctx, added[:], []bloom.Hash{h})
	return added[0], err
}

// AddBatch adds hs, and sets added[i] to what AddHash would return for hs[i]. A nil added discards
// the results; otherwise AddBatch panics if added is shorter than hs. On an error, AddBatch sets
// all results to false, and any of hs may have been added or not.
//
// One round trip carries up to 131,072/K keys to a Filter (18,724 at a rate of 1 %), and up to
// 8,192 keys to a Window. A Sharded asks its shards in parallel. Redis serves other clients between
// the scripts of a round trip. The client's ReadTimeout must leave time for a whole round trip.
// Keys that the server temporarily refuses are resent after the others.
func (k *keyMethods) AddBatch(ctx context.Context, added []bool, hs []bloom.Hash) error {
	if added != nil {
		checkRoom(added, hs)
		clear(added[:len(hs)])
	}
	answers, err := k.store().addKeys(ctx, "", hs)
	copy(added, answers)
	return err
}

func checkRoom(dst []bool, hs []bloom.Hash) {
	if len(dst) < len(hs) {
		panic(fmt.Sprintf("bloomredis: batch of %d keys with room for %d results", len(hs), len(dst)))
	}
}

// AddOnce is like AddBatch, but can be repeated. For five minutes, a call with the token and the
// keys of an earlier call returns the earlier answer and changes nothing; after that it acts like
// AddBatch. After an error, repeat the call until it succeeds. The client itself does not resend
// it, whatever its MaxRetries.
//
// A token belongs to one caller and one piece of its work: if two callers use the same token, both
// learn that a key is new. A good token is a process's name with a counter. Redis keeps about 150
// bytes for each call, or for every 128 keys of a larger call. If the keys of a call are in several
// shards, or in several strings of a Window, Redis keeps as much for each of these. While a cluster
// moves the key's slot, it refuses AddOnce, which is then retried like any refused call.
func (k *keyMethods) AddOnce(ctx context.Context, token string, hs ...bloom.Hash) ([]bool, error) {
	impl := k.store()
	token, err := tokenOf(token, hs)
	if err != nil {
		return nil, err
	}
	return impl.addKeys(ctx, token, hs)
}

// Contains reports whether key may have been added, by any process. False is certain. On an error,
// Contains returns true. In a full Filter the empty key is often reported as present; see
// [bloom.Sum]. In a Window it is like any other key.
func (k *keyMethods) Contains(ctx context.Context, key []byte) (bool, error) {
	return k.ContainsHash(ctx, bloom.Sum(key))
}

// ContainsString is like Contains.
func (k *keyMethods) ContainsString(ctx context.Context, key string) (bool, error) {
	return k.ContainsHash(ctx, bloom.SumString(key))
}

// ContainsHash is like Contains.
func (k *keyMethods) ContainsHash(ctx context.Context, h bloom.Hash) (bool, error) {
	var found [1]bool
	err := k.ContainsBatch(ctx, found[:], []bloom.Hash{h})
	return found[0], err
}

// ContainsBatch sets found[i] to the result of ContainsHash for hs[i], in as many round trips as
// AddBatch. On an error, it sets all results to true. ContainsBatch panics if found is shorter than
// hs.
func (k *keyMethods) ContainsBatch(ctx context.Context, found []bool, hs []bloom.Hash) error {
	checkRoom(found, hs)
	answers, err := k.store().contains(ctx, hs)
	if err != nil {
		for i := range hs {
			found[i] = true
		}
		return err
	}
	copy(found, answers)
	return nil
}

// batch splits hs into round trips of up to trip keys, and each trip into calls of up to chunk keys
// with the same place. For each trip it runs send, which sets the answers of the calls. batch
// returns all answers in the order of hs.
func batch(
	hs []bloom.Hash, trip, chunk int, place func(bloom.Hash) int, send func([]*call) error,
) ([]bool, error) {
	all := make([]bool, len(hs))
	number := 0
	for first := 0; first < len(hs); first += trip {
		var calls []*call
		open := make(map[int]*call)
		for index := first; index < min(first+trip, len(hs)); index++ {
			p := place(hs[index])
			c := open[p]
			if c == nil || len(c.hs) == chunk {
				c = &call{place: p, number: number}
				open[p], calls = c, append(calls, c)
				number++
			}
			c.hs, c.indexes = append(c.hs, hs[index]), append(c.indexes, index)
		}
		if err := send(calls); err != nil {
			return nil, err
		}
		for _, c := range calls {
			if len(c.answers) != len(c.indexes) {
				return nil, fmt.Errorf("bloomredis: %d answers in reply, want %d",
					len(c.answers), len(c.indexes))
			}
			for i, index := range c.indexes {
				all[index] = c.answers[i]
			}
		}
	}
	return all, nil
}

func onePlace(bloom.Hash) int { return 0 }

func ones(answers string) []bool {
	isOne := make([]bool, len(answers))
	for i := range isOne {
		isOne[i] = answers[i] == '1'
	}
	return isOne
}

// rememberFor is how long a token's key keeps a script's answer. A script writes this key before
// anything else: if the server refuses the write, nothing has changed.
const rememberFor = `'PX', 300000`

// tokenOf returns a hash of the token and the keys.
func tokenOf(token string, hs []bloom.Hash) (string, error) {
	if token == "" {
		return "", errors.New("bloomredis: token is empty")
	}
	// The number of keys comes first, so that the beginning of a token cannot be mistaken for keys.
	b := binary.BigEndian.AppendUint64(nil, uint64(len(hs)))
	for _, h := range hs {
		b = appendDigest(b, h)
	}
	sum := sha256.Sum256(append(b, token...)) // SHA-256, because strangers may choose tokens
	return fmt.Sprintf("%x", sum[:16]), nil
}

func appendDigest(b []byte, h bloom.Hash) []byte {
	h1, h2 := h.Words()
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, h1), h2)
}

// keysFor returns names. If token is not empty, it appends the key under which Redis keeps the
// answer to the call with this number in its batch.
func (c caller) keysFor(names []string, token string, number int) ([]string, error) {
	if token == "" {
		return names, nil
	}
	name, err := c.beside(fmt.Sprintf("once-%s-%d", token, number))
	return append(names, name), err
}
