//go:build race

package testkit

// Race tells whether the race detector runs.
const Race = true
