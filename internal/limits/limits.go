// Package limits defines bounds of parameters that several packages or the command must know, and
// sizes that differ in builds for package orders.
package limits

const (
	// BlockedRate is the lowest rate of a blocked filter. At this rate, a filter with four lines
	// for each key needs 18 % more memory than a classic filter. At lower rates, it would need
	// still more.
	BlockedRate = 1e-12

	// GrowingRate is the lowest rate of a growing filter.
	GrowingRate = 1e-9

	// GrowingKeys is the largest number of keys for which a growing filter can be made.
	GrowingKeys = 1 << 40

	// CuckooRate and MostCuckooRate are the lowest and the highest rate of a cuckoo filter.
	CuckooRate     = 1e-9
	MostCuckooRate = 0.1
)
