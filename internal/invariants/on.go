//go:build invariants

package invariants

// On reports whether types check themselves.
const On = true
