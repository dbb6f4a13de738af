package form

import (
	"errors"
	"fmt"
)

// Param describes a parameter that is out of range. It has the fields of bloom.ParamError, so that
// the two types can be converted to each other.
type Param struct {
	Package string
	Param   string
	Value   any
	Bound   string
	Advice  string
}

// NewParamError returns p as an error. Package bloom replaces this function with one that returns a
// bloom.ParamError, a type that this package cannot import.
var NewParamError = func(p Param) error { return errors.New(p.String()) }

// NewParam returns a Param without a Package. bound and args are formatted as by fmt.Sprintf.
func NewParam(param string, value any, bound string, args ...any) *Param {
	return &Param{Param: param, Value: value, Bound: fmt.Sprintf(bound, args...)}
}

// Advise sets the Advice and returns p.
func (p *Param) Advise(advice string) *Param {
	p.Advice = advice
	return p
}

// In returns an error for p that names package pkg.
func (p *Param) In(pkg string) error {
	in := *p
	in.Package = pkg
	return NewParamError(in)
}

// String returns the message of bloom.ParamError. If p has no Package, the message names none.
func (p Param) String() string {
	value := fmt.Sprint(p.Value)
	if text, ok := p.Value.(string); ok {
		value = fmt.Sprintf("%q", text)
	}
	says := p.Param + " = " + value + " is " + p.Bound
	if p.Package != "" {
		says = p.Package + ": " + says
	}
	if p.Advice != "" {
		says += "; " + p.Advice
	}
	return says
}

// CheckRate returns nil if 0 < p < 1, and otherwise a Param with the given name.
func CheckRate(name string, p float64) *Param {
	if p > 0 && p < 1 {
		return nil
	}
	return NewParam(name, p, "outside (0, 1)")
}

// CheckKeys returns nil if n is positive and fits(n) is true, and otherwise a Param with the given
// name. n is the number of keys of a filter with rate p.
func CheckKeys(name string, n uint64, p float64, fits func(n uint64) bool) *Param {
	if n > 0 && fits(n) {
		return nil
	}
	return NewParam(name, n, "outside [1, %d] at a rate of %v", Largest(fits), p)
}

// Largest returns the largest n for which fits(n) is true, or 0 if there is none. fits must be true
// for every positive number below that n.
func Largest(fits func(uint64) bool) (largest uint64) {
	for step := uint64(1) << 63; step > 0; step /= 2 {
		if fits(largest + step) {
			largest += step
		}
	}
	return largest
}
