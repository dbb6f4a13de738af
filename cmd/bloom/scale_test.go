//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// TestScale runs the recipes of docs/scale.md: all shards write what one run does.
func TestScale(t *testing.T) {
	if _, err := os.Stat("../../docs"); err != nil {
		t.Skip(err) // outside the repository
	}
	page, err := os.ReadFile("../../docs/scale.md")
	require.NoError(t, err)
	a, b := numbers(0, 2000), numbers(1000, 4000)
	want := sorted(distinct(a + b))
	recipes := 0
	for _, block := range regexp.MustCompile("(?s)```(sh|yaml)\n(.*?)```").FindAllStringSubmatch(
		string(page), -1) {
		script := strings.ReplaceAll(block[2], "1e9", "1e4")
		dir := t.TempDir()
		write(t, filepath.Join(dir, "urls-0.txt"), a)
		write(t, filepath.Join(dir, "urls-1.txt"), b)
		write(t, filepath.Join(dir, "words.txt"), "line 7\nother\nline 3999\n")
		objects := ""
		for i, text := range []string{a, b} {
			objects += "file://" +
				write(t, filepath.Join(dir, fmt.Sprintf("%d.gz", i)), gzipped(text)) + "\n"
		}
		write(t, filepath.Join(dir, "objects.txt"), objects)

		each := "" // the variable that a scheduler sets
		if block[1] == "yaml" {
			each, script = "JOB_COMPLETION_INDEX", strings.ReplaceAll(ofJob(t, script), "/data", dir)
		} else if strings.Contains(script, "SLURM") {
			each = "SLURM_ARRAY_TASK_ID"
		}
		first := strings.Fields(script)[0]
		run := func(t *testing.T, index int) {
			cmd := child(t, "bash", "-c", script)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", each, index))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", script, out)
		}
		t.Run(first, func(t *testing.T) {
			if _, err := exec.LookPath(first); err != nil && first == "parallel" {
				t.Skip(err)
			}
			if each == "" {
				run(t, 0)
			} else {
				for i := range 8 {
					run(t, i)
				}
			}
			if strings.Contains(script, "bloom check") {
				require.Equal(t, "line 7\nline 3999\n", read(t, filepath.Join(dir, "found")))
				return
			}
			var outs []string
			for i := range 8 {
				outs = append(outs, read(t, filepath.Join(dir, fmt.Sprintf("%d.txt", i))))
			}
			require.True(t, slices.Equal(want, sorted(outs...)))
		})
		recipes++
	}
	require.Equal(t, 6, recipes)
}

// ofJob returns the script of a Kubernetes Job.
func ofJob(t *testing.T, manifest string) string {
	var job struct {
		Spec struct {
			CompletionMode string `yaml:"completionMode"`
			Completions    int
			Template       struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(manifest), &job))
	require.Equal(t, "Indexed", job.Spec.CompletionMode)
	require.Equal(t, 8, job.Spec.Completions)
	return job.Spec.Template.Spec.Containers[0].Args[0]
}
