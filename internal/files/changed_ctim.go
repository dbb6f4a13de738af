//go:build dragonfly || linux || openbsd || solaris

package files

import (
	"io/fs"
	"syscall"
	"time"
)

// changed returns the time at which the file of info, or its permissions, owner or names, last
// changed. It returns the zero Time where the system does not tell it.
func changed(info fs.FileInfo) time.Time {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(stat.Ctim.Unix())
}
