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

// AddKey is Add of a key's digest.
func (b *Blocks) AddKey(key []byte) bool { return b.Add(bloom.Sum(key)) }

// AddKeyShared is AddShared of a key's digest.
func (b *Blocks) AddKeyShared(key []byte) bool { return b.AddShared(bloom.Sum(key)) }

// ContainsKey is Contains of a key's digest.
func (b *Blocks) ContainsKey(key []byte) bool { return b.Contains(bloom.Sum(key)) }

// ContainsKeyShared is ContainsShared of a key's digest.
func (b *Blocks) ContainsKeyShared(key []byte) bool { return b.ContainsShared(bloom.Sum(key)) }

func addMany(b *Blocks, added []bool, hs []bloom.Hash, with sharing) {}
func containsMany(b *Blocks, found []bool, hs []bloom.Hash)          {}
