//go:build dragonfly || linux || openbsd || solaris

package files

import (
	"io/fs"
	"syscall"
	"time"
)

// changed returns the time at which the content, permissions, owner or names of info's file last
// changed, or the zero Time if the system does not report it.
func changed(info fs.FileInfo) time.Time {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(stat.Ctim.Unix())
}
