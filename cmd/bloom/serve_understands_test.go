package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestServeUnderstands: serve answers only requests that it understands. A body that is not lines,
// and an address with anything that GET or POST does not know, gets status 415 or 400.
func TestServeUnderstands(t *testing.T) {
	_, web := serving(t, "apple\n", "")
	for _, test := range []struct {
		request string
		status  int
	}{
		{"GET /contains?key=apple", 200},
		{"GET /contains?key=", 400},
		{"GET /contains?Key=apple", 400},
		{"GET /contains?key=apple&key=pear", 400},
		{"GET /contains?key=apple&v=1", 400},
		{"GET /contains?key=apple;key=pear", 400},
		{"GET /contains?key=%zz", 400},
		{"GET /contains?key=a&x=%zz", 400},
		{"GET /?key=apple&utm_source=x", 200},
		{"GET /?key=apple&key=pear", 400},
		{"GET /?key=%zz", 400},
		{"POST /contains?v=1", 200},
		{"POST /contains?v=0", 200},
		{"POST /contains?v", 400},
		{"POST /contains?v=true", 400},
		{"POST /contains?v=1&v=0", 400},
		{"POST /contains?V=1", 400},
		{"POST /contains?invert=1", 400},
		{"POST /contains?key=apple", 400},
		{"POST /contains?%zz", 400},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		body := map[string]string{"POST": "apple\n"}[method]
		answer, resp := ask(t, method, web.URL+path, body)
		assert.Equal(t, test.status, resp.StatusCode, "%s: %s", test.request, answer)
	}
	answer, resp := ask(t, "GET", web.URL+"/contains?key=apple", "pear\n")
	assert.Equal(t, 400, resp.StatusCode, answer)

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
		if test.status == 415 {
			assert.Contains(t, answer, "the body must be lines of text in UTF-8, but this one is")
		}
	}
}
