//go:build orders

package limits

// Explored is documented in sizes.go.
const Explored = true

// These sizes are documented in sizes.go.
const (
	WindowPages  = 3
	WindowPage   = 64
	WindowFeed   = 2
	LayerKeys    = 3
	LayerLead    = 2
	ShortBatch   = 2
	ShortInCache = 2
	ShortTouched = 1
	TouchedWords = 1
	GuardStripes = 2
	PublishWords = 1
)
