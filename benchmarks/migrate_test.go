package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	bits "github.com/bits-and-blooms/bloom/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
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
