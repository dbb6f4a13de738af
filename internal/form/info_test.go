package form_test

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// TestMeta: every Meta that url.Values.Encode returns can be saved, up to 4,096 bytes.
func TestMeta(t *testing.T) {
	names, values := url.Values{}, url.Values{}
	for b := range 256 {
		names.Add(string([]byte{byte(b)}), "value")
		values.Add("value", string([]byte{byte(255 - b)}))
	}
	require.Nil(t, form.Info{Meta: names.Encode()}.Check())
	require.Nil(t, form.Info{Meta: values.Encode()}.Check())
	require.Nil(t, form.Info{Meta: "x=" + strings.Repeat("m", 4094)}.Check())
}

// TestJoin: if many goroutines join an Info, each with another Hash, one of them succeeds.
func TestJoin(t *testing.T) {
	for range 100 {
		k, joined := form.Keep(form.Info{N: 1, P: math.NaN(), Comment: "c"}), make([]bool, 4)
		filtertest.AtOnce(len(joined), func(i int) {
			joined[i] = k.Join("test", form.Info{N: 2, Hash: fmt.Sprint(i)}) == nil
		})
		require.Equal(t, 1, filtertest.Count(joined))
		got := k.Get()
		require.True(t, joined[got.Hash[0]-'0'])
		require.Equal(t, []any{uint64(1), "c"}, []any{got.N, got.Comment})
		require.NoError(t, k.Join("test", form.Info{}))
	}
}

// TestZeroKept: the zero Kept has the zero Info, and keeps what many goroutines set.
func TestZeroKept(t *testing.T) {
	for range 100 {
		var k form.Kept
		require.NoError(t, k.Join("test", form.Info{Hash: "a"}))
		k.Replace(form.Info{Hash: "a"})
		require.Zero(t, k.Get())
		require.Equal(t, form.Kept{}, k)
		require.Equal(t, form.Kept{}, k.Clone())
		filtertest.AtOnce(4, func(i int) {
			k.Update([]func(*form.Info){
				func(i *form.Info) { i.N = 1 },
				func(i *form.Info) { i.P = 0.1 },
				func(i *form.Info) { i.Hash = "h" },
				func(i *form.Info) { i.Meta = "m=" },
			}[i])
			k.Get()
		})
		require.Equal(t, form.Info{N: 1, P: 0.1, Hash: "h", Meta: "m="}, k.Get())
	}
}

// TestReplace: Replace sets every field, except that a Hash stays if the new Info has none.
func TestReplace(t *testing.T) {
	k := form.Keep(form.Info{N: 1, Hash: "a", Comment: "c"})
	k.Replace(form.Info{P: 0.1, Meta: "m=1"})
	require.Equal(t, form.Info{P: 0.1, Hash: "a", Meta: "m=1"}, k.Get())
	k.Replace(form.Info{Hash: "b"})
	require.Equal(t, form.Info{Hash: "b"}, k.Get())
}

// TestSharedInfo: a copy by value shares the Info, and a Clone does not.
func TestSharedInfo(t *testing.T) {
	full := form.Info{N: 3, P: 0.1, Hash: "a", Comment: "c", Meta: "m=1"}
	k := form.Keep(full)
	shared, clone := k, k.Clone()
	k.Update(func(i *form.Info) { i.Comment = "" })
	require.Empty(t, shared.Get().Comment)
	require.Equal(t, full, clone.Get())
}
