// Package nocopy marks types that must not be copied.
package nocopy

// Locker makes go vet report copies of a struct that has a field _ of this type. It also makes the
// compiler refuse to compare such structs with ==.
type Locker struct{ _ [0]func() }

func (*Locker) Lock()   {}
func (*Locker) Unlock() {}
