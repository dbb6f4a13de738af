//go:build race

package testkit

// Race reports whether the race detector runs.
const Race = true
