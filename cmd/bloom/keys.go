package main

import (
	"fmt"
	"os"

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
func (k keys) say(f informed, comment string) {
	info := f.Info()
	info.Hash, info.Comment = k.Hash()+k.part.suffix(), comment
	if comment == "" && k.Field > 0 {
		info.Comment = fmt.Sprintf(fieldComment, k.Field)
	}
	f.SetInfo(info)
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

// match has cfg make the keys that f has, for command, and warns as warnKeys does.
func (f *loaded) match(command string, cfg *lines.Config) {
	cfg.Sum = sum(f.filter)
	cfg.Take = partOf(f).take()
	warnKeys(command, f, cfg.Key)
}

// warnKeys warns if f says that other flags made its keys than make command's. What a
// program wrote there in its own words says nothing about flags.
func warnKeys(command string, f *loaded, key lines.Key) {
	hash, _ := fromHash(f.Info().Hash)
	if _, made, known := keyOf(hash); known {
		_, runs, _ := keyOf(key.Hash())
		warnOther(command, f.path, made, runs)
	}
}

// warnField warns if f was made of another field than a run that goes on with it.
func warnField(command string, f *loaded, field int) {
	var made int
	if _, err := fmt.Sscanf(f.Info().Comment, fieldComment, &made); err == nil {
		runs := ""
		if field > 0 {
			runs = fmt.Sprintf("-f %d", field)
		}
		warnOther(command, f.path, fmt.Sprintf("-f %d", made), runs)
	}
}

func warnOther(command, path, made, runs string) {
	switch {
	case made == runs:
	case runs == "":
		fmt.Fprintf(os.Stderr, "bloom: warning: %s was made with %s, and %s runs without it\n", path, made, command)
	case made == "":
		fmt.Fprintf(os.Stderr, "bloom: warning: %s was made without %s, and %s runs with it\n", path, runs, command)
	default:
		fmt.Fprintf(os.Stderr, "bloom: warning: %s was made with %s, and %s runs with %s\n", path, made, command, runs)
	}
}
