package bloom_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestSets: filters can be copied, compared and merged.
func TestSets(t *testing.T) {
	larger := func() *bloom.Filter { return bloom.Must(bloom.New(5000, 0.001)) }
	t.Run("Mitz64", func(t *testing.T) {
		testSets(t, "bloom", func() *bloom.Filter { return bloom.Must(bloom.New(5000, 0.01)) }, larger)
	})
	t.Run("Mitz32", func(t *testing.T) {
		testSets(t, "bloom", func() *bloom.Filter { return bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 5000, 0.01)) }, larger)
	})
	t.Run("blocked", func(t *testing.T) {
		testSets(t, "blocked", func() *blocked.Filter { return bloom.Must(blocked.New(5000, 0.01)) },
			func() *blocked.Filter { return bloom.Must(blocked.New(5000, 0.001)) })
	})
	t.Run("counting", func(t *testing.T) {
		testSets(t, "counting", func() *counting.Filter { return bloom.Must(counting.New(5000, 0.01)) },
			func() *counting.Filter { return bloom.Must(counting.New(5000, 0.001)) })
	})
}

// set is a Filter that can be copied, compared and merged.
type set[F any] interface {
	filtertest.Filter
	Clone() F
	Equal(F) bool
	Merge(F) error
}

// testSets: those that make returns are equal, and those that other returns are of another size.
func testSets[F set[F]](t *testing.T, pkg string, make, other func() F) {
	keys, others := filtertest.Digests(3, 1000), filtertest.Digests(4, 1000)
	info := bloom.Info{N: 5000, P: 0.01, Hash: "SumString", Comment: "of a test"}
	f := make()
	f.AddBatch(nil, keys)
	f.SetInfo(info)
	g := f.Clone()
	require.Equal(t, info, g.Info())
	require.Equal(t, f.Stats(), g.Stats())
	require.True(t, f.Equal(g) && g.Equal(f) && f.Equal(f))
	g.SetInfo(bloom.Info{Comment: "another"})
	require.True(t, f.Equal(g), "Infos do not count")
	require.Equal(t, info, f.Info())
	require.True(t, g.AddHash(others[0]))
	require.False(t, f.Equal(g) || g.Equal(f))
	require.False(t, f.ContainsHash(others[0]))
	require.True(t, f.AddHash(others[1]))
	require.False(t, g.ContainsHash(others[1]))
	require.False(t, f.Equal(other()) || other().Equal(f))
	require.False(t, make().Equal(other()))
	zero := reflect.New(reflect.TypeFor[F]().Elem()).Interface().(F)
	require.True(t, zero.Equal(zero) && zero.Equal(zero.Clone()))
	require.False(t, zero.Equal(f) || f.Equal(zero))
	require.NoError(t, zero.Merge(zero.Clone()))
	require.ErrorIs(t, zero.Merge(f), bloom.ErrMismatch)
	require.ErrorIs(t, f.Merge(zero), bloom.ErrMismatch)
	zero.SetInfo(info)
	require.Equal(t, info, zero.Clone().Info())
	var none F
	require.PanicsWithValue(t, pkg+": Equal to a nil Filter", func() { f.Equal(none) })
	require.ErrorIs(t, f.Merge(none), bloom.ErrMismatch)
	require.EqualError(t, f.Merge(none), pkg+": filters differ: one is nil")

	if f, ok := any(f).(interface{ Fold(int) (F, error) }); ok {
		require.Equal(t, bloom.Info{Hash: info.Hash, Comment: info.Comment}, bloom.Must(f.Fold(1)).Info(), "N and P are of the larger filter")
	}
	a, b, both := make(), make(), make()
	a.AddBatch(nil, keys)
	b.AddBatch(nil, others)
	both.AddBatch(nil, keys)
	both.AddBatch(nil, others)
	before := b.Clone()
	require.NoError(t, a.Merge(b))
	require.True(t, a.Equal(both))
	require.Equal(t, both.Stats(), a.Stats())
	require.True(t, b.Equal(before), "what is merged stays as it is")
	require.NoError(t, b.Merge(make()))
	require.True(t, b.Equal(before))

	require.ErrorIs(t, b.Merge(other()), bloom.ErrMismatch)
	require.Regexp(t, "^"+pkg+": filters differ in ", b.Merge(other()).Error())
	first, second := make(), make()
	first.AddBatch(nil, keys[:600])
	second.AddBatch(nil, keys[400:])
	common := first.Clone()
	if f, ok := any(common).(interface{ Intersect(F) error }); ok {
		require.NoError(t, f.Intersect(second))
		for _, h := range slices.Concat(keys, others) {
			require.Equal(t, first.ContainsHash(h) && second.ContainsHash(h), common.ContainsHash(h))
		}
		require.NoError(t, zero.UnmarshalBinary(bloom.Must(common.MarshalBinary())))
		require.True(t, zero.Equal(common), "with the count of its bits")
	}
	a.SetInfo(bloom.Info{Hash: "one"})
	require.NoError(t, a.Merge(b), "only one names a hash")
	require.Equal(t, "one", a.Info().Hash)
	require.NoError(t, b.Merge(a))
	require.Equal(t, "one", b.Info().Hash, "it travels")
	require.Empty(t, before.Info().Hash, "a copy has an Info of its own")
	b = before.Clone()
	b.SetInfo(bloom.Info{Hash: "another"})
	b.SetInfo(bloom.Info{Comment: "a later SetInfo keeps the Hash"})
	err := b.Merge(a)
	require.ErrorIs(t, err, bloom.ErrMismatch)
	require.EqualError(t, err, pkg+": filters differ in hash: another and one")
	require.True(t, b.Equal(before), "after an error")
}
