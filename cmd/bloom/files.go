package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// A holder keeps a file for one writer at a time.
type holder struct {
	wait  time.Duration
	makes bool   // the file, whatever is in it
	force bool   // to make it even if it is no filter
	out   string // what -o says
	path  string // of the file that is held: what a symbolic link leads to
}

func (h *holder) add(flags *pflag.FlagSet) {
	flags.DurationVar(&h.wait, "wait", time.Minute, "how long to wait for another bloom that changes the file")
}

// addForce is add for commands that may make the file anew.
func (h *holder) addForce(flags *pflag.FlagSet) {
	h.add(flags)
	h.makes = true
	flags.BoolVar(&h.force, "force", false, "replace a FILE that is no filter")
}

// addOutput is addForce for commands whose -o may be standard output.
func (h *holder) addOutput(flags *pflag.FlagSet) {
	h.addForce(flags)
	flags.StringVarP(&h.out, "output", "o", "", "`FILE` to write; - is standard output")
}

// saver is a filter or a bank.
type saver interface{ SaveFile(path string) error }

// produce holds what -o says, and saves there what make makes. Where -o is standard output the file is a temporary one.
func (h *holder) produce(c *cobra.Command, make func() (saver, error)) error {
	read := inputs(c.Flags().Args())
	switch {
	case !c.Flags().Changed("output"):
		return usageError{fmt.Errorf("%s needs -o FILE; see bloom help %s", c.Name(), c.Name())}
	case h.out != lines.Stdin:
		if c.Name() == "merge" { // which loses nothing
			read = nil
		}
		release, err := h.hold(c.Context(), h.out, read...)
		if err != nil {
			return err
		}
		defer release()
	case isatty.IsTerminal(os.Stdout.Fd()):
		return usageError{errors.New("-o - would write a filter to the terminal")}
	default:
		if err := stdoutApart(read...); err != nil {
			return err
		}
		dir, err := os.MkdirTemp("", "bloom-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		h.path = filepath.Join(dir, "filter")
	}
	f, err := make()
	if err != nil {
		return err
	}
	if err := f.SaveFile(h.path); err != nil {
		return err
	}
	if h.out == lines.Stdin {
		file, err := os.Open(h.path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(os.Stdout, file)
		return err
	}
	return nil
}

// hold makes this process the only bloom that changes the file at path, until it calls
// release. It waits for another one, and says so. It returns an error if the other one
// takes too long, if no file can be saved at path, if something else than a filter would
// be lost, or if the file is one of those that the command reads as something else, unless -force
// permits it. The file that it holds, and that is to be saved, is at h.path.
//
// The file itself cannot be locked, because each save replaces it. So an empty file
// beside it is. The system unlocks that file when a process ends in any way. One that
// was killed leaves the file behind, for the next one to take and remove.
func (h *holder) hold(ctx context.Context, path string, read ...string) (release func(), err error) {
	if path == lines.Stdin {
		return nil, usageError{errors.New("- is no file: what bloom changes must be one")}
	}
	given := path
	if path, err = target(path); err != nil {
		return nil, err
	}
	h.path = path
	if info, err := os.Lstat(path); err == nil && info.Mode()&(fs.ModeType&^fs.ModeSymlink) != 0 {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	if !h.force {
		if h.makes && !replaceable(path) {
			return nil, fmt.Errorf("%s is no filter, and is left as it is; -force replaces it", path)
		}
		for _, other := range read {
			if same(path, other) {
				return nil, usageError{fmt.Errorf("%s is %s, too", given, other)}
			}
		}
	}
	return h.lock(ctx, path)
}

// same reports whether two paths lead to one file, be it there or not.
func same(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := stat(b)
	if err == nil || err2 == nil {
		return err == nil && err2 == nil && os.SameFile(x, y)
	}
	a, err = filepath.Abs(a)
	b, err2 = filepath.Abs(b)
	return err == nil && err2 == nil && a == b
}

func (h *holder) lock(ctx context.Context, path string) (release func(), err error) {
	beside := beside(path, "bloom-lock")
	lock := flock.New(beside, flock.SetPermissions(0o666))
	notice := time.AfterFunc(time.Second, func() {
		fmt.Fprintf(os.Stderr, "bloom: waiting for another bloom that changes %s\n", path)
	})
	defer notice.Stop()
	for start := time.Now(); ; {
		ok, err := lock.TryLock()
		switch {
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
			os.Remove(beside)
			return func() {}, nil // some network file systems have no locks
		case err != nil && runtime.GOOS == "windows": // where a file that is being removed cannot be opened
		case errors.Is(err, fs.ErrPermission) && exists(beside): // another user's, who may be about to permit it
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, cause(err))
		case ok:
			mine, err := lock.Stat()
			there, err2 := os.Lstat(beside)
			if err == nil && err2 == nil && os.SameFile(mine, there) {
				os.Chmod(beside, 0o666) // whatever the umask: other users of the directory wait, too
				return func() {
					os.Remove(beside) // while it is locked, so that nobody else's is removed
					lock.Unlock()
					if runtime.GOOS == "windows" { // which removes no open file, and so no one else's either
						os.Remove(beside)
					}
				}, nil
			}
			lock.Unlock() // it has been removed since it was opened
		}
		if time.Since(start) >= h.wait {
			if err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%s is in use: another bloom changes it, and has not ended in %v (-wait)", path, h.wait)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// cause is err without the name of a temporary file.
func cause(err error) error {
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// target returns the path of what is to be replaced when path is saved: where a symbolic
// link leads, path else. So all who name one file save and lock the same one.
func target(path string) (string, error) {
	for range 40 {
		to, err := os.Readlink(path)
		if err != nil { // no link
			return filepath.Clean(path), nil
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		if path = to; !filepath.IsAbs(to) {
			path = filepath.Join(dir, to)
		}
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// beside returns the path of a hidden file in the same directory.
func beside(path, suffix string) string {
	dir, base := filepath.Split(path)
	return filepath.Join(dir, "."+base[:min(len(base), 200)]+"."+suffix)
}

// fsync is for tests, too.
var fsync = (*os.File).Sync

// replaceFile replaces the file at path as a whole: after a crash at any moment there is what was there
// before, or all that data writes.
func replaceFile(path string, data io.WriterTo) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(beside(path, "bloom-tmp-*")))
	if err != nil {
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	defer os.Remove(file.Name()) // which is gone after success
	mode := os.FileMode(0o644)
	if old, err := os.Stat(path); err == nil {
		mode = old.Mode().Perm()
	}
	_, err = data.WriteTo(file)
	if err = errors.Join(err, file.Chmod(mode), fsync(file), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	return syncDir(path)
}

// syncDir returns once the name of the file at path is on the disk.
func syncDir(path string) error {
	if runtime.GOOS == "windows" { // which syncs no directories
		return nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
