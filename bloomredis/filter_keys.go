package bloomredis

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

const (
	// chunk is how many keys a command or script takes, so that Redis serves others
	// in between: at 256, they waited twice as long beside a batch, which took no less.
	chunk = 128
	// tripBits is how many bits of keys a round trip takes. They bound the memory for
	// it, and its time, as the client's ReadTimeout is for all of it.
	tripBits = 1 << 17
)

// offsets appends the numbers that Redis gives the bits of h.
func (h header) offsets(dst []uint64, key bloom.Hash) []uint64 {
	x, step := key.Words()
	for range h.k {
		dst = append(dst, headerSize*8+(x&math.MaxInt64%h.m()^63))
		x += step
	}
	return dst
}

func (f *Filter) add(ctx context.Context, token string, hs []bloom.Hash) (added []bool, err error) {
	id, parts := f.opened(), 0
	for hs := range slices.Chunk(hs, tripBits/f.params.k) {
		var calls []*call
		for part := range slices.Chunk(hs, chunk) {
			c, err := f.newAdd(part, id, token, parts)
			if err != nil {
				return nil, err
			}
			calls = append(calls, c)
			parts++
		}
		if err := f.run(ctx, addScript, calls...); err != nil {
			return nil, err
		}
		for _, c := range calls {
			answers, err := f.answer(c.reply, id)
			if err != nil {
				return nil, err
			}
			for _, answer := range []byte(answers) {
				added = append(added, answer == '1')
			}
		}
	}
	return added, f.complete(added, hs)
}

// newAdd returns a call of addScript for a part of a caller's keys.
func (f *Filter) newAdd(hs []bloom.Hash, id, token string, part int) (*call, error) {
	digests := make([]byte, 0, 16*len(hs))
	args := make([]any, 5, 5+f.params.k*len(hs))
	var at []uint64
	for _, h := range hs {
		h1, h2 := h.Words()
		digests = binary.BigEndian.AppendUint64(digests, h1)
		digests = binary.BigEndian.AppendUint64(digests, h2)
		at = f.params.offsets(at[:0], h)
		for _, offset := range at {
			args = append(args, offset)
		}
	}
	args[0], args[1], args[2], args[3], args[4] = f.params.bytes(), f.params.size(), id, f.keep, digests
	c := &call{keys: f.keys(), args: args}
	return c, f.addToken(c, token, part)
}

// answer returns the string that a script answers, or an error if the script did not find
// the filter with an id.
func (f *Filter) answer(reply any, id string) (string, error) {
	if answer, ok := reply.(string); ok {
		return answer, nil
	}
	var is found
	if scan(reply, &is.header, &is.size, &is.identity) {
		if err := f.lost(is, id); err != nil {
			return "", err
		}
	}
	return "", f.errorf("unexpected reply %v", reply)
}

// complete returns an error unless there is an answer for each of hs.
func (c caller) complete(answers []bool, hs []bloom.Hash) error {
	if len(answers) != len(hs) {
		return c.errorf("%d answers in reply, want %d", len(answers), len(hs))
	}
	return nil
}

func (f *Filter) contains(ctx context.Context, hs []bloom.Hash) (found []bool, err error) {
	id, k := f.opened(), f.params.k
	var at []uint64
	for hs := range slices.Chunk(hs, tripBits/k) {
		var bits []*redis.IntSliceCmd
		var cmds []redis.Cmder
		for part := range slices.Chunk(hs, chunk) {
			args := make([]any, 0, 2+3*k*len(part))
			args = append(args, "BITFIELD_RO", f.key)
			for _, h := range part {
				at = f.params.offsets(at[:0], h)
				for _, offset := range at {
					args = append(args, "GET", "u1", offset)
				}
			}
			cmd := redis.NewIntSliceCmd(ctx, args...)
			bits, cmds = append(bits, cmd), append(cmds, cmd)
		}
		if _, err := f.readWhole(ctx, id, cmds...); err != nil {
			return nil, err
		}
		for _, cmd := range bits {
			for bits := range slices.Chunk(cmd.Val(), k) {
				found = append(found, !slices.Contains(bits, 0))
			}
		}
	}
	return found, f.complete(found, hs)
}
