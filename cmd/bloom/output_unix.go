//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// stdoutClosed reports whether the program was started without a standard output. Go then puts
// /dev/null in its place, opened for reading, too. Nobody who writes > /dev/null opens it so.
func stdoutClosed() bool {
	flags, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return true
	}
	null, err := os.Stat(os.DevNull)
	out, err2 := os.Stdout.Stat()
	return err == nil && err2 == nil && os.SameFile(null, out) && flags&unix.O_ACCMODE == unix.O_RDWR
}
