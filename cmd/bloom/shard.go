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

// shard is one of n parts of all lines, which their digests pick. The zero shard is all of
// them.
type shard struct{ i, n uint64 }

func (s *shard) add(flags *pflag.FlagSet) {
	flags.Var(s, "shard", "the lines of one shard only, `i/n`, with i from 0 to n-1")
}

func (s *shard) Type() string { return "i/n" }

func (s *shard) String() string {
	if s.n == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.i, s.n)
}

// maxShards is so many that a filter for a part has room for what chance adds to it.
const maxShards = 1 << 20

func (s *shard) Set(text string) error {
	first, second, _ := strings.Cut(text, "/")
	i, err := strconv.ParseUint(first, 10, 32)
	n, err2 := strconv.ParseUint(second, 10, 32)
	if err != nil || err2 != nil || i >= n || n > maxShards {
		return fmt.Errorf("%q is no shard, such as 0/8, 1/8 to 7/8", text)
	}
	*s = shard{i, n}
	return nil
}

// salt makes a digest that no filter takes bits from. So a filter of one shard's lines is a
// filter like any other.
const salt = 0x5a17ed5eed0f5a1d

// take returns what picks the lines of s, nil for all.
func (s shard) take() func(bloom.Hash) bool {
	if s.n <= 1 {
		return nil
	}
	return func(h bloom.Hash) bool { return shardOf(h, s.n) == s.i }
}

// shardOf returns which of n shards h belongs to. Files and other runs depend on it.
func shardOf(h bloom.Hash, n uint64) uint64 {
	h1, _ := h.Salt(salt).Words()
	i, _ := bits.Mul64(h1, n)
	return i
}

// part returns how many of lines belong to s, at most: four standard deviations more than the
// n-th part.
func (s shard) part(lines uint64) uint64 {
	if s.n <= 1 || lines == 0 {
		return lines
	}
	mean := float64(lines) / float64(s.n)
	return min(lines, uint64(math.Ceil(mean+4*math.Sqrt(mean))))
}

// separator is what a file's Info has between how keys are hashed and the shard.
const separator = ", shard "

// suffix is what s adds to how keys are hashed, in a file's Info.
func (s shard) suffix() string {
	if s.n == 0 {
		return ""
	}
	return separator + s.String()
}

// check returns an error unless f, which is the file at path, was made of s.
func (s shard) check(path string, f filter) error {
	made := partOf(f)
	switch {
	case made == s || made.n <= 1 && s.n <= 1:
		return nil
	case made.n <= 1:
		return fmt.Errorf("%s was not made as a shard, and -shard is %v", path, &s)
	case s.n <= 1:
		return fmt.Errorf("%s was made with -shard %v, which is missing now", path, &made)
	}
	return fmt.Errorf("%s was made with -shard %v, and -shard is %v now", path, &made, &s)
}

// fromHash cuts off the suffix of s from what a file's Info says.
func fromHash(hash string) (rest string, s shard) {
	if i := strings.LastIndex(hash, separator); i >= 0 && s.Set(hash[i+len(separator):]) == nil {
		return hash[:i], s
	}
	return hash, shard{}
}
