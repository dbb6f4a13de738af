package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

func TestPlan(t *testing.T) {
	out := good(t, "", "plan -n 1e9 -p 0.001")
	require.Contains(t, out, "1,000,000,000 keys, 0.001 of others reported")
	require.Regexp(t, `(?m)^bloom.Filter +14\.4 +1\.8 GB +0\.001 +10 `, out)
	require.Regexp(t, `(?m)^blocked.Filter +16\.[89] +2\.1 GB +0\.001 +8 +the fastest`, out)
	out = good(t, "", "plan -n 1e8 -p 0.001") // where int has 32 bits, 1e9 is too many for some
	for _, name := range []string{"growing", "counting", "cuckoo", "window", "flower"} {
		require.Regexp(t, `(?m)^`+name+`.Filter +\d+\.\d +\d+ MB +0.001 +\d+ +\S`, out)
	}
	for _, p := range []string{"0.5", "1e-15"} {
		require.NotContains(t, good(t, "", "plan -n 1 -p", p), "1 lines")
	}
	require.Regexp(t, `(?m)^growing.Filter +(- +){4}not possible at that rate$`,
		good(t, "", "plan -n 1 -p 1e-15"))
	require.Contains(t, good(t, "", "plan -n 10 --size 1e3"), "10 keys, files of 1.0 kB at most:")
	for name, none := range planOf(t, "-n 1e18") { // more keys than any filter holds
		require.Equal(t, planned{Type: name, Keys: 1e18, Rate: 0.001, Note: none.Note}, none)
	}
	saying(t, 2, "--size shows rates: leave -p out", "", "plan -n 10 --size 1k -p 0.1")
	require.NotZero(t, planOf(t, "-n 1099511627776")["growing.Filter"].Size) // the most keys
	for _, size := range []string{"0", "-1", "1e19", "64X"} {
		saying(t, 2, `invalid argument "`+size+`" for "--size" flag: "`+size+
			`" is not a size, such as 64M, 64MiB or 1e9; see bloom help plan`, "",
			"plan -n 10 --size", size)
	}
}

// planOf returns the figures of plan for each type.
func planOf(t *testing.T, flags string) map[string]planned {
	all := map[string]planned{}
	for line := range strings.Lines(good(t, "", "plan --json "+flags)) {
		var p planned
		require.NoError(t, json.Unmarshal([]byte(line), &p))
		all[p.Type] = p
	}
	return all
}

// TestPlanIsTheFile: the size that plan shows is that of the file that build or dedupe writes.
func TestPlanIsTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	size := func() uint64 {
		info, err := os.Stat("list")
		require.NoError(t, err)
		return uint64(info.Size())
	}
	for _, n := range []int{1, 2, 5, 64, 100, 777, 1000, 10_000, 100_000, 1_000_000} {
		for e := 1; e <= 9; e++ {
			if n >= 100_000 && e%4 != 1 {
				continue
			}
			for _, p := range []float64{math.Pow10(-e), 0.37 * math.Pow10(1-e)} {
				if n == 1_000_000 && p < 1e-3 && testing.Short() {
					continue
				}
				for _, k := range kinds {
					if k.flag == "" || p < k.least {
						continue
					}
					f, err := k.create(uint64(n), p)
					require.NoError(t, err)
					keyRule{}.setInfo(f, "", false)
					hs := make([]bloom.Hash, 0, n)
					for i := range n {
						hs = append(hs, bloom.SumUint64(uint64(i)))
					}
					f.AddBatch(nil, hs)
					require.NoError(t, (&target{path: "list"}).save(f))
					planned, bits, err := k.plan(uint64(n), p)
					require.NoError(t, err)
					require.Equal(t, size(), planned, "%s n=%d p=%v", k.name, n, p)
					require.Positive(t, bits)
				}
			}
		}
	}
	for _, flags := range []string{"-n 1", "-n 100", "-n 20_000 -p 0.01", "-n 20k -p 1e-9"} {
		all := planOf(t, flags)
		for _, k := range kinds {
			if k.flag != "" {
				good(t, "a\n", "build --force -o list "+flags+" --type "+k.flag)
				require.Equal(t, size(), all[k.name].Size, "%s %s", k.name, flags)
			}
		}
		require.NoError(t, os.Remove("list"))
		good(t, "a\n", "dedupe --span 24h --state list "+flags+" -p 0.001")
		require.Equal(t, size(), planOf(t, flags+" -p 0.001")["window.Filter"].Size, flags)
	}
	good(t, numbers(0, 1000), "build --force -p 1e-6 -o list") // it counts the lines
	require.Equal(t, size(), planOf(t, "-n 1000 -p 1e-6")["bloom.Filter"].Size)
}

// TestPlanOfSize: the rate that plan shows for a size makes a file that is not larger, and a rate
// that is lower by a hundredth makes a larger one, or a tag needs another bit.
func TestPlanOfSize(t *testing.T) {
	for _, flags := range []struct {
		n    uint64
		size string
		max  uint64
	}{{1000, "64k", 64_000}, {1_000_000, "2MiB", 2 << 20}, {100, "1e3", 1000}, {1e9, "1.8G", 18e8}} {
		all := planOf(t, fmt.Sprintf("-n %d --size %s", flags.n, flags.size))
		for _, k := range kinds {
			p := all[k.name]
			if k.plan == nil || p.Size == 0 {
				continue
			}
			require.LessOrEqual(t, p.Size, flags.max, k.name)
			size, _, err := k.plan(flags.n, p.Rate)
			require.NoError(t, err)
			require.Equal(t, p.Size, size)
			require.Equal(t, fmt.Sprintf("%.3g", p.Rate), fmt.Sprint(p.Rate), "three digits")
			if size, _, err = k.plan(flags.n, p.Rate*0.98); err == nil && p.Rate > max(k.least, leastPlan) {
				require.Greater(t, size, flags.max, "%s %v", k.name, p.Rate)
			}
		}
		require.NotZero(t, all["bloom.Filter"].Rate)
	}
	for name, none := range planOf(t, "-n 1000 --size 10") {
		require.Equal(t, planned{Type: name, Keys: 1000, Note: none.Note}, none)
	}
	out := good(t, "", "plan -n 1000 --size 10")
	require.Contains(t, out, "1,000 keys, files of 10 B at most:")
	require.Contains(t, out, "not possible at that size")
}

// TestJSON holds the names that programs read.
func TestJSON(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	good(t, numbers(0, 1000), "build -n 1000 -p 1% -o", list)
	readme := read(t, "README.md")
	names := func(line string) []string {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &object), line)
		for name := range object {
			require.Contains(t, readme, "`"+name+"`", "what version 1 keeps")
		}
		return slices.Sorted(maps.Keys(object))
	}
	plans := strings.Split(strings.TrimSuffix(good(t, "", "plan -n 1,000,000 --json"), "\n"), "\n")
	require.Len(t, plans, 7, "every type of this module that holds keys")
	require.Equal(t, []string{"bits_per_key", "k", "keys", "note", "rate", "size", "type"},
		names(plans[0]))
	require.Contains(t, plans[0], `"type":"bloom.Filter","keys":1000000,"rate":0.001,`)
	require.Equal(t, []string{"keys", "note", "rate", "type"},
		names(strings.Split(good(t, "", "plan -n 1 -p 1e-15 --json"), "\n")[2]))
	require.Equal(t, []string{"checksum", "file", "fill", "hash", "k", "keys", "m", "made_at",
		"made_for", "rate", "size", "strategy", "type"},
		names(good(t, "", "info --json", list)))
}
