//go:build dragonfly || linux || openbsd || solaris

package files

import (
	"io/fs"
	"syscall"
	"time"
)

// changed returns the time of the last change to the file's content, permissions, owner or names,
// or the zero Time if the system does not report it.
func changed(info fs.FileInfo) time.Time {
	return time.Unix(info.Sys().(*syscall.Stat_t).Ctim.Unix())
}
