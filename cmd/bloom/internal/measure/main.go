//go:build unix

// Measure runs commands in turns and writes a table of their times and memory.
//
//	go run ./internal/measure [-rounds N] 'bloom dedupe urls.txt' 'wc -l urls.txt' ...
//
// A shell runs each, with its output thrown away. The times are medians; processor time
// is that of all of a command's processes, memory that of its largest one, at most.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each command runs")
	flag.Parse()
	type run struct {
		elapsed, cpu []time.Duration
		memory       int64
	}
	runs := make([]run, flag.NArg())
	for range *rounds {
		for i, command := range flag.Args() {
			cmd := exec.Command("sh", "-c", command+"\n")
			cmd.Stderr = os.Stderr
			start := time.Now()
			if err := cmd.Run(); err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", command, err)
				os.Exit(1)
			}
			r := &runs[i]
			r.elapsed = append(r.elapsed, time.Since(start))
			r.cpu = append(r.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			memory := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
			if runtime.GOOS == "darwin" {
				memory /= 1024
			}
			r.memory = max(r.memory, memory)
		}
	}
	median := func(times []time.Duration) float64 {
		slices.Sort(times)
		return times[len(times)/2].Seconds()
	}
	fmt.Println("| | elapsed | processor time | memory |\n|---|---|---|---|")
	for i, command := range flag.Args() {
		r := runs[i]
		fmt.Printf("| `%s` | %.2f s | %.2f s | %d MB |\n", command, median(r.elapsed), median(r.cpu), (r.memory*1024+500_000)/1_000_000)
	}
}
