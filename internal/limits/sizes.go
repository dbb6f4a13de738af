//go:build !orders

package limits

import "math"

// Explored reports whether this build is one that package orders explores.
const Explored = false

// sizes_orders.go replaces these sizes with small ones, so that package orders can try every order.
const (
	WindowPages  = 0              // the number of pages in a window; 0 lets Config determine it
	WindowPage   = 4096           // the smallest number of lanes in each of several pages
	WindowFeed   = 8              // the number of keys that each of several pages counts at once
	LayerKeys    = math.MaxUint64 // the largest number of keys in a growing filter's layer
	LayerLead    = 32             // the next layer is made when 1/LayerLead of the room is left
	ShortBatch   = 96             // the shortest batch that a growing filter sorts in large layers
	ShortInCache = 512            // the shortest batch that it sorts in small layers
	ShortTouched = 8              // the shortest batch of cuckoo look-ups that reads ahead
	TouchedWords = 1 << 20 / 8    // the smallest cuckoo table that batches read ahead, in words
	GuardStripes = 256            // the number of locks in a guard, and of parts in each memory
	PublishWords = 8192           // the number of words in a piece of a publisher's answer
)
