package form

import (
	"errors"
	"fmt"
)

// Param is a parameter that is out of range. It has the fields of bloom.ParamError, so that each
// converts to the other.
type Param struct {
	Package string
	Param   string
	Value   any
	Bound   string
	Advice  string
}

// NewParamError returns p as an error. Package bloom replaces it with one that returns a
// bloom.ParamError, which this package cannot name.
var NewParamError = func(p Param) error { return errors.New(p.String()) }

// NewParam returns a Param without a Package. bound is a format for args.
func NewParam(param string, value any, bound string, args ...any) *Param {
	return &Param{Param: param, Value: value, Bound: fmt.Sprintf(bound, args...)}
}

// Advise sets the Advice, and returns p.
func (p *Param) Advise(advice string) *Param {
	p.Advice = advice
	return p
}

// In returns p as an error that names package pkg.
func (p *Param) In(pkg string) error {
	in := *p
	in.Package = pkg
	return NewParamError(in)
}

// String returns the text of bloom.ParamError. It names no package if p has none. Decoders use that
// for a parameter in a form, which no caller chose.
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

// CheckKeys returns nil if n, the number of keys of a filter with the rate p, is from 1 to the
// largest number that fits. Otherwise it returns a Param with the given name.
func CheckKeys(name string, n uint64, p float64, fits func(n uint64) bool) *Param {
	if n > 0 && fits(n) {
		return nil
	}
	return NewParam(name, n, "outside [1, %d] at a rate of %v", Most(fits), p)
}

// Most returns the largest number that fits. Each smaller number but 0 must fit, too.
func Most(fits func(uint64) bool) (most uint64) {
	for step := uint64(1) << 63; step > 0; step /= 2 {
		if fits(most + step) {
			most += step
		}
	}
	return most
}
