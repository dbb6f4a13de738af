// Package readers has the readers of this library's formats in other languages: bloom.py, and
// bloom.mjs for browsers and Node. docs/format.md describes the formats.
package readers

import _ "embed"

// JavaScript is bloom.mjs, an ES module. Serve it as text/javascript.
//
//go:embed bloom.mjs
var JavaScript []byte
