//go:build !orders

package limits

import "math"

// Explored reports whether package orders tries every order.
const Explored = false

// Sizes that sizes_orders.go makes small, so that package orders can try every order.
const (
	WindowPages  = 0              // the number of a window's pages, if Explored
	WindowPage   = 4096           // the smallest number of lanes of a page, if there are several
	WindowFeed   = 8              // how many keys such a page counts together
	LayerKeys    = math.MaxUint64 // the largest number of keys in a growing filter's layer
	LayerLead    = 32             // the next layer is begun when 1/LayerLead of a layer's room is left
	ShortBatch   = 96             // a growing filter sorts batches of this length, and
	ShortInCache = 512            // of this length if its layers are small
	GuardStripes = 256            // the number of locks, and of parts of a memory, of a guard
	PublishWords = 8192           // the number of words of a piece of a publisher's answer
)
