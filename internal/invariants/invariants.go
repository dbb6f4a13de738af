// Package invariants turns on checks that types make of themselves in each mutation. They are for
// model tests and fuzzers, and cost far more than the mutation:
//
//	go test -tags invariants ./...
//
// Checks stand in "if invariants.On", so other builds leave them out. They allocate memory, so
// tests of allocations fail.
package invariants

import "fmt"

// Require panics unless ok.
func Require(ok bool, format string, args ...any) {
	if !ok {
		panic("invariants: " + fmt.Sprintf(format, args...))
	}
}
