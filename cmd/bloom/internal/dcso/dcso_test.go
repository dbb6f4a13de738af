package dcso

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	theirs "github.com/DCSO/bloom"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

func key(i int) []byte { return []byte(fmt.Sprintf("%040X", i*i+1)) }

// TestTheirs compares files and answers with DCSO's own.
func TestTheirs(t *testing.T) {
	for _, test := range []struct {
		n    uint64
		p    float64
		keys int
	}{{1, 0.5, 1}, {100, 0.01, 150}, {10000, 1e-6, 9000}, {66, 0.3, 0}} {
		t.Run(fmt.Sprintf("n=%d/p=%v", test.n, test.p), func(t *testing.T) {
			their := theirs.Initialize(test.n, test.p)
			our, err := New(test.n, test.p)
			require.NoError(t, err)
			for i := range test.keys {
				their.Add(key(i))
				our.AddHash(Sum(key(i)))
			}
			their.Data, our.data = []byte("{}"), []byte("{}")
			var want, got bytes.Buffer
			require.NoError(t, their.Write(&want))
			wrote, err := our.WriteTo(&got)
			require.NoError(t, err)
			require.EqualValues(t, want.Len(), wrote)
			require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))

			read, err := Read(&want)
			require.NoError(t, err)
			require.Equal(t, our, read)
			for i := range test.keys {
				require.True(t, read.ContainsHash(Sum(key(i))))
			}
			for i := range 1000 {
				k := key(-i * 7)
				require.Equal(t, their.Check(k), read.ContainsHash(Sum(k)))
			}
			assert.InDelta(t, test.keys, read.Stats().ApproxCount, 4+0.1*float64(test.keys))
		})
	}
}

func TestMerge(t *testing.T) {
	a, _ := New(1000, 0.001)
	b, _ := New(1000, 0.001)
	both, _ := New(1000, 0.001)
	for i := range 500 {
		a.AddHash(Sum(key(i)))
		b.AddHash(Sum(key(i + 300)))
		both.AddHash(Sum(key(i)))
		both.AddHash(Sum(key(i + 300)))
	}
	require.NoError(t, a.Merge(b))
	require.Equal(t, both.bits, a.bits)
	require.InDelta(t, 800, a.keys, 20)
	c, _ := New(1001, 0.001)
	require.Error(t, a.Merge(c))
}

// TestBytes reads what is no filter. A header that promises much takes little memory.
func TestBytes(t *testing.T) {
	f, err := New(100, 0.01)
	require.NoError(t, err)
	var good bytes.Buffer
	f.WriteTo(&good)
	set := func(i int, x uint64) []byte {
		g := *f
		if i == 2 {
			g.p = math.Float64frombits(x)
		} else {
			*[]*uint64{&g.n, nil, &g.k, &g.m}[i-1] = x
		}
		var out bytes.Buffer
		(&g).WriteTo(&out)
		return out.Bytes()
	}
	for name, data := range map[string][]byte{
		"empty": nil, "k=0": set(3, 0), "k": set(3, math.MaxUint64), "m=0": set(4, 0),
		"m": set(4, 1<<62), "much": set(4, 1<<42), "p": set(2, math.Float64bits(math.NaN())), "p=1": set(2, math.Float64bits(1)),
		"beyond m": append(slices.Clone(good.Bytes()[:good.Len()-1]), 0xff), "version": append([]byte{2}, good.Bytes()[1:]...),
	} {
		_, err := Read(bytes.NewReader(data))
		assert.ErrorIs(t, err, bloom.ErrFormat, name)
	}
	for i := range good.Len() {
		_, err := Read(bytes.NewReader(good.Bytes()[:i]))
		require.ErrorIs(t, err, bloom.ErrFormat)
	}
	for _, p := range []float64{0, 1, math.NaN(), -1} {
		_, err := New(1, p)
		assert.ErrorContains(t, err, "dcso: p = ")
	}
}
