package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"iter"
	"net/url"
	"strings"
)

// hrefs yields the href attributes of the a and area elements in an HTML page, as
// their authors meant them: unquoted or quoted either way, entities resolved.
//
// It is a scanner, not a parser. It knows comments and that there are no tags
// inside script, style, textarea and title; it does not know <base>, CDATA or
// what scripts add. It expects an encoding that includes ASCII. A tag without
// its end, as where a page was cut off, yields nothing.
func hrefs(page []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			_, rest, ok := bytes.Cut(page, []byte("<"))
			if !ok {
				return
			}
			if comment, ok := bytes.CutPrefix(rest, []byte("!--")); ok {
				if _, page, ok = bytes.Cut(comment, []byte("-->")); !ok {
					return
				}
				continue
			}
			if page = rest; len(rest) == 0 || !isLetter(rest[0]) {
				continue // an end tag, a declaration, or a stray "<"
			}
			end := bytes.IndexAny(rest, space+"/>")
			if end < 0 {
				return
			}
			href, rest, ok := attributes(rest[end:])
			if !ok {
				return
			}
			name := strings.ToLower(string(page[:min(end, len("textarea")+1)]))
			page = rest
			switch name {
			case "a", "area":
				if href != nil && !yield(strings.TrimSpace(html.UnescapeString(string(href)))) {
					return
				}
			case "script", "style", "textarea", "title":
				page = skipText(page, name)
			}
		}
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

const space = " \t\r\n\f"

// attributes reads a tag from behind its name to behind its '>'. It returns the
// value of its first href, or nil, and reports whether the tag ends at all.
func attributes(tag []byte) (href, rest []byte, ok bool) {
	for {
		tag = bytes.TrimLeft(tag, space+"/")
		if len(tag) == 0 {
			return nil, nil, false
		}
		if tag[0] == '>' {
			return href, tag[1:], true
		}
		// A name has at least one character, even if that is '='.
		end := 1 + bytes.IndexAny(tag[1:], space+"/>=")
		if end == 0 {
			return nil, nil, false
		}
		name := tag[:end]
		tag = bytes.TrimLeft(tag[end:], space)
		if len(tag) == 0 || tag[0] != '=' {
			continue
		}
		tag = bytes.TrimLeft(tag[1:], space)
		var value []byte
		if len(tag) > 0 && (tag[0] == '"' || tag[0] == '\'') {
			value, tag, ok = bytes.Cut(tag[1:], tag[:1])
			if !ok {
				return nil, nil, false
			}
		} else {
			end := bytes.IndexAny(tag, space+">")
			if end < 0 {
				return nil, nil, false
			}
			value, tag = tag[:end], tag[end:]
		}
		if href == nil && bytes.EqualFold(name, []byte("href")) {
			href = value
		}
	}
}

// skipText returns what follows the text of an element that holds no tags, from
// its end tag on.
func skipText(page []byte, name string) []byte {
	for {
		_, rest, ok := bytes.Cut(page, []byte("</"))
		if !ok {
			return nil
		}
		if len(rest) >= len(name) && strings.EqualFold(string(rest[:len(name)]), name) {
			return rest
		}
		page = rest
	}
}

// maxURL is how long a URL may be. Longer ones are most likely a server's mistake
// that makes each page link to a longer one.
const maxURL = 2048

// resolve returns href, found at base, as an absolute URL in normal form.
func resolve(base *url.URL, href string) (*url.URL, error) {
	link, err := base.Parse(escape(href))
	if err != nil {
		return nil, err
	}
	normalise(link)
	if len(link.String()) > maxURL {
		return nil, errors.New("URL is too long")
	}
	return link, nil
}

// escape writes what no URL may contain, but links do, as browsers send it: line
// breaks and tabs not at all, all else in percent signs. A URL that still had them
// would be escaped as a whole by package url, which then loses the difference
// between "/" and "%2F" in its path.
func escape(href string) string {
	var b strings.Builder
	for i := range len(href) {
		switch c := href[i]; {
		case c == '\t' || c == '\r' || c == '\n':
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// normalise gives URLs that must lead to the same page the same spelling: host in
// lower case, no default port, no fragment, no user, "/" for an empty path.
// (Parsing has seen to the case of the scheme and to dot segments.) It does not
// touch the order of queries or needless percent signs, which servers may
// distinguish.
func normalise(u *url.URL) {
	u.Host = strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		u.Host = strings.TrimSuffix(u.Host, ":80")
	case "https":
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	u.Fragment, u.RawFragment = "", ""
	u.User = nil
	u.ForceQuery = false
	if u.Path == "" {
		u.Path = "/"
	}
}
