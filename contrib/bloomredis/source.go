package bloomredis

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/replica"
)

// page is the largest number of stream entries in a reply.
const page = 4096

// Source returns a source for replicas in this process; see package replica. Replicas are for a
// process that looks up far more keys than it adds. They lag by about the Interval of
// [replica.Config], which may be milliseconds.
//
// The first fetch gets the whole filter, and later ones get the keys that were added since. After a
// fetch, a replica has every key that was added before the fetch began. A replica gets the whole
// filter again after [Filter.Merge] and [Filter.Reset], and if the stream no longer has the last
// key that the replica knows. A fetch only reads. If there is nothing new, it is one round trip of
// a few hundred bytes. A fetch of new keys needs memory for their digests, not for a filter.
//
// If the filter is lost, a fetch returns an error, and replicas keep their copies. Once the key
// holds a filter with the same parameters again, replicas get that filter, even while f itself is
// lost.
//
// Keys that another program writes into the string reach replicas only with the whole filter; see
// FullEvery in [replica.Config]. A filter that another program created has no stream until this
// package changes the string. Until then each fetch gets the whole filter.
//
// A Filter keeps the digests of its newest keys in a stream for its sources; see
// [Filter.SizeBytes]. After a Merge or a Reset, the stream starts empty. It has room for at least
// M()/512 keys, and for at least 1,024. At a rate of 1 %, M()/512 is about a fiftieth of the
// capacity.
func (f *Filter) Source() replica.Source {
	f.store() // panics if Open was forgotten
	return source{f}
}

type source struct{ f *Filter }

// entry is an entry of the stream. The version of a copy names the last entry that the copy has, by
// id and value, because the same id may recur in a stream that replaced this one.
type entry struct{ id, value string }

func (e entry) String() string { return e.id + "/" + hex.EncodeToString([]byte(e.value)) }

// addedAt returns when the server added e.
func (e entry) addedAt() time.Time {
	ms, _, _ := strings.Cut(e.id, "-")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{} // too late for an int64
	}
	return time.UnixMilli(n)
}

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

// since returns the keys that were added after the entry last. It returns a zero Update if the
// stream no longer has that entry, or has an entry after it that is not a key.
func (s source) since(ctx context.Context, last entry) (replica.Update, error) {
	var u replica.Update
	for {
		// The range begins with last itself. If last is still there, no entry after it is missing.
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
			if len(u.Added) > 0 {
				u.Made = last.addedAt()
			}
			return u, nil
		}
	}
}

func value(e redis.XMessage) string {
	for _, v := range e.Values {
		v, _ := v.(string)
		return v
	}
	return ""
}

// full returns the whole filter. It reads the end of the stream before the string, so keys that are
// added in between are in the string and are fetched again. Without a stream the version is empty.
func (s source) full(ctx context.Context) (replica.Update, error) {
	var u replica.Update
	cmd := redis.NewXMessageSliceCmd(ctx, "XREVRANGE", s.f.stream, "+", "-", "COUNT", 1)
	if err := s.f.read(ctx, cmd); err != nil {
		return u, err
	}
	if entries := cmd.Val(); len(entries) == 1 {
		last := entry{entries[0].ID, value(entries[0])}
		u.Version, u.Made = last.String(), last.addedAt()
	}
	var err error
	u.Full, err = s.f.snapshot(ctx, "")
	if err != nil {
		return replica.Update{}, err
	}
	return u, nil
}
