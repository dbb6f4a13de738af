//go:build !(amd64 || arm64) || purego || race || msan || asan

package splitblock

import (
	"runtime"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
)

const (
	assembly, accelerated = false, false

	plainLoads = runtime.GOARCH == "amd64" && !bitwords.Race
)

func addHash(b *Blocks, h bloom.Hash) bool      { return b.Add(h) }
func containsHash(b *Blocks, h bloom.Hash) bool { return b.Contains(h) }

func (b *Blocks) many(adds bool, others Others, dst []bool, hs []bloom.Hash) {}

func (b *Blocks) addAbsent(h bloom.Hash) bool { return b.addInGo(h, Writers) }

func leastBatch(lines int) int { return 0 }
