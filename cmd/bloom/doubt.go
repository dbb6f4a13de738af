package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// doubt recognizes and counts look-ups that are probably mistakes, such as look-ups of whole lines
// in a list of fields.
type doubt struct {
	path  string
	made  lines.Place // the part of a line that is a key of the list
	asked lines.Place // the part of a line that is looked up
	mixed bool        // the keys are different parts of lines, so nothing is known about them
	all   bool        // every look-up is doubtful
	signs string      // the bytes that can make a key doubtful
	bars  string      // the separators that no key of the list contains

	lines, found    uint64 // the numbers of lines looked up and found
	doubted, misled uint64 // the number of doubtful lines, and how often they were found
}

// newDoubt returns a doubt about look-ups in f, the list at path. key says how the look-ups make
// keys.
func newDoubt(path string, f informed, key lines.Key) *doubt {
	facts := factsOf(f)
	d := &doubt{path: path, asked: key.Place, mixed: facts.Get(fieldFact) == mixedFact}
	made, known := placeOf(f)
	if !known {
		return d
	}
	d.made = made
	whole := lines.Place{}
	switch {
	case made != d.asked && d.asked != whole:
		d.all = true
	case made.JSON != "":
		if d.asked == whole {
			d.signs = "{"
		}
	case made == whole, key.Hex: // Hex refuses separators
	default:
		d.signs = strings.Join(separators(facts), "")
		// A value in quotes may contain a comma. If a file was read without --sep, a value may also
		// contain a tab.
		if named := factsOf(f)[sepFact]; !slices.Contains(named, anySep) {
			d.bars = strings.ReplaceAll(strings.Join(named, ""), ",", "")
		}
		if made == d.asked {
			d.signs = d.bars
		}
	}
	return d
}

func hasAny(data []byte, signs string) bool {
	return slices.ContainsFunc([]byte(signs), func(sign byte) bool {
		return bytes.IndexByte(data, sign) >= 0
	})
}

func (d *doubt) doubts(key []byte) bool {
	if d.made.JSON != "" && d.signs != "" { // values may contain braces, but seldom begin with one
		return bytes.HasPrefix(bytes.TrimLeft(key, " \t"), []byte("{"))
	}
	return d.all || hasAny(key, d.signs)
}

// look counts the lines of b. found reports which lines were found. Call look before Keep, which
// moves the lines.
func (d *doubt) look(b *lines.Batch, found []bool) {
	d.lines += uint64(len(found))
	d.found += uint64(trues(found))
	if !d.all && !hasAny(b.Data, d.signs) {
		return
	}
	for i, ok := range found {
		if d.doubts(b.Key(i)) {
			d.count(ok)
		}
	}
}

func (d *doubt) count(found bool) {
	d.doubted++
	if found {
		d.misled++
	}
}

// refusal is the error for a line that is probably not a key.
func (d *doubt) refusal(line []byte) error {
	part := fmt.Sprintf("field %d of lines", d.made.Field)
	if d.made.JSON != "" {
		part = fmt.Sprintf("the values of %q in JSON objects", d.made.JSON)
	}
	return fmt.Errorf("keys of the list are %s: ask for that alone, not for %.80q", part, line)
}

// mistaken reports whether doubtful lines were looked up, and no more of them were found than false
// positives explain. Each line was looked up in the given number of filters with the given rate.
// The bound is the mean, plus a tenth for the error of the rate, plus 4*sqrt(mean) for chance.
func (d *doubt) mistaken(rate float64, filters int) bool {
	mean := float64(d.doubted) * float64(filters) * rate
	return d.doubted > 0 && float64(d.misled) <= 1.1*mean+4*math.Sqrt(mean)
}

const mixedKeys = "%s has keys of several fields, or of fields and whole lines (--force): " +
	"this run looks lines up with %s"

// warnings returns the reasons to doubt the look-ups so far. rate returns the rate of the filter,
// which takes a while.
func (d *doubt) warnings(rate func() float64) (warnings []string) {
	if d.mixed && d.found < d.lines {
		warnings = append(warnings, fmt.Sprintf(mixedKeys, d.path, placeFlag(d.asked)))
	}
	if d.doubted == 0 || !d.mistaken(rate(), 1) {
		return warnings
	}
	result := "none of the lines was found"
	if d.found > 0 {
		result = fmt.Sprintf("of %s that do not look like keys, no more were found than of any lines: %s",
			counted(d.doubted, "line"), humanize.Comma(int64(d.misled)))
	}
	if d.made == d.asked {
		return append(warnings, fmt.Sprintf("%s was made with --sep %q, but keys have it now: %s",
			d.path, d.bars, result))
	}
	return append(warnings, fmt.Sprintf("%s was made with %s, but there is %s now: %s",
		d.path, placeFlag(d.made), placeFlag(d.asked), result))
}
