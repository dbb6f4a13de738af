//go:build race

package filtertest

// Race reports whether the race detector runs.
const Race = true
