package main

import (
	"container/list"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"github.com/seed79a3ff49/bloom/bloomprom"
	"github.com/seed79a3ff49/bloom/bloomredis"
	"github.com/seed79a3ff49/bloom/replica"
)

var errNotFound = errors.New("not found")

var items = []byte("items") // the table

// Layers, in the order in which they are asked.
const (
	byFilter = iota
	byLocal
	byRedis
	byDatabase
	layers
)

var layerNames = [layers]string{"filter", "local cache", "Redis", "database"}

// Store is a table behind two caches and a filter. The filter is for keys that
// are nowhere: no cache knows them, so each one would cost a query. A Store is for one
// goroutine.
type Store struct {
	seen   *replica.Replica // nil for none
	shared *bloomredis.Filter
	local  *lru
	redis  *redis.Client
	prefix string // of cached rows in Redis
	db     *bbolt.DB

	lookups  *bloomprom.Lookups // what the filter said, and whether it was right
	answered [layers]int
	spent    [layers]time.Duration // from the question to the answer
}

// Get returns the value of key, or errNotFound.
func (s *Store) Get(ctx context.Context, key string) (value string, err error) {
	layer, start := byFilter, time.Now()
	defer func() {
		s.answered[layer]++
		s.spent[layer] += time.Since(start)
	}()
	if s.seen != nil {
		if !s.seen.ContainsString(key) {
			s.lookups.Miss()
			return "", errNotFound
		}
		defer func() {
			switch err {
			case nil:
				s.lookups.Hit()
			case errNotFound:
				s.lookups.FalsePositive()
			}
		}()
	}

	layer = byLocal
	if value, ok := s.local.get(key); ok {
		return value, nil
	}

	layer = byRedis
	value, err = s.redis.Get(ctx, s.prefix+key).Result()
	if err == nil {
		s.local.put(key, value)
		return value, nil
	}
	if err != redis.Nil {
		return "", err
	}

	layer = byDatabase
	err = s.db.View(func(tx *bbolt.Tx) error {
		found := tx.Bucket(items).Get([]byte(key))
		if found == nil {
			return errNotFound
		}
		value = string(found)
		return nil
	})
	if err != nil {
		return "", err
	}
	s.local.put(key, value)
	return value, s.redis.Set(ctx, s.prefix+key, value, time.Hour).Err()
}

// Put adds a row. The filter comes first: a key that is in the filter alone
// costs one query, a row that is not in the filter is not found.
func (s *Store) Put(ctx context.Context, key, value string) error {
	if _, err := s.shared.AddString(ctx, key); err != nil {
		return err
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(items).Put([]byte(key), []byte(value))
	})
}

// lru is a cache of the values used last.
type lru struct {
	size  int
	order list.List // of entry, last used first
	items map[string]*list.Element
}

type entry struct{ key, value string }

func newLRU(size int) *lru { return &lru{size: size, items: make(map[string]*list.Element)} }

func (c *lru) get(key string) (string, bool) {
	e, ok := c.items[key]
	if !ok {
		return "", false
	}
	c.order.MoveToFront(e)
	return e.Value.(entry).value, true
}

func (c *lru) put(key, value string) {
	c.items[key] = c.order.PushFront(entry{key, value})
	if c.order.Len() > c.size {
		delete(c.items, c.order.Remove(c.order.Back()).(entry).key)
	}
}
