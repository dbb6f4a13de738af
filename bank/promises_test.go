package bank_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// first gives b a member if it has none. Then the promises of filters hold for the first member.
func first(b *bank.Bank, err error) (filtertest.Filter, error) {
	if err == nil && b.Len() == 0 {
		b.Append()
	}
	return b, err
}

// adds returns the methods that add keys to the first member.
func adds(f filtertest.Filter) filtertest.Adds {
	b := f.(*bank.Bank)
	member := func() int {
		if b.Len() == 0 {
			return b.Append() // panics if b is zero
		}
		return 0
	}
	return filtertest.Adds{
		Add:       func(key []byte) bool { return b.Add(member(), key) },
		AddString: func(key string) bool { return b.AddString(member(), key) },
		AddHash:   func(h bloom.Hash) bool { return b.AddHash(member(), h) },
	}
}

// asks returns the method that looks keys up in all members of a Bank or a View.
func asks(x any) filtertest.Asks {
	b := x.(interface {
		Which(dst []int, h bloom.Hash) []int
	})
	room := make([]int, 0, 1)
	return filtertest.Asks{ContainsHash: func(h bloom.Hash) bool { return len(b.Which(room, h)) > 0 }}
}

// TestMismatchedFile: LoadOrNew refuses a file whose members have the K or the size of New, but not
// both.
func TestMismatchedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bank")
	require.NoError(t, bloom.Must(bank.New(10, 0.01)).SaveFile(path))
	_, err := bank.LoadOrNew(path, 10, 0.02)
	require.EqualError(t, err, "bank: filters differ in k: 7 and 6 (in "+path+")")
	_, err = bank.LoadOrNew(path, 1000, 0.01)
	require.EqualError(t, err, "bank: filters differ in m: 128 and 9600 (in "+path+")")

	_, err = bank.LoadOrNewSize(path, 128, 6)
	require.EqualError(t, err, "bank: filters differ in k: 7 and 6 (in "+path+")")
	_, err = bank.LoadOrNewSize(path, 64, 7)
	require.EqualError(t, err, "bank: filters differ in m: 128 and 64 (in "+path+")")
	b, err := bank.LoadOrNewSize(path, 65, 7)
	require.NoError(t, err)
	require.Equal(t, bloom.Info{N: 10, P: 0.01}, b.Info())
	b, err = bank.LoadOrNewSize(path+"2", 129, 6)
	require.NoError(t, err)
	require.Equal(t, []any{uint64(192), 6}, []any{b.M(), b.K()})
	_, err = bank.LoadOrNewSize(path, 64, 0)
	require.EqualError(t, err, "bank: k = 0 is outside [1, 255]")
}

func TestPromises(t *testing.T) {
	if filtertest.Race {
		t.Skip("takes long, by one goroutine")
	}
	loadOrNew := func(n uint64, p float64) func(string) (filtertest.Filter, error) {
		return func(path string) (filtertest.Filter, error) { return first(bank.LoadOrNew(path, n, p)) }
	}
	filtertest.Test(t, filtertest.Type{
		Name: "bank.Bank",
		Make: func() filtertest.Filter { return bloom.Must(first(bank.New(1100, 0.01))) },
		Zero: func() filtertest.Filter { return new(bank.Bank) },
		Adds: adds,
		Asks: asks,
		Open: func(path string) (filtertest.View, error) { return bank.OpenFile(path) },
		Load: func(path string) (filtertest.Filter, error) { return first(bank.LoadFile(path)) },
		LoadOrNew: func(path string, p float64) (filtertest.Filter, error) {
			return first(bank.LoadOrNew(path, 1100, p))
		},
		Others: map[string]func(string) (filtertest.Filter, error){
			"n": loadOrNew(1200, 0.01),
			"p": loadOrNew(1100, 0.005),
		},
		GuavasIndexes: true,
	})
}
