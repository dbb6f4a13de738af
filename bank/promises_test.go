package bank_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// first is a filter that is the first member of a Bank.
type first struct {
	bank.Bank
}

// member returns the member's number. It adds the member if there is none.
func (f *first) member() int {
	if f.Len() == 0 {
		return f.Bank.Append()
	}
	return 0
}

func (f *first) Add(key []byte) bool            { return f.Bank.Add(f.member(), key) }
func (f *first) AddString(key string) bool      { return f.Bank.AddString(f.member(), key) }
func (f *first) AddHash(h bloom.Hash) bool      { return f.Bank.AddHash(f.member(), h) }
func (f *first) Contains(key []byte) bool       { return f.ContainsHash(bloom.Sum(key)) }
func (f *first) ContainsString(key string) bool { return f.ContainsHash(bloom.SumString(key)) }
func (f *first) ContainsHash(h bloom.Hash) bool { return f.Len() > 0 && f.Bank.ContainsHash(0, h) }

func (f *first) AddBatch(added []bool, hs []bloom.Hash) {
	if added == nil {
		bitwords.Discard(hs, f.AddBatch)
		return
	}
	added = bitwords.Fill("bank", added, len(hs))
	for i, h := range hs {
		added[i] = f.AddHash(h)
	}
}

func (f *first) ContainsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("bank", found, len(hs))
	for i, h := range hs {
		found[i] = f.ContainsHash(h)
	}
}

// firstOf returns the first member of a copy of b.
func firstOf(b *bank.Bank, err error) (filtertest.Filter, error) {
	if err != nil {
		return nil, err
	}
	f := new(first)
	err = f.UnmarshalBinary(bloom.Must(b.MarshalBinary()))
	f.member()
	return f, err
}

// opened is a filter that is the first member of a View.
type opened struct{ *bank.View }

func (o *opened) Contains(key []byte) bool       { return o.ContainsHash(bloom.Sum(key)) }
func (o *opened) ContainsString(key string) bool { return o.ContainsHash(bloom.SumString(key)) }
func (o *opened) ContainsHash(h bloom.Hash) bool { return o.View.ContainsHash(0, h) }

func (o *opened) ContainsBatch(found []bool, hs []bloom.Hash) {
	for i, h := range hs {
		found[i] = o.ContainsHash(h)
	}
}

func open(path string) (filtertest.View, error) {
	v, err := bank.OpenFile(path)
	if err != nil {
		return nil, err
	}
	return &opened{v}, nil
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
	filtertest.Test(t, filtertest.Type{
		Name:      "bank.Bank",
		Make:      func() filtertest.Filter { return bloom.Must(firstOf(bank.New(1100, 0.01))) },
		Zero:      func() filtertest.Filter { return new(first) },
		Open:      open,
		Load:      func(path string) (filtertest.Filter, error) { return firstOf(bank.LoadFile(path)) },
		LoadOrNew: func(path string, p float64) (filtertest.Filter, error) { return firstOf(bank.LoadOrNew(path, 1100, p)) },
		Others: map[string]func(string) (filtertest.Filter, error){
			"n": func(path string) (filtertest.Filter, error) { return firstOf(bank.LoadOrNew(path, 1200, 0.01)) },
			"p": func(path string) (filtertest.Filter, error) { return firstOf(bank.LoadOrNew(path, 1100, 0.005)) },
		},
	})
}
