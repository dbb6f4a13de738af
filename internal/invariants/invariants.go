// Package invariants turns on self-checks, which types run after each mutation. The checks cost far
// more than the mutations; they are for model tests and fuzzers:
//
//	go test -tags invariants ./...
//
// Each check stands inside "if invariants.On", so other builds omit it. Checks allocate memory, so
// tests of allocations may fail with this tag.
package invariants

import "fmt"

func Require(ok bool, format string, args ...any) {
	if !ok {
		panic("invariants: " + fmt.Sprintf(format, args...))
	}
}
