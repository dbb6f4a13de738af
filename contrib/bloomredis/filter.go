package bloomredis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

const (
	maxSize = 512 << 20 // the largest size of a Redis string, in bytes
	// chunk is the largest number of keys in a command or a script. With 256 keys, other clients
	// waited twice as long, and a batch was no faster.
	chunk = 128
	// tripBits is the largest number of bits that a Filter reads or sets in one round trip. It
	// limits memory and time: the client's ReadTimeout covers a whole round trip.
	tripBits = 1 << 17
	// counted is the largest number of bytes for one BITCOUNT. Redis serves other clients between
	// commands.
	counted = 4 << 20
)

// ErrLost is wrapped by the errors of calls that no longer find the filter that was opened: it was
// deleted, evicted, truncated, overwritten or replaced, or the server restarted without it. A lost
// filter never reports a key as absent. A loss goes unnoticed if a client puts another filter with
// the same parameters under the key, by SET, RENAME or RESTORE.
//
// A [Filter] or [Sharded] stays lost until Reopen is called, because a new filter lacks the keys of
// the old one. A [Window] starts over on its own.
var ErrLost = errors.New("bloomredis: the filter that was opened is lost")

// Filter is a filter in Redis. Many goroutines may call its methods, and any number of processes
// may share the key.
//
// Every call returns when its context ends, even if the client was made without
// ContextTimeoutEnabled. If a server refuses a call because it is loading, moving keys or running a
// long script, the call is retried for about four seconds.
//
// A Filter is one Redis string in the binary form of Google Guava: Java's BloomFilter.readFrom
// reads the value of its key. Guava's bit i is Redis's bit 48 + (i XOR 63). A filter "seen" also
// uses the keys "adds:{seen}" and "id:{seen}", and keys that expire for AddOnce and Merge, all in
// the same hash slot. Set no expiry on filters, and choose a maxmemory-policy that does not evict
// keys without an expiry; windows need noeviction.
type Filter struct {
	_ [0]func() // not comparable
	keyMethods
	caller
	stream  string // the key of the stream
	ident   string // the key of the identity
	params  header
	keep    uint64                  // the smallest number of entries to keep in the stream
	initial *record                 // what Redis keeps with a new filter; nil if f must not create one
	shards  int                     // if f is a shard, the number of shards; else 0
	id      *atomic.Pointer[string] // the id of the filter that was opened
}

// Open returns the filter under key, for n expected keys at a false-positive rate of p, with the
// parameters that [bloom.New] chooses. If there is no such key, Open creates the filter. If several
// processes race, one of them creates it, and all use it. If the key holds a filter with different
// parameters, the error wraps [bloom.ErrMismatch]. If it holds any other value, the error wraps
// [bloom.ErrFormat], and also [bloom.ErrVersion] if a newer version of this package wrote the
// value. Open never changes such a value.
//
// A Redis string is at most 512 MB, enough for about 448 million keys at 1 %. For more keys see
// [Sharded]. While Redis clears the memory of a new filter, in time proportional to the size, it
// serves no other client.
//
// On a cluster, if a part of key is in braces, that part alone decides the hash slot, as usual.
// Open refuses an empty key, and one that has a closing brace but no such part.
//
// The client must not read from replicas of the server: they lag, so a key that was just added is
// absent there. Open and the other constructors refuse a client with the ReadOnly, RouteByLatency
// or RouteRandomly option. They also refuse a client if its server is a replica at that time, for
// example because of ReplicaOnly. They cannot detect a replica that refuses the command HELLO, a
// server that becomes a replica later, a Dialer or ClusterSlots that leads to replicas, or the
// options of a client inside a wrapper that has no Options method, such as an AutoPipeliner.
func Open(
	ctx context.Context, client redis.UniversalClient, key string, n uint64, p float64,
) (*Filter, error) {
	params, err := paramsFor(n, p)
	if err != nil {
		return nil, err
	}
	if err := (caller{client, key}).readsMasters(ctx); err != nil {
		return nil, err
	}
	return open(ctx, client, key, params, &record{bloom.Info{N: n, P: p}, 0})
}

// OpenExisting returns the filter under key, whatever its M and K. The error wraps [redis.Nil] if
// there is no such key, [bloom.ErrFormat] if the key holds something other than a filter, and
// [bloom.ErrMismatch] if the filter's Strategy is not [bloom.Mitz64]. OpenExisting only reads.
func OpenExisting(ctx context.Context, client redis.UniversalClient, key string) (*Filter, error) {
	if err := (caller{client, key}).readsMasters(ctx); err != nil {
		return nil, err
	}
	return open(ctx, client, key, header{}, nil)
}

func open(
	ctx context.Context, client redis.UniversalClient, key string, params header, initial *record,
) (*Filter, error) {
	f := &Filter{
		caller:  caller{client, key},
		params:  params,
		initial: initial,
		id:      new(atomic.Pointer[string]),
	}
	f.impl = f
	var err error
	if f.stream, err = f.beside("adds"); err != nil {
		return nil, err
	}
	if f.ident, err = f.beside("id"); err != nil {
		return nil, err
	}
	if err := f.Reopen(ctx); err != nil {
		return nil, err
	}
	return f, nil
}

// Reopen opens the filter that is now under the key, or creates one as [Open] does. Until Reopen is
// called, calls of Add and Contains on a lost filter return errors that wrap [ErrLost]. A new
// filter contains nothing: the caller must add the keys again. If only the small identity key is
// gone, the filter keeps its keys; Reopen restores the identity, unless [OpenExisting] returned f.
// Reopen changes nothing if the filter is not lost.
//
// If the key now holds something else, Reopen returns an error as Open does, and f stays lost. If
// [OpenExisting] returned f, Reopen creates nothing; if the key is missing, the error wraps
// [redis.Nil].
func (f *Filter) Reopen(ctx context.Context) error {
	kind := redis.NewStatusCmd(ctx, "TYPE", f.key)
	stored, err := f.sealed(ctx, kind)
	if err == nil && (kind.Val() == "none" || f.lacksIdentity(stored)) {
		stored, err = f.create(ctx)
	}
	if err != nil {
		return f.noString(err)
	}
	h, ok := parseHeader(stored.header)
	switch {
	case !ok || h.size() != stored.size:
		return f.unlike(stored.header, stored.size)
	case h.strategy != bloom.Mitz64:
		return f.errorf("%w: it holds a filter of %v, want Mitz64", bloom.ErrMismatch, h)
	case f.params != header{} && f.params != h:
		return f.errorf("%w: it holds a filter of %v, want %v", bloom.ErrMismatch, h, f.params)
	}
	i, err := f.parseIdentity(stored.identity)
	if err != nil {
		return err
	}
	if f.initial != nil && i.Shards != f.initial.Shards {
		return f.errorf("%w: it is one of %d shards, want %d",
			bloom.ErrMismatch, i.Shards, f.initial.Shards)
	}
	if f.keep == 0 { // called by open
		f.params, f.shards, f.keep = h, i.Shards, max(1024, h.m()/512)
	}
	f.id.Store(&i.id)
	return nil
}

// lacksIdentity reports whether f must restore its filter's identity. A filter that another program
// created may have none, but a shard needs one.
func (f *Filter) lacksIdentity(stored content) bool {
	if f.initial == nil || stored.identity != "" || stored.header != f.params.bytes() {
		return false
	}
	known := f.id.Load()
	return f.initial.Shards > 0 || known != nil && *known != noID
}

// create creates the missing filter or identity, and returns what Redis holds afterwards.
func (f *Filter) create(ctx context.Context) (stored content, err error) {
	if f.initial == nil {
		return stored, f.errorf("there is no filter: %w", redis.Nil)
	}
	name := identityMark + nonce() + f.initial.text()
	c := &call{keys: f.keys(), args: []any{f.params.bytes(), f.params.size(), name, nonce()}}
	if err := f.run(ctx, openScript, c); err != nil {
		return stored, err
	}
	if !scan(c.reply, &stored.header, &stored.size, &stored.identity) {
		return stored, f.errorf("unexpected reply %v", c.reply)
	}
	return stored, nil
}

// keys returns the first three KEYS of the scripts for f.
func (f *Filter) keys() []string { return []string{f.key, f.stream, f.ident} }

func (f *Filter) opened() string {
	f.store() // panics if Open was forgotten
	return *f.id.Load()
}

// M returns the number of bits, a multiple of 64.
func (f *Filter) M() uint64 { return f.params.m() }

// K returns the number of hash functions. A key sets at most K bits.
func (f *Filter) K() int { return f.params.k }

// SizeBytes returns the length of the string under the key. If that is 64 KB or more, the stream of
// [Filter.Source] needs up to about two thirds as much memory as the string.
func (f *Filter) SizeBytes() int64 { return f.params.size() }

// String names the key and the parameters. It sends no command.
func (f *Filter) String() string {
	return fmt.Sprintf("bloomredis.Filter(%q, %v)", f.key, f.params)
}

// Info returns the Info that Redis keeps with the filter: the N and P that [Open] created the
// filter for, and what UpdateInfo and Merge changed. It is zero at first for a filter that another
// program created.
func (f *Filter) Info(ctx context.Context) (bloom.Info, error) {
	i, err := f.readWhole(ctx, f.opened())
	return i.Info, err
}

// UpdateInfo calls update with the Info that Redis keeps, and stores what update changed, for all
// processes. If another process changes the Info at the same time, UpdateInfo calls update again,
// with the new Info.
//
// If update changes N, P or Hash from one nonzero value to another, UpdateInfo changes nothing and
// returns an error that wraps [bloom.ErrMismatch]. Let each process set Hash after Open: a process
// that hashes keys differently then gets an error. UpdateInfo also refuses an Info if its Check
// returns an error.
func (f *Filter) UpdateInfo(ctx context.Context, update func(*bloom.Info)) error {
	now, err := f.readWhole(ctx, f.opened())
	for err == nil {
		before := now
		update(&now.Info)
		if now.Info == before.Info {
			return nil
		}
		if err := now.Info.Check(); err != nil {
			return own(err) // a Snapshot with such an Info could not be saved
		}
		if differs := difference(before.Info, now.Info); differs != "" {
			return f.errorf("%w: its Info has %s", bloom.ErrMismatch, differs)
		}
		var answer string
		answer, err = f.change(ctx, infoScript, f.keys(), before.json, now.text())
		if err != nil || answer == "OK" {
			return err
		}
		now, err = f.parseIdentity(answer) // another process has changed the Info
		if err == nil && now.json == before.json {
			return f.errorf("unexpected reply %q", answer)
		}
	}
	return err
}

// difference describes the first of N, P and Hash that changes from one nonzero value to another.
// It returns "" if there is none.
func difference(before, after bloom.Info) string {
	switch {
	case differ(before.N, after.N):
		return fmt.Sprintf("N = %d, not %d", before.N, after.N)
	case differ(before.P, after.P):
		return fmt.Sprintf("P = %v, not %v", before.P, after.P)
	case differ(before.Hash, after.Hash):
		return fmt.Sprintf("Hash = %q, not %q", before.Hash, after.Hash)
	}
	return ""
}

func differ[T comparable](before, after T) bool {
	zero := *new(T)
	return before != zero && after != zero && before != after
}

type content struct {
	header   string // the first bytes
	size     int64
	identity string // the value of the identity's key
}

// unlike returns the error for an unexpected string that begins with start.
func (c caller) unlike(start string, size int64) error {
	err := new(bloom.Filter).UnmarshalBinary([]byte(start))
	if errors.Is(err, bloom.ErrVersion) {
		return c.errorf("%w: %w: %s", bloom.ErrFormat, bloom.ErrVersion, describe(start, size))
	}
	return c.errorf("%w: %s", bloom.ErrFormat, describe(start, size))
}

func describe(start string, size int64) string {
	header := start[:min(headerSize, len(start))]
	switch h, ok := parseHeader(header); {
	case ok && h.size() == size:
		return fmt.Sprintf("it holds a filter of %v", h)
	case header == windowName[:headerSize]:
		return "it holds a window; see OpenWindow and DeleteWindow"
	}
	return fmt.Sprintf("it holds neither a filter nor a window, but %d bytes that start with % x",
		size, header)
}

// sealed sends cmds, which read the filter's Redis keys, and then reads and returns the header,
// size and identity. If these belong to the filter that was opened, cmds have read that filter.
func (f *Filter) sealed(ctx context.Context, cmds ...redis.Cmder) (content, error) {
	header := redis.NewStringCmd(ctx, "GETRANGE", f.key, 0, headerSize-1)
	size := redis.NewIntCmd(ctx, "STRLEN", f.key)
	// For a missing key, GET would make the client return an error.
	name := redis.NewStringCmd(ctx, "GETRANGE", f.ident, 0, -1)
	if err := f.read(ctx, append(cmds, header, size, name)...); err != nil {
		return content{}, err
	}
	return content{header.Val(), size.Val(), name.Val()}, nil
}

// readWhole sends cmds, which read the filter's Redis keys, and then checks the string as check
// does.
func (f *Filter) readWhole(ctx context.Context, id string, cmds ...redis.Cmder) (identity, error) {
	stored, err := f.sealed(ctx, cmds...)
	if err != nil {
		return identity{}, err
	}
	return f.check(stored, id)
}

// check returns the identity of the stored string. It returns an error unless the string is the
// whole filter and has the given id. If id is empty, any id will do.
func (f *Filter) check(stored content, id string) (identity, error) {
	i, err := f.parseIdentity(stored.identity)
	same, whole := stored.header == f.params.bytes(), stored.size == f.params.size()
	switch {
	case same && whole && (id == "" || id == i.id):
		return i, err
	case stored.size == 0:
		return i, f.errorf("%w: it holds nothing", ErrLost)
	case same && whole:
		return i, f.errorf("%w: the filter was created again", ErrLost)
	case same:
		return i, f.errorf("%w: it holds %d bytes of a filter of %d",
			ErrLost, stored.size, f.params.size())
	}
	other := describe(stored.header, stored.size)
	return i, f.errorf("%w: %s, not the filter of %v", ErrLost, other, f.params)
}

func (f *Filter) change(ctx context.Context, s script, keys []string, args ...any) (string, error) {
	id := f.opened()
	c := &call{keys: keys, args: append([]any{f.params.bytes(), f.params.size(), id}, args...)}
	if err := f.run(ctx, s, c); err != nil {
		return "", err
	}
	return f.answer(c.reply, id)
}

// answer returns a script's reply if it is a string. Otherwise it returns an error; see check.
func (f *Filter) answer(reply any, id string) (string, error) {
	if answer, ok := reply.(string); ok {
		return answer, nil
	}
	var stored content
	if scan(reply, &stored.header, &stored.size, &stored.identity) {
		if _, err := f.check(stored, id); err != nil {
			return "", err
		}
	}
	return "", f.errorf("unexpected reply %v", reply)
}

// offsets appends the offsets of key's bits in the Redis string.
func (h header) offsets(dst []uint64, key bloom.Hash) []uint64 {
	x, step := key.Words()
	for range h.k {
		dst = append(dst, headerSize*8+(x&math.MaxInt64%h.m()^63))
		x += step
	}
	return dst
}

func (f *Filter) addKeys(ctx context.Context, token string, hs []bloom.Hash) ([]bool, error) {
	id := f.opened()
	return batch(hs, tripBits/f.params.k, chunk, onePlace, func(calls []*call) (err error) {
		for _, c := range calls {
			if c.keys, err = f.keysFor(f.keys(), token, c.number); err != nil {
				return err
			}
			var digests []byte
			var offsets []uint64
			for _, h := range c.hs {
				digests, offsets = appendDigest(digests, h), f.params.offsets(offsets, h)
			}
			c.args = []any{f.params.bytes(), f.params.size(), id, f.keep, digests}
			for _, offset := range offsets {
				c.args = append(c.args, offset)
			}
		}
		if err := f.run(ctx, addScript, calls...); err != nil {
			return err
		}
		for _, c := range calls {
			answers, err := f.answer(c.reply, id)
			if err != nil {
				return err
			}
			c.answers = ones(answers)
		}
		return nil
	})
}

func (f *Filter) contains(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	id, k := f.opened(), f.params.k
	return batch(hs, tripBits/k, chunk, onePlace, func(calls []*call) error {
		bits := make([]*redis.IntSliceCmd, len(calls))
		cmds := make([]redis.Cmder, len(calls))
		for i, c := range calls {
			args := []any{"BITFIELD_RO", f.key}
			for _, h := range c.hs {
				for _, offset := range f.params.offsets(nil, h) {
					args = append(args, "GET", "u1", offset)
				}
			}
			bits[i] = redis.NewIntSliceCmd(ctx, args...)
			cmds[i] = bits[i]
		}
		if _, err := f.readWhole(ctx, id, cmds...); err != nil {
			return err
		}
		for i, c := range calls {
			for bits := range slices.Chunk(bits[i].Val(), k) {
				c.answers = append(c.answers, !slices.Contains(bits, 0))
			}
		}
		return nil
	})
}

// Stats has Redis count the filter's bits, in time proportional to the filter's size. Redis serves
// other clients between the commands.
func (f *Filter) Stats(ctx context.Context) (bloom.Stats, error) {
	id := f.opened()
	count := uint64(0)
	for start := int64(headerSize); start < f.params.size(); start += counted {
		cmd := redis.NewIntCmd(ctx, "BITCOUNT", f.key, start, min(start+counted, f.params.size())-1)
		if _, err := f.readWhole(ctx, id, cmd); err != nil {
			return bloom.Stats{}, err
		}
		count += uint64(cmd.Val())
	}
	return bloom.StatsOf(f.M(), f.K(), count), nil
}

// Reset removes all keys, for all processes and replicas. A token of [Filter.AddOnce] that was used
// before Reset counts as new after it.
func (f *Filter) Reset(ctx context.Context) error {
	_, err := f.change(ctx, resetScript, f.keys(), nonce())
	return err
}

// Delete deletes the filter with its stream and identity, for all processes. Their calls then
// return errors that wrap [ErrLost]. Delete returns no error if the filter was deleted before. If
// some of its Redis keys are gone, Delete deletes the others, unless they may belong to another
// filter. If the key holds something else, such as a truncated filter, Delete keeps it and returns
// an error. Uploads of a Merge expire on their own.
func (f *Filter) Delete(ctx context.Context) error {
	_, err := f.change(ctx, deleteScript, f.keys())
	return err
}
