package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/seed79a3ff49/bloom"
)

// Facts about a file that later runs need are in the Meta of its Info, listed in docs/format.md.
// Names of other programs stay as they are.
const (
	fieldFact = "field" // the number of the field of lines that keys are; 0 is the whole line
	sepFact   = "sep"   // the byte between fields, if -sep named it
	shardFact = "shard" // the shard whose lines the filter has, such as 3/8
	// 1 if the filter has the empty line, 0 if that was removed; Guava's bits do not show it
	blankFact = "blank"

	// The record of OUT; see outRecord.
	outSizeFact   = "out.size"
	outDelimFact  = "out.delim"
	outDigestFact = "out.digest"
)

var outFacts = []string{outSizeFact, outDelimFact, outDigestFact}

// several is the value of fieldFact if the keys are not all one field, and of outSizeFact if the
// filter is a union of states with different OUTs. SetInfo cannot make a Meta empty, so a fact that
// no longer holds is replaced by this value and not deleted.
const several = "several"

// informed is a filter or a bank, which may be read only.
type informed interface{ Info() bloom.Info }

func factsOf(f informed) url.Values {
	facts, err := url.ParseQuery(f.Info().Meta)
	if err != nil {
		return url.Values{}
	}
	return facts
}

func setFacts(f infoHolder, facts url.Values) {
	f.SetInfo(bloom.Info{Meta: facts.Encode()})
}

// fieldOf returns the number of the field of lines that keys of f are. Field 0 is the whole line.
// known is false if f does not tell: its keys are several fields, or f was made without -f, from
// whole lines or from values of a field.
func fieldOf(f informed) (field int, known bool) {
	field, err := strconv.Atoi(factsOf(f).Get(fieldFact))
	return field, err == nil && field >= 0
}

// fieldInUnion is fieldOf for the filters of a union. A filter that the command made without -f
// counts as one of whole lines, because it does not tell.
func fieldInUnion(f informed) (field int, known bool) {
	hash := f.Info().Hash
	if !factsOf(f).Has(fieldFact) {
		return 0, hash != "" && !ownHash(hash)
	}
	return fieldOf(f)
}

// partOf returns the shard whose lines f has.
func partOf(f informed) shard {
	var s shard
	if s.Set(factsOf(f).Get(shardFact)) != nil {
		return shard{}
	}
	return s
}

func recordBlank(f infoHolder) {
	facts := factsOf(f)
	facts.Set(blankFact, "1")
	setFacts(f, facts)
}

// recordBlankRemoved records that f no longer has the empty line, if it certainly has not.
func recordBlankRemoved(f hashFilter) {
	if recordsBlank(f) && !f.ContainsHash(bloom.SumString("")) {
		facts := factsOf(f)
		facts.Set(blankFact, "0")
		setFacts(f, facts)
	}
}

func recordsBlank(f informed) bool { return factsOf(f).Get(blankFact) == "1" }

// joinFacts returns the facts of the union of two filters, or an error if their keys do not mix.
// What only one of them has stays, and a name of other programs keeps the values of both.
func joinFacts(a, b informed) (url.Values, error) {
	x, y := factsOf(a), factsOf(b)
	fieldA, knownA := fieldInUnion(a)
	fieldB, knownB := fieldInUnion(b)
	switch {
	case knownA && knownB && fieldA != fieldB:
		return nil, fmt.Errorf("keys made with %s and keys made with %s do not mix",
			fieldFlag(fieldA), fieldFlag(fieldB))
	case x.Get(shardFact) != y.Get(shardFact):
		return nil, errors.New("they have different shards, or one of them has all lines: " +
			"bloom check asks the files of all shards")
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
	if len(all[fieldFact]) > 1 {
		all.Set(fieldFact, several)
	}
	if recordsBlank(a) || recordsBlank(b) {
		all.Set(blankFact, "1")
	}
	if len(all[sepFact]) > 1 || knownA && knownB && x.Get(sepFact) != y.Get(sepFact) {
		all.Del(sepFact) // a later run says -sep, or takes a tab or a comma
	}
	differs := func(name string) bool { return len(all[name]) > 1 }
	if slices.ContainsFunc(outFacts, differs) { // the union goes on with neither OUT
		for _, name := range outFacts {
			all.Del(name)
		}
		all.Set(outSizeFact, several)
	}
	return all, nil
}
