//go:build unix

package testkit

import (
	"syscall"
	"time"
)

// CPUTime returns how long processors have worked for this process, which other
// processes disturb less than the time that passes.
func CPUTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
