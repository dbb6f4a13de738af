package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	bits "github.com/bits-and-blooms/bloom/v3"
	holiman "github.com/holiman/bloomfilter/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	boom "github.com/tylertreat/BoomFilters"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/window"
)

// before makes the calls that the lines in docs/migrate.md change. What it prints does
// not depend on the library.
const before = `package main

import (
	"bytes"
	"fmt"

	"github.com/bits-and-blooms/bloom/v3"
)

type store struct{ seen *bloom.BloomFilter }

type embedded struct{ *bloom.BloomFilter }

func main() {
	n := 1000
	s := store{bloom.NewWithEstimates(uint(n), 1e-9)}
	s.seen.Add([]byte("a"))
	s.seen.AddString("b")
	fmt.Println(s.seen.Test([]byte("a")), s.seen.TestString("c"))
	fmt.Println(s.seen.TestAndAdd([]byte("c")), s.seen.TestAndAddString("c"))
	fmt.Println(s.seen.TestOrAdd([]byte("d")), s.seen.TestOrAddString("d"))
	fmt.Println(s.seen.ApproximatedSize(), s.seen.Cap() > 43_000, s.seen.K())
	g := s.seen.Copy()
	if err := g.Merge(s.seen); err != nil {
		panic(err)
	}
	fmt.Println(g.Equal(s.seen))
	g.ClearAll()
	fmt.Println(g.Equal(s.seen), g.TestLocations(bloom.Locations([]byte("a"), g.K())))
	var form bytes.Buffer
	s.seen.WriteTo(&form)
	g = &bloom.BloomFilter{}
	g.ReadFrom(&form)
	fmt.Println(g.TestString("d"))
	s.seen.WriteTo(&form)
	g = bloom.New(0, 0)
	g.ReadFrom(&form)
	fmt.Println(g.TestString("d"))
	e := embedded{g}
	e.BloomFilter.AddString("e")
	fmt.Println(e.TestString("e"))
	f := bloom.New(6400, 3)
	fmt.Println(f.Cap(), f.K())
}
`

// The lines in docs/migrate.md carry a program over, which then prints what it did before.
func TestMigrate(t *testing.T) {
	doc, err := os.ReadFile("../docs/migrate.md")
	require.NoError(t, err)
	_, lines, ok := strings.Cut(string(doc), "```sh\n")
	require.True(t, ok)
	lines, _, ok = strings.Cut(lines, "```")
	require.True(t, ok)

	dir := t.TempDir()
	program := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(program, []byte(before), 0o600))
	run := func(dir, name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	want := run(here, "go", "run", program)
	run(dir, "sh", "-e", "-c", lines)
	assert.Equal(t, want, run("..", "go", "run", program))

	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1)
	after, err := os.ReadFile(program)
	require.NoError(t, err)
	assert.Contains(t, string(after), "bloom.Must(bloom.New(uint64(n), 1e-9))")
}

// What docs/migrate.md says of sizes.
func TestMigrateSizes(t *testing.T) {
	for _, test := range []struct {
		p      float64
		theirs uint
		ours   int
	}{{0.1, 4, 3}, {0.01, 7, 7}, {0.001, 10, 10}} {
		theirs, ours := bits.NewWithEstimates(1e6, test.p), bloom.Must(bloom.New(1e6, test.p))
		assert.Equal(t, test.theirs, theirs.K())
		assert.Equal(t, test.ours, ours.K())
		assert.EqualValues(t, (theirs.Cap()+63)/64*64, ours.M())
	}
}

// TestMigrateRows: what docs/migrate.md says of single calls.
func TestMigrateRows(t *testing.T) {
	// bits-and-blooms reads a file of this module without an error, and everything is seen.
	for keys := range 4 {
		f := bloom.Must(bloom.New(1000, 0.01))
		for i := range keys {
			f.AddHash(bloom.SumUint64(uint64(i)))
		}
		theirs := bits.New(1, 1)
		_, err := theirs.ReadFrom(bytes.NewReader(bloom.Must(f.MarshalBinary())))
		require.NoError(t, err, keys)
		for i := range 1000 {
			require.True(t, theirs.TestString(fmt.Sprint("never", i)), keys)
		}
	}

	// holiman's filters are for many goroutines. So is what replaces them.
	theirs, ours := bloom.Must(holiman.NewOptimal(100_000, 0.01)),
		bloom.Must(bloom.NewSync(100_000, 0.01))
	sized := bloom.NewSyncFrom(bloom.Must(bloom.NewSize(1_000_000, 7)))
	var all sync.WaitGroup
	for g := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := g; i < 100_000; i += 4 {
				h := bloom.SumUint64(uint64(i))
				first, _ := h.Words()
				theirs.AddHash(first)
				ours.AddHash(h)
				sized.AddHash(h)
			}
		}()
	}
	all.Wait()
	for i := range uint64(100_000) {
		h := bloom.SumUint64(i)
		first, _ := h.Words()
		require.True(t, theirs.ContainsHash(first))
		require.True(t, ours.ContainsHash(h))
		require.True(t, sized.ContainsHash(h))
	}

	// holiman's forms have a checksum. Here files have one, and Guava's bytes have none.
	flipped := func(data []byte) []byte { data[len(data)/2] ^= 1; return data }
	require.Error(t, new(holiman.Filter).UnmarshalBinary(flipped(bloom.Must(theirs.MarshalBinary()))))
	require.NoError(t, new(bloom.Filter).UnmarshalBinary(flipped(bloom.Must(ours.MarshalBinary()))))
	path := filepath.Join(t.TempDir(), "seen.bloom")
	require.NoError(t, ours.SaveFile(path))
	require.NoError(t, os.WriteFile(path, flipped(bloom.Must(os.ReadFile(path))), 0o600))
	_, err := bloom.LoadFile(path)
	require.ErrorIs(t, err, bloom.ErrFormat)

	// BoomFilters' Capacity is m, but of cuckoo filters.
	classic := boom.NewBloomFilter(100, 0.1)
	assert.EqualValues(t, 480, classic.Capacity())
	assert.EqualValues(t, 512, bloom.Must(bloom.New(100, 0.1)).M())
	assert.GreaterOrEqual(t, boom.NewCuckooFilter(100, 0.1).Capacity(), uint(100))
	assert.Less(t, boom.NewCuckooFilter(100, 0.1).Capacity(), uint(300))

	// Two filters that take turns take more memory than a window, and remember n to 2n keys.
	const n, p = 1_000_000, 1e-6
	turns := 2 * bits.NewWithEstimates(n, p/2).Cap()
	size := bloom.Must(window.Config{N: n, P: p}.SizeBytes())
	assert.Less(t, 8*float64(size), 0.85*float64(turns))
	w := bloom.Must(window.New(window.Config{N: 1000, P: p}))
	for i := range uint64(10_000) {
		w.AddHash(bloom.SumUint64(i))
		for j := max(i, 999) - 999; j <= i; j += 37 {
			require.True(t, w.ContainsHash(bloom.SumUint64(j)))
		}
	}
	assert.False(t, w.ContainsHash(bloom.SumUint64(1)))
}
