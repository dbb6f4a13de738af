package bloomredis

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/guava"
)

// chunk is how many keys travel at a time.
const chunk = 256

// offsets appends the numbers that Redis gives the bits of h.
func offsets(dst []uint64, params guava.Header, h bloom.Hash) []uint64 {
	m := 64 * uint64(params.Words)
	for range params.K {
		dst = append(dst, guava.HeaderSize*8+(h.H1&math.MaxInt64%m^63))
		h.H1 += h.H2
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

// AddBatch adds hs in order and returns for each what Add would. It takes a
// round trip for each 256 of them. When it returns an error, any of hs may have
// been added or not.
func (f *Filter) AddBatch(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	dst := make([]bool, 0, len(hs))
	var at []uint64
	for len(hs) > 0 {
		part := hs[:min(chunk, len(hs))]
		hs = hs[len(part):]

		digests := make([]byte, 0, 16*len(part))
		args := make([]any, 5, 5+4*f.params.K*len(part))
		for _, h := range part {
			digests = binary.BigEndian.AppendUint64(digests, h.H1)
			digests = binary.BigEndian.AppendUint64(digests, h.H2)
			at = offsets(at[:0], f.params, h)
			for _, offset := range at {
				args = append(args, "SET", "u1", offset, 1)
			}
		}
		args[0], args[1], args[2], args[3], args[4] = f.header, f.params.Size(), f.id, f.keep, digests
		reply, err := f.runOnce(ctx, addScript, f.keys(), args...)
		if err != nil {
			return nil, err
		}
		answers, err := f.answer(reply)
		if err != nil {
			return nil, err
		}
		if len(answers) != len(part) {
			return nil, f.errorf("unexpected reply %q", answers)
		}
		dst = appendAnswers(dst, answers)
	}
	return dst, nil
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

// ContainsBatch returns Contains of each of hs. It takes a round trip for each
// 256 of them.
func (f *Filter) ContainsBatch(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	dst := make([]bool, 0, len(hs))
	var at []uint64
	k := f.params.K
	for len(hs) > 0 {
		part := hs[:min(chunk, len(hs))]
		hs = hs[len(part):]

		args := make([]any, 0, 2+3*k*len(part))
		args = append(args, "BITFIELD_RO", f.key)
		for _, h := range part {
			at = offsets(at[:0], f.params, h)
			for _, offset := range at {
				args = append(args, "GET", "u1", offset)
			}
		}
		cmd, s := redis.NewIntSliceCmd(ctx, args...), f.newSeal(ctx)
		if err := f.read(ctx, append([]redis.Cmder{cmd}, s.cmds()...)...); err != nil {
			return nil, err
		}
		if err := s.broken(); err != nil {
			return nil, err
		}
		bits := cmd.Val()
		if len(bits) != k*len(part) {
			return nil, f.errorf("%d values in reply, want %d", len(bits), k*len(part))
		}
		for ; len(bits) > 0; bits = bits[k:] {
			all := int64(1)
			for _, bit := range bits[:k] {
				all &= bit
			}
			dst = append(dst, all == 1)
		}
	}
	return dst, nil
}
