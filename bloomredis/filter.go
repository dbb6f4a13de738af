package bloomredis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

const maxSize = 512 << 20 // bytes in a Redis string

// ErrLost is wrapped by every error that means that a key no longer holds what
// was opened: it was deleted, evicted, cut, overwritten or created anew, or the
// server came back without it. A lost filter never reports a key as "absent".
//
// A [Filter] or [Sharded] stays lost until Reopen, because a new one lacks the keys of the
// old one. Whoever calls Reopen adds them again. A [Window] goes on by itself.
var ErrLost = errors.New("bloomredis: the filter that was opened is lost")

// Filter is a filter in Redis. Its methods may be called by many goroutines at
// once, and any number of processes may share the key.
//
// Every call ends when its context does, even if the client was made without
// ContextTimeoutEnabled. A server that refuses a call for now, as it is loading or
// moving keys, or busy with somebody's script, is asked again for some four seconds.
type Filter struct {
	_ [0]func() // not comparable
	keyMethods
	caller
	stream string
	ident  string // the key beside that holds the identity
	params header
	keep   uint64                  // entries of the stream that are not trimmed
	make   *kept                   // with a new filter; nil if none is made
	shards int                     // of which it is one
	id     *atomic.Pointer[string] // of the filter that was opened
}

// Open returns the filter under key, for n expected keys at false-positive rate
// p as in [bloom.New]. If there is no such key, Open creates the filter. Of
// processes that race, one creates it and all use it. If there is a filter of
// other parameters, the error wraps [bloom.ErrMismatch]. If there is any other
// value, the error wraps [bloom.ErrFormat], and [bloom.ErrVersion] if a newer version of
// this package made it. Each is left as it is.
//
// A Redis string holds 512 MB, which is the filter of some 448 million keys at
// 1 %. For more see [Sharded]. Redis serves nobody else while it clears the
// memory of a new filter, which takes the longer the larger it is.
//
// On a cluster the part of key in braces, if any, decides its hash slot, as
// always. A key with a closing brace but without such a part is an error.
func Open(ctx context.Context, client redis.UniversalClient, key string, n uint64, p float64) (*Filter, error) {
	return openShard(ctx, client, key, n, p, 0)
}

// openShard is Open of a shard of so many, or of a filter that is none.
func openShard(ctx context.Context, client redis.UniversalClient, key string, n uint64, p float64, shards int) (*Filter, error) {
	params, err := paramsFor(n, p)
	if err != nil {
		return nil, err
	}
	return open(ctx, client, key, params, &kept{bloom.Info{N: n, P: p}, shards})
}

// OpenExisting returns the filter under key, whatever its parameters are. The
// error wraps [redis.Nil] if there is no such key, and [bloom.ErrFormat] if it
// holds anything but a filter. OpenExisting only reads.
func OpenExisting(ctx context.Context, client redis.UniversalClient, key string) (*Filter, error) {
	return open(ctx, client, key, header{}, nil)
}

func open(ctx context.Context, client redis.UniversalClient, key string, params header, make *kept) (*Filter, error) {
	f := &Filter{caller: caller{client, key}, params: params, make: make, id: new(atomic.Pointer[string])}
	f.in = f
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

// Reopen goes on with the filter that is under the key by now, or makes a new one as
// [Open] did. Until then all calls of a filter that was lost return errors that wrap [ErrLost].
// A new filter contains nothing: Reopen is for whoever adds the keys again, from
// where they are kept. It changes nothing if the filter is not lost.
//
// If the key holds anything else by now, Reopen returns an error as Open does, and f stays
// lost. If f is of [OpenExisting], Reopen makes no filter, and its error wraps [redis.Nil]
// where there is none.
func (f *Filter) Reopen(ctx context.Context) error {
	is, err := f.look(ctx)
	if err == nil && is.kind == "none" {
		is, err = f.create(ctx)
	}
	if err != nil {
		return err
	}
	h, ok := parseHeader(is.header)
	switch {
	case is.kind != "string":
		return f.errorf("%w: it holds a %s", bloom.ErrFormat, is.kind)
	case !ok || h.size() != is.size:
		return f.errorf("%w: %s", bloom.ErrFormat, unlike(is.header, is.size))
	case h.strategy != bloom.Mitz64:
		return f.errorf("%w: it holds a filter of %v, want Mitz64", bloom.ErrMismatch, h)
	case f.params != header{} && f.params != h:
		return f.errorf("%w: it holds a filter of %v, want %v", bloom.ErrMismatch, h, f.params)
	}
	i, err := f.parseIdentity(is.identity)
	if err != nil {
		return err
	}
	if f.make != nil && i.Shards != f.make.Shards {
		return f.errorf("%w: it is one of %d shards, want %d", bloom.ErrMismatch, i.Shards, f.make.Shards)
	}
	if f.keep == 0 { // it is being opened
		f.params, f.shards, f.keep = h, i.Shards, max(1024, h.m()/512)
	}
	f.id.Store(&i.id)
	return nil
}

// create makes a filter where there is none, and returns what there is afterwards.
func (f *Filter) create(ctx context.Context) (is found, err error) {
	if f.make == nil {
		return is, f.errorf("there is no filter: %w", redis.Nil)
	}
	name := identityMark + nonce() + f.make.text()
	c := &call{keys: f.keys(), args: []any{f.params.bytes(), f.params.size(), name, nonce()}}
	if err := f.run(ctx, openScript, c); err != nil {
		return is, err
	}
	if !scan(c.reply, &is.kind, &is.header, &is.size, &is.identity) {
		return is, f.errorf("unexpected reply %v", c.reply)
	}
	return is, nil
}

// paramsFor returns the parameters of the filter that bloom.New makes of n and p.
func paramsFor(n uint64, p float64) (header, error) {
	m, k, err := bloom.Size(n, p)
	switch {
	case n == 0:
		return header{}, errors.New("bloomredis: n = 0 is not at least 1")
	case err != nil:
		return header{}, fmt.Errorf("bloomredis: %s", strings.TrimPrefix(err.Error(), "bloom: "))
	case m > (maxSize-headerSize)/8*64:
		return header{}, fmt.Errorf("bloomredis: n = %d, p = %v need m = %d bits, but a Redis string holds %d bytes: use OpenSharded, or more shards", n, p, m, maxSize)
	}
	return header{bloom.Mitz64, k, m / 64}, nil
}

func checkRate(name string, p float64) error {
	if !(p > 0 && p < 1) {
		return fmt.Errorf("bloomredis: %s = %v is outside (0, 1)", name, p)
	}
	return nil
}

// keys returns what scripts know as KEYS[1], KEYS[2] and KEYS[3].
func (f *Filter) keys() []string { return []string{f.key, f.stream, f.ident} }

// opened returns the id of the filter that was opened.
func (f *Filter) opened() string {
	f.store() // panics if Open was forgotten
	return *f.id.Load()
}

// M returns the number of bits, a multiple of 64.
func (f *Filter) M() uint64 { return f.params.m() }

// K returns the number of hashes, which is how many bits a key sets.
func (f *Filter) K() int { return f.params.k }

// SizeBytes returns the length of the string under the key. The stream beside
// it takes up to about half as much more.
func (f *Filter) SizeBytes() int64 { return f.params.size() }

// String names the key and the parameters. It asks no server.
func (f *Filter) String() string { return fmt.Sprintf("bloomredis.Filter(%q, %v)", f.key, f.params) }

// Info returns what the filter was made for, as Redis keeps it: n and p of the [Open] that
// created it, and what SetInfo and Merge added. It is zero for a filter that others created.
func (f *Filter) Info(ctx context.Context) (bloom.Info, error) {
	is, err := f.readWhole(ctx, f.opened())
	if err != nil {
		return bloom.Info{}, err
	}
	i, err := f.parseIdentity(is.identity)
	return i.Info, err
}

// SetInfo adds the fields of info that are not zero to what Redis keeps with the filter, for
// all processes. It returns an error that wraps [bloom.ErrMismatch], and changes nothing, if
// the filter has another N, P or Hash. So processes that hash keys in different ways
// find out when each calls SetInfo after Open.
func (f *Filter) SetInfo(ctx context.Context, info bloom.Info) error {
	if !(info.P >= 0 && info.P < 1) {
		return f.errorf("P = %v is outside [0, 1)", info.P)
	}
	for {
		is, err := f.readWhole(ctx, f.opened())
		if err != nil {
			return err
		}
		i, err := f.parseIdentity(is.identity)
		if err != nil {
			return err
		}
		old := is.identity[min(len(is.identity), len(identityMark)+16):]
		if !fits(&i.N, info.N) || !fits(&i.P, info.P) || !fits(&i.Hash, info.Hash) {
			return f.errorf("%w: its Info is %+v, want %+v", bloom.ErrMismatch, i.Info, info)
		}
		i.Comment = cmp.Or(info.Comment, i.Comment)
		if answer, err := f.change(ctx, infoScript, f.keys(), old, i.text()); err != nil || answer == "OK" {
			return err
		}
	}
}

// fits reports whether wants is zero or has, and sets a has that is zero.
func fits[T comparable](has *T, wants T) bool {
	*has = cmp.Or(*has, wants)
	return wants == *has || wants == *new(T)
}

// found is what is under a key.
type found struct {
	kind     string
	header   string // the first bytes
	size     int64
	identity string // what the key beside it holds
}

// look returns what is under the key.
func (f *Filter) look(ctx context.Context) (found, error) {
	kind := redis.NewStatusCmd(ctx, "TYPE", f.key)
	if err := f.read(ctx, kind); err != nil {
		return found{}, err
	}
	if kind.Val() != "string" {
		return found{kind: kind.Val()}, nil
	}
	return f.sealed(ctx)
}

// unlike says what a string of size bytes is that is not what was expected.
func unlike(begins string, size int64) string {
	header := begins[:min(headerSize, len(begins))]
	switch h, ok := parseHeader(header); {
	case ok && h.size() == size:
		return fmt.Sprintf("it holds a filter of %v", h)
	case header == windowName[:headerSize]:
		return "it holds a window, see OpenWindow and DeleteWindow"
	}
	return fmt.Sprintf("it holds neither a filter nor a window but %d bytes that start % x", size, header)
}

// sealed sends commands that read the string, and behind them those whose answers say
// what the string is: a filter that is lost later has given right answers.
func (f *Filter) sealed(ctx context.Context, cmds ...redis.Cmder) (found, error) {
	header := redis.NewStringCmd(ctx, "GETRANGE", f.key, 0, headerSize-1)
	size := redis.NewIntCmd(ctx, "STRLEN", f.key)
	name := redis.NewStringCmd(ctx, "GETRANGE", f.ident, 0, -1) // GET of no key is an error of the client
	if err := f.read(ctx, append(cmds, header, size, name)...); err != nil {
		return found{}, err
	}
	return found{"string", header.Val(), size.Val(), name.Val()}, nil
}

// readWhole sends commands that read the string. It returns an error if the string is no
// longer the filter with an id, or with any id if that is empty, all of it.
func (f *Filter) readWhole(ctx context.Context, id string, cmds ...redis.Cmder) (found, error) {
	is, err := f.sealed(ctx, cmds...)
	if err != nil {
		return is, err
	}
	return is, f.lost(is, id)
}

// lost returns an error unless what was found is the filter with an id, or with any.
func (f *Filter) lost(is found, id string) error {
	same, whole := is.header == f.params.bytes(), is.size == f.params.size()
	switch {
	case same && whole && (id == "" || id == idIn(is.identity)):
		return nil
	case is.size == 0:
		return f.errorf("%w: it holds nothing", ErrLost)
	case same && whole:
		return f.errorf("%w: the filter was created anew", ErrLost)
	case same:
		return f.errorf("%w: it holds %d bytes of a filter of %d", ErrLost, is.size, f.params.size())
	}
	return f.errorf("%w: %s, not the filter of %v", ErrLost, unlike(is.header, is.size), f.params)
}
