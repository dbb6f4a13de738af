package window

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestBatches: a batch does and answers what its keys do one by one.
func TestBatches(t *testing.T) {
	for _, test := range []struct {
		n   uint64
		fpr float64
	}{{10, 0.01}, {100000, 0.01}, {5e6, 0.01}, {500000, 1e-12}} { // the last two with fetching
		c := Config{Capacity: test.n, FPR: test.fpr, Span: time.Hour, Now: new(testkit.Clock).Now}
		f, g := bloom.Must(New(c)), bloom.Must(New(c))
		for seed, size := range []int{0, 1, chunk, chunk + 1, 1000} {
			hs := testkit.Digests[bloom.Hash](uint64(seed), size)
			hs = append(hs, hs[:size/2]...)
			want, added := make([]bool, 0, size), make([]bool, 0, len(hs))
			for _, h := range hs[:size] {
				want = append(want, g.ContainsHash(h))
			}
			require.Equal(t, want, testkit.Found(f, hs[:size]))
			for _, h := range hs {
				added = append(added, g.AddHash(h))
			}
			require.Equal(t, added, testkit.Added(f, hs))
		}
		require.True(t, bytes.Equal(bloom.Must(g.MarshalBinary()), bloom.Must(f.MarshalBinary())))

		// Three of four bits set: many keys have positions set, but not in one generation.
		r := rand.New(rand.NewPCG(test.n, 1))
		for i := range f.array {
			f.array[i] = r.Uint64() | r.Uint64()
		}
		hs, want := testkit.Digests[bloom.Hash](9, 1000), []bool(nil)
		for _, h := range hs {
			want = append(want, f.ContainsHash(h))
		}
		require.Equal(t, want, testkit.Found(f, hs))
	}
}

// TestBatchesExpire: a batch that is the first to touch a block forgets what has expired
// there, as a single key does, and nothing else.
func TestBatchesExpire(t *testing.T) {
	var clock testkit.Clock
	c := Config{Capacity: 500_000, FPR: 1e-6, Span: time.Hour, Generations: 3, Now: clock.Now}
	f, g := bloom.Must(New(c)), bloom.Must(New(c))
	require.GreaterOrEqual(t, len(f.array), farWords)
	for step := range 12 {
		for seed := range step {
			hs, want := testkit.Digests[bloom.Hash](uint64(seed), 100), []bool(nil)
			for _, h := range hs {
				want = append(want, g.ContainsHash(h))
			}
			require.Equal(t, want, testkit.Found(f, hs), "step %d, added in %d", step, seed)
		}
		hs := testkit.Digests[bloom.Hash](uint64(step), 100)
		require.NotContains(t, testkit.Added(f, hs), false)
		for _, h := range hs {
			require.True(t, g.AddHash(h))
		}
		clock.Advance(c.Span / 3)
	}
}

// TestFindKeys finds the positions that keys have one by one, and writes nothing beside them.
func TestFindKeys(t *testing.T) {
	const mark = 1<<32 - 1
	for k := 2; k <= maxK; k += 2 {
		s := state{layout: layout{k: k, blockCount: 7, lanes: 8192 + uint64(k)*8, laneBits: 4}}
		s.setArray(make([]uint64, s.blockCount*s.words()), 0)
		for count := 1; count <= min(chunk, slots/k); count++ {
			hs := testkit.Digests[bloom.Hash](uint64(count), count)
			blocks, positions := slices.Repeat([]uint64{mark}, count+1), slices.Repeat([]uint32{mark}, count*k+1)
			findKeys(&s, hs, 2+2*(count%(k/2)), blocks[:count], positions[:count*k])
			for i, h := range hs {
				block, x, step := s.find(h)
				require.Equal(t, block, blocks[i])
				for j := 0; j < k; j += 2 {
					var p, q uint64
					p, q, x, step = next(x, step, s.words()*64)
					require.Equal(t, []uint32{uint32(p), uint32(q)}, positions[i*k+j:][:2])
				}
			}
			require.True(t, blocks[count] == mark && positions[count*k] == mark)
		}
	}
}
