package main

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// partOf returns the shard that f was made of.
func partOf(f filter) shard {
	_, part := fromHash(f.Info().Hash)
	return part
}

// keys is which keys a command makes of lines.
type keys struct {
	lines.Key
	part shard
}

// informed is a filter or a bank.
type informed interface {
	Info() bloom.Info
	SetInfo(bloom.Info)
}

// say has the file of f, which is new, say which keys it has, and what -comment says.
func (k keys) say(f informed, comment string, blank bool) {
	info := f.Info()
	info.Hash, info.Comment = k.Hash()+k.part.suffix(), comment
	if comment == "" && k.Field > 0 {
		info.Comment = fmt.Sprintf(fieldComment, k.Field)
	}
	f.SetInfo(info)
	if blank {
		sayBlank(f)
	}
}

// blankText is what the comment of a file ends with that has the empty line. Guava's indexes of that
// line are all 0, so a filter with them cannot say it.
const blankText = "has the empty line"

// sayBlank has f's file say that it has the empty line.
func sayBlank(f informed) {
	if info := f.Info(); !saysBlank(f) {
		info.Comment = joined(info.Comment, blankText)
		f.SetInfo(info)
	}
}

func saysBlank(f informed) bool {
	rest, _, _ := fromComment(f.Info().Comment)
	return strings.HasSuffix(rest, blankText)
}

// joined is a comment and what a command adds to it.
func joined(comment, more string) string {
	if comment == "" {
		return more
	}
	return strings.ToValidUTF8(comment[:min(len(comment), 3900)], "") + "; " + more
}

// fieldComment is what the file of a filter says that was made of one field. How that is
// hashed is no other than how lines are.
const fieldComment = "keys are field %d of the lines"

// join has f's file go on to say how keys were hashed, if those to come are hashed as the
// ones before. Otherwise nobody can say it.
func (k keys) join(f informed) {
	info := f.Info()
	info.Hash = agreed(info.Hash, k.Hash()+k.part.suffix())
	f.SetInfo(info)
}

// keyFlags are the flags that say what of a line, or of a field of it, is the key.
var keyFlags = []struct {
	key   lines.Key
	flags string
}{
	{lines.Key{}, ""},
	{lines.Key{KeepCR: true}, "-keep-cr"},
	{lines.Key{FoldCase: true}, "-fold-case"},
	{lines.Key{FoldCase: true, KeepCR: true}, "-fold-case and -keep-cr"},
	{lines.Key{Hex: true}, "-hex"},
}

// keyOf returns which flags made keys, by what a file that build made says of them.
func keyOf(hash string) (key lines.Key, flags string, known bool) {
	for _, k := range keyFlags {
		if k.key.Hash() == hash {
			return k.key, k.flags, true
		}
	}
	return lines.Key{}, "", false
}

// match has cfg make the keys that f has, as follow says.
func (f *loaded) match(cfg *lines.Config, flags *pflag.FlagSet) error {
	cfg.Take = partOf(f).take()
	return f.follow(&cfg.Key, flags)
}

// follow has key be as f's file says that keys were made of lines. It returns an error if flags, of
// the command that key is of, say otherwise. What a program wrote there in its own words says nothing.
func (f *loaded) follow(key *lines.Key, flags *pflag.FlagSet) error {
	hash, _ := fromHash(f.Info().Hash)
	made, with, known := keyOf(hash)
	switch {
	case !known:
	case !flags.Changed("hex") && !flags.Changed("fold-case") && !flags.Changed("keep-cr"):
		key.Hex, key.FoldCase, key.KeepCR = made.Hex, made.FoldCase, made.KeepCR
	case key.Hash() != hash:
		return usageError{fmt.Errorf("%s was made with %s: say that, or nothing", f.path, cmp.Or(with, "none of -hex, -fold-case and -keep-cr"))}
	}
	return nil
}

// warnField warns if f was made of another field than a run that goes on with it.
func warnField(f *loaded, field int) {
	var made int
	if _, err := fmt.Sscanf(f.Info().Comment, fieldComment, &made); err == nil && made != field {
		fmt.Fprintf(os.Stderr, "bloom: warning: %s was made with -f %d, and -f is %d now (0: it is missing)\n", f.path, made, field)
	}
}

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
	if made := partOf(f); made != s && max(made.n, s.n) > 1 {
		return fmt.Errorf("%s was made with -shard %q, and -shard is %q now", path, &made, &s)
	}
	return nil
}

// fromHash cuts off the suffix of s from what a file's Info says.
func fromHash(hash string) (rest string, s shard) {
	if i := strings.LastIndex(hash, separator); i >= 0 && s.Set(hash[i+len(separator):]) == nil {
		return hash[:i], s
	}
	return hash, shard{}
}
