package main

import (
	"cmp"
	"fmt"
	"net/url"

	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// keyRule says how a command makes keys from lines, and which shard's lines it uses.
type keyRule struct {
	lines.Key
	shard shard
}

// infoHolder is a filter or a bank.
type infoHolder interface {
	Info() bloom.Info
	UpdateInfo(func(*bloom.Info))
}

// setInfo sets the Info of a new filter or bank: how keys are made, the shard, the text of
// --comment and, if blank is true, that f has the empty line.
func (k keyRule) setInfo(f infoHolder, comment string, blank bool) {
	f.UpdateInfo(func(i *bloom.Info) {
		i.Hash = k.Hash()
		i.Comment = comment
	})
	changeFacts(f, func(facts url.Values) {
		if (k.Place != lines.Place{}) {
			setPlace(facts, k.Key)
		}
		if k.shard.n > 0 {
			facts.Set(shardFact, k.shard.String())
		}
		if blank {
			facts.Set(blankFact, "1")
		}
	})
}

// mixedHash is the Hash of a filter with keys that were hashed in different ways.
const mixedHash = "several ways"

// mergeInfo changes the Info of f before keys made by k are added. A Hash other than k.Hash()
// becomes mixedHash, but an empty Hash stays empty. If the place differs, fieldFact becomes
// mixedFact. If k uses another separator, mergeInfo records it. A filter of another program that
// records no place gets k.Place.
func (k keyRule) mergeInfo(f *loaded) {
	dropNever(f, f.path)
	place, known := placeOfMore(f)
	f.UpdateInfo(func(i *bloom.Info) {
		if i.Hash != "" && i.Hash != k.Hash() {
			i.Hash = mixedHash
		}
	})
	changeFacts(f, func(facts url.Values) {
		switch {
		case known && place != k.Place:
			setMixed(facts)
		case known && place.Field > 0:
			addSeparator(facts, k.Separator)
		case !known && !hasPlace(facts):
			setPlace(facts, k.Key)
		}
	})
}

// keyFlags lists the ways of making a key from a line or a field, and the flags for each.
var keyFlags = []struct {
	key   lines.Key
	flags string
}{
	{lines.Key{}, ""},
	{lines.Key{KeepCR: true}, "--keep-cr"},
	{lines.Key{FoldCase: true}, "--fold-case"},
	{lines.Key{FoldCase: true, KeepCR: true}, "--fold-case and --keep-cr"},
	{lines.Key{Hex: true}, "--hex"},
}

// keyOf returns the lines.Key with this Hash, and the flags for it. known is false if keyFlags
// lacks the Hash.
func keyOf(hash string) (key lines.Key, flags string, known bool) {
	for _, k := range keyFlags {
		if k.key.Hash() == hash {
			return k.key, k.flags, true
		}
	}
	return lines.Key{}, "", false
}

// keyFromInfo sets FoldCase, Hex, KeepCR and Separator of key from f's Info, unless the command's
// flags set them. It returns an error if the flags contradict the Info's Hash. If keyOf does not
// know the Hash, key gets at most a Separator; see foreignKeys.
func (f *loaded) keyFromInfo(key *lines.Key, flags *pflag.FlagSet) error {
	hash := f.Info().Hash
	made, with, known := keyOf(hash)
	switch {
	case !known:
	case !flags.Changed("hex") && !flags.Changed("fold-case") && !flags.Changed("keep-cr"):
		key.Hex, key.FoldCase, key.KeepCR = made.Hex, made.FoldCase, made.KeepCR
	case key.Hash() != hash:
		with = cmp.Or(with, "none of --hex, --fold-case and --keep-cr")
		return usageError{fmt.Errorf("%s was made with %s: give the same, or none of these flags",
			f.path, with)}
	}
	if place, known := placeOf(f); known && place == key.Place && key.Separator == "" {
		key.Separator = separatorOf(f)
	}
	return nil
}

// checkPlace returns an error if f is known to have keys from a different place.
func (f *loaded) checkPlace(place lines.Place) error {
	made, known := placeOfMore(f)
	if !known || made == place {
		return nil
	}
	return usageError{fmt.Errorf("%s was made with %s, but there is %s now, "+
		"so its keys would be mixed; "+
		"--force continues anyway", f.path, placeFlag(made), placeFlag(place))}
}

func placeFlag(place lines.Place) string {
	switch {
	case place.JSON != "":
		return "--json " + place.JSON
	case place.Field > 0:
		return fmt.Sprintf("-f %d", place.Field)
	}
	return "no -f"
}

// ownHash reports whether hash, the Hash of an Info, is neither empty nor in keyFlags: it is
// mixedHash, or another program chose it.
func ownHash(hash string) bool {
	_, _, known := keyOf(hash)
	return !known && hash != ""
}

// foreignKeys returns a warning if ownHash is true for hash, the Hash of the file at path: look-ups
// may then miss keys.
func foreignKeys(path, hash string) (warnings []string) {
	if !ownHash(hash) {
		return nil
	}
	return []string{fmt.Sprintf(
		"%s says that its keys are %q, but bloom looks lines up as the flags say", path, hash)}
}
