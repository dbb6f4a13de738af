package bloomredis

import (
	"context"
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/guava"
)

const (
	// chunk is how many keys a command or script takes, so that Redis serves others
	// in between: at 256, they waited twice as long beside a batch, which took no less.
	chunk = 128
	// tripBits is how many bits of keys a round trip takes. They bound the memory for
	// it, and its time, as the client's ReadTimeout is for all of it.
	tripBits = 1 << 17
)

// trips cuts hs into what a round trip takes.
func trips(hs []bloom.Hash, k int) iter.Seq[[]bloom.Hash] {
	return slices.Chunk(hs, tripBits/max(1, k)) // k is 0 where Open was forgotten
}

// offsets appends the numbers that Redis gives the bits of h.
func offsets(dst []uint64, params guava.Header, h bloom.Hash) []uint64 {
	m := 64 * uint64(params.Words)
	x, step := h.Words()
	for range params.K {
		dst = append(dst, guava.HeaderSize*8+(x&math.MaxInt64%m^63))
		x += step
	}
	return dst
}

// Add adds key in one round trip. It reports whether the filter changed: true
// means that key was certainly new, false that it was probably added before, by
// whatever process. When it returns an error, the key may have been added or
// not. Add is never sent again once it may have arrived, whatever the client's
// MaxRetries: that could make a new key look like an old one.
func (f *Filter) Add(ctx context.Context, key []byte) (bool, error) {
	return f.AddHash(ctx, bloom.Sum(key))
}

// AddString is Add of key's bytes, without copying them.
func (f *Filter) AddString(ctx context.Context, key string) (bool, error) {
	return f.AddHash(ctx, bloom.SumString(key))
}

// AddHash is Add by digest.
func (f *Filter) AddHash(ctx context.Context, h bloom.Hash) (bool, error) {
	added, err := f.AddBatch(ctx, []bloom.Hash{h})
	return err == nil && added[0], err
}

// AddBatch adds hs in order and returns for each what Add would. Those that the
// server refuses for now come last. It takes one round trip for up to 131,072/K of
// them, which is 18,724 at a rate of 1 %. When it returns an error, any of hs may
// have been added or not.
func (f *Filter) AddBatch(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	dst := make([]bool, 0, len(hs))
	for hs := range trips(hs, f.params.K) {
		var lists [][]any
		for part := range slices.Chunk(hs, chunk) {
			lists = append(lists, f.addArgs(part))
		}
		replies, err := f.runOnce(ctx, addScript, f.keys(), lists...)
		if err != nil {
			return nil, err
		}
		for _, reply := range replies {
			answers, err := f.answer(reply)
			if err != nil {
				return nil, err
			}
			dst = appendAnswers(dst, answers)
		}
	}
	return f.complete(dst, hs)
}

// addArgs returns the arguments of addScript.
func (f *Filter) addArgs(hs []bloom.Hash) []any {
	digests := make([]byte, 0, 16*len(hs))
	args := make([]any, 5, 5+f.params.K*len(hs))
	var at []uint64
	for _, h := range hs {
		h1, h2 := h.Words()
		digests = binary.BigEndian.AppendUint64(digests, h1)
		digests = binary.BigEndian.AppendUint64(digests, h2)
		at = offsets(at[:0], f.params, h)
		for _, offset := range at {
			args = append(args, offset)
		}
	}
	args[0], args[1], args[2], args[3], args[4] = f.header, f.params.Size(), f.id, f.keep, digests
	return args
}

// answer returns the string that a script answers, or an error if the script
// found the filter lost.
func (f *Filter) answer(reply any) (string, error) {
	if answer, ok := reply.(string); ok {
		return answer, nil
	}
	var is found
	if !scan(reply, &is.header, &is.size, &is.id) {
		return "", f.errorf("unexpected reply %v", reply)
	}
	if err := f.lost(is.header, is.size, is.id); err != nil {
		return "", err
	}
	return "", f.errorf("unexpected reply %v", reply)
}

// appendAnswers appends for each of a script's characters whether it is a '1'.
func appendAnswers(dst []bool, answers string) []bool {
	for _, c := range []byte(answers) {
		dst = append(dst, c == '1')
	}
	return dst
}

// complete returns answers, or an error unless there is one for each of hs.
func (c caller) complete(answers []bool, hs []bloom.Hash) ([]bool, error) {
	if len(answers) != len(hs) {
		return nil, c.errorf("%d answers in reply, want %d", len(answers), len(hs))
	}
	return answers, nil
}

// Contains reports, in one round trip, whether key may have been added, by
// whatever process. False is certain, if there is no error.
func (f *Filter) Contains(ctx context.Context, key []byte) (bool, error) {
	return f.ContainsHash(ctx, bloom.Sum(key))
}

// ContainsString is Contains of key's bytes, without copying them.
func (f *Filter) ContainsString(ctx context.Context, key string) (bool, error) {
	return f.ContainsHash(ctx, bloom.SumString(key))
}

// ContainsHash is Contains by digest.
func (f *Filter) ContainsHash(ctx context.Context, h bloom.Hash) (bool, error) {
	found, err := f.ContainsBatch(ctx, []bloom.Hash{h})
	return err == nil && found[0], err
}

// ContainsBatch returns Contains of each of hs, in as many round trips as AddBatch.
func (f *Filter) ContainsBatch(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	dst := make([]bool, 0, len(hs))
	k := f.params.K
	var at []uint64
	for hs := range trips(hs, f.params.K) {
		var bits []*redis.IntSliceCmd
		var cmds []redis.Cmder
		for part := range slices.Chunk(hs, chunk) {
			args := make([]any, 0, 2+3*k*len(part))
			args = append(args, "BITFIELD_RO", f.key)
			for _, h := range part {
				at = offsets(at[:0], f.params, h)
				for _, offset := range at {
					args = append(args, "GET", "u1", offset)
				}
			}
			cmd := redis.NewIntSliceCmd(ctx, args...)
			bits, cmds = append(bits, cmd), append(cmds, cmd)
		}
		s := f.newSeal(ctx)
		if err := f.read(ctx, append(cmds, s.cmds()...)...); err != nil {
			return nil, err
		}
		if err := s.broken(); err != nil {
			return nil, err
		}
		for _, cmd := range bits {
			for bits := range slices.Chunk(cmd.Val(), k) {
				dst = append(dst, !slices.Contains(bits, 0))
			}
		}
	}
	return f.complete(dst, hs)
}
