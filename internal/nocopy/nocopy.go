// Package nocopy marks types that are used through pointers only.
package nocopy

// Locker is what go vet looks for: it reports copies of a struct that has a field of this
// type, named _.
type Locker struct{}

func (*Locker) Lock()   {}
func (*Locker) Unlock() {}
