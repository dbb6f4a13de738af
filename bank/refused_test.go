package bank_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
)

// TestOpenRefuses: OpenFile looks at all but the rows and the names.
func TestOpenRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bank")
	b := bloom.Must(bank.NewSize(64, 2))
	b.Append()
	require.NoError(t, b.SaveFile(path))
	good := bloom.Must(os.ReadFile(path))
	for _, data := range [][]byte{good[:len(good)-1], append(good[:len(good):len(good)], 0), []byte("no bank at all, but text")} {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		_, err := bank.OpenFile(path)
		require.ErrorIs(t, err, bloom.ErrFormat)
		require.ErrorContains(t, err, path)
	}
}

// TestNoSuchMember: a row has room for more members than there are.
func TestNoSuchMember(t *testing.T) {
	b := bloom.Must(bank.NewSize(64, 2))
	b.Append()
	v := bloom.Must(bank.NewView(bloom.Must(b.MarshalBinary())))
	for _, i := range []int{-1, 1, 31, 32, 64} {
		for _, f := range []func(){
			func() { b.AddString(i, "key") },
			func() { b.ContainsHash(i, bloom.Hash{}) },
			func() { b.Clear(i) },
			func() { b.Filter(i) },
			func() { v.Filter(i) },
			func() { v.ContainsHash(i, bloom.Hash{}) },
		} {
			require.Panics(t, f, "member %d of 1", i)
		}
	}
}
