package main

import (
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// asker looks the keys of a batch up; see contains.
type asker func(found []bool, b *lines.Batch)

// loadAll loads the filter that the first of args names. If it was made as a shard of n, the
// first n of args name all of them. loadAll returns one of them, too, and the other args.
func loadAll(args []string) (all asker, one *loaded, rest []string, err error) {
	one, err = load(args[0])
	if err != nil {
		return nil, nil, nil, err
	}
	if err := one.askable(); err != nil {
		return nil, nil, nil, err
	}
	hash, part := fromHash(one.Info().Hash)
	if part.n <= 1 {
		return func(found []bool, b *lines.Batch) { contains(one.filter, found, b) }, one, args[1:], nil
	}
	s := &sharded{of: make([]*loaded, part.n), hs: make([][]bloom.Hash, part.n), is: make([][]int, part.n)}
	s.of[part.i] = one
	for n := 1; n < int(part.n); n++ {
		if n == len(args) {
			return nil, nil, nil, s.missing(args[0])
		}
		next, err := load(args[n])
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%w; the files of all shards come first: %w", err, s.missing(args[0]))
		}
		nextHash, nextPart := fromHash(next.Info().Hash)
		switch {
		case nextPart.n != part.n:
			return nil, nil, nil, fmt.Errorf("%s is no shard of %d: %w", args[n], part.n, s.missing(args[0]))
		case s.of[nextPart.i] != nil:
			return nil, nil, nil, fmt.Errorf("%s is shard %v, as a file before it is", args[n], &nextPart)
		case nextHash != hash || next.kind.name != one.kind.name:
			return nil, nil, nil, fmt.Errorf("%s and %s are not shards of one list: they differ in type or keys", args[0], args[n])
		}
		s.of[nextPart.i] = next
	}
	return func(found []bool, b *lines.Batch) { s.ContainsBatch(found, b.Hashes) }, one, args[part.n:], nil
}

// sharded is the filters of all shards, each of which is asked for its own keys.
type sharded struct {
	of  []*loaded
	hs  [][]bloom.Hash // of a batch, by shard
	is  [][]int        // their numbers in the batch
	has []bool
}

func (s *sharded) ContainsBatch(dst []bool, hs []bloom.Hash) {
	for i := range s.of {
		s.hs[i], s.is[i] = s.hs[i][:0], s.is[i][:0]
	}
	for i, h := range hs {
		part := shardOf(h, uint64(len(s.of)))
		s.hs[part], s.is[part] = append(s.hs[part], h), append(s.is[part], i)
	}
	for part, f := range s.of {
		s.has = answers(s.has, len(s.hs[part]))
		f.filter.(hashed).ContainsBatch(s.has, s.hs[part])
		for j, i := range s.is[part] {
			dst[i] = s.has[j]
		}
	}
}

// missing is the error of a command line without the files of all shards.
func (s *sharded) missing(path string) error {
	for i, f := range s.of {
		if f == nil {
			return usageError{fmt.Errorf("%s is one of %d shards, and shard %d/%d is missing", path, len(s.of), i, len(s.of))}
		}
	}
	return nil
}
