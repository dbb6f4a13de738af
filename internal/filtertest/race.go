//go:build race

package filtertest

// Race reports whether the race detector is on.
const Race = true
