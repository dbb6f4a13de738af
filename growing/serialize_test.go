package growing

import (
	"bytes"
	"math"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// filled returns a tiny filter with n keys. It has several layers.
func filled(n int) *Filter {
	f := tiny()
	for _, h := range filtertest.Digests(1, n) {
		f.AddHash(h)
	}
	return f
}

// TestDecodedGoesOnGrowing: decoded copies grow as the filter does.
func TestDecodedGoesOnGrowing(t *testing.T) {
	f := filled(1000)
	data := bloom.Must(f.MarshalBinary())
	var copies [2]Filter
	require.NoError(t, copies[0].UnmarshalBinary(data))

	// The last copy is decoded into a filter of another rate that is making a layer.
	other := &copies[1]
	require.NoError(t, other.UnmarshalBinary(bloom.Must(sized(1e-6, 1e5).MarshalBinary())))
	require.Equal(t, 1e-6, other.rates.p)
	making := func() (n int) {
		for i := range other.shards {
			if other.shards[i].pending != nil {
				n++
			}
		}
		return n
	}
	begin := func() {
		for i := uint64(0); making() == 0; i++ {
			other.AddHash(bloom.SumUint64(i))
		}
	}
	begin()
	other.Reset()
	require.Zero(t, making())
	begin()
	require.NoError(t, other.UnmarshalBinary(data))
	require.Zero(t, making())

	more := filtertest.Digests(2, 3000)
	for _, h := range more {
		f.AddHash(h)
	}
	for _, g := range []*Filter{&copies[0], &copies[1]} {
		require.Equal(t, data, bloom.Must(g.MarshalBinary()))
		require.InEpsilon(t, 1000, g.Stats().ApproxCount, 0.03)
		for _, h := range more {
			g.AddHash(h)
		}
		for _, h := range append(filtertest.Digests(1, 1000), more...) {
			require.True(t, g.ContainsHash(h))
		}
		require.InEpsilon(t, 4000, g.Stats().ApproxCount, 0.03)
		// The counts of the copies' last layers were estimated. So a shard may begin its next layer
		// some keys earlier or later.
		require.InEpsilon(t, f.SizeBytes(), g.SizeBytes(), 0.1)
		require.LessOrEqual(t, g.Stats().FPR, 0.01)
	}
	for i, l := range other.shards[0].list() {
		require.Equal(t, uint64(float64(l.bits())/newSizing(f.rates.rate(i)).bits), l.capacity)
	}
}

// TestManyLayers: a decoded filter may have many small layers. If each were larger than the one
// before, memory could not hold them. The filter continues with layers of the right rate.
func TestManyLayers(t *testing.T) {
	const many = evenLayers + 10
	r := rates{p: 0.01}
	counts := make([]uint64, shards)
	var rest []byte
	for i := range counts {
		counts[i] = many
		for j := range many {
			rest = append(rest,
				bloom.Must(bloom.Must(blocked.NewSize(256, r.sizing(j).lines)).MarshalBinary())...)
		}
	}
	head := bloom.Must(form.Growing.Append(nil, []uint64{0, math.Float64bits(0.01), shards}, counts,
		form.Info{}))
	var f Filter
	require.NoError(t, f.UnmarshalBinary(append(head, rest...)))
	for _, h := range filtertest.Digests(1, 3000) {
		f.AddHash(h)
		require.True(t, f.ContainsHash(h))
	}
	for i := range f.shards {
		list := f.shards[i].list()
		require.Greater(t, len(list), many)
		for j, l := range list {
			s := r.sizing(j)
			require.Equal(t, s.lines, l.blocks.Lines)
			require.Equal(t, uint64(float64(l.bits())/s.bits), l.capacity)
		}
	}
}

// TestMostLayers: if a filter has the largest number of layers, its binary form can be decoded,
// even after further keys.
func TestMostLayers(t *testing.T) {
	counts := make([]uint64, shards)
	var rest []byte
	for i := range counts {
		counts[i] = maxLayers
		for range maxLayers {
			rest = append(rest, bloom.Must(bloom.Must(blocked.NewSize(256, 1)).MarshalBinary())...)
		}
	}
	// The Info of a layer, which only another library writes, stays.
	layer := bloom.Must(blocked.NewSize(256, 1))
	layer.UpdateInfo(func(i *bloom.Info) { i.Comment = "of a layer" })
	rest = append(bloom.Must(layer.MarshalBinary()), rest[len(rest)/len(counts)/maxLayers:]...)
	var f, g, batch Filter
	data := append(bloom.Must(form.Growing.Append(nil, []uint64{0, math.Float64bits(0.01), shards},
		counts, form.Info{})), rest...)
	require.NoError(t, f.UnmarshalBinary(data))
	require.NoError(t, batch.UnmarshalBinary(data))
	require.Equal(t, data, bloom.Must(f.MarshalBinary()))
	hs := filtertest.Digests(1, 3000)
	for _, h := range hs {
		f.AddHash(h)
	}
	batch.AddBatch(nil, hs)
	require.NotContains(t, filtertest.Found(&f, hs), false)
	require.Equal(t, bloom.Must(f.MarshalBinary()), bloom.Must(batch.MarshalBinary()))
	require.NoError(t, g.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
	require.NotContains(t, filtertest.Found(&g, hs), false)
}

// TestRefused: bytes that no filter writes are refused.
func TestRefused(t *testing.T) {
	head := func(p float64, shards, layers uint64) []byte {
		counts := make([]uint64, 16)
		for i := range counts {
			counts[i] = layers
		}
		return bloom.Must(form.Growing.Append(nil, []uint64{0, math.Float64bits(p), shards}, counts,
			form.Info{}))
	}
	for _, test := range []struct {
		want string
		data []byte
	}{
		{"p = NaN is outside [1e-09, 1)", head(math.NaN(), 16, 1)},
		{"p = 1 is outside [1e-09, 1)", head(1, 16, 1)},
		{"shard count 17 is not 16", head(0.01, 17, 1)},
		{"layer count 0 of shard 0 is outside [1, 64]", head(0.01, 16, 0)},
		{"layer count 65 of shard 0 is outside [1, 64]", head(0.01, 16, 65)},
		{"truncated: unexpected EOF", head(0.01, 16, 1)},
		{"in shard 0: blocked: invalid format: it starts with 00 00 00",
			append(head(0.01, 16, 1), make([]byte, 100)...)},
		{"1 bytes too many", append(bloom.Must(tiny().MarshalBinary()), 0)},
	} {
		err := new(Filter).UnmarshalBinary(test.data)
		require.ErrorIs(t, err, bloom.ErrFormat)
		require.ErrorContains(t, err, "growing: invalid format: "+test.want)
	}
}

// FuzzFilter: the decoders agree, and a decoded filter keeps its promises. The first frame always
// has the right checksum. The layers have the binary form of package blocked.
func FuzzFilter(f *testing.F) {
	const head = 8 + 3*8 + shards*8 + form.MinTrailer
	f.Add(0.01, bytes.Repeat([]byte{1}, shards), bloom.Must(tiny().MarshalBinary())[head:])
	f.Add(1e-9, bytes.Repeat([]byte{2, 1}, shards),
		bytes.Repeat(bloom.Must(tiny().MarshalBinary())[head:], 2))
	f.Add(0.5, []byte{}, []byte("BLM"))
	f.Fuzz(func(t *testing.T, p float64, layers, rest []byte) {
		counts := make([]uint64, shards)
		for i := range min(shards, len(layers)) {
			counts[i] = uint64(layers[i])
		}
		data := append(bloom.Must(form.Growing.Append(nil, []uint64{0, math.Float64bits(p), shards},
			counts, form.Info{})), rest...)
		var g, h Filter
		err := g.UnmarshalBinary(data)
		n, errFrom := h.ReadFrom(iotest.HalfReader(bytes.NewReader(data)))
		if err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.True(t, g.zero())
			require.True(t, errFrom != nil || n < int64(len(data)))
			return
		}
		require.NoError(t, errFrom)
		require.Equal(t, data, bloom.Must(g.MarshalBinary()))
		require.Equal(t, data, bloom.Must(h.MarshalBinary()))
		for _, key := range filtertest.Digests(9, 300) {
			g.AddHash(key)
			require.True(t, g.ContainsHash(key))
		}
		require.LessOrEqual(t, g.Stats().FPR, 1.0)
		_ = g.Stats()
		require.NoError(t, h.UnmarshalBinary(bloom.Must(g.MarshalBinary())))
	})
}

// TestLayersOfAnotherSizing: if a layer has another number of lines than its rate needs, it has no
// room for keys, because its rate would be wrong.
func TestLayersOfAnotherSizing(t *testing.T) {
	r := &rates{p: 1e-6}
	want := r.sizing(0).lines
	for lines := 1; lines <= 4; lines++ {
		l := layerOf(r, 0, splitblock.New(1<<8, lines))
		require.Equal(t, lines == want, l.capacity > 0, "%d lines, not %d", lines, want)
	}
}
