package main

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Keys of many filters are spread over all of them, and each present one is in its filter.
func TestKeysInFilters(t *testing.T) {
	const n = 50_000
	in := map[uint64]int{}
	inFilters.make(0, n).forEach(func(key []byte) {
		x := binary.LittleEndian.Uint64(key)
		filter := x >> (64 - filterBits)
		in[filter]++
		found := false
		for i := range filterKeys {
			found = found || filterKey(filter, i) == x
			if found {
				break
			}
		}
		if in[filter] == 1 {
			assert.True(t, found, "key %#x", x)
		}
	})
	assert.Len(t, in, filters)
}

// Half of the look-ups of an order are of keys that were added, and 1 % of the keys get their part.
func TestOrders(t *testing.T) {
	const n, lookups = 10_000, 100_000
	for _, test := range []struct {
		order *order
		often [2]float64 // the part of the look-ups that the first 1 % of the keys get
	}{
		{evenly, [2]float64{0.005, 0.015}},
		{skewed, [2]float64{0.79, 0.82}},
		{zipf, [2]float64{0.45, 0.6}},
	} {
		ids := map[string]int{}
		for i := range uint64(n) {
			ids[string(integers.make(i, 1).buf)] = int(i)
			ids[string(integers.make(absentIDs+i, 1).buf)] = -int(i) - 1
		}
		present, often := 0, 0
		test.order.keys(integers, n, lookups).forEach(func(key []byte) {
			id, known := ids[string(key)]
			assert.True(t, known)
			if id >= 0 {
				present++
			} else {
				id = -id - 1
			}
			if id < n/100 {
				often++
			}
		})
		assert.InDelta(t, lookups/2, present, 800, test.order.name)
		assert.GreaterOrEqual(t, float64(often)/lookups, test.often[0], test.order.name)
		assert.LessOrEqual(t, float64(often)/lookups, test.often[1], test.order.name)
	}
}
