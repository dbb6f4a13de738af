// Package param checks parameters that several constructors take.
package param

import "fmt"

// Rate returns an error of package pkg unless 0 < p < 1.
func Rate(pkg, name string, p float64) error {
	if !(p > 0 && p < 1) {
		return fmt.Errorf("%s: %s = %v is outside (0, 1)", pkg, name, p)
	}
	return nil
}
