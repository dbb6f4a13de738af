// Package takeover lets one package of the module take over a filter of another: the
// filter that the caller has then panics at every use, and the result is the same filter
// under a new address. Each function is set by the package whose type it is for.
package takeover

var (
	// Filter takes a *bloom.Filter and returns another one. by is the function that takes
	// it over, for the message of the panic.
	Filter func(f any, by string) any
	// Counting is Filter for a *counting.Filter.
	Counting func(f any, by string) any
)
