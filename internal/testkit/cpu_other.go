//go:build !unix

package testkit

import "time"

var start = time.Now()

// CPUTime is described in cpu_unix.go. Here it returns the time that passes.
func CPUTime() time.Duration { return time.Since(start) }
