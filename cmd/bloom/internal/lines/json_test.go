package lines

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/linestest"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestJSONKey: the key is what encoding/json finds, and a line that it refuses has none.
func TestJSONKey(t *testing.T) {
	const object = "it is not a JSON object: "
	for _, test := range []struct{ line, name, want, says string }{
		{`{"url":"a"}`, "url", "a", ""},
		{` { "x" : [1, {"url":2}] , "url" : "a\u0062\n\"" } ` + "\r", "url", "ab\n\"", ""},
		{`{"id":12345678901234567890}`, "id", "12345678901234567890", ""},
		{`{"id":1.10}`, "id", "1.10", ""},
		{`{"id":1e5,"x":0}`, "id", "1e5", ""},
		{`{"id":null}`, "id", "null", ""},
		{`{"id":true}`, "id", "true", ""},
		{`{"id":[1, "a" ]}`, "id", `[1, "a" ]`, ""},
		{`{"id":{"a": 1}}`, "id", `{"a": 1}`, ""},
		{`{"id":""}`, "id", "", ""},
		{`{"a":{"b":"x","c":1}}`, "a.b", "x", ""},
		{`{"a":{"b":{"c":7}}}`, "a.b.c", "7", ""},
		{`{"b":0,"a":{"x":{"b":2},"b":1}}`, "a.b", "1", ""},
		{`{"u*":1,"uv":2,"a|b":3,"@this":4,"#":5}`, "u*", "1", ""},
		{`{"uv":2,"u*":1}`, "u*", "1", ""},
		{`{"a":1,"b":2,"a|b":3}`, "a|b", "3", ""},
		{`{"@this":4}`, "@this", "4", ""},
		{`{"\u0075rl":"x"}`, "url", "x", ""},
		{`{"é":"x"}`, "é", "x", ""},
		{`{"URL":"x"}`, "url", "", `it has no "url" (--json)`},
		{`{"a":1}`, "a.b", "", `it has no "a.b" (--json)`},
		{`{"a":{"c":1}}`, "a.b", "", `it has no "a.b" (--json)`},
		{`{"a":[{"b":1}]}`, "a.b", "", `it has no "a.b" (--json)`},
		{`{}`, "a", "", `it has no "a" (--json)`},
		{`{"a":1,"a":2}`, "a", "", `it has "a" twice`},
		{`{"a":1,"\u0061":2}`, "a", "", `it has "a" twice`},
		{`{"x":1,"x":2,"a":3}`, "a", "3", ""},
		{`{"a":1} x`, "a", "", object + "text follows it"},
		{`{"a":1}{"a":1}`, "a", "", object + "text follows it"},
		{`{"a":1`, "a", "", object + "it ends too early"},
		{`{"a":`, "a", "", object + "it ends too early"},
		{`{"a":"x`, "a", "", object + "it ends too early"},
		{`{"a":1,}`, "a", "", object + "invalid character ',' at start of value after offset 6"},
		{`{"a":01}`, "a", "", object + "invalid character '1' after object value " +
			"(expecting ',' or '}') after offset 6"},
		{`{"a":NaN}`, "a", "", object + "invalid character 'N' at start of value after offset 5"},
		{`{'a':1}`, "a", "", object + `invalid character '\'' at start of value after offset 1`},
		{`{"a":1,"b":tru}`, "a", "", object + "invalid character '}' in literal true " +
			"(expecting 'e') after offset 14"},
		{"{\"a\":\"x\ty\"}", "a", "", object + `invalid character '\t' in string ` +
			"(expecting non-control character) after offset 7"},
		{"{\"a\":\"x\xff\\q\"}", "a", "", object + "invalid escape sequence `\\q` in string " +
			"after offset 8"},
		{`[{"a":1}]`, "a", "", "it is not a JSON object"},
		{`"a"`, "a", "", "it is not a JSON object"},
		{``, "a", "", "it is not a JSON object"},
		{"{\"a\":\"x\xff\xfey\"}", "a", "x\ufffd\ufffdy", ""},
		{`{"a":"\ud800x"}`, "a", "\ufffdx", ""},
		{`{"a":"\ud83d\ude00"}`, "a", "😀", ""},
	} {
		key, _, err := jsonKey([]byte(test.line), test.name, nil)
		if test.says != "" {
			assert.EqualError(t, err, test.says, test.line)
			continue
		}
		require.NoError(t, err, test.line)
		assert.Equal(t, test.want, string(key), test.line)
		if !strings.Contains(test.name, ".") {
			want, ok := linestest.JSONKey([]byte(test.line), test.name)
			require.True(t, ok, test.line)
			assert.Equal(t, string(want), string(key), "encoding/json: %s", test.line)
		}
	}
}

// TestJSONKeyAsEncodingJSON compares jsonKey with encoding/json for lines that are changed at
// random.
func TestJSONKeyAsEncodingJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seeds := []string{
		`{"a":"text","b":[1,2,{"a":3}],"c":null}`,
		`{"x":{"a":1},"a":-1.5e+3,"z":"\u00e9\n\ud83d\ude00"}`, "{\"a\":\"\xc3\xa9\",\"é\":\"\xff\"}",
		`{"a":{"b":[]},"b":true}`, `{ "\u0061" : "q\"\\/" }`,
	}
	const alphabet = `{}[]":,\/u0019aeE+-.truefalsn` + " \t\r\xff\xc3\xa9\x00\x1f"
	same, refused := 0, 0
	scratch := make([]byte, 0, 64)
	for range 300_000 {
		line := []byte(seeds[random.IntN(len(seeds))])
		for range random.IntN(4) {
			at := random.IntN(len(line))
			switch random.IntN(3) {
			case 0:
				line[at] = alphabet[random.IntN(len(alphabet))]
			case 1:
				line = append(line[:at], line[at+1:]...)
			default:
				line = append(line[:at], append([]byte{alphabet[random.IntN(len(alphabet))]}, line[at:]...)...)
			}
		}
		want, ok := linestest.JSONKey(line, "a")
		key, next, err := jsonKey(line, "a", scratch[:0])
		scratch = next
		if err != nil && errors.As(err, new(twiceError)) {
			continue
		}
		require.Equal(t, ok, err == nil, "%q: %v", line, err)
		if ok {
			require.Equal(t, string(want), string(key), "%q", line)
			same++
		} else {
			refused++
		}
	}
	require.Greater(t, same, 50_000)
	require.Greater(t, refused, 50_000)
}

// TestJSONKeyAllocatesNothing: a line costs no memory that is left to the collector.
func TestJSONKeyAllocatesNothing(t *testing.T) {
	line := []byte(`{"id":17,"x":{"y":[1,2,3]},"url":"https://example.com/\u00e9","text":"some words"}`)
	scratch := make([]byte, 0, 100)
	if filtertest.Race {
		t.Skip("the race detector allocates")
	}
	allocated := testing.AllocsPerRun(1000, func() {
		_, _, err := jsonKey(line, "url", scratch)
		require.NoError(t, err)
	})
	require.Less(t, allocated, 1.0)
}

func BenchmarkJSONKey(b *testing.B) {
	line := []byte(`{"id":12345678901234567890,"url":"https://site00017.example.com/articles/00000abc/17.html","title":"A title of some words",` +
		`"text":"` + strings.Repeat("words of a document ", 40) +
		`","price":1.10,"tags":["a","b",{"c":null}]}`)
	b.SetBytes(int64(len(line)))
	b.Run("parser=jsontext", func(b *testing.B) {
		for b.Loop() {
			jsonKey(line, "url", nil)
		}
	})
	b.Run("parser=encoding/json", func(b *testing.B) {
		for b.Loop() {
			var value struct{ URL string }
			json.Unmarshal(line, &value)
		}
	})
}
