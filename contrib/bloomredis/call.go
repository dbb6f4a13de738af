package bloomredis

import (
	"context"
	"crypto/rand"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

// caller sends commands for a key, and for other keys in its hash slot.
type caller struct {
	client redis.UniversalClient
	key    string
}

func (c caller) errorf(format string, args ...any) error {
	return fmt.Errorf("bloomredis: key %q: "+format, append([]any{c.key}, args...)...)
}

func (c caller) noString(err error) error {
	if replied(err, "WRONGTYPE") {
		return c.errorf("%w: it is not a string, or a key that belongs to it has another type",
			bloom.ErrFormat)
	}
	return err
}

// beside returns a key in the hash slot of c.key, a different one for each c.key and name. It
// refuses an empty c.key, and one that has a closing brace but no hash tag.
func (c caller) beside(name string) (string, error) {
	if _, after, ok := strings.Cut(c.key, "{"); ok && strings.Index(after, "}") > 0 {
		return c.key + ":" + name, nil
	}
	switch {
	case c.key == "":
		return "", c.errorf("it is empty")
	case strings.Contains(c.key, "}"):
		return "", c.errorf("it has a closing brace but no hash tag")
	}
	return name + ":{" + c.key + "}", nil
}

// read sends commands that only read, in one round trip, and resends all of them if one is refused.
// After an error the caller must not use cmds: some may still be under way.
func (c caller) read(ctx context.Context, cmds ...redis.Cmder) error {
	return c.retry(ctx, func() error {
		pipe := c.client.Pipeline()
		for _, cmd := range cmds {
			_ = pipe.Process(ctx, cmd) // only queues
		}
		_, err := pipe.Exec(ctx)
		return err
	})
}

type script struct {
	source, sha string
	// repeats permits the client to resend a script that may have run. It must be false for a
	// script with several keys: if a cluster answers TRYAGAIN to the first script of a pipeline,
	// and MOVED to a later one, go-redis 9.22 would resend the later one twice.
	repeats bool
}

func newScript(source string) script {
	return script{source, redis.NewScript(source).Hash(), false}
}

// repeatable is for scripts that change nothing more when they run a second time.
func (s script) repeatable() script {
	s.repeats = true
	return s
}

// call is one run of a script, or one part of a batch.
type call struct {
	keys  []string
	args  []any
	reply any

	// Window.answer sets these fields from the reply of a window's script.
	answer string // a digit for each key, or the state of the string
	now    int64  // the server's time in microseconds

	number  int // the number of the call in the batch
	place   int // the index of the shard, or of the window's string, that has all of hs
	hs      []bloom.Hash
	indexes []int // the indexes of hs in the batch
	answers []bool
}

// run runs a script for each of calls, in one round trip, or in two if the server does not have the
// script yet. It resends refused calls after the others. After an error the caller must not use the
// replies: some calls may still be under way.
func (c caller) run(ctx context.Context, s script, calls ...*call) error {
	// The first of several calls loads the script for the others.
	load := len(calls) > 1
	return c.retry(ctx, func() (err error) {
		for {
			sent := len(calls)
			calls, err = c.send(ctx, s, calls, load)
			// If no call ran although the script was loaded, loading it again would not help.
			stuck := load && len(calls) == sent
			if stuck || !replied(err, "NOSCRIPT") {
				return err
			}
			load = true
		}
	})
}

// send sends calls in one round trip, with the script's source in the first call if load is true.
// If the server refuses calls or lacks the script, send returns these calls, to be sent again, and
// the first of their errors. If a call fails for another reason, send returns only that error.
func (c caller) send(
	ctx context.Context, s script, calls []*call, load bool,
) (again []*call, err error) {
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
	_, err = pipe.Exec(ctx) // err is the first error of a command
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

// noRetry keeps the client from resending a command that may have run.
type noRetry struct{ *redis.Cmd }

func (noRetry) NoRetry() bool { return true }

// replied reports whether err is a reply that begins with word. If a script fails, servers before
// Redis 7 put other text before word.
func replied(err error, word string) bool {
	if redis.HasErrorPrefix(err, "Error running script ") {
		text := err.Error()
		return strings.Contains(text, ": "+word+" ") || strings.Contains(text, ": -"+word+" ")
	}
	return redis.HasErrorPrefix(err, word+" ")
}

// refused reports whether err is a reply that temporarily refuses a command. The command has
// changed nothing and can be resent: if a server refuses a write of a script, it refuses the first
// write.
func refused(err error) bool {
	return slices.ContainsFunc(refusals, func(word string) bool { return replied(err, word) })
}

var refusals = []string{
	"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "MOVED", "ASK", "BUSY",
}

// A refused command is resent up to patience times, within about 4 seconds.
const patience = 12

// after is time.After, unless a test replaces it.
var after = time.After

const errNotOpen = "bloomredis: the client is nil, or the value was not made by an Open function"

// retry calls send, and repeats the call up to patience times while the server temporarily refuses
// commands. It does not wait for send once ctx has ended: the client may respect only ctx's
// deadline, or ignore ctx.
func (c caller) retry(ctx context.Context, send func() error) error {
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

func nonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return string(b[:])
}

// scan copies the values of a script's reply to the variables that dst points to. It returns false
// if the number of values or a type differs.
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
