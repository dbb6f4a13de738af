//go:build !amd64 || purego || race || msan || asan

package splitblock

import "github.com/seed79a3ff49/bloom"

// AddKey is like Add, but takes a key and hashes it.
func (b *Blocks) AddKey(key []byte) bool { return b.Add(bloom.Sum(key)) }

// AddKeyShared is like AddShared, but takes a key and hashes it.
func (b *Blocks) AddKeyShared(key []byte) bool { return b.AddShared(bloom.Sum(key)) }

// ContainsKey is like Contains, but takes a key and hashes it.
func (b *Blocks) ContainsKey(key []byte) bool { return b.Contains(bloom.Sum(key)) }

// ContainsKeyShared is like ContainsShared, but takes a key and hashes it.
func (b *Blocks) ContainsKeyShared(key []byte) bool { return b.ContainsShared(bloom.Sum(key)) }
