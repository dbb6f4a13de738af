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
// every key that was added before the fetch began. The first fetch is of the whole
// filter, and the next ones are of the keys added since. A replica gets the whole
// filter again if it fell behind the end of the stream, after [Filter.Merge] and
// [Filter.Reset], and whenever the stream does not go on from where the replica
// is. If the filter is lost, fetching returns an error, and replicas keep what they
// have, until somebody makes a filter of the same parameters under the key. Then they get
// that, also while f itself is lost.
//
// Keys that others write into the string, without this package, reach replicas
// only with the whole filter; see FullEvery in [replica.Config]. A filter that
// others created has no stream before this package adds a new key. Until then each
// fetch is of the whole filter.
//
// Fetching only reads. When nothing is new it is one round trip of some hundred
// bytes. Keys that were added take memory for their digests, not for a filter.
func (f *Filter) Source() replica.Source {
	f.store() // panics if Open was forgotten
	return source{f}
}

type source struct{ f *Filter }

// entry is one of the stream's, and as a version the last one that a copy has.
// Its value is part of the version because another stream that took this one's place
// may have the same id.
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

// since returns what was added after an entry, or a zero Update if the stream does not
// say it.
func (s source) since(ctx context.Context, last entry) (replica.Update, error) {
	var u replica.Update
	for {
		// From the last entry on, not after it: if it is there and the same,
		// nothing between is missing.
		cmd := redis.NewXMessageSliceCmd(ctx, "XRANGE", s.f.stream, last.id, "+", "COUNT", page)
		if _, err := s.f.readWhole(ctx, "", cmd); err != nil {
			return replica.Update{}, err
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
			u.Added = append(u.Added, bloom.NewHash(
				binary.BigEndian.Uint64([]byte(digest)),
				binary.BigEndian.Uint64([]byte(digest[8:])),
			))
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
// added in between are in both. Without a stream the version has no name.
func (s source) full(ctx context.Context) (replica.Update, error) {
	var u replica.Update
	cmd := redis.NewXMessageSliceCmd(ctx, "XREVRANGE", s.f.stream, "+", "-", "COUNT", 1)
	if err := s.f.read(ctx, cmd); err != nil {
		return u, err
	}
	if entries := cmd.Val(); len(entries) == 1 {
		u.Version = entry{entries[0].ID, value(entries[0])}.String()
	}
	var err error
	u.Full, err = s.f.snapshot(ctx, "")
	if err != nil {
		return replica.Update{}, err
	}
	return u, nil
}
