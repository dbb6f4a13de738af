//go:build !amd64 || purego || race || msan || asan

package blocked

import "github.com/seed79a3ff49/bloom"

const assembly, useAVX2 = false, false

func filterAdd(f *filter, key []byte) bool                { return f.add(bloom.Sum(key)) }
func filterAddHash(f *filter, h bloom.Hash) bool          { return f.add(h) }
func filterContains(f *filter, key []byte) bool           { return f.contains(bloom.Sum(key)) }
func filterContainsHash(f *filter, h bloom.Hash) bool     { return f.contains(h) }
func filterFind(f *filter, key []byte) (bloom.Hash, bool) { return bloom.Sum(key), false }

func addMany(f *filter, shared bool, dst []bool, hs []bloom.Hash) int { return 0 }
func containsMany(f *filter, dst []bool, hs []bloom.Hash) int         { return 0 }
