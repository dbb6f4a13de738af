package httphead

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPrefers: the cases of RFC 9110, sections 12.4.2 and 12.5.3, for gzip.
func TestPrefers(t *testing.T) {
	for _, test := range []struct {
		lines []string
		want  bool
	}{
		// The examples of section 12.5.3.
		{[]string{"compress, gzip"}, true},
		{[]string{""}, false},
		{[]string{"*"}, true},
		{[]string{"compress;q=0.5, gzip;q=1.0"}, true},
		{[]string{"gzip;q=1.0, identity; q=0.5, *;q=0"}, true},
		// Its rules.
		{nil, false}, // any coding is acceptable, and none is the safest
		{[]string{"identity"}, false},
		{[]string{"br"}, false},
		{[]string{"br", "gzip"}, true}, // two lines are one list
		{[]string{"*;q=0"}, false},
		{[]string{"*;q=0, gzip"}, true},
		{[]string{"gzip, *;q=0"}, true},
		{[]string{"gzip;q=0, *"}, false},
		{[]string{"identity;q=0, *;q=0.1"}, true},
		{[]string{"gzip;q=0.5, identity"}, false},
		{[]string{"gzip;q=0.5, identity;q=0.5"}, true},
		{[]string{"gzip;q=0.5, identity;q=0.501"}, false},
		{[]string{"gzip;q=0.2, *;q=0.9"}, true}, // identity is not named
		// Names have no case, and x-gzip is gzip (section 8.4.1.3).
		{[]string{"GZIP"}, true},
		{[]string{"x-gzip"}, true},
		{[]string{"X-GZip;q=0.1"}, true},
		{[]string{"x-gzip;q=0"}, false},
		{[]string{"gzip, IDENTITY;q=0"}, true},
		{[]string{"gzipped, xgzip, notgzip, gzip2"}, false},
		// Weights (section 12.4.2).
		{[]string{"gzip;q=0"}, false},
		{[]string{"gzip;Q=0"}, false},
		{[]string{"gzip;q=0."}, false},
		{[]string{"gzip;q=0.0"}, false},
		{[]string{"gzip;q=0.000"}, false},
		{[]string{"gzip;q=0.001"}, true},
		{[]string{"gzip;q=1"}, true},
		{[]string{"gzip;q=1.000"}, true},
		{[]string{"gzip ; q=0"}, false},
		{[]string{"gzip\t;\tq=0"}, false},
		{[]string{"gzip; q=0.7 "}, true},
		{[]string{"gzip;level=9;q=0"}, false},
		{[]string{"gzip;q=0, gzip"}, false},
		{[]string{"gzip, gzip;q=0"}, false},
		// What is no weight forbids.
		{[]string{"gzip;q="}, false},
		{[]string{"gzip;q=x"}, false},
		{[]string{"gzip;q=-1"}, false},
		{[]string{"gzip;q=1.001"}, false},
		{[]string{"gzip;q=2"}, false},
		{[]string{"gzip;q=1e-1"}, false},
		{[]string{"gzip;q=0x1"}, false},
		{[]string{"gzip;q=0.0001"}, false},
		{[]string{"gzip;q=0.999"}, true},
		{[]string{"gzip;q=0.9990"}, false},
		{[]string{"gzip;q=0.1e1"}, false},
		{[]string{"gzip;q=1.0000"}, false},
		{[]string{"gzip;q=.5"}, false},
		{[]string{"gzip;q=NaN"}, false},
		// Lists (section 5.6.1).
		{[]string{",, gzip ,"}, true},
		{[]string{" , "}, false},
		{[]string{"br;q=1.0,gzip;q=0.8,*;q=0.1"}, true},
	} {
		assert.Equal(t, test.want, Prefers(test.lines, "gzip"), "%q", test.lines)
	}
}

// TestLists: a list such as A-IM has no * and no identity.
func TestLists(t *testing.T) {
	for _, test := range []struct {
		lines []string
		want  bool
	}{
		{[]string{"bloom-delta1"}, true},
		{[]string{"vcdiff, Bloom-Delta1;q=0.3, gzip"}, true},
		{[]string{"vcdiff", "bloom-delta1"}, true},
		{[]string{"bloom-delta1;q=0"}, false},
		{[]string{"bloom-delta1; Q=0.0"}, false},
		{[]string{"bloom-delta2", "*"}, false},
		{nil, false},
	} {
		assert.Equal(t, test.want, Lists(test.lines, "bloom-delta1"), "%q", test.lines)
	}
}

// TestCodings: the codings of a body, by RFC 9110, section 8.4.
func TestCodings(t *testing.T) {
	for _, test := range []struct {
		lines []string
		want  []string
	}{
		{nil, nil},
		{[]string{""}, nil},
		{[]string{"identity"}, nil},
		{[]string{"Identity"}, nil},
		{[]string{"gzip"}, []string{"gzip"}},
		{[]string{"GZIP"}, []string{"gzip"}},
		{[]string{"x-gzip"}, []string{"gzip"}},
		{[]string{" X-Gzip "}, []string{"gzip"}},
		{[]string{"x-compress"}, []string{"compress"}},
		{[]string{"identity, gzip"}, []string{"gzip"}},
		{[]string{"br, gzip"}, []string{"br", "gzip"}},
		{[]string{"br", "gzip"}, []string{"br", "gzip"}},
		{[]string{",gzip,"}, []string{"gzip"}},
		{[]string{`a;b="c,gzip,d", br`}, []string{`a;b="c,gzip,d"`, "br"}},
		{[]string{"aws-chunked"}, []string{"aws-chunked"}},
	} {
		assert.Equal(t, test.want, Codings(test.lines), "%q", test.lines)
	}
}

// TestMatch: If-None-Match, by RFC 9110, sections 8.8.3 and 13.1.2, against the version xyzzy.
func TestMatch(t *testing.T) {
	for _, test := range []struct {
		lines []string
		want  bool
	}{
		// The examples of sections 8.8.3 and 13.1.2.
		{[]string{`"xyzzy"`}, true},
		{[]string{`W/"xyzzy"`}, true},
		{[]string{`""`}, false},
		{[]string{`"xyzzy", "r2d2xxxx", "c3piozzzz"`}, true},
		{[]string{`W/"xyzzy", W/"r2d2xxxx", W/"c3piozzzz"`}, true},
		{[]string{`*`}, true},
		// Lists, spaces, commas and letters.
		{[]string{`"r2d2xxxx",W/"xyzzy"`}, true},
		{[]string{`"r2d2xxxx"`, ` W/"xyzzy" `}, true},
		{[]string{`, "xyzzy",`}, true},
		{[]string{`"a,xyzzy"`}, false},
		{[]string{`"a,xyzzy,b"`}, false},
		{[]string{`"a", "b,xyzzy,c"`, `"xyzzy,"`}, false},
		{[]string{`"a,b,", "xyzzy", "c,"`}, true},
		{[]string{`"a,", "xyzzy"`}, true},
		{[]string{`"a", xyzzy"`}, false},
		{[]string{`"XYZZY"`}, false},
		{[]string{`w/"xyzzy"`}, false},
		{[]string{`"xyzzy2"`, `"2xyzzy"`}, false},
		{[]string{`"*"`}, false},
		{[]string{`W/"*"`}, false},
		{[]string{`xyzzy`}, true}, // some clients leave the quotes out
		{nil, false},
		{[]string{""}, false},
		// What servers and proxies append when they compress.
		{[]string{`"xyzzy-gzip"`}, true},
		{[]string{`"xyzzy--gzip"`}, true},
		{[]string{`"xyzzy;gzip"`}, true},
		{[]string{`W/"xyzzy;gzip"`}, true},
		{[]string{`"xyzzy-br"`}, true},
		{[]string{`"xyzzygzip"`}, false},
		{[]string{`"xyzzy-gzip-gzip"`}, false},
		{[]string{`"xyzzy-x"`}, false},
	} {
		assert.Equal(t, test.want, ParseTags(test.lines).Match("xyzzy"), "%q", test.lines)
	}
	assert.True(t, ParseTags([]string{`"*"`}).Match("*"))
	assert.True(t, ParseTags([]string{`"v-gzip"`}).Match("v-gzip"), "a version may end so")
	assert.False(t, ParseTags([]string{"*"}).Find("xyzzy"))
}

// TestOpaque: the opaque part of one tag.
func TestOpaque(t *testing.T) {
	for tag, want := range map[string]string{
		`"a"`: "a", `W/"a"`: "a", ` "a" `: "a", `a`: "a", `""`: "", `"`: `"`, ``: "",
		`"a`: `"a`, `a"`: `a"`,
		`"a"b"`: `a"b`, `W/a`: "a",
	} {
		assert.Equal(t, want, Opaque(tag), tag)
	}
	assert.Equal(t, "-gzip", Bare("-gzip"), "nothing would be left")
}

// TestLongLists: the first 64 elements of a list count, and a longer list costs no more.
func TestLongLists(t *testing.T) {
	long := strings.Repeat(`"x", `, 63)
	for _, lines := range [][]string{
		{long + `"a", "b", "c"`},
		{long, `"a"`, `"b", "c"`},
		{strings.Repeat(", ,", 100) + long + `"a", "b"`},
		{long + `"a", ` + strings.Repeat(`"b", `, 1<<18)},
	} {
		tags := ParseTags(lines)
		require.Len(t, tags.Opaque, 64)
		require.True(t, tags.Match("a"))
		require.False(t, tags.Match("b"))
	}
	codings := strings.Repeat("x, ", 63)
	require.True(t, Lists([]string{codings + "a, b"}, "a"))
	require.False(t, Lists([]string{codings + "a, b"}, "b"))
	require.Len(t, Codings([]string{codings + "a, b"}), 64)
}
