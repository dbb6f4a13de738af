package main

import (
	"fmt"
	"testing"

	"github.com/cespare/xxhash/v2"
	parquet "github.com/parquet-go/parquet-go/bloom"
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/stretchr/testify/require"
)

// With H1 = xxhash64 of the plain value, a BlockedFilter's words are the bitset
// of a Parquet bloom filter, written by either side.
func TestParquet(t *testing.T) {
	for _, blocks := range []int{1, 2, 3, 7, 64, 1000, 1024, 40961} {
		for _, k := range []kind{integers, uuids} {
			t.Run(fmt.Sprintf("blocks=%d/key=%s", blocks, k.name), func(t *testing.T) {
				n := 20 * blocks
				theirs := make(parquet.SplitBlockFilter, blocks)
				ours := bloom.Must(blocked.NewSize(uint64(blocks)*256, 1))
				batched := bloom.Must(blocked.NewSize(uint64(blocks)*256, 1))
				present, absent := digests(k.make(0, n)), digests(k.make(absentIDs, n))
				for _, h := range present {
					theirs.Insert(first(h))
					ours.AddHash(h)
				}
				batched.AddBatch(nil, present)
				require.Equal(t, theirs.Bytes(), ours.Bitset())
				require.Equal(t, theirs.Bytes(), batched.Bitset())

				// Each reads the other's bytes and gives the same answers.
				read, err := blocked.NewBitset(theirs.Bytes())
				require.NoError(t, err)
				require.True(t, ours.Equal(read))
				back := parquet.MakeSplitBlockFilter(ours.Bitset())
				for _, h := range present {
					if !read.ContainsHash(h) || !back.Check(first(h)) {
						t.Fatalf("%x was added and is not found", first(h))
					}
				}
				found := make([]bool, len(absent))
				read.ContainsBatch(found, absent)
				for i, h := range absent {
					want := theirs.Check(first(h))
					if read.ContainsHash(h) != want || back.Check(first(h)) != want || found[i] != want {
						t.Fatalf("%x is not answered alike", first(h))
					}
				}
			})
		}
	}
}

func digests(ks keys) (hs []bloom.Hash) {
	for i := range ks.len() {
		hs = append(hs, bloom.NewHash(xxhash.Sum64(ks.slice(i, 1).buf), 0))
	}
	return hs
}

func first(h bloom.Hash) uint64 {
	h1, _ := h.Words()
	return h1
}
