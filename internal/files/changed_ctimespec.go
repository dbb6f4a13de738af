//go:build darwin || freebsd || netbsd

package files

import (
	"io/fs"
	"syscall"
	"time"
)

// changed is documented in changed_ctim.go.
func changed(info fs.FileInfo) time.Time {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(stat.Ctimespec.Unix())
}
