package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A foreign program gets the keys and the rate.
func TestForeign(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	const script = `test $(wc -c <"$1") = $((8 * ($3 + 1000000))) && test "$2 $4 $5 $6" = "8 100 1 0.0001" || exit 1
echo ready $((20 * $3)) 250
while read round; do echo 10 20 30; done`
	good := foreign{name: "good", args: []string{"sh", "-c", script, "sh"}}
	bad := foreign{name: "bad", args: []string{"sh", "-c", "echo no", "sh"}}
	table := compare(kinds[0], 100, 1e-4, libraries[:2], []foreign{good, bad}, limits{rounds: 3})
	r := table.find("good")
	require.NotNil(t, r)
	assert.Equal(t, []float64{10, 10, 10}, r.times[add])
	assert.Equal(t, 30.0, quantile(r.times[absent], 0.5))
	assert.Equal(t, 20.0, r.bitsPerKey)
	assert.Equal(t, "2.5e-4", r.percent(1e-4))
	assert.Nil(t, table.find("bad"), "it failed")
}
