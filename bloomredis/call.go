package bloomredis

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
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

// run runs a script once for each of the lists of arguments, in their order and in
// one round trip, and returns the replies. The client may send the scripts again if
// it does not know whether they arrived.
func (c caller) run(ctx context.Context, s script, keys []string, lists ...[]any) ([]any, error) {
	return c.eval(ctx, s, keys, lists, func(cmd *redis.Cmd) redis.Cmder { return cmd })
}

// runOnce is run, but no script is sent again after it may have arrived.
func (c caller) runOnce(ctx context.Context, s script, keys []string, lists ...[]any) ([]any, error) {
	return c.eval(ctx, s, keys, lists, func(cmd *redis.Cmd) redis.Cmder { return once{cmd} })
}

// once is a command that the client does not send again by itself.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

func (c caller) eval(ctx context.Context, s script, keys []string, lists [][]any, wrap func(*redis.Cmd) redis.Cmder) ([]any, error) {
	cmds := make([]*redis.Cmd, len(lists))
	for i, args := range lists {
		all := make([]any, 0, 3+len(keys)+len(args))
		all = append(all, "EVALSHA", s.sha, len(keys))
		for _, key := range keys {
			all = append(all, key)
		}
		cmds[i] = redis.NewCmd(ctx, append(all, args...)...)
		cmds[i].SetFirstKeyPos(3)
	}
	load := func(cmd *redis.Cmd) { cmd.Args()[0], cmd.Args()[1] = "EVAL", s.source }
	if len(cmds) > 1 {
		load(cmds[0]) // which costs little beside the others, and they find the script
	}
	left := cmds
	err := c.do(ctx, func() error {
		for {
			pipe := c.client.Pipeline()
			for _, cmd := range left {
				_ = pipe.Process(ctx, wrap(cmd)) // only queues
			}
			_, err := pipe.Exec(ctx)
			var again []*redis.Cmd // have not run
			for _, cmd := range left {
				switch {
				case cmd.Err() == nil:
				case refused(cmd.Err()), redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT "):
					again = append(again, cmd)
				default:
					return cmd.Err()
				}
			}
			if len(again) == 0 {
				return err
			}
			left = again
			if err = left[0].Err(); !redis.HasErrorPrefix(err, "NOSCRIPT ") {
				return err
			}
			load(left[0])
		}
	})
	if err != nil {
		return nil, err
	}
	replies := make([]any, len(cmds))
	for i, cmd := range cmds {
		replies[i] = cmd.Val()
	}
	return replies, nil
}

// Replies that begin with these refuse a command as a whole, for now: it has
// not run, and sending it again cannot run it twice.
var refusals = []string{"TRYAGAIN ", "CLUSTERDOWN ", "LOADING ", "MASTERDOWN ", "READONLY "}

func refused(err error) bool {
	for _, prefix := range refusals {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// patience is how often a refused command is sent again: for 4 seconds.
const patience = 12

// do calls send until it is not refused, and returns early when ctx ends. The
// client itself may heed only the deadline of ctx, or not even that.
func (c caller) do(ctx context.Context, send func() error) error {
	if c.client == nil {
		panic("bloomredis: the client is nil, or the value was made without Open")
	}
	for try := 0; ; try++ {
		err := c.until(ctx, send)
		if err == nil {
			return nil
		}
		switch {
		case redis.HasErrorPrefix(err, "WRONGTYPE "):
			return c.errorf("%w: %w", ErrLost, err)
		case !refused(err) || try == patience:
			return c.errorf("%w", err)
		}
		select {
		case <-time.After(time.Duration(min(8<<try, 512)) * time.Millisecond):
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

type script struct{ source, sha string }

func newScript(source string) script { return script{source, redis.NewScript(source).Hash()} }

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
		ok := false
		switch d := dst[i].(type) {
		case *string:
			*d, ok = values[i].(string)
		case *int64:
			*d, ok = values[i].(int64)
		}
		if !ok {
			return false
		}
	}
	return true
}
