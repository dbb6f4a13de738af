package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestServeUnderstands: serve answers only requests that it understands. A body that is not lines,
// and an address with anything that GET or POST does not know, gets status 415 or 400.
func TestServeUnderstands(t *testing.T) {
	_, web := serving(t, "apple\n", "")
	const address = "the address is not understood: "
	const escape = `invalid URL escape "%zz"`
	for _, test := range []struct{ request, refusal string }{
		{"GET /contains?key=apple", ""},
		{"GET /contains?key=", "the key is empty, and lists have no blank lines (see --blank)"},
		{"GET /contains?Key=apple", `"Key" is not a parameter of GET /contains`},
		{"GET /contains?key=apple&key=pear", `"key" is given more than once`},
		{"GET /contains?key=apple&v=1", `"v" is not a parameter of GET /contains`},
		{"GET /contains?key=apple;key=pear", address + "invalid semicolon separator in query"},
		{"GET /contains?key=%zz", address + escape},
		{"GET /contains?key=a&x=%zz", address + escape},
		{"GET /?key=apple&utm_source=x", ""},
		{"GET /?key=apple&key=pear", `"key" is given more than once`},
		{"GET /?key=%zz", escape},
		{"POST /contains?v=1", ""},
		{"POST /contains?v=0", ""},
		{"POST /contains?v", `v must be 1 or 0, not ""`},
		{"POST /contains?v=true", `v must be 1 or 0, not "true"`},
		{"POST /contains?v=1&v=0", `"v" is given more than once`},
		{"POST /contains?V=1", `"V" is not a parameter of POST /contains`},
		{"POST /contains?invert=1", `"invert" is not a parameter of POST /contains`},
		{"POST /contains?key=apple", `"key" is not a parameter of POST /contains`},
		{"POST /contains?%zz", address + escape},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		body := map[string]string{"POST": "apple\n"}[method]
		answer, resp := ask(t, method, web.URL+path, body)
		if test.refusal == "" {
			assert.Equal(t, 200, resp.StatusCode, "%s: %s", test.request, answer)
			continue
		}
		assert.Equal(t, 400, resp.StatusCode, "%s: %s", test.request, answer)
		assert.Equal(t, test.refusal+"\n", answer, test.request)
	}
	answer, resp := ask(t, "GET", web.URL+"/contains?key=apple", "pear\n")
	assert.Equal(t, 400, resp.StatusCode, answer)
	assert.Equal(t, "GET /contains takes no body: send lines with POST\n", answer)

	const form = "application/x-www-form-urlencoded"
	for _, test := range []struct {
		path, kind, body string
		status           int
	}{
		{"/contains", "", "apple\n", 200},
		{"/contains", "text/plain", "apple\n", 200},
		{"/contains", "TEXT/Plain; charset=UTF-8", "apple\n", 200},
		{"/contains", "text/csv; charset=us-ascii", "apple\n", 200},
		{"/contains", form, "apple\n", 200},
		{"/contains", "application/octet-stream", "apple\n", 200},
		{"/contains", "multipart/form-data; boundary=x",
			"--x\r\nContent-Disposition: form-data; name=f\r\n\r\napple\r\n--x--\r\n", 415},
		{"/contains", "multipart/mixed", "apple\n", 415},
		{"/contains", "application/json", "[\"apple\"]\n", 415},
		{"/contains", "application/x-ndjson", "{}\n", 415},
		{"/contains", "application/gzip", "apple\n", 415},
		{"/contains", "image/png", "apple\n", 415},
		{"/contains", "text/plain; charset=utf-16", "apple\n", 415},
		{"/contains", "text/plain; charset=iso-8859-1", "apple\n", 415},
		{"/contains", "text", "apple\n", 415},
		{"/contains", "text/plain; =", "apple\n", 415},
		{"/", form, "lines=apple", 200},
		{"/", "", "lines=apple", 200},
		{"/", "text/plain", "apple\n", 415},
		{"/", "multipart/form-data; boundary=x", "--x\r\n", 415},
		{"/", form, "line=apple", 400},
		{"/", form, "lines=apple&lines=pear", 400},
		{"/", form, "lines=%zz", 400},
	} {
		answer, resp := ask(t, "POST", web.URL+test.path, test.body, "Content-Type", test.kind)
		assert.Equal(t, test.status, resp.StatusCode, "%+v: %s", test, answer)
		switch {
		case test.status == 415:
			assert.Equal(t, fmt.Sprintf("the body must be lines of text in UTF-8, but this one is %q\n",
				test.kind), answer)
		case test.body == "lines=%zz":
			assert.Equal(t, "the form is damaged: "+escape+"\n", answer)
		case test.status == 400:
			assert.Equal(t, "the form is damaged: it must have one field named lines\n", answer)
		}
	}
}
