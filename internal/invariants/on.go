//go:build invariants

package invariants

// On says that types check themselves.
const On = true
