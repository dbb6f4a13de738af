//go:build unix

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestKilledAtEachStep: whenever dedupe -o is killed, another run with the same input goes on where
// it ended, without a word. No line is written twice, and few are left out. The rate is one at
// which false positives occur, and the input is long enough for filters to grow: a filter that
// differs from the killed run's would show.
func TestKilledAtEachStep(t *testing.T) {
	const rate, different = 1e-2, 60_000
	var in strings.Builder
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range different {
		fmt.Fprintf(&in, "%d;line %d\n", i%2, i)
		if i%3 == 0 {
			fmt.Fprintf(&in, "%d;line %d\n", i%2, rnd.IntN(i+1))
		}
	}
	dir := t.TempDir()
	plain := write(t, filepath.Join(dir, "list"), in.String())
	packed := write(t, filepath.Join(dir, "list.gz"), gzipped(in.String()))
	present := func(path string) func() bool { return func() bool { return exists(path) } }
	larger := func(path string, size int64) func() bool {
		return func() bool { info, err := os.Stat(path); return err == nil && info.Size() > size }
	}
	steps := map[string]func() bool{
		"at the start":          func() bool { return true },
		"with a lock":           present(".state.bloom-lock"),
		"with OUT":              present("out"),
		"within a save":         present(".state.bloom-tmp-0"),
		"with a state":          present("state"),
		"with lines":            larger("out", 0),
		"with some lines":       larger("out", 200_000),
		"with nearly all lines": larger("out", 1_200_000),
		"within a save of lines": func() bool {
			return larger("out", 120_000)() && present(".state.bloom-tmp-0")()
		},
	}
	rounds := 1
	if os.Getenv("BLOOM_LONG") != "" {
		rounds = 10
	}
	for _, test := range []struct {
		flags, keys string // keys are those of flags that choose lines
		exact       bool   // OUT is as after one run: filters that grow are decoded a little otherwise
	}{
		{"", "", false},
		{" -f 2 --sep ;", " -f 2 --sep ;", false},
		{" --shard 1/2", " --shard 1/2", false},
		{" -n 200k", "", true},
		{" -n 200k --shard 1/2", " --shard 1/2", true},
		{" -n 1M --span 24h", "", false},
	} {
		t.Run(test.flags, func(t *testing.T) {
			line := "dedupe -p 0.01 --state state -o out" + test.flags
			want := good(t, "", "dedupe -p 1e-9"+test.keys, plain)
			lines := strings.Count(want, "\n")
			t.Chdir(t.TempDir())
			good(t, "", line, plain)
			clean := read(t, "out")
			for range rounds {
				for name, step := range steps {
					t.Chdir(t.TempDir())
					input := []string{plain, packed}[rnd.IntN(2)]
					line := line + []string{" --save-every 1h", " --save-every 5ms"}[rnd.IntN(2)]
					for range 2 {
						killed(t, command(t, line, input), step)
					}
					good(t, "", line, input)
					out := read(t, "out")
					require.True(t, distinct(out) == out, "%s, %s: lines are there twice", line, name)
					if test.exact {
						require.True(t, clean == out, "%s, %s: other lines than of one run", line, name)
					}
					most := rate*different + 4*math.Sqrt(rate*different)
					lost := lines - strings.Count(out, "\n")
					require.Less(t, float64(lost), most, "%s, %s", line, name)
					ours := strings.Count(distinct(want+out), "\n")
					require.Equal(t, lines, ours, "%s, %s: other lines than of the input", line, name)
					require.Empty(t, good(t, "", line, plain))
					require.True(t, out == read(t, "out"), "%s, %s: a run more writes", line, name)
				}
			}
		})
	}
}

// killed starts cmd, and kills it as soon as step is true. It must end in silence.
func killed(t *testing.T, cmd *exec.Cmd, step func() bool) {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	for done := false; !done && !step(); {
		select {
		case <-ended:
			done = true
		case <-time.After(50 * time.Microsecond):
		}
	}
	cmd.Process.Kill()
	<-ended
	require.Empty(t, stderr.String())
}

// TestGoesOnWithAnotherInput: the lines that a killed run wrote are in OUT, and are not written
// again when they come in another input, such as the rest of a stream.
func TestGoesOnWithAnotherInput(t *testing.T) {
	for _, flags := range []string{"", " -n 1000", " -n 1000 --span 24h"} {
		t.Chdir(t.TempDir())
		line := "dedupe -p 1e-9 --state state -o out --save-every 1h" + flags
		cmd := command(t, line)
		in, _ := start(t, cmd)
		defer in.Close()
		send(t, in, "a\nb\n")
		becomes(t, func() bool {
			info, err := os.Stat("out")
			return err == nil && info.Size() == 4
		})
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		saying(t, 0, "warning: out has 2 bytes that this run does not write: they stay before "+
			"its lines", "b\nc\na\nd\na\n", line)
		require.Equal(t, "a\nb\nc\nd\n", read(t, "out"), flags)
	}
}
