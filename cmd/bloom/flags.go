package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// count is a number of lines, such as 1000000, 1,000,000, 1e6 or 1M.
type count uint64

// grouped matches a number with commas, as this program prints it.
var grouped = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3})+$`)

func (c *count) Type() string { return "N" }

func (c *count) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*c), 10)
}

func (c *count) Set(s string) error {
	number := strings.ReplaceAll(s, "_", "")
	if grouped.MatchString(s) {
		number = strings.ReplaceAll(s, ",", "")
	}
	if n, err := strconv.ParseUint(number, 10, 64); err == nil && n > 0 {
		*c = count(n)
		return nil
	}
	unit := 1.0
	if i := len(number) - 1; i > 0 && strings.ContainsRune("kmgtb", rune(number[i]|0x20)) {
		unit = map[byte]float64{'k': 1e3, 'm': 1e6, 'g': 1e9, 'b': 1e9, 't': 1e12}[number[i]|0x20]
		number = number[:i]
	}
	x, err := strconv.ParseFloat(number, 64)
	x *= unit
	if err != nil || !(x >= 1 && x < 1<<63) || x != math.Trunc(x) {
		return fmt.Errorf("%q is not a number of lines, such as 1000, 1e6 or 10M", s)
	}
	*c = count(x)
	return nil
}

// rate is a part of all lines, such as 0.01, 1e-6 or 1%.
type rate float64

func (r *rate) Type() string { return "P" }

func (r *rate) String() string { return strconv.FormatFloat(float64(*r), 'g', -1, 64) }

func (r *rate) Set(s string) error {
	number := s
	if percent, ok := strings.CutSuffix(s, "%"); ok {
		number = strings.TrimSpace(percent) + "e-2"
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return fmt.Errorf("%q is not a rate, such as 0.001, 1e-6 or 1%%", s)
	}
	*r = rate(x)
	return nil
}

// filterFlags say how many lines a filter must have room for, and at which rate.
type filterFlags struct {
	n count
	p float64
}

func (f *filterFlags) add(flags *pflag.FlagSet, n, p string, ordinary float64) {
	flags.VarP(&f.n, "lines", "n", n)
	f.p = ordinary
	flags.VarP((*rate)(&f.p), "rate", "p", p)
}

// check returns an error if f.p is outside (0, 1) or below least. The second error ends with
// unless.
func (f *filterFlags) check(least float64, unless string) error {
	switch {
	case !(f.p > 0 && f.p < 1):
		return usageError{fmt.Errorf("-p %v is outside (0, 1)", f.p)}
	case f.p < least:
		return usageError{fmt.Errorf("-p %v is below %v, the lowest rate here%s",
			f.p, least, unless)}
	}
	return nil
}

// inputFlags say how to read lines.
type inputFlags struct {
	flags   *pflag.FlagSet
	null    bool
	key     lines.Key
	skipBad bool
	blank   bool
	long    int
}

// addBlank adds -blank. dedupe has no such flag: it knows exactly whether the empty line came.
func (f *inputFlags) addBlank(flags *pflag.FlagSet) {
	flags.BoolVar(&f.blank, "blank", false,
		"take blank lines, whose key is empty, like other lines; without it they are left out")
}

func (f *inputFlags) add(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.null, "null", "0", false, "lines end with a NUL byte, not with a newline")
	flags.BoolVarP(&f.null, "null-data", "z", false, "the same, as grep and sort call it")
	flags.IntVarP(&f.key.Field, "field", "f", 0,
		"compare field `N` only, of lines that are TSV or CSV")
	flags.StringVar(&f.key.Separator, "sep", "",
		"the byte between fields, such as : or \\t; "+
			"else a tab if the first line has one, and a comma if not")
	addKey(flags, &f.key)
	flags.BoolVar(&f.skipBad, "skip-bad", false,
		"leave out lines that lack the field or are not hexadecimal, and count them")
	flags.IntVar(&f.long, "long", 27,
		"unpack zstd that needs 2^`N` bytes of memory, as zstd --long=N does")
	f.flags = flags
}

// makeFlags are the flags of commands that make a filter or a bank from lines.
type makeFlags struct {
	size    filterFlags
	input   inputFlags
	file    target
	comment string
}

func (f *makeFlags) add(flags *pflag.FlagSet, n, p string) {
	f.size.add(flags, n, p, 0.001)
	f.file.addOutput(flags)
	flags.StringVar(&f.comment, "comment", "", "`text` for the file to hold")
	f.input.add(flags)
	f.input.addBlank(flags)
}

// config checks the flags, and returns how to read the files of these names.
func (f *makeFlags) config(names []string) (*lines.Config, error) {
	const most = 4096 // bytes of a Comment
	kept := withField(f.input.key.Field, f.comment)
	if len(kept) > most || !utf8.ValidString(kept) {
		return nil, usageError{fmt.Errorf(
			"-comment has %d bytes: it must be UTF-8, and no longer than %d bytes",
			len(f.comment), most-(len(kept)-len(f.comment)))}
	}
	return f.input.config(names)
}

// addKey adds the flags that say how lines are compared.
func addKey(flags *pflag.FlagSet, key *lines.Key) {
	flags.BoolVar(&key.FoldCase, "fold-case", false, "all forms of a letter are the same, such as A and a")
	flags.BoolVar(&key.Hex, "hex", false,
		"compare the bytes that lines give in hexadecimal, as lists of hashes do")
	flags.BoolVar(&key.KeepCR, "keep-cr", false,
		"compare the carriage return, too, that ends lines from Windows")
}

// config checks the flags, and returns how to read the files of these names.
func (f *inputFlags) config(names []string) (*lines.Config, error) {
	switch {
	case f.key.Field < 0 || f.key.Field == 0 && f.flags.Changed("field"):
		return nil, usageError{fmt.Errorf("-f %d: fields are counted from 1", f.key.Field)}
	case f.long < 10 || f.long > 31:
		return nil, usageError{fmt.Errorf("-long %d is outside [10, 31]", f.long)}
	case len(unescaped(f.key.Separator)) > 1:
		return nil, usageError{fmt.Errorf("-sep %q is not one byte", f.key.Separator)}
	case f.key.Separator != "" && f.key.Field == 0:
		return nil, usageError{fmt.Errorf("-sep needs -f")}
	}
	f.key.Separator = unescaped(f.key.Separator)
	cfg := &lines.Config{
		Names:   inputs(names),
		Delim:   '\n',
		Key:     f.key,
		SkipBad: f.skipBad,
		Blank:   f.blank,
		Window:  1 << f.long,
		Counts:  new(lines.Counts),
	}
	if f.null {
		cfg.Delim = 0
	}
	return cfg, nil
}

// unescaped returns the byte that an escape such as \t, \x1f or \0 stands for. It returns any other
// s unchanged.
func unescaped(s string) string {
	if s == `\0` {
		return "\x00"
	}
	if len(s) < 2 || s[0] != '\\' {
		return s
	}
	c, _, rest, err := strconv.UnquoteChar(s, 0)
	isByte := err == nil && rest == "" && c < 1<<8
	if !isByte {
		return s
	}
	return string([]byte{byte(c)})
}

// warnBad warns of the lines that -skip-bad left out.
func warnBad(cfg *lines.Config) {
	if cfg.Bad > 0 {
		warn("left out %s (-skip-bad), the first of them here: %v",
			counted(uint64(cfg.Bad), "line"), cfg.FirstBad)
	}
}

// need returns a check of the number of arguments: at least least, and at most most. A negative
// most sets no upper limit. The error says that the command needs what.
func need(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			name := strings.TrimPrefix(c.CommandPath(), "bloom ")
			return usageError{fmt.Errorf("%s needs %s; see bloom help %s", name, what, name)}
		}
		return nil
	}
}

func addJSON(flags *pflag.FlagSet) *bool { return flags.Bool("json", false, "write JSON") }

// writeJSON writes v and a newline to standard output.
func writeJSON(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

// totalSize returns the size of all files, or 0 if it is unknown.
func totalSize(names []string) (total int64) {
	for _, name := range names {
		info, err := stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		total += info.Size()
	}
	return total
}

// inputs returns names, or the name of standard input if there are none.
func inputs(names []string) []string {
	if len(names) == 0 {
		return []string{lines.Stdin}
	}
	return names
}

func stat(name string) (os.FileInfo, error) {
	if name == lines.Stdin {
		return os.Stdin.Stat()
	}
	return os.Stat(name)
}

// partOf returns the shard whose lines f has.
func partOf(f filter) shard {
	_, part := fromHash(f.Info().Hash)
	return part
}

// keyRule says how a command makes keys from lines, and which shard's lines it takes.
type keyRule struct {
	lines.Key
	part shard
}

// infoHolder is a filter or a bank.
type infoHolder interface {
	Info() bloom.Info
	SetInfo(bloom.Info)
}

// setInfo sets the Info of a new filter or bank. The Info says how keys are made, and has the text
// of -comment. If blank is true, it also says that f has the empty line.
func (k keyRule) setInfo(f infoHolder, comment string, blank bool) {
	info := f.Info()
	info.Hash = k.Hash() + k.part.suffix()
	info.Comment = withField(k.Field, comment)
	f.SetInfo(info)
	if blank {
		recordBlank(f)
	}
}

// blankText ends the Comment of a file whose filter has the empty line. All of Guava's indexes of
// that line are 0, so the bits of such a filter do not say whether it was added.
const blankText = "has the empty line"

// recordBlank makes the Comment of f say that f has the empty line.
func recordBlank(f infoHolder) {
	if info := f.Info(); !recordsBlank(f) {
		info.Comment = joined(info.Comment, blankText)
		f.SetInfo(info)
	}
}

func recordsBlank(f infoHolder) bool {
	rest, _, _ := cutOutRecord(f.Info().Comment)
	return strings.HasSuffix(rest, blankText)
}

// joined returns a comment with more at its end. It cuts a long comment, to stay within the limit
// of an Info.
func joined(comment, more string) string {
	if comment == "" {
		return more
	}
	return strings.ToValidUTF8(comment[:min(len(comment), 3900)], "") + "; " + more
}

// fieldComment is the Comment of a filter whose keys are one field of the lines. The Hash does not
// say so: fields are hashed like lines.
const fieldComment = "keys are field %d of the lines"

// withField returns a comment behind the record of the field that keys are; 0 is the line.
func withField(field int, comment string) string {
	if field == 0 {
		return comment
	}
	record := fmt.Sprintf(fieldComment, field)
	if comment == "" {
		return record
	}
	return record + "; " + comment
}

// severalWays is the Hash of a filter whose keys were not all hashed in one way.
const severalWays = "several ways"

// mergeInfo changes the Info of f for more keys, which k makes. If f's Hash names another way of
// hashing, it becomes severalWays. A Hash that is empty stays empty.
func (k keyRule) mergeInfo(f infoHolder) {
	if hash := f.Info().Hash; hash != "" && hash != k.Hash()+k.part.suffix() {
		f.SetInfo(bloom.Info{Hash: severalWays})
	}
}

// keyFlags lists the ways of making a key from a line or a field, and the flags for each.
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

// keyOf returns the way of making keys that an Info's Hash names, and the flags for it. known is
// false if no command writes that Hash.
func keyOf(hash string) (key lines.Key, flags string, known bool) {
	for _, k := range keyFlags {
		if k.key.Hash() == hash {
			return k.key, k.flags, true
		}
	}
	return lines.Key{}, "", false
}

// keyFromInfo sets key as f's Info says, if none of flags sets it. flags are those of the command.
// A flag that contradicts the Info is an error. If no command writes the Info's Hash, key stays as
// it is; see warnHash.
func (f *loaded) keyFromInfo(key *lines.Key, flags *pflag.FlagSet) error {
	hash, _ := fromHash(f.Info().Hash)
	made, with, known := keyOf(hash)
	switch {
	case !known:
	case !flags.Changed("hex") && !flags.Changed("fold-case") && !flags.Changed("keep-cr"):
		key.Hex, key.FoldCase, key.KeepCR = made.Hex, made.FoldCase, made.KeepCR
	case key.Hash() != hash:
		with = cmp.Or(with, "none of -hex, -fold-case and -keep-cr")
		return usageError{fmt.Errorf("%s was made with %s: say that, or nothing", f.path, with)}
	}
	return nil
}

// ownHash reports whether the Hash of an Info names a way of making keys that no command uses. A
// program may have written such a Hash.
func ownHash(hash string) bool {
	hash, _ = fromHash(hash)
	_, _, known := keyOf(hash)
	return !known && hash != ""
}

// warnHash is called if no line was found in the file at path. It warns if no command writes the
// Hash of the file's Info.
func warnHash(path, hash string) {
	if ownHash(hash) {
		warn("%s says that its keys are %q. bloom looked up the lines as they are, and found none",
			path, hash)
	}
}

// shard is part i of n parts of all lines. The digest of a line says to which part it belongs. The
// zero shard has all lines.
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

// maxShards bounds n. The fewer lines a shard has, the larger is the share of the extra room that
// shard.part adds.
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

// salt makes the shard of a line independent of the line's bits in a filter. So the lines of a
// shard spread over their filter like any lines.
const salt = 0x5a17ed5eed0f5a1d

// take returns a function that reports whether a line belongs to s, or nil if all lines do.
func (s shard) take() func(bloom.Hash) bool {
	if s.n <= 1 {
		return nil
	}
	return func(h bloom.Hash) bool { return shardOf(h, s.n) == s.i }
}

// shardOf returns the number of the shard to which h belongs, below n. It must never change,
// because files and runs on other machines depend on it.
func shardOf(h bloom.Hash, n uint64) uint64 {
	h1, _ := h.Salt(salt).Words()
	i, _ := bits.Mul64(h1, n)
	return i
}

// part returns how many of the given lines s must have room for: the n-th part, and four standard
// deviations.
func (s shard) part(lines uint64) uint64 {
	if s.n <= 1 || lines == 0 {
		return lines
	}
	mean := float64(lines) / float64(s.n)
	return min(lines, uint64(math.Ceil(mean+4*math.Sqrt(mean))))
}

// separator stands before the shard in an Info's Hash.
const separator = ", shard "

// suffix returns the text for s at the end of an Info's Hash. The zero shard has none.
func (s shard) suffix() string {
	if s.n == 0 {
		return ""
	}
	return separator + s.String()
}

// fromHash splits an Info's Hash into the way of hashing and the shard.
func fromHash(hash string) (rest string, s shard) {
	if i := strings.LastIndex(hash, separator); i >= 0 && s.Set(hash[i+len(separator):]) == nil {
		return hash[:i], s
	}
	return hash, shard{}
}
