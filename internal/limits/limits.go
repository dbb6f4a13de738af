// Package limits has the bounds of parameters that several packages, or the command, must know.
package limits

const (
	// BlockedRate is the lowest rate of a blocked filter. At this rate, four lines need 18 % more
	// memory than a classic filter; each further factor of ten costs more.
	BlockedRate = 1e-12

	// GrowingRate is the lowest rate of a growing filter.
	GrowingRate = 1e-9

	// GrowingKeys is the largest number of keys of a growing filter.
	GrowingKeys = 1 << 40

	// CuckooRate and MostCuckooRate bound the rate of a cuckoo filter.
	CuckooRate     = 1e-9
	MostCuckooRate = 0.1
)
