package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// The Meta of a file's Info holds facts that later runs need; docs/format.md lists them. Names that
// other programs put in Meta are kept.
const (
	fieldFact = "field" // the number of the field that is the key; 0 is the whole line
	jsonFact  = "json"  // the name of the JSON value that is the key
	// The byte between fields, if --sep named it. A filter with keys from lines with different
	// separators has several values; anySep stands for files that were read without --sep.
	sepFact   = "sep"
	shardFact = "shard" // the shard that the filter is for, such as 3/8
	// 1 if the filter has the empty line, which sets only a single bit in Guava's form.
	blankFact = "blank"
	// The number of names that the filter never reports (--never); 0 if lines were added later.
	neverFact = "never"

	// The record of OUT; see outRecord.
	outSizeFact   = "out.size"
	outDelimFact  = "out.delim"
	outDigestFact = "out.digest"
)

var outFacts = []string{outSizeFact, outDelimFact, outDigestFact}

// mixedFact is the value of fieldFact if keys are different parts of lines, and of outSizeFact if
// the filter is a union of states with different records of OUT. If these facts were deleted
// instead, the next merge could set them again.
const mixedFact = "several"

// informed is a filter or a bank. It may be read-only.
type informed interface{ Info() bloom.Info }

func factsOf(f informed) url.Values { return factsIn(f.Info()) }

func factsIn(i bloom.Info) url.Values {
	facts, err := url.ParseQuery(i.Meta)
	if err != nil {
		return url.Values{}
	}
	return facts
}

func changeFacts(f infoHolder, change func(url.Values)) {
	f.UpdateInfo(func(i *bloom.Info) {
		facts := factsIn(*i)
		change(facts)
		i.Meta = facts.Encode()
	})
}

// placeOf returns the part of a line that is a key of f. known is false if keys are different parts
// of lines, or if f records no part: its keys may then be whole lines or parts of lines.
func placeOf(f informed) (place lines.Place, known bool) {
	facts := factsOf(f)
	if name := facts.Get(jsonFact); name != "" {
		return lines.Place{JSON: name}, true
	}
	field, err := strconv.Atoi(facts.Get(fieldFact))
	if err != nil || field < 0 {
		return lines.Place{}, false
	}
	return lines.Place{Field: field}, true
}

// placeOfMore is like placeOf, for commands that add keys to f. If f records no place, but its Hash
// is in keyFlags, new keys must be whole lines.
func placeOfMore(f informed) (place lines.Place, known bool) {
	hash := f.Info().Hash
	if !hasPlace(factsOf(f)) {
		return lines.Place{}, hash != "" && !ownHash(hash)
	}
	return placeOf(f)
}

func hasPlace(facts url.Values) bool { return facts.Has(fieldFact) || facts.Has(jsonFact) }

func setPlace(facts url.Values, key lines.Key) {
	if key.JSON != "" {
		facts.Set(jsonFact, key.JSON)
		return
	}
	facts.Set(fieldFact, strconv.Itoa(key.Field))
	if key.Separator != "" {
		facts.Set(sepFact, key.Separator)
	}
}

// setMixed records that keys are different parts of lines.
func setMixed(facts url.Values) {
	facts.Set(fieldFact, mixedFact)
	facts.Del(sepFact)
	facts.Del(jsonFact)
}

// anySep is the value of sepFact if fields are separated by tabs or commas, depending on the first
// line of each file.
const anySep = "\t,"

// separators returns the values of sepFact, or anySep if there are none.
func separators(facts url.Values) []string {
	if known := facts[sepFact]; len(known) > 0 {
		return known
	}
	return []string{anySep}
}

// addSeparator treats an empty separator as anySep.
func addSeparator(facts url.Values, separator string) {
	separator = cmp.Or(separator, anySep)
	known := separators(facts)
	if !strings.Contains(strings.Join(known, ""), separator) {
		facts[sepFact] = append(slices.Clone(known), separator)
	}
}

// separatorOf returns the separator that a command uses for f if --sep is not given, or "" if the
// first line of each input decides.
func separatorOf(f informed) string {
	separator := factsOf(f).Get(sepFact)
	if len(separator) > 1 { // anySep
		return ""
	}
	return separator
}

func shardIn(f informed) shard {
	var s shard
	if s.Set(factsOf(f).Get(shardFact)) != nil {
		return shard{}
	}
	return s
}

func recordBlank(f infoHolder) {
	changeFacts(f, func(facts url.Values) { facts.Set(blankFact, "1") })
}

// recordBlankRemoved records that the empty line was removed, if f certainly lacks it.
func recordBlankRemoved(f filter) {
	hashed, _ := methodsOf(f)
	if recordsBlank(f) && !hashed.ContainsHash(bloom.SumString("")) {
		changeFacts(f, func(facts url.Values) { facts.Del(blankFact) })
	}
}

func recordsBlank(f informed) bool { return factsOf(f).Get(blankFact) == "1" }

// joinFacts returns the facts of the union of two filters, or an error if their places or shards
// differ. A name that another program wrote gets the values of both filters.
func joinFacts(a, b informed) (url.Values, error) {
	x, y := factsOf(a), factsOf(b)
	placeA, knownA := placeOfMore(a)
	placeB, knownB := placeOfMore(b)
	switch {
	case knownA && knownB && placeA != placeB:
		return nil, fmt.Errorf("keys made with %s and keys made with %s do not mix",
			placeFlag(placeA), placeFlag(placeB))
	case x.Get(shardFact) != y.Get(shardFact):
		return nil, errors.New("they have different shards, or one of them has all lines: " +
			"bloom check reads the files of all shards")
	}
	all := url.Values{}
	for _, facts := range []url.Values{x, y} {
		for name, values := range facts {
			for _, value := range values {
				if !slices.Contains(all[name], value) {
					all.Add(name, value)
				}
			}
		}
	}
	if slices.Contains(all[fieldFact], mixedFact) {
		setMixed(all)
	}
	if knownA && knownB && placeA.Field > 0 {
		all[sepFact] = x[sepFact]
		for _, separator := range separators(y) {
			addSeparator(all, separator)
		}
	}
	if all.Has(neverFact) {
		all.Set(neverFact, "0") // the union may report some of the names
	}
	differs := func(name string) bool { return len(all[name]) > 1 }
	if slices.ContainsFunc(outFacts, differs) { // no run continues either OUT with the union
		for _, name := range outFacts {
			all.Del(name)
		}
		all.Set(outSizeFact, mixedFact)
	}
	return all, nil
}
