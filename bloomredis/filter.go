// Package bloomredis keeps one Bloom filter in Redis for many processes.
//
// The filter is one string, and the string is the binary form of Google Guava,
// whole: GET of its key is a file that Java's BloomFilter.readFrom reads. Guava's
// bit i is Redis's bit 48 + (i XOR 63). What a [Filter] answers is what a
// bloom.Filter with the same keys would, and every call that fails returns an
// error, never a wrong "absent".
//
// Beside the string stands a stream of the last keys added, as digests, in the
// same hash slot of a cluster. With it [Filter.Source] keeps copies in the memory
// of other machines milliseconds behind; see package replica. It holds about one
// key in fifty of the filter's capacity and takes half as much memory as the
// string.
//
// Redis 6.0 or later is needed. A filter is as durable as its server: what is
// lost there, by a crash without "appendfsync always", by failover to a replica
// that lags, or by eviction, is absent from then on. Give the keys no expiry and
// let maxmemory-policy spare them. A client must not read from replicas, which
// lag (ReadOnly, RouteByLatency and RouteRandomly of a cluster client).
package bloomredis

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

const (
	headerSize = 6         // bytes of Guava's form before the bits
	maxSize    = 512 << 20 // bytes in a Redis string

	// chunk is how many keys travel at a time.
	chunk = 256
)

// Filter is a filter in Redis. Its methods may be called by many goroutines at
// once, and any number of processes may share the key.
//
// Every call ends when its context does, even if the client was made without
// ContextTimeoutEnabled.
type Filter struct {
	client redis.UniversalClient
	key    string
	stream string
	header string
	m      uint64
	k      int
	keep   uint64 // entries of the stream that are not trimmed
}

// Open returns the filter under key, for n expected keys at false-positive rate
// p as in bloom.New. If there is no such key it creates the filter, atomically:
// of processes that race one creates it and all use it. If there is, it must be
// a filter of the same parameters; another, or any other value, is left as it is
// and named in the error.
//
// A Redis string holds 512 MB, which is the filter of some 448 million keys at
// 1 %; for more see Sharded. Redis serves nobody else while it clears the
// memory of a new one, which takes the largest about a second.
//
// On a cluster the part of key in braces, if any, decides its hash slot, as
// always. A key with a closing brace but without such a part is an error.
func Open(ctx context.Context, client redis.UniversalClient, key string, n uint64, p float64) (*Filter, error) {
	if m := bloom.OptimalM(n, p); p > 0 && m > (maxSize-headerSize)/8*64 {
		return nil, fmt.Errorf("bloom: n = %d, p = %v need m = %d bits; a Redis string holds %d bytes: use OpenSharded", n, p, m, maxSize)
	}
	local, err := bloom.New(n, p)
	if err != nil {
		return nil, err
	}
	stream, err := beside(key, "adds")
	if err != nil {
		return nil, err
	}
	f := &Filter{
		client: client,
		key:    key,
		stream: stream,
		header: headerOf(local),
		m:      local.M(),
		k:      local.K(),
		keep:   max(1024, local.M()/512),
	}
	found, err := f.run(ctx, openScript, nil, f.header, f.size(), nonce())
	if err != nil {
		return nil, err
	}
	var kind, header string
	var size int64
	if err := scan(found, &kind, &header, &size); err != nil {
		return nil, f.error(err)
	}
	if kind != "string" {
		return nil, fmt.Errorf("bloom: redis key %q: %w: holds a %s", key, bloom.ErrFormat, kind)
	}
	if header != f.header || size != f.size() {
		return nil, f.mismatch(header, size)
	}
	return f, nil
}

func (f *Filter) size() int64 { return headerSize + int64(f.m/8) }

func headerOf(f *bloom.Filter) string {
	return string(binary.BigEndian.AppendUint32([]byte{byte(f.Strategy()), byte(f.K())}, uint32(f.M()/64)))
}

// mismatch is the error for a string that is not this filter. A size below 0 is
// not known.
func (f *Filter) mismatch(header string, size int64) error {
	return fmt.Errorf("bloom: redis key %q: %w: holds %s, want %s",
		f.key, bloom.ErrFormat, describe(header, size), describe(f.header, f.size()))
}

// describe says what a string is that starts with header.
func describe(header string, size int64) string {
	if header == "" {
		return "nothing"
	}
	if len(header) == headerSize && header[0] <= 1 && header[1] > 0 {
		words := int64(binary.BigEndian.Uint32([]byte(header[2:])))
		if words > 0 && words <= math.MaxInt32 && (size < 0 || size == headerSize+8*words) {
			return fmt.Sprintf("a filter of m = %d, k = %d, strategy = %v", words*64, header[1], bloom.Strategy(header[0]))
		}
	}
	if size < 0 {
		return fmt.Sprintf("no filter but % x...", header)
	}
	return fmt.Sprintf("no filter but %d bytes that start % x", size, header)
}

func (f *Filter) error(err error) error {
	return fmt.Errorf("bloom: redis key %q: %w", f.key, err)
}

// beside returns the name of another key of the same hash slot. Names of
// different keys differ.
func beside(key, name string) (string, error) {
	if _, after, ok := strings.Cut(key, "{"); ok && strings.Index(after, "}") > 0 {
		return key + ":" + name, nil
	}
	if strings.Contains(key, "}") {
		return "", fmt.Errorf("bloom: redis key %q has a closing brace but no hash tag", key)
	}
	return name + ":{" + key + "}", nil
}

// offsets appends the numbers that Redis gives the bits of h.
func (f *Filter) offsets(dst []uint64, h bloom.Hash) []uint64 {
	for range f.k {
		dst = append(dst, headerSize*8+(h.H1&math.MaxInt64%f.m^63))
		h.H1 += h.H2
	}
	return dst
}

// Add adds key in one round trip. It reports whether the filter changed: true
// means that key was certainly new, false that it was probably added before, by
// whatever process. When it returns an error the key may have been added or
// not. It is never sent twice, which could make a new key look like an old one,
// whatever the client's MaxRetries.
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
// round trip for each 256 of them. When it returns an error any of hs may have
// been added or not.
func (f *Filter) AddBatch(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	dst := make([]bool, 0, len(hs))
	var offsets []uint64
	for len(hs) > 0 {
		part := hs[:min(chunk, len(hs))]
		hs = hs[len(part):]

		digests := make([]byte, 0, 16*len(part))
		args := make([]any, 3, 3+4*f.k*len(part))
		for _, h := range part {
			digests = binary.BigEndian.AppendUint64(digests, h.H1)
			digests = binary.BigEndian.AppendUint64(digests, h.H2)
			offsets = f.offsets(offsets[:0], h)
			for _, offset := range offsets {
				args = append(args, "SET", "u1", offset, 1)
			}
		}
		args[0], args[1], args[2] = f.header, f.keep, digests
		reply, err := f.run(ctx, addScript, nil, args...)
		if err != nil {
			return nil, err
		}
		if found, ok := reply.(string); ok {
			return nil, f.mismatch(found, -1)
		}
		changed, ok := reply.([]any)
		if !ok || len(changed) != len(part) {
			return nil, f.error(fmt.Errorf("unexpected reply %v", reply))
		}
		for _, c := range changed {
			dst = append(dst, c == int64(1))
		}
	}
	return dst, nil
}

// Contains reports, in one round trip, whether key may have been added, by
// whatever process: false is certain, if there is no error.
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
	var offsets []uint64
	for len(hs) > 0 {
		part := hs[:min(chunk, len(hs))]
		hs = hs[len(part):]

		// The header with the bits: those of a missing key are all 0.
		args := make([]any, 0, 5+3*f.k*len(part))
		args = append(args, "BITFIELD_RO", f.key, "GET", "u48", 0)
		for _, h := range part {
			offsets = f.offsets(offsets[:0], h)
			for _, offset := range offsets {
				args = append(args, "GET", "u1", offset)
			}
		}
		cmd := redis.NewIntSliceCmd(ctx, args...)
		if err := f.do(ctx, cmd); err != nil {
			return nil, err
		}
		bits := cmd.Val()
		if len(bits) != 1+f.k*len(part) {
			return nil, f.error(fmt.Errorf("%d values in reply, want %d", len(bits), 1+f.k*len(part)))
		}
		if bits[0] == 0 {
			return nil, f.mismatch("", -1)
		}
		if header := string(binary.BigEndian.AppendUint64(nil, uint64(bits[0]))[2:]); header != f.header {
			return nil, f.mismatch(header, -1)
		}
		for bits = bits[1:]; len(bits) > 0; bits = bits[f.k:] {
			all := int64(1)
			for _, bit := range bits[:f.k] {
				all &= bit
			}
			dst = append(dst, all == 1)
		}
	}
	return dst, nil
}
