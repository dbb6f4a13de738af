package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// cpu returns how long a processor has worked for this thread. What else the machine does
// disturbs it less than the time that passes.
func cpu() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// forget has the kernel forget what it keeps of a file in memory.
func forget(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
}
