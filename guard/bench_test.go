package guard

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkAbsent looks up absent keys of which some are asked for more often than others: the k-th
// of ten million with a probability of about k^-zipf. queries/op is the share that reaches the
// store. It falls with the number of look-ups; for that of three million:
//
//	go test -run - -bench Absent -benchtime 3000000x ./guard
func BenchmarkAbsent(b *testing.B) {
	for _, s := range []float64{1, 1.1, 1.3} {
		for _, learn := range []int{0, 1024, 16384} {
			b.Run(fmt.Sprintf("zipf=%v/learn=%d", s, learn), func(b *testing.B) {
				g := loaded(b, learn)
				keys := zipf(s, 10_000_000)
				var key []byte
				query := func() (bool, error) { return false, nil }
				for b.Loop() {
					key = strconv.AppendUint(append(key[:0], "absent "...), keys(), 10)
					_, _ = g.Lookup(key, query)
				}
				b.ReportMetric(float64(g.Counts().Queries)/float64(b.N), "queries/op")
			})
		}
	}
}

// BenchmarkPresent looks up a key that is there, in a store that answers immediately.
func BenchmarkPresent(b *testing.B) {
	key := []byte("row 4711")
	query := func() (bool, error) { return true, nil }
	b.Run("call=Contains", func(b *testing.B) {
		g := loaded(b, 0)
		for b.Loop() {
			if g.Contains(key) {
				_, _ = query()
			}
		}
	})
	for _, learn := range []int{0, 16384} {
		b.Run(fmt.Sprintf("call=Lookup/learn=%d", learn), func(b *testing.B) {
			g := loaded(b, learn)
			for b.Loop() {
				_, _ = g.Lookup(key, query)
			}
		})
	}
}

// loaded returns a Guard of 100,000 rows at 1 %.
func loaded(b *testing.B, learn int) *Guard {
	const rows = 100_000
	g := newGuard(b, Config{P: 0.01, N: rows, Learn: learn,
		Load: func(_ context.Context, keys *Loader) error {
			for i := range rows {
				keys.AddString(fmt.Sprint("row ", i))
			}
			return nil
		}})
	require.NoError(b, g.Rebuild(context.Background()))
	return g
}

// zipf returns a function that returns k < n with a probability of about 1/(k+1)^s.
func zipf(s float64, n uint64) func() uint64 {
	rnd := rand.New(rand.NewPCG(1, 2))
	if s > 1 {
		return rand.NewZipf(rnd, s, 1, n-1).Uint64
	}
	ln := math.Log(float64(n)) // of a continuous distribution, which rand.Zipf lacks for s = 1
	return func() uint64 { return uint64(math.Exp(rnd.Float64()*ln)) - 1 }
}
