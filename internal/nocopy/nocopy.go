// Package nocopy marks types that are used through pointers only.
package nocopy

// Locker makes go vet report copies of a struct that has a field of this type, named _. Such a
// struct also cannot be compared with ==, whatever its other fields.
type Locker struct{ _ [0]func() }

func (*Locker) Lock()   {}
func (*Locker) Unlock() {}
