//go:build !orders

package limits

import "math"

// Explored reports whether this build is one that package orders explores.
const Explored = false

// sizes_orders.go replaces these sizes with small ones, so that package orders can try every order.
const (
	WindowPages  = 0              // number of pages in a window; 0 lets Config determine it
	WindowPage   = 4096           // smallest number of lanes in a page, if there are several pages
	WindowFeed   = 8              // number of keys that a page collects, if there are several pages
	LayerKeys    = math.MaxUint64 // largest number of keys in a growing filter's layer
	LayerLead    = 32             // the next layer is made when 1/LayerLead of the room is left
	ShortBatch   = 96             // shortest batch that a growing filter with large layers sorts
	ShortInCache = 512            // shortest batch that a growing filter with small layers sorts
	ShortTouched = 8              // shortest batch of cuckoo look-ups that reads ahead
	TouchedWords = 1 << 20 / 8    // batches read ahead in cuckoo tables with this many words or more
	GuardStripes = 256            // number of stripes in a guard; each has a lock
	PublishWords = 8192           // number of words in a piece of a publisher's answer
)
