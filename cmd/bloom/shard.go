package main

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom"
)

// shard is one of n parts of the lines: part i, counted from 0. The digest of a line decides its
// part. The zero shard has all lines.
type shard struct{ i, n uint64 }

func (s *shard) register(flags *pflag.FlagSet) {
	flags.Var(s, "shard", "lines of shard `i/n` only, with i from 0 to n-1")
}

func (s *shard) Type() string { return "i/n" }

func (s *shard) String() string {
	if s.n == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.i, s.n)
}

// maxShards is the largest n. The more shards there are, the more extra room each needs in
// proportion to its lines; see shard.share.
const maxShards = 1 << 20

func (s *shard) Set(text string) error {
	first, second, _ := strings.Cut(text, "/")
	i, err := strconv.ParseUint(first, 10, 32)
	n, err2 := strconv.ParseUint(second, 10, 32)
	if err != nil || err2 != nil || i >= n || n > maxShards {
		return fmt.Errorf("%q is not a shard, such as 0/8 or 7/8", text)
	}
	*s = shard{i, n}
	return nil
}

// salt makes the shard of a line independent of the line's bits in a filter: the lines of a shard
// spread over their filter like any others.
const salt = 0x5a17ed5eed0f5a1d

// selector returns a function that reports whether a line belongs to s, or nil if all lines do.
func (s shard) selector() func(bloom.Hash) bool {
	if s.n <= 1 {
		return nil
	}
	return func(h bloom.Hash) bool { return shardOf(h, s.n) == s.i }
}

// shardOf returns the number, below n, of the shard of h. It must never change, because files and
// runs on other machines depend on it.
func shardOf(h bloom.Hash, n uint64) uint64 {
	h1, _ := h.Salt(salt).Words()
	i, _ := bits.Mul64(h1, n)
	return i
}

// share returns the number of lines that s must have room for: an n-th of all lines, plus four
// standard deviations.
func (s shard) share(lines uint64) uint64 {
	if s.n <= 1 || lines == 0 {
		return lines
	}
	mean := float64(lines) / float64(s.n)
	return min(lines, uint64(math.Ceil(mean+4*math.Sqrt(mean))))
}
