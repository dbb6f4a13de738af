package bloomredis

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Scripts run on KEYS = string, stream, ... and ARGV = header, ...: atomic, in
// one round trip. Those that find another header than theirs return it and
// change nothing.
//
// The stream has an entry for each change of the string: "h" with the digest of
// a key that changed it. Whatever breaks that line starts the stream anew with
// an entry "m" that has 16 random bytes, by which readers see that they must
// read the string again.
var (
	// ARGV = header, size of the string, random bytes. It returns the string's
	// type, header and size.
	openScript = newScript(`
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then
	redis.call('XADD', KEYS[2], 'MAXLEN', 1, '*', 'm', ARGV[3])
	redis.call('SETRANGE', KEYS[1], ARGV[2] - 1, '\0')
	redis.call('SETRANGE', KEYS[1], 0, ARGV[1])
	kind = 'string'
end
if kind ~= 'string' then
	return {kind, '', 0}
end
return {kind, redis.call('GETRANGE', KEYS[1], 0, 5), redis.call('STRLEN', KEYS[1])}`)

	// ARGV = header, length of the stream, digests of 16 bytes, and for each of
	// them the arguments of a BITFIELD that sets its bits and so returns what they
	// were. It returns 1 or 0 for each digest.
	addScript = newScript(`
local found = redis.call('GETRANGE', KEYS[1], 0, 5)
if found ~= ARGV[1] then
	return found
end
local n = #ARGV[3] / 16
local args = (#ARGV - 3) / n
local added = {}
for i = 1, n do
	added[i] = 0
	for _, old in ipairs(redis.call('BITFIELD', KEYS[1], unpack(ARGV, 4 + (i - 1) * args, 3 + i * args))) do
		if old == 0 then
			redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'h', string.sub(ARGV[3], i * 16 - 15, i * 16))
			added[i] = 1
			break
		end
	end
end
return added`)

	// KEYS = string, stream, a filter to merge. ARGV = header, size of the
	// string, random bytes. It returns OK.
	mergeScript = newScript(`
local found = redis.call('GETRANGE', KEYS[1], 0, 5)
if found ~= ARGV[1] then
	return found
end
if redis.call('STRLEN', KEYS[3]) ~= tonumber(ARGV[2]) or redis.call('GETRANGE', KEYS[3], 0, 5) ~= ARGV[1] then
	redis.call('UNLINK', KEYS[3])
	return redis.error_reply('ERR the uploaded filter, or a part of it, is gone')
end
redis.call('XADD', KEYS[2], 'MAXLEN', 1, '*', 'm', ARGV[3])
redis.call('BITOP', 'OR', KEYS[1], KEYS[1], KEYS[3])
redis.call('UNLINK', KEYS[3])
return redis.status_reply('OK')`)

	// ARGV = header, random bytes. It returns the last entry of the stream, which
	// it starts if there is none.
	lastScript = newScript(`
local found = redis.call('GETRANGE', KEYS[1], 0, 5)
if found ~= ARGV[1] then
	return found
end
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)
if #last == 0 then
	redis.call('XADD', KEYS[2], '*', 'm', ARGV[2])
	last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)
end
return {last[1][1], last[1][2][2]}`)
)

type script struct{ source, sha string }

func newScript(source string) script { return script{source, redis.NewScript(source).Hash()} }

// nonce returns 16 random bytes.
func nonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return string(b[:])
}

// once is a command that the client does not send again when it cannot know
// whether the first time arrived.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// run runs a script on the string, the stream and more keys. It is sent once.
func (f *Filter) run(ctx context.Context, s script, keys []string, args ...any) (any, error) {
	all := make([]any, 0, 5+len(keys)+len(args))
	all = append(all, "EVALSHA", s.sha, 2+len(keys), f.key, f.stream)
	for _, key := range keys {
		all = append(all, key)
	}
	all = append(all, args...)
	reply, err := f.eval(ctx, all)
	if redis.HasErrorPrefix(err, "NOSCRIPT ") { // so it has not run
		all[0], all[1] = "EVAL", s.source
		reply, err = f.eval(ctx, all)
	}
	return reply, err
}

func (f *Filter) eval(ctx context.Context, args []any) (any, error) {
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(3)
	if err := f.do(ctx, once{cmd}); err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// do runs cmd until ctx ends. The client itself may heed only the deadline of
// ctx, or not even that; cmd must not be used after an error.
func (f *Filter) do(ctx context.Context, cmd redis.Cmder) error {
	var err error
	if ctx.Done() == nil {
		err = f.client.Process(ctx, cmd)
	} else {
		done := make(chan error, 1)
		go func() { done <- f.client.Process(ctx, cmd) }()
		select {
		case err = <-done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return f.error(err)
	}
	return nil
}

// scan copies the values of a script's reply.
func scan(reply any, dst ...any) error {
	values, _ := reply.([]any)
	if len(values) != len(dst) {
		return fmt.Errorf("unexpected reply %v", reply)
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
			return fmt.Errorf("unexpected reply %v", reply)
		}
	}
	return nil
}
