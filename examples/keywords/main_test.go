package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustList(t testing.TB, p float64, words ...string) *list {
	t.Helper()
	l, err := newList(strings.NewReader(strings.Join(words, "\n")), p)
	require.NoError(t, err)
	return l
}

func TestCheck(t *testing.T) {
	l := mustList(t, 0.01, "bad", "страшный", "ΣΊΣΥΦΟΣ", "e\u0301vil", "kilo", "7zip", "詐欺")
	for _, c := range []struct {
		text   string
		tokens int
		want   string
	}{
		{"", 0, ""},
		{"...", 0, ""},
		{"bad", 1, "1:1 bad"},
		{"not so bad.", 3, "1:8 bad"},
		{"bad-bad\tBAD", 3, "1:1 bad 1:5 bad 1:9 bad"},
		{"badly abad ba d", 4, ""},
		{"\r\n\n bad\nbad", 2, "3:2 bad 4:1 bad"},
		{"СТРАШНЫЙ, страшный", 2, "1:1 страшный 1:11 страшный"},
		{"Σίσυφος σίσυφοσ", 2, "1:1 ΣΊΣΥΦΟΣ 1:9 ΣΊΣΥΦΟΣ"},
		{"E\u0301VIL", 1, "1:1 e\u0301vil"},
		{"\u212Ailo ſ bad", 3, "1:1 kilo 1:8 bad"}, // the Kelvin sign
		{"7ZIP 7-zip", 3, "1:1 7zip"},
		{"これは 詐欺 です", 3, "1:5 詐欺"},
		{"bad\xffbad \xf0\x9f", 2, "1:1 bad 1:5 bad"},
		{"👍bad", 1, "1:2 bad"},
		{"bad" + strings.Repeat("x", 100_000) + " bad", 2, "1:100005 bad"},
		{strings.Repeat("é", 100_000), 1, ""},
		{strings.Repeat(" ", 100_000) + "bad", 1, "1:100001 bad"},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
			var got []string
			s, err := l.check(r, func(m match) {
				got = append(got, fmt.Sprintf("%d:%d %s", m.line, m.column, m.word))
			})
			require.NoError(t, err)
			assert.Equal(t, c.want, strings.Join(got, " "), "%.40q", c.text)
			assert.Equal(t, c.tokens, s.tokens, "%.40q", c.text)
			assert.Equal(t, len(got), s.matches, "%.40q", c.text)
		}
	}
}

func TestFoldAgreesWithEqualFold(t *testing.T) {
	for a := rune(0); a < 0x20000; a++ {
		for _, b := range []rune{a ^ 0x20, a + 1, a + 0x30, fold(a)} {
			if b >= 0xD800 && b < 0xE000 || a >= 0xD800 && a < 0xE000 {
				continue // surrogates are no characters
			}
			if (fold(a) == fold(b)) != strings.EqualFold(string(a), string(b)) {
				t.Fatalf("%q and %q fold to %q and %q", a, b, fold(a), fold(b))
			}
		}
	}
}

// The filter answers for a word that is not on the list except at its rate:
// of 100,000 words the number of exact look-ups is binomial.
func TestFilterSavesLookups(t *testing.T) {
	words := make([]string, 1000)
	for i := range words {
		words[i] = fmt.Sprint("bad", i)
	}
	l := mustList(t, 0.01, words...)
	var text bytes.Buffer
	const n = 100_000
	for i := range n {
		fmt.Fprintln(&text, "good", i) // "good" is asked about too
	}
	s, err := l.check(&text, func(match) {})
	require.NoError(t, err)
	assert.Equal(t, 2*n, s.tokens)
	assert.Zero(t, s.matches)
	p := l.filter.FPR()
	assert.Less(t, p, 0.011)
	sigma := 316 * 0.1 // sqrt(n p)
	assert.InDelta(t, n*p, s.lookups, 4.5*sigma)
}

func TestCheckAllocatesNothingPerToken(t *testing.T) {
	l := mustList(t, 0.01, "bad", "страшный")
	text := strings.Repeat("Good and BAD things, и страшный.\n", 1000) + strings.Repeat("x", 1<<16)
	allocs := testing.AllocsPerRun(10, func() {
		if s, _ := l.check(strings.NewReader(text), func(match) {}); s.matches != 2000 {
			t.Fatal(s)
		}
	})
	assert.LessOrEqual(t, allocs, 10.0, "for 6000 tokens and one that is 64 KiB long")
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		return name
	}
	words := file("words.txt", "\uFEFF# comment\r\n\r\nfoo\r\n  Bar\r\nBAR\n")
	text := file("text.txt", "a foo\nbar")

	t.Run("sample", func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, run(nil, nil, &out, nil))
		assert.Contains(t, out.String(), "sample:3:37: lottery\n")
		assert.Contains(t, out.String(), "sample:7:53: betrügerisch\n")
		assert.Contains(t, out.String(), "\n147 words checked against a list of 17, ")
		assert.Contains(t, out.String(), "\n11 forbidden, ")
	})
	t.Run("files", func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, run([]string{"-words", words, text, "-"}, strings.NewReader("BAR"), &out, nil))
		assert.Equal(t, text+":1:3: foo\n"+text+":2:1: BAR\nstandard input:1:1: BAR\n\n"+
			"4 words checked against a list of 2, whose filter takes 8 bytes\n"+
			"3 forbidden, 0 false positives of the filter\n"+
			"3 exact look-ups, 1 saved (25.0 %)\n", out.String())
	})
	for _, c := range []struct {
		args []string
		err  string
	}{
		{[]string{"-nonsense"}, "flag provided but not defined: -nonsense"},
		{[]string{"-words", file("phrase", "ok\nnot ok\n")}, `phrase: line 2: "not ok" is not one word`},
		{[]string{"-words", file("empty", "#\n")}, "empty: no words in the list"},
		{[]string{"-words", words, "-p", "2", text}, "words.txt: bloom: p = 2 "},
		{[]string{"-words", filepath.Join(dir, "none")}, "none: no such file"},
		{[]string{filepath.Join(dir, "none")}, "none: no such file"},
	} {
		err := run(c.args, nil, io.Discard, nil)
		require.ErrorContains(t, err, c.err)
		assert.NotContains(t, err.Error(), "\n")
	}
}
