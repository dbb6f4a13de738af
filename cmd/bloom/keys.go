package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

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
