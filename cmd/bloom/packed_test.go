//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// TestBehindGzip: zeros after gzip are padding, as for gunzip. Of anything else the error says how
// many bytes there are.
func TestBehindGzip(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -n 10 -p 1e-9 -o list")
	lines, list := gzipped("a\n")+gzipped("b\n"), gzipped(read(t, "list"))
	zeros := func(n int) string { return strings.Repeat("\x00", n) }
	for _, behind := range []string{"", zeros(1), zeros(2), zeros(512), zeros(3 << 20)} {
		write(t, "in", lines+behind)
		require.Equal(t, "a\nb\n", good(t, "", "dedupe in"))
		require.Equal(t, "a\nb\n", good(t, lines+behind, "dedupe"))
		write(t, "packed", list+behind)
		require.Equal(t, "a\n", good(t, "", "check packed in"))
		require.Contains(t, good(t, list+behind, "info -"), "keys      about 1\n")
	}
	saying(t, 1,
		"standard input: the bytes after its zstd data are not zstd", zstded("a\n")+zeros(600),
		"dedupe")
	for behind, says := range map[string]string{
		"a line\n":                   "...7 bytes follow its gzip data: neither gzip nor zeros",
		"x":                          "...1 byte follows its gzip data: neither gzip nor zeros",
		"\x1f":                       "...1 byte follows its gzip data: neither gzip nor zeros",
		zeros(9) + "x":               "...10 bytes follow its gzip data: neither gzip nor zeros",
		"x" + zeros(9):               "...10 bytes follow its gzip data: neither gzip nor zeros",
		zeros(512) + gzipped("c\n"):  "...bytes follow its gzip data: neither gzip nor zeros",
		zstded("c\n"):                "...bytes follow its gzip data: neither gzip nor zeros",
		gzipped("c\n")[:12]:          "...unexpected EOF",
		"\x1f\x8b":                   "...unexpected EOF",
		zeros(2<<20) + "text behind": "...2097163 bytes follow its gzip data: neither gzip nor zeros",
	} {
		require.Equal(t, "a\nb\n", saying(t, 1, says, lines+behind, "dedupe"), "%.20q", behind)
		write(t, "packed", list+behind)
		saying(t, 2, says, "a\n", "check packed")
	}
}

// zippedZeros is head and n zeros, compressed as well as gzip can.
func zippedZeros(t *testing.T, head string, n int64) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.Copy(w, io.MultiReader(strings.NewReader(head), io.LimitReader(endless{}, n)))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// highestMemory looks again and again at the memory of a process. The result returns the most that
// it took, in KiB, once it has ended. Only Linux says it.
func highestMemory(pid int) (result func() int) {
	found := make(chan int, 1)
	go func() {
		highest := 0
		for {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			_, status, ok := bytes.Cut(status, []byte("VmHWM:"))
			if err != nil || !ok { // it has ended
				found <- highest
				return
			}
			fmt.Sscan(string(status), &highest)
			time.Sleep(time.Millisecond)
		}
	}()
	return func() int { return <-found }
}

// TestMemoryByWhatArrived: what unpacks to more than 1 MiB and to more than 100 times the bytes
// that arrived is refused, before it takes as much memory or disk. The error says what to do.
func TestMemoryByWhatArrived(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	good(t, "a\n", "build -n 10 -o list")
	small := "\x01\x01\x00\x01\xff\x00" // Guava's filter of nearly 1 MiB
	write(t, "small", zippedZeros(t, small, 8*0x1ff00))
	require.Contains(t, good(t, "", "info small"), "m         8,372,224 bits\n")
	write(t, "over", zippedZeros(t, "\x01\x01\x00\x04\x00\x00", 2<<20))
	large := "\x01\x01\x04\x00\x00\x00" // of 512 MiB
	write(t, "large", zippedZeros(t, large, 512<<20))
	write(t, "line.gz", zippedZeros(t, "", 512<<20))
	write(t, "lines.gz", gzipped(strings.Repeat("a\n", 5_000_000)))
	const says = "more than 100 times the compressed bytes so far: unpack it first, with gunzip or zstd -d"
	for line, want := range map[string]int{
		"info over": 1, "info large": 1, "info -": 1, "check large list": 2, "merge -o x large": 1,
		"merge -o x -":   1,
		"dedupe line.gz": 1, "build -n 10 -o x line.gz": 1, "check list line.gz": 2,
		"bank build -o x line.gz": 1,
		"build -o x lines.gz":     1, "serve --addr localhost:0 large": 1,
	} {
		var out bytes.Buffer
		cmd := command(t, line)
		cmd.Stdin = strings.NewReader(read(t, "large"))
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(t, cmd.Start())
		highest := highestMemory(cmd.Process.Pid)
		cmd.Wait()
		require.Equal(t, want, cmd.ProcessState.ExitCode(), "%s: %s", line, &out)
		require.Contains(t, out.String(), says, line)
		require.Less(t, highest(), 400<<10, "%s: in KiB; a line is copied when its memory grows", line)
	}
	good(t, "", "build -n 10 -o x lines.gz")
}

// TestErrorNamesTheWindow: if zstd needs more memory than --long allows, the error says how much
// that is.
func TestErrorNamesTheWindow(t *testing.T) {
	const frame = "\x28\xb5\x2f\xfd\x00\x90\x09\x00\x00a" // needs 256 MiB
	for flags, size := range map[string]string{
		"": "128 MiB", "--long 20": "1 MiB", "--long 19": "512 KiB", "--long 10": "1 KiB",
	} {
		says := "standard input: unpacking it needs more than " + size + " of memory: see --long, " +
			"or unpack it first: zstd -dc --long=31"
		saying(t, 1, says, frame, "dedupe "+flags)
	}
	require.Equal(t, "a\n", good(t, frame, "dedupe --long 28"))
}

// TestFiltersAreNotLines: filters, states, banks and patches are refused wherever lines are wanted.
func TestFiltersAreNotLines(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a", "apple\n")
	good(t, "", "build -n 9 -o list a")
	good(t, "", "build -n 9 -o other a")
	good(t, "pear\n", "add other")
	good(t, "", "dedupe --state growing a")
	good(t, "", "dedupe --state window --span 1h -n 9 a")
	good(t, "", "bank build -n 9 -o bank a")
	good(t, "", "diff -o patch list other")
	for _, kind := range []string{"blocked", "counting", "cuckoo"} {
		good(t, "", "build -n 9 -o "+kind+" a --type", kind)
	}
	const says = "...it is a filter, bank or patch that bloom wrote, not lines"
	for _, name := range []string{
		"growing", "window", "bank", "patch", "blocked", "counting", "cuckoo",
	} {
		whole := read(t, name)
		for _, content := range []string{whole, gzipped(whole), zstded(whole)} {
			write(t, "in", content)
			for line, status := range map[string]int{
				"build -o x": 1, "build -n 9 -o x": 1, "add counting": 1, "remove counting": 1,
				"check list": 2, "check -q list": 2, "check -v list": 2, "dedupe": 1, "dedupe -0": 1,
				"dedupe --state x": 1, "bank build -o x": 1, "build -o x a --never": 1,
			} {
				require.Empty(t, saying(t, status, says, "", line+" in"), "%s %s", line, name)
				require.NoFileExists(t, "x")
			}
			saying(t, 1, says, content, "dedupe")
			saying(t, 2, says, content, "check list")
			saying(t, 2, says, content, "bank which bank")
		}
		write(t, name, gzipped(whole))
		if name != "bank" && name != "patch" {
			require.Equal(t, "apple\n", good(t, "", "check "+name+" a"))
			good(t, read(t, name), "info -")
		}
		write(t, name, whole)
	}
}

// TestDamagedInside: the error for a damaged filter in a compressed file names that file, and wraps
// what the error of a file without compression wraps.
func TestDamagedInside(t *testing.T) {
	t.Chdir(t.TempDir())
	damaged := map[string]string{"bits-and-blooms": `{"a":1}`}
	for _, k := range kinds {
		if k.flag == "" {
			continue
		}
		require.NoError(t, (&target{path: "whole"}).save(bloom.Must(k.create(100, 0.01))))
		data := []byte(read(t, "whole"))
		data[len(data)-20]++
		damaged[k.name] = string(data)
	}
	for name, data := range damaged {
		write(t, "plain", data)
		_, want := load("plain")
		require.Error(t, want, name)
		write(t, "packed", gzipped(data))
		_, err := load("packed")
		require.EqualError(t, err, strings.Replace(want.Error(), "(in plain)", "(in packed)", 1))
		require.ErrorIs(t, want, bloom.ErrFormat, name)
		require.ErrorIs(t, err, bloom.ErrFormat, name)
	}
	_, err := load("missing")
	require.EqualError(t, err, "missing: no such file or directory")
}
