//go:build !amd64 || purego || race || msan || asan

package splitblock

import "github.com/seed79a3ff49/bloom"

// AddKey is Add of a key's digest.
func (b *Blocks) AddKey(key []byte) bool { return b.Add(bloom.Sum(key)) }

// AddKeyShared is AddShared of a key's digest.
func (b *Blocks) AddKeyShared(key []byte) bool { return b.AddShared(bloom.Sum(key)) }

// ContainsKey is Contains of a key's digest.
func (b *Blocks) ContainsKey(key []byte) bool { return b.Contains(bloom.Sum(key)) }

// ContainsKeyShared is ContainsShared of a key's digest.
func (b *Blocks) ContainsKeyShared(key []byte) bool { return b.ContainsShared(bloom.Sum(key)) }
