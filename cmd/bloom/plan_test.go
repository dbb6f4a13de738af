package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	out := good(t, "", "plan -n 1e9 -p 0.001")
	require.Contains(t, out, "1,000,000,000 keys, 0.001 of others reported")
	require.Regexp(t, `(?m)^bloom.Filter +14\.4 +1\.8 GB +10 `, out)
	require.Regexp(t, `(?m)^blocked.Filter +16\.[89] +2\.1 GB +8 +the fastest`, out)
	for _, name := range []string{"growing", "counting", "cuckoo", "window", "flower"} {
		require.Regexp(t, `(?m)^`+name+`.Filter +\d+\.\d +\d\.\d GB +\d+ +\S`, out)
	}
	for _, p := range []string{"0.5", "1e-15"} {
		require.NotContains(t, good(t, "", "plan -n 1 -p", p), "1 lines")
	}
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
	require.Equal(t, []string{"bits_per_key", "k", "keys", "note", "rate", "size", "type"}, names(plans[0]))
	require.Contains(t, plans[0], `"type":"bloom.Filter","keys":1000000,"rate":0.001,`)
	require.Equal(t, []string{"keys", "note", "rate", "type"}, names(strings.Split(good(t, "", "plan -n 1 -p 1e-15 --json"), "\n")[2]))
	require.Equal(t, []string{"checksum", "file", "fill", "hash", "k", "keys", "m", "made_at", "made_for", "rate", "size", "strategy", "type"},
		names(good(t, "", "info --json", list)))
}
