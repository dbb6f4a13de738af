package bloomredis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

const maxSize = 512 << 20 // bytes in a Redis string

// ErrLost is wrapped by every error that means that a key no longer holds what
// was opened: it was deleted, evicted, cut, overwritten or created anew, or the
// server came back without it. A lost filter never reports a key as "absent". To
// go on with what is there now, open the key again. If that returns an error, the key
// holds something else, and has to be deleted first; see [DeleteWindow].
var ErrLost = errors.New("bloomredis: the filter that was opened is lost")

// Filter is a filter in Redis. Its methods may be called by many goroutines at
// once, and any number of processes may share the key.
//
// Every call ends when its context does, even if the client was made without
// ContextTimeoutEnabled. A server that refuses a call for now, as it is loading or
// moving keys, is asked again for some four seconds.
type Filter struct {
	keyMethods
	caller
	stream string
	ident  string // the key beside that holds id
	id     string // given to the filter when it was created; empty if others created it
	params header
	keep   uint64 // entries of the stream that are not trimmed
}

// Open returns the filter under key, for n expected keys at false-positive rate
// p as in [bloom.New]. If there is no such key, Open creates the filter. Of
// processes that race, one creates it and all use it. If there is a filter of
// other parameters, the error wraps [bloom.ErrMismatch]. If there is any other
// value, the error wraps [bloom.ErrFormat]. Either is left as it is.
//
// A Redis string holds 512 MB, which is the filter of some 448 million keys at
// 1 %. For more see [Sharded]. Redis serves nobody else while it clears the
// memory of a new filter, which takes the longer the larger it is.
//
// On a cluster the part of key in braces, if any, decides its hash slot, as
// always. A key with a closing brace but without such a part is an error.
func Open(ctx context.Context, client redis.UniversalClient, key string, n uint64, p float64) (*Filter, error) {
	params, err := paramsFor(n, p)
	if err != nil {
		return nil, err
	}
	create := func(f *Filter) (found, error) {
		var is found
		c := &call{keys: f.keys(), args: []any{params.bytes(), params.size(), nonce()}}
		if err := f.run(ctx, openScript, c); err != nil {
			return is, err
		}
		if !scan(c.reply, &is.kind, &is.header, &is.size, &is.id) {
			return is, f.errorf("unexpected reply %v", c.reply)
		}
		return is, nil
	}
	f, err := open(ctx, client, key, create)
	if err != nil {
		return nil, err
	}
	if f.params != params {
		return nil, f.errorf("%w: it holds a filter of %v, want %v", bloom.ErrMismatch, f.params, params)
	}
	return f, nil
}

// OpenExisting returns the filter under key, whatever its parameters are. The
// error wraps [redis.Nil] if there is no such key, and [bloom.ErrFormat] if it
// holds anything but a filter. OpenExisting only reads.
func OpenExisting(ctx context.Context, client redis.UniversalClient, key string) (*Filter, error) {
	return open(ctx, client, key, func(f *Filter) (found, error) {
		return found{}, f.errorf("there is no filter: %w", redis.Nil)
	})
}

// open returns the filter under key. If there is nothing, it calls create.
func open(ctx context.Context, client redis.UniversalClient, key string, create func(*Filter) (found, error)) (*Filter, error) {
	f := &Filter{caller: caller{client, key}}
	f.in = f
	var err error
	if f.stream, err = f.beside("adds"); err != nil {
		return nil, err
	}
	if f.ident, err = f.beside("id"); err != nil {
		return nil, err
	}
	is, err := f.look(ctx)
	if err == nil && is.kind == "none" {
		is, err = create(f)
	}
	if err != nil {
		return nil, err
	}
	if f.params, err = f.check(is); err != nil {
		return nil, err
	}
	f.id, f.keep = is.id, max(1024, f.M()/512)
	return f, nil
}

// paramsFor returns the parameters of the filter that bloom.New makes of n and p.
func paramsFor(n uint64, p float64) (header, error) {
	if err := checkRate("p", p); err != nil {
		return header{}, err
	}
	m := bloom.OptimalM(n, p)
	k := bloom.OptimalK(m, n)
	switch {
	case m == 0:
		return header{}, fmt.Errorf("bloomredis: n = %d, p = %v need no bits at all", n, p)
	case k > 255:
		return header{}, fmt.Errorf("bloomredis: k = %d is outside [1, 255] (for n = %d, p = %v)", k, n, p)
	case m > (maxSize-headerSize)/8*64:
		return header{}, fmt.Errorf("bloomredis: n = %d, p = %v need m = %d bits, but a Redis string holds %d bytes: use OpenSharded, or more shards", n, p, m, maxSize)
	}
	return header{bloom.Mitz64, k, (m + 63) / 64}, nil
}

func checkRate(name string, p float64) error {
	if !(p > 0 && p < 1) {
		return fmt.Errorf("bloomredis: %s = %v is outside (0, 1)", name, p)
	}
	return nil
}

// keys returns what scripts know as KEYS[1], KEYS[2] and KEYS[3].
func (f *Filter) keys() []string { return []string{f.key, f.stream, f.ident} }

// M returns the number of bits, a multiple of 64.
func (f *Filter) M() uint64 { return f.params.m() }

// K returns the number of hashes, which is how many bits a key sets.
func (f *Filter) K() int { return f.params.k }

// SizeBytes returns the length of the string under the key. The stream beside
// it takes up to about half as much more.
func (f *Filter) SizeBytes() int64 { return f.params.size() }

// String names the key and the parameters. It asks no server.
func (f *Filter) String() string { return fmt.Sprintf("bloomredis.Filter(%q, %v)", f.key, f.params) }

// found is what is under a key.
type found struct {
	kind   string
	header string // the first bytes
	size   int64
	id     string
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

// check returns the parameters of a filter that was found, or an error if it is
// none or not for this package.
func (f *Filter) check(is found) (header, error) {
	if is.kind != "string" {
		return header{}, f.errorf("%w: it holds a %s", bloom.ErrFormat, is.kind)
	}
	h, ok := parseHeader(is.header)
	switch {
	case !ok || h.size() != is.size:
		return header{}, f.errorf("%w: %s", bloom.ErrFormat, unlike(is.header, is.size))
	case h.strategy != bloom.Mitz64:
		return header{}, f.errorf("%w: it holds a filter of %v, want Mitz64", bloom.ErrMismatch, h)
	}
	return h, nil
}

// unlike says what a string of size bytes is that is not what was expected.
func unlike(begins string, size int64) string {
	begins = begins[:min(headerSize, len(begins))]
	switch h, ok := parseHeader(begins); {
	case ok && h.size() == size:
		return fmt.Sprintf("it holds a filter of %v", h)
	case begins == windowMagic[:headerSize]:
		return "it holds a window, see OpenWindow and DeleteWindow"
	}
	return fmt.Sprintf("it holds neither a filter nor a window but %d bytes that start % x", size, begins)
}

// sealed sends commands that read the string, and behind them those whose answers say
// what the string is: a filter that is lost later has given right answers.
func (f *Filter) sealed(ctx context.Context, cmds ...redis.Cmder) (found, error) {
	header := redis.NewStringCmd(ctx, "GETRANGE", f.key, 0, headerSize-1)
	size := redis.NewIntCmd(ctx, "STRLEN", f.key)
	id := redis.NewStringCmd(ctx, "GETRANGE", f.ident, 0, -1) // GET of no key is an error of the client
	if err := f.read(ctx, append(cmds, header, size, id)...); err != nil {
		return found{}, err
	}
	return found{"string", header.Val(), size.Val(), id.Val()}, nil
}

// readWhole sends commands that read the string. It returns an error if the string is no
// longer the filter that was opened, all of it.
func (f *Filter) readWhole(ctx context.Context, cmds ...redis.Cmder) error {
	is, err := f.sealed(ctx, cmds...)
	if err != nil {
		return err
	}
	return f.lost(is)
}

// lost returns an error unless what was found is the filter.
func (f *Filter) lost(is found) error {
	same, whole := is.header == f.params.bytes(), is.size == f.params.size()
	switch {
	case same && whole && is.id == f.id:
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
