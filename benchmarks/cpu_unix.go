//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime returns the time that processors have spent on this process, which does not count
// other programs.
func processorTime() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
