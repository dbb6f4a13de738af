//go:build darwin || freebsd || netbsd

package files

import (
	"io/fs"
	"syscall"
	"time"
)

// changed is documented in changed_ctim.go.
func changed(info fs.FileInfo) time.Time {
	return time.Unix(info.Sys().(*syscall.Stat_t).Ctimespec.Unix())
}
