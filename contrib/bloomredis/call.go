package bloomredis

import (
	"context"
	"crypto/rand"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

// caller sends commands about a key and the keys beside it.
type caller struct {
	client redis.UniversalClient
	key    string
}

// errorf returns an error that names the key.
func (c caller) errorf(format string, args ...any) error {
	return fmt.Errorf("bloomredis: key %q: "+format, append([]any{c.key}, args...)...)
}

// noString returns err, or a better one if a key that is being opened holds another type.
func (c caller) noString(err error) error {
	if replied(err, "WRONGTYPE") {
		return c.errorf("%w: it holds no string", bloom.ErrFormat)
	}
	return err
}

// beside returns the name of another key of the same hash slot. Names of
// different keys differ.
func (c caller) beside(name string) (string, error) {
	if _, after, ok := strings.Cut(c.key, "{"); ok && strings.Index(after, "}") > 0 {
		return c.key + ":" + name, nil
	}
	if strings.Contains(c.key, "}") {
		return "", c.errorf("it has a closing brace but no hash tag")
	}
	return name + ":{" + c.key + "}", nil
}

// read sends commands that only read, in one round trip. After an error the
// commands must not be used: some may still be under way.
func (c caller) read(ctx context.Context, cmds ...redis.Cmder) error {
	return c.do(ctx, func() error {
		pipe := c.client.Pipeline()
		for _, cmd := range cmds {
			_ = pipe.Process(ctx, cmd) // only queues
		}
		_, err := pipe.Exec(ctx)
		return err
	})
}

// script is a Lua script of Redis.
type script struct {
	source, sha string
	// repeats is set if the client may send the script again by itself when it does
	// not know whether it has run. It never is where a script has several keys: go-redis
	// 9.22 sends a command twice at once if a cluster answers TRYAGAIN to one of its
	// pipeline, and MOVED to it.
	repeats bool
}

func newScript(source string) script {
	return script{source, redis.NewScript(source).Hash(), false}
}

// repeatable returns s, which has the same effect and answer when it runs again.
func (s script) repeatable() script {
	s.repeats = true
	return s
}

// call is a run of a script, and its reply afterwards.
type call struct {
	keys  []string
	args  []any
	reply any

	// Of a window's script: what it answers, and the server's time.
	answer string
	now    int64

	// Of some keys of a batch; see there.
	number  int // of the call in the batch
	of      int // the place of all these keys: a shard, or a string of a window
	hs      []bloom.Hash
	at      []int // their places in the batch
	answers []bool
}

// run runs a script once for each of calls, in their order and in one round trip.
// After an error no reply is there: some may still be under way.
func (c caller) run(ctx context.Context, s script, calls ...*call) error {
	load := len(calls) > 1 // EVAL costs little beside the others, and they find the script
	return c.do(ctx, func() (err error) {
		for {
			calls, err = c.send(ctx, s, calls, load)
			if !replied(err, "NOSCRIPT") {
				return err
			}
			load = true
		}
	})
}

// send sends calls in one round trip, the first with the script's source where load
// is set. It returns those that have not run, and the error of the first of them.
func (c caller) send(ctx context.Context, s script, calls []*call, load bool) (again []*call, err error) {
	pipe := c.client.Pipeline()
	cmds := make([]*redis.Cmd, len(calls))
	for i, call := range calls {
		args := make([]any, 0, 3+len(call.keys)+len(call.args))
		if load && i == 0 {
			args = append(args, "EVAL", s.source)
		} else {
			args = append(args, "EVALSHA", s.sha)
		}
		args = append(args, len(call.keys))
		for _, key := range call.keys {
			args = append(args, key)
		}
		cmds[i] = redis.NewCmd(ctx, append(args, call.args...)...)
		cmds[i].SetFirstKeyPos(3)
		var cmd redis.Cmder = cmds[i]
		if !s.repeats {
			cmd = noRetry{cmds[i]}
		}
		_ = pipe.Process(ctx, cmd) // only queues
	}
	_, err = pipe.Exec(ctx) // the first error of a command
	for i, cmd := range cmds {
		switch {
		case cmd.Err() == nil:
			calls[i].reply = cmd.Val()
		case refused(cmd.Err()), replied(cmd.Err(), "NOSCRIPT"):
			again = append(again, calls[i])
		default:
			return nil, cmd.Err()
		}
	}
	return again, err
}

// noRetry is a command that the client does not send again by itself.
type noRetry struct{ *redis.Cmd }

func (noRetry) NoRetry() bool { return true }

// replied reports whether err is a reply that begins with word, or says it of a
// command in a script as servers before Redis 7 do.
func replied(err error, word string) bool {
	if redis.HasErrorPrefix(err, "Error running script ") {
		return strings.Contains(err.Error(), ": "+word+" ") || strings.Contains(err.Error(), ": -"+word+" ")
	}
	return redis.HasErrorPrefix(err, word+" ")
}

// refused reports whether err is a reply that refuses a command as a whole, for
// now: it has not run, and sending it again cannot run it twice. A server refuses a
// script's first write, if any.
func refused(err error) bool {
	for _, word := range []string{"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "MOVED", "ASK", "BUSY"} {
		if replied(err, word) {
			return true
		}
	}
	return false
}

// patience is how often a refused command is sent again: for 4 seconds.
const patience = 12

// after is time.After but in tests.
var after = time.After

const errNotOpen = "bloomredis: the client is nil, or the value was made without Open"

// do calls send until it is not refused, and returns early when ctx ends. The
// client itself may heed only the deadline of ctx, or not even that.
func (c caller) do(ctx context.Context, send func() error) error {
	if c.client == nil {
		panic(errNotOpen)
	}
	for try := 0; ; try++ {
		err := c.until(ctx, send)
		if err == nil {
			return nil
		}
		switch {
		case replied(err, "WRONGTYPE"):
			return c.errorf("%w: %w", ErrLost, err)
		case !refused(err) || try == patience:
			return c.errorf("%w", err)
		}
		select {
		case <-after(time.Duration(min(8<<try, 512)) * time.Millisecond):
		case <-ctx.Done():
			return c.errorf("%w", ctx.Err())
		}
	}
}

func (c caller) until(ctx context.Context, send func() error) error {
	if ctx.Done() == nil {
		return send()
	}
	done := make(chan error, 1)
	go func() { done <- send() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nonce returns 16 random bytes.
func nonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return string(b[:])
}

// scan copies the values of a script's reply, and reports whether they are of
// those types.
func scan(reply any, dst ...any) bool {
	values, _ := reply.([]any)
	if len(values) != len(dst) {
		return false
	}
	for i := range dst {
		v, d := reflect.ValueOf(values[i]), reflect.ValueOf(dst[i]).Elem()
		if !v.IsValid() || v.Type() != d.Type() {
			return false
		}
		d.Set(v)
	}
	return true
}
