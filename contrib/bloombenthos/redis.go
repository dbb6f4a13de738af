package bloombenthos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/contrib/bloomredis"
)

func init() {
	open := func(conf *service.ParsedConfig, res *service.Resources) (service.Cache, error) {
		return openOnce(res, func() (*cache, error) { return newRedisCache(conf, res) })
	}
	service.MustRegisterCache("bloom_redis", redisSpec(), open)
}

func redisSpec() *service.ConfigSpec {
	return service.NewConfigSpec().
		Summary("Remembers ids in the bits of a Bloom filter in Redis, for all instances.").
		Description("Made for the `dedupe` processor. Ids are forgotten after the span. Values "+
			"and ttls are not kept, and keys cannot be deleted. The server's maxmemory policy "+
			"must be `noeviction`. Set the processor's `drop_on_err` to `false`: then a message "+
			"passes, perhaps for the second time, while Redis cannot be reached. By default such "+
			"a message is lost. If Redis comes back without the ids, the log says so once, and "+
			"messages pass as if their ids were new.").
		Fields(
			service.NewStringField("url").
				Description("The server, as `redis://user:password@host:6379/0`, or `rediss://` "+
					"for TLS."),
			service.NewStringField("key").
				Description("The key of the filter. Instances with the same key share it."),
			service.NewIntField(capacityField).
				Description("The largest number of new ids within a span, of all instances "+
					"together, however unevenly they come.").
				LintRule(`root = if this < 1 { [ "capacity must be positive" ] }`),
			fprSpec(),
			spanSpec(),
			renewSpec(),
			service.NewTLSToggledField("tls"),
		)
}

// shared is a set in Redis.
type shared struct {
	*bloomredis.Window
	client redis.UniversalClient
}

const (
	openTimeout = 30 * time.Second // limits OpenWindow, and each update of the metrics
	showEvery   = time.Minute      // the time between two updates of the metrics
)

func newRedisCache(conf *service.ParsedConfig, res *service.Resources) (*cache, error) {
	url, err1 := conf.FieldString("url")
	key, err2 := conf.FieldString("key")
	f, err3 := readFields(conf)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	log := res.Logger()
	lost := func(err error) {
		log.Errorf("bloom: Redis has forgotten all ids, "+
			"and messages pass as if theirs were new: %v", err)
	}
	c := bloomredis.WindowConfig{
		N: f.capacity, P: f.fpr, Span: f.span, Renew: f.renew, OnLost: lost,
	}
	if f.span == 0 {
		return nil, fmt.Errorf("%s: it is required", spanField)
	}
	if _, err := c.SizeBytes(); err != nil {
		return nil, ofField(err)
	}
	tls, enabled, err := conf.FieldTLSToggled("tls")
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	if enabled {
		options.TLSConfig = tls
	}

	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	client := redis.NewClient(options)
	w, err := bloomredis.OpenWindow(ctx, client, key, c)
	if err != nil {
		client.Close()
		return nil, fmt.Errorf("url, key: %s: %w", options.Addr, err)
	}
	return newCache(shared{w, client}, f.span, showEvery, clock{}, res), nil
}

func (s shared) addID(ctx context.Context, id string) (isNew bool, err error) {
	err = untilOpen(func() error { isNew, err = s.AddString(ctx, id); return err })
	return isNew, err
}

func (s shared) contains(ctx context.Context, id string) (present bool, err error) {
	err = untilOpen(func() error { present, err = s.ContainsString(ctx, id); return err })
	return present, err
}

// untilOpen makes up to ten calls, until one does not return ErrLost. A call that returns ErrLost
// has added nothing, and the window starts over on its own within a second, so no message has to
// fail.
func untilOpen(call func() error) (err error) {
	for try := range 10 {
		if try > 1 {
			time.Sleep(200 * time.Millisecond)
		}
		if err = call(); !errors.Is(err, bloomredis.ErrLost) {
			break
		}
	}
	return err
}

func (s shared) figures(ctx context.Context) (st bloom.Stats, reach time.Duration, err error) {
	if st, err = s.Stats(ctx); err == nil {
		reach, err = s.Reach(ctx)
	}
	return st, reach, err
}

func (shared) save() error { return nil }

func (s shared) close() error { return s.client.Close() }
