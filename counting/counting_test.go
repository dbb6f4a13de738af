package counting

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestWalk adds and removes keys at random. After each step the projection is, byte for
// byte, the filter of the keys that remain, built afresh.
func TestWalk(t *testing.T) {
	for _, test := range []struct {
		n     uint64
		p     float64
		steps int
	}{
		{1, 0.5, 500}, {3, 0.01, 500}, {5, 1e-5, 1000}, {100, 0.01, 2000}, {300, 1e-9, 2000}, {1000, 0.1, 1000},
	} {
		f := bloom.Must(New(test.n, test.p))
		fresh := bloom.Must(bloom.New(test.n, test.p))
		require.Equal(t, fresh.M(), f.M())
		require.Equal(t, fresh.K(), f.K())
		rnd := rand.New(rand.NewPCG(test.n, 1))
		keys := testkit.Digests[bloom.Hash](test.n, int(test.n)+3)
		keys[0].H2 = 0     // one position
		keys[1].H2 = 1     // positions next to each other
		keys[2].H2 = f.M() // one position, but for the sums that lose a bit
		var there []bloom.Hash
		for step := range test.steps {
			if rnd.IntN(2) == 0 && len(there) < int(test.n)+5 {
				h := keys[rnd.IntN(len(keys))]
				times := 0
				for _, g := range there {
					if g == h {
						times++
					}
				}
				if times < 2 { // more, and tiny filters get full counters
					require.Equal(t, fresh.AddHash(h), f.AddHash(h))
					there = append(there, h)
				}
			} else if len(there) > 0 {
				i := rnd.IntN(len(there))
				require.True(t, f.RemoveHash(there[i]))
				there[i] = there[len(there)-1]
				there = there[:len(there)-1]
				fresh.Reset()
				fresh.AddBatch(there)
			} else {
				before := f.Clone()
				require.False(t, f.RemoveHash(keys[rnd.IntN(len(keys))]))
				require.True(t, f.Equal(before))
			}
			require.Equal(t, bloom.Must(fresh.MarshalBinary()), bloom.Must(f.Filter().MarshalBinary()), "n = %d, step %d", test.n, step)
			require.Equal(t, fresh.ApproxCount(), f.ApproxCount())
			require.Equal(t, fresh.FillRatio(), f.FillRatio())
			h := keys[rnd.IntN(len(keys))]
			require.Equal(t, fresh.ContainsHash(h), f.ContainsHash(h))
			if step%10 == 0 {
				f = recoded(t, f, step/10)
			}
		}
	}
}

// recoded returns f after a way through one of its encodings.
func recoded(t *testing.T, f *Filter, way int) *Filter {
	g := new(Filter)
	switch way % 5 {
	case 0:
		g = f.Clone()
	case 1:
		require.NoError(t, g.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
	case 2:
		var out bytes.Buffer
		require.Equal(t, f.SizeBytes(), bloom.Must(f.WriteTo(&out)))
		require.Equal(t, f.SizeBytes(), bloom.Must(g.ReadFrom(iotest.HalfReader(&out))))
	case 3:
		require.NoError(t, g.UnmarshalText(bloom.Must(f.MarshalText())))
	case 4:
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, f.SaveFile(path))
		g = bloom.Must(LoadFile(path))
	}
	require.True(t, f.Equal(g))
	return g
}

func TestDamage(t *testing.T) {
	f := bloom.Must(New(10, 0.1))
	f.AddString("key")
	good := bloom.Must(f.MarshalBinary())
	testkit.Damage(t, good, func(data []byte) error {
		g := f.Clone()
		err := g.UnmarshalBinary(data)
		if err != nil {
			assert.True(t, g.Equal(f), "receiver changed")
		}
		return err
	})
}
