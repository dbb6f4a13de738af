//go:build !amd64 || purego || race || msan || asan

package blocked

import "github.com/seed79a3ff49/bloom"

const useAVX2 = false

func filterAdd(f *filter, key []byte) bool                  { return f.add(bloom.Sum(key)) }
func filterAddHash(f *filter, h bloom.Hash) bool            { return f.add(h) }
func filterAddBatch(f *filter, dst []bool, hs []bloom.Hash) { f.addBatch(dst, hs) }

func filterContains(f *filter, key []byte) bool                  { return f.contains(bloom.Sum(key)) }
func filterContainsHash(f *filter, h bloom.Hash) bool            { return f.contains(h) }
func filterContainsBatch(f *filter, dst []bool, hs []bloom.Hash) { f.containsBatch(dst, hs) }

func syncContains(s *SyncFilter, key []byte) bool       { return s.contains(bloom.Sum(key)) }
func syncContainsHash(s *SyncFilter, h bloom.Hash) bool { return s.contains(h) }
func syncFind(s *SyncFilter, key []byte) (h bloom.Hash, found bool) {
	h = bloom.Sum(key)
	return h, s.contains(h)
}
func syncAddBatch(s *SyncFilter, dst []bool, hs []bloom.Hash) { s.addBatch(dst, hs) }
func syncContainsBatch(s *SyncFilter, dst []bool, hs []bloom.Hash) {
	for i, h := range hs {
		dst[i] = s.contains(h)
	}
}
