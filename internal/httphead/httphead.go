// Package httphead parses HTTP fields that name codings and versions: lists with weights, such as
// Accept-Encoding and A-IM, the list Content-Encoding, and entity tags. It follows RFC 9110.
//
// Functions that take lines expect the values of a field as http.Header.Values returns them, and
// treat them as one list. They ignore all but the first maxElements elements, since a client may
// send a megabyte of them.
package httphead

import (
	"slices"
	"strconv"
	"strings"
)

const maxElements = 64

// split calls yield with each non-empty element of a list, without the white space around it.
// Commas in quotes do not separate elements.
func split(lines []string, yield func(element string)) {
	left := maxElements
	for _, line := range lines {
		quoted := false
		start := 0
		for i := 0; i <= len(line); i++ {
			switch {
			case i == len(line), line[i] == ',' && !quoted:
				if element := trim(line[start:i]); element != "" {
					yield(element)
					left--
				}
				if left == 0 {
					return
				}
				start = i + 1
			case line[i] == '"':
				quoted = !quoted
			}
		}
	}
}

func trim(s string) string { return strings.Trim(s, " \t") }

// coding returns name in lower case, with gzip and compress for the old names x-gzip and x-compress
// (section 8.4.1).
func coding(name string) string {
	name = strings.ToLower(name)
	if name == "x-gzip" || name == "x-compress" {
		name = name[2:]
	}
	return name
}

// Codings returns the codings in Content-Encoding, except identity, in the order in which they were
// applied.
func Codings(lines []string) (codings []string) {
	split(lines, func(element string) {
		if name := coding(element); name != "identity" {
			codings = append(codings, name)
		}
	})
	return codings
}

// Prefers reports whether Accept-Encoding accepts the named content coding, and does not list
// identity, which means no coding, with a higher weight.
func Prefers(lines []string, name string) bool {
	all := weights(lines)
	weight, named := all[name]
	if !named {
		weight = all["*"]
	}
	return weight > 0 && weight >= all["identity"]
}

// Lists reports whether a list with weights, such as A-IM, gives name a weight above 0. name must
// be in lower case; the list may be in any case.
func Lists(lines []string, name string) bool { return weights(lines)[name] > 0 }

// weights returns the weight of each coding in a list, in thousandths (section 12.4.2). A coding
// that is named twice gets the lower weight.
func weights(lines []string) map[string]int {
	all := map[string]int{}
	split(lines, func(element string) {
		name, rest, _ := strings.Cut(element, ";")
		name = coding(trim(name))
		weight := weight(rest)
		if had, twice := all[name]; twice {
			weight = min(weight, had)
		}
		all[name] = weight
	})
	return all
}

// weight returns the weight in the parameters of an element, or 1,000 by default. A malformed
// weight counts as 0: a coding that the client does not want is worse than no coding.
func weight(params string) int {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(trim(name), "q") {
			continue
		}
		value = trim(value)
		if !isWeight(value) {
			return 0
		}
		q, _ := strconv.ParseFloat(value, 64) // no error, because value is a number
		return int(q*1000 + 0.5)
	}
	return 1000
}

// A weight is a number from 0 to 1 with at most three decimal places.
func isWeight(s string) bool {
	whole, digits, _ := strings.Cut(s, ".")
	switch whole {
	case "0":
		return len(digits) <= 3 && strings.Trim(digits, "0123456789") == ""
	case "1":
		return len(digits) <= 3 && strings.Trim(digits, "0") == ""
	}
	return false
}

// Opaque returns the opaque part of an entity tag: the tag without W/ and the quotes (section
// 8.8.3).
func Opaque(tag string) string {
	tag = strings.TrimPrefix(trim(tag), "W/")
	if len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' {
		tag = tag[1 : len(tag)-1]
	}
	return tag
}

// Tags are the entity tags of If-None-Match.
type Tags struct {
	Any    bool     // the field contains *
	Opaque []string // the opaque parts of the tags
}

// ParseTags reads If-None-Match.
func ParseTags(lines []string) (t Tags) {
	split(lines, func(element string) {
		if element == "*" {
			t.Any = true
			return
		}
		t.Opaque = append(t.Opaque, Opaque(element))
	})
	return t
}

// Match reports whether t has a tag with the given opaque part, or *. It ignores W/, as the weak
// comparison of section 8.8.3.2 does, and the suffixes that [Bare] removes.
func (t Tags) Match(opaque string) bool { return t.Any || t.Find(opaque) }

// Find is like Match, but does not treat * as all tags.
func (t Tags) Find(opaque string) bool {
	return slices.ContainsFunc(t.Opaque, func(tag string) bool {
		return tag == opaque || Bare(tag) == opaque
	})
}

// Bare returns the opaque part of a tag without the suffix that proxies and servers add when they
// compress: "-gzip" (Apache), "--gzip" (Jetty) or ";gzip", or the same for another coding.
func Bare(opaque string) string {
	for _, name := range []string{"gzip", "gz", "br", "zstd", "deflate"} {
		if cut, ok := strings.CutSuffix(opaque, name); ok {
			for _, by := range []string{"--", "-", ";"} {
				if bare, ok := strings.CutSuffix(cut, by); ok && bare != "" {
					return bare
				}
			}
		}
	}
	return opaque
}
