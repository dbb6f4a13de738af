package main

import (
	"fmt"
	"os"
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
	case key.Hash() != hash && with == "":
		return usageError{fmt.Errorf("%s was made without -hex, -fold-case and -keep-cr: leave them out", f.path)}
	case key.Hash() != hash:
		return usageError{fmt.Errorf("%s was made with %s: say that, or nothing", f.path, with)}
	}
	return nil
}

// warnField warns if f was made of another field than a run that goes on with it.
func warnField(command string, f *loaded, field int) {
	var made int
	if _, err := fmt.Sscanf(f.Info().Comment, fieldComment, &made); err == nil {
		runs := "without it"
		if field > 0 {
			runs = fmt.Sprintf("with -f %d", field)
		}
		if made != field {
			fmt.Fprintf(os.Stderr, "bloom: warning: %s was made with -f %d, and %s runs %s\n", f.path, made, command, runs)
		}
	}
}
