// Package file replaces files as a whole, and locks them against other processes: what belongs to a
// saved filter is written and guarded as the filter itself is.
//
// Each program that changes a filter's file holds its lock from before the load until after the
// save, so no keys of the others are lost:
//
//	target, unlock, err := file.Lock(ctx, "seen.bloom")
//	if err != nil {
//		return err
//	}
//	defer unlock()
//	seen, err := growing.LoadOrNew(target, 0, 0.001)
//	if err != nil {
//		return err
//	}
//	seen.AddString(key)
//	return seen.SaveFile(target)
//
// A filter's SaveFile and LoadFile need no lock to keep a file whole.
package file

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/seed79a3ff49/bloom/internal/files"
)

// Write replaces or creates the file at path with what w writes, by the rules of SaveFile for
// crashes, permissions and links; see "Files" in package bloom. It returns w's error, wrapped. It
// does not buffer w's writes.
func Write(path string, w io.WriterTo) error {
	if w == nil {
		return errors.New("file: Write without a WriterTo")
	}
	err := files.Write(path, func(dst io.Writer) error {
		_, err := w.WriteTo(dst)
		return err
	})
	if err != nil {
		return fmt.Errorf("file: writing: %w", err)
	}
	return nil
}

// Lock locks the file at path against other processes and other calls of Lock, until unlock is
// called or the process ends in any way. The lock is advisory: it keeps out only those who also
// call Lock, such as the command bloom.
//
// target is path or, if symbolic links are there, the path that they lead to, whether or not there
// is a file. It has one lock under all its names. Load and save the file at target: SaveFile would
// replace a link.
//
// If another process or call holds the lock, Lock waits for it. If ctx is done first, Lock returns
// an error that wraps the error of ctx. It tries once even if ctx is done before the call. Calling
// unlock again does nothing.
//
// The lock is a lock of the system on an empty file beside target, named .NAME.bloom-lock, which
// Lock creates and unlock removes. A killed process leaves the empty file, which the next Lock
// takes over. Lock refuses anything but a regular file there.
//
// On NFS the lock holds between machines if the server and the mount support locks. If the file
// system or the operating system has no such locks, the error wraps [errors.ErrUnsupported], and
// target is returned nevertheless. Linux, macOS, Windows and the BSDs have them.
func Lock(ctx context.Context, path string) (target string, unlock func() error, err error) {
	target, unlock, err = files.Lock(ctx, path)
	if err != nil {
		return target, nil, fmt.Errorf("file: locking: %w", err)
	}
	return target, unlock, nil
}
