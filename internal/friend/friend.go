// Package friend has what one package of this module may do with another's types, and nobody
// else may. Each variable is a function, which the package of the type sets. What uses it
// asserts the function's type, so that no call needs to.
package friend

var (
	// TakeFilter takes over a *bloom.Filter: the filter that the caller has then panics at every
	// use, and the result is the same filter under a new address. by is the function that takes
	// it over, for the message of the panic.
	TakeFilter any // func(f *bloom.Filter, by string) *bloom.Filter
	// TakeCounting is TakeFilter for a *counting.Filter.
	TakeCounting any // func(f *counting.Filter, by string) *counting.Filter
)
