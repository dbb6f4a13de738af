// Package file locks the file of a filter against other processes, and writes other files as safely
// as filters are saved.
//
// A program that changes a filter's file must hold the file's lock from before it loads the file
// until after it saves it. Otherwise it may lose keys that another program adds in between.
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
// SaveFile and LoadFile need no lock to keep a file whole.
//
// # The lock
//
// Lock creates an empty file named .NAME.bloom-lock in the target's directory, and locks it with
// the operating system's file locks. If NAME is longer than 200 bytes, a checksum replaces its end.
// unlock removes the file, except on Windows if another process has it open. If a process is
// killed, the file remains, but it is unlocked, and the next call of Lock uses it. Lock returns an
// error if the file's name is taken by anything but a regular file, or if it cannot open or create
// the file. It may retry for about five seconds. The lock affects only programs that also call
// Lock, such as the bloom command.
//
// Linux, macOS, Windows and the BSDs have such locks, but some file systems do not support them. On
// NFS, the lock also excludes other machines if the server and the mount support locks.
package file

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/seed79a3ff49/bloom/internal/files"
)

// Write replaces or creates the file at path with the output of w. It follows the same rules as
// SaveFile for crashes, permissions and links; see "Files" in package bloom. It wraps the error of
// w. It does not buffer the writes of w.
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

// Lock locks the file at path against other processes and other calls of Lock. The file need not
// exist. The lock is held until unlock is called or the process ends. Calling unlock again does
// nothing.
//
// target is filepath.Clean(path) or, if path is a symbolic link, the path to which it leads. Load
// and save the file at target: SaveFile at path would replace the link. All symbolic links to a
// file share its lock, but each of its hard links has a lock of its own.
//
// Lock tries at least once, and waits while another holder has the lock. If ctx is done during this
// wait, the error wraps ctx.Err(). If locks are not supported here, the error wraps
// [errors.ErrUnsupported], and target is still valid.
func Lock(ctx context.Context, path string) (target string, unlock func() error, err error) {
	target, unlock, err = files.Lock(ctx, path)
	if err != nil {
		return target, nil, fmt.Errorf("file: locking: %w", err)
	}
	return target, unlock, nil
}
