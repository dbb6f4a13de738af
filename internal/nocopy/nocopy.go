// Package nocopy marks types that are used through pointers only.
package nocopy

// Mark is embedded, by way of an unexported alias, in a struct that must not be
// copied. It has two effects:
//
//   - go vet reports copies of the struct.
//   - Packages encoding/json and encoding/xml refuse to encode the struct where it
//     is held by value, with an error that names the type HoldAPointer. The methods
//     of its pointer, MarshalText among them, cannot be called there. Without the
//     mark, the struct has no field to encode: it would be {}, and its keys lost.
type Mark struct {
	_          Locker
	NotByValue HoldAPointer
}

// HoldAPointer is of a kind that no package encodes.
type HoldAPointer func()

// Locker is what go vet looks for: a field of this type is enough for the first
// effect. A struct with such a field cannot be compared.
type Locker struct{ _ [0]func() }

func (*Locker) Lock()   {}
func (*Locker) Unlock() {}
