//go:build orders

package limits

// Explored is described in sizes.go.
const Explored = true

// The sizes of sizes.go in the cases of package orders.
const (
	WindowPages  = 3
	WindowPage   = 64
	WindowFeed   = 2
	LayerKeys    = 3
	LayerLead    = 2
	ShortBatch   = 2
	ShortInCache = 2
	GuardStripes = 2
	PublishWords = 1
)
