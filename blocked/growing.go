package blocked

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/friend"
)

func init() {
	friend.AddAlone = (*SyncFilter).addAlone
	friend.AddBatchAlone = (*SyncFilter).addBatchAlone
	friend.FirstLine = (*SyncFilter).firstLine
}

// addAlone is AddHash where nobody else adds to s, merges into it or resets it at the same
// time. Others may look keys up. It needs no locked writes, which take most of the time of
// AddHash.
func (s *SyncFilter) addAlone(h bloom.Hash) bool {
	if useAVX2 { // this processor writes a block in aligned pieces of 8 bytes at least
		return filterAddHash(&s.filter, h)
	}
	return s.add(h, true)
}

// addBatchAlone is addAlone of each of hs; see [Filter.AddBatch].
func (s *SyncFilter) addBatchAlone(added []bool, hs []bloom.Hash) {
	for i := addMany(&s.filter, false, added, hs); i < len(hs); i++ {
		if assembly && i%touchAhead == 0 {
			s.touch(hs[i:])
		}
		added[i] = s.addAlone(hs[i])
	}
}

// firstLine returns s as a filter of one line, with the bits of s. It contains all keys
// that s contains, and few others. A batch of look-ups reads one line of each key in it, and
// all lines in s.
func (s *SyncFilter) firstLine() *SyncFilter {
	first := new(SyncFilter)
	first.set(s.words, min(s.lines, 1))
	return first
}
