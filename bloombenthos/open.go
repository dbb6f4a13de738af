package bloombenthos

import (
	"context"
	"fmt"
	"sync"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// OpenCaches opens the caches bloom and bloom_redis of a configuration. It returns the error
// of the first that cannot be opened.
//
// The engine by itself opens a cache when a message first asks for it. If that fails, dedupe
// logs the error and drops the message, unless drop_on_err is false. Programs that give
// OpenCaches to service.CLIOptOnConfigParse do not start instead.
func OpenCaches(conf *service.ParsedConfig) error {
	const field = "cache_resources"
	if !conf.Contains(field) {
		return nil
	}
	resources, err := conf.FieldAny(field)
	if err != nil {
		return err
	}
	list, _ := resources.([]any)
	for _, resource := range list {
		fields, _ := resource.(map[string]any)
		if node, ok := resource.(interface{ Decode(any) error }); ok { // of YAML
			if err := node.Decode(&fields); err != nil {
				return err
			}
		}
		_, inMemory := fields["bloom"]
		_, inRedis := fields["bloom_redis"]
		if !inMemory && !inRedis {
			continue
		}
		label, _ := fields["label"].(string)
		if err := conf.Resources().AccessCache(context.Background(), label, func(service.Cache) {}); err != nil {
			return fmt.Errorf("bloombenthos: cache %q: %w", label, err)
		}
	}
	return nil
}

// place is where the cache with a label is, while it is open.
type place struct {
	sync.Mutex
	cache *cache
}

type label string

// openOnce returns the cache that is open under res's label, or the one that open makes.
// Where several messages are the first ones at once, the engine opens a cache several times
// and keeps the last. The ids in the others would be lost, and their files overwritten.
func openOnce(res *service.Resources, open func() (*cache, error)) (*cache, error) {
	v, _ := res.GetOrSetGeneric(label(res.Label()), new(place))
	p := v.(*place)
	p.Lock()
	defer p.Unlock()
	if p.cache != nil {
		return p.cache, nil
	}
	c, err := open()
	if err != nil {
		return nil, err
	}
	c.closed = func() {
		p.Lock()
		p.cache = nil
		p.Unlock()
	}
	p.cache = c
	return c, nil
}
