package bitwords

import "sync/atomic"

// Store sets *word to w with an ordinary store; see the package comment. Other goroutines may load
// the word with atomic.LoadUint64 at the same time, but must not store to it.
func Store(word *uint64, w uint64) {
	if Race {
		atomic.StoreUint64(word, w)
	} else {
		*word = w
	}
}
