package growing_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/promises"
)

func TestPromises(t *testing.T) {
	for n, name := range map[uint64]string{0: "", 5000: "known"} {
		t.Run(name, func(t *testing.T) {
			promises.Test(t, promises.Type{
				Name:      "growing.Filter",
				Make:      func() promises.Filter { return bloom.Must(growing.New(n, 0.01)) },
				Zero:      func() promises.Filter { return new(growing.Filter) },
				Load:      func(path string) (promises.Filter, error) { return growing.LoadFile(path) },
				LoadOrNew: func(path string, p float64) (promises.Filter, error) { return growing.LoadOrNew(path, n, p) },
				Others: map[string]func(string) (promises.Filter, error){
					"n": func(path string) (promises.Filter, error) { return growing.LoadOrNew(path, n+1, 0.01) },
					"p": func(path string) (promises.Filter, error) { return growing.LoadOrNew(path, n, 0.0101) },
				},
			})
		})
	}
}

// TestLoadOrNew: a file is refused where either parameter is another.
func TestLoadOrNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filter")
	require.NoError(t, bloom.Must(growing.New(1000, 0.01)).SaveFile(path))
	for _, test := range []struct {
		n    uint64
		p    float64
		want error
	}{{1000, 0.01, nil}, {2000, 0.01, bloom.ErrMismatch}, {0, 0.01, bloom.ErrMismatch}, {1000, 0.02, bloom.ErrMismatch}} {
		_, err := growing.LoadOrNew(path, test.n, test.p)
		require.ErrorIs(t, err, test.want, "n = %d, p = %v", test.n, test.p)
	}
}
