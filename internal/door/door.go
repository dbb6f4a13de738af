// Package door lets the other packages of this module reach what package bloom does not export. They
// import bloom, and bloom imports door to open it, so door cannot name the types of bloom: type
// parameters stand for them. A call with any other types panics.
package door

import "github.com/seed79a3ff49/bloom/internal/form"

// Info is bloom.Info, as package form has it and as users have it.
var toInfo, fromInfo any

// OpenInfo sets the functions of Info and Fields. I is bloom.Info.
func OpenInfo[I any](to func(form.Info) I, from func(I) form.Info) {
	toInfo = to
	fromInfo = from
}

// Info returns i as a bloom.Info, which is the type I.
func Info[I any](i form.Info) I { return toInfo.(func(form.Info) I)(i) }

// Fields returns a bloom.Info as package form has it.
func Fields[I any](i I) form.Info { return fromInfo.(func(I) form.Info)(i) }
