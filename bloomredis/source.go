package bloomredis

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/replica"
)

// page is how many entries of the stream travel at a time.
const page = 4096

// Source returns a source for replicas in this process. What it fetches has
// every key that was added before the fetch began: the whole filter the first
// time, the keys added since then, and the whole filter again for a replica that
// fell behind the end of the stream, after a Merge, and whenever the stream does
// not go on from where the replica is, be it that a server was restored from an
// older state or the filter deleted and created anew.
//
// Keys that others write into the string, without this package, reach replicas
// only with the whole filter; see FullEvery in replica.Config.
//
// Fetching when nothing is new is one round trip of some hundred bytes. A delta
// takes memory and time for M bits on this machine, however few keys it has.
func (f *Filter) Source() replica.Source { return source{f} }

type source struct{ f *Filter }

// entry is one of the stream's, and as a version the last one that a copy has.
// Its value is part of the version because an id alone does not tell a stream
// from another that took its place.
type entry struct{ id, value string }

func (e entry) String() string { return e.id + "/" + hex.EncodeToString([]byte(e.value)) }

func parseEntry(version string) (e entry, ok bool) {
	id, value, _ := strings.Cut(version, "/")
	ms, seq, _ := strings.Cut(id, "-")
	_, err1 := strconv.ParseUint(ms, 10, 64)
	_, err2 := strconv.ParseUint(seq, 10, 64)
	raw, err3 := hex.DecodeString(value)
	return entry{id, string(raw)}, err1 == nil && err2 == nil && err3 == nil
}

func (s source) Fetch(ctx context.Context, have string) (replica.Update, error) {
	if last, ok := parseEntry(have); ok {
		u, err := s.since(ctx, last)
		if err != nil || u.Version != "" {
			return u, err
		}
	}
	return s.full(ctx)
}

// since returns what was added after an entry, or a zero Update if the stream
// cannot tell.
func (s source) since(ctx context.Context, last entry) (replica.Update, error) {
	var u replica.Update
	for {
		// From the last entry on, not after it: if it is there and the same,
		// nothing between is missing.
		cmd := redis.NewXMessageSliceCmd(ctx, "XRANGE", s.f.stream, last.id, "+", "COUNT", page)
		if err := s.f.do(ctx, cmd); err != nil {
			return u, err
		}
		entries := cmd.Val()
		if len(entries) == 0 || entries[0].ID != last.id || value(entries[0]) != last.value {
			return replica.Update{}, nil
		}
		for _, e := range entries[1:] {
			digest, ok := e.Values["h"].(string)
			if !ok || len(digest) != 16 {
				return replica.Update{}, nil
			}
			if u.Delta == nil {
				var err error
				if u.Delta, err = bloom.NewSize(s.f.m, s.f.k); err != nil {
					return replica.Update{}, err
				}
			}
			u.Delta.AddHash(bloom.Hash{
				H1: binary.BigEndian.Uint64([]byte(digest)),
				H2: binary.BigEndian.Uint64([]byte(digest[8:])),
			})
			last = entry{e.ID, digest}
		}
		if len(entries) < page {
			u.Version = last.String()
			return u, nil
		}
	}
}

// value returns the value of an entry, whatever its name.
func value(e redis.XMessage) string {
	for _, v := range e.Values {
		v, _ := v.(string)
		return v
	}
	return ""
}

// full returns the filter. The stream's end is read before the string: keys
// added in between are in both.
func (s source) full(ctx context.Context) (replica.Update, error) {
	reply, err := s.f.run(ctx, lastScript, nil, s.f.header, nonce())
	if err != nil {
		return replica.Update{}, err
	}
	if found, ok := reply.(string); ok {
		return replica.Update{}, s.f.mismatch(found, -1)
	}
	var last entry
	if err := scan(reply, &last.id, &last.value); err != nil {
		return replica.Update{}, s.f.error(err)
	}
	g, err := s.f.Snapshot(ctx)
	if err != nil {
		return replica.Update{}, err
	}
	return replica.Update{Version: last.String(), Full: g}, nil
}
