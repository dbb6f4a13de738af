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
//
// # The lock
//
// It is a lock of the system on an empty file in the target's directory, named .NAME.bloom-lock,
// which Lock creates and unlock removes. A killed process leaves the empty file, unlocked, and the
// next Lock takes it over. Lock refuses anything but a regular file there. The lock keeps out only
// those who also call Lock, such as the command bloom.
//
// Linux, macOS, Windows and the BSDs have such locks, and some file systems have none. On NFS the
// lock holds between machines if the server and the mount support locks.
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

// Lock locks the file at path, which need not exist, against other processes and other calls of
// Lock, until unlock is called or the process ends in any way. Calling unlock again does nothing.
//
// target is path or, if symbolic links are there, the path that they lead to. It has one lock under
// all its names. Load and save the file at target: SaveFile would replace a link.
//
// While the lock is held, Lock waits. If ctx is done first, the error wraps that of ctx; Lock tries
// once even if ctx is done before the call. If the system has no such locks, the error wraps
// [errors.ErrUnsupported], and target is returned nevertheless.
func Lock(ctx context.Context, path string) (target string, unlock func() error, err error) {
	target, unlock, err = files.Lock(ctx, path)
	if err != nil {
		return target, nil, fmt.Errorf("file: locking: %w", err)
	}
	return target, unlock, nil
}
