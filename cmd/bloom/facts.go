package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/seed79a3ff49/bloom"
)

// The Meta of a file's Info holds facts that later runs need; docs/format.md lists them. Names that
// other programs put in Meta are left alone.
const (
	fieldFact = "field" // the number of the field that is the key; 0 is the whole line
	sepFact   = "sep"   // the byte between fields, if --sep named it
	shardFact = "shard" // the shard whose lines the filter has, such as 3/8
	// 1 if the filter has the empty line, which Guava's bits do not show; 0 once it was removed
	blankFact = "blank"

	// The record of OUT; see outRecord.
	outSizeFact   = "out.size"
	outDelimFact  = "out.delim"
	outDigestFact = "out.digest"
)

var outFacts = []string{outSizeFact, outDelimFact, outDigestFact}

// several is the value of fieldFact if keys come from different fields, and of outSizeFact if the
// filter is a union of states with different OUTs. The facts are not deleted, because SetInfo
// cannot empty a Meta.
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

// fieldOf returns the number of the field that the keys of f come from; 0 is the whole line. known
// is false if f records no single field: its keys come from several fields, or it was made without
// -f, so that they may be whole lines or values of a field.
func fieldOf(f informed) (field int, known bool) {
	field, err := strconv.Atoi(factsOf(f).Get(fieldFact))
	return field, err == nil && field >= 0
}

// fieldOfMore is fieldOf for commands that add keys to f. If this program made f, and f records no
// field, it returns 0 and true: new keys must be whole lines.
func fieldOfMore(f informed) (field int, known bool) {
	hash := f.Info().Hash
	if !factsOf(f).Has(fieldFact) {
		return 0, hash != "" && !ownHash(hash)
	}
	return fieldOf(f)
}

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

// recordBlankRemoved records that the empty line was removed, once f certainly lacks it.
func recordBlankRemoved(f hashFilter) {
	if recordsBlank(f) && !f.ContainsHash(bloom.SumString("")) {
		facts := factsOf(f)
		facts.Set(blankFact, "0")
		setFacts(f, facts)
	}
}

func recordsBlank(f informed) bool { return factsOf(f).Get(blankFact) == "1" }

// joinFacts returns the facts of the union of two filters, or an error if their keys do not mix. A
// fact that only one filter has is kept. A name from other programs gets the values of both.
func joinFacts(a, b informed) (url.Values, error) {
	x, y := factsOf(a), factsOf(b)
	fieldA, knownA := fieldOfMore(a)
	fieldB, knownB := fieldOfMore(b)
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
		all.Del(sepFact) // a later run needs --sep, or looks for a tab or a comma
	}
	differs := func(name string) bool { return len(all[name]) > 1 }
	if slices.ContainsFunc(outFacts, differs) { // the union continues neither OUT
		for _, name := range outFacts {
			all.Del(name)
		}
		all.Set(outSizeFact, several)
	}
	return all, nil
}
