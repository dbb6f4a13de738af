package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// target is a file that a command replaces or appends to. The command locks it first, so that one
// process does so at a time.
type target struct {
	wait   time.Duration
	makes  bool   // the command replaces the file, whatever it holds
	force  bool   // -force
	output string // -o
	path   string // of the file that is locked: where a symbolic link leads
}

func (f *target) add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.wait, "wait", time.Minute,
		"how long to wait for another bloom that changes the file")
}

// addForce is add for commands that may replace the file as a whole.
func (f *target) addForce(flags *pflag.FlagSet) {
	f.add(flags)
	f.makes = true
	flags.BoolVar(&f.force, "force", false,
		"replace FILE though it is no filter, or though the input has no line")
}

// addOutput is addForce for commands whose -o may be standard output.
func (f *target) addOutput(flags *pflag.FlagSet) {
	f.addForce(flags)
	flags.StringVarP(&f.output, "output", "o", "", "`FILE` to write; - is standard output")
}

// lock makes this process the only bloom that changes the file at path, until release is called. It
// waits for another one, and says so. Then f.path is the file to change. Without -force it returns
// an error if the file holds anything but a filter that the command would replace, or if the file
// is one of the inputs.
func (f *target) lock(ctx context.Context, path string, inputs ...string) (
	release func(), err error,
) {
	if path == lines.Stdin {
		return nil, usageError{errors.New("- is no file: what bloom changes must be one")}
	}
	if f.path, err = linkedTo(path); err != nil {
		return nil, err
	}
	info, err := os.Lstat(f.path)
	if err == nil && info.Mode()&(fs.ModeType&^fs.ModeSymlink) != 0 {
		return nil, fmt.Errorf("%s is no regular file", f.path)
	}
	if f.force {
		return f.waitForLock(ctx)
	}
	if f.makes && !replaceable(f.path) {
		return nil, fmt.Errorf("%s is no filter, and is left as it is; -force replaces it", f.path)
	}
	for _, input := range inputs {
		if same(f.path, input) {
			return nil, usageError{fmt.Errorf("%s: %w", path, namedTwice(path, input))}
		}
	}
	return f.waitForLock(ctx)
}

// namedTwice is the error of a file that is to be written by one name, and has another role by
// another name, or by the same one.
func namedTwice(path, input string) error {
	switch input {
	case path:
		return errors.New("it is named twice, and is to be written: name another file")
	case lines.Stdin:
		return errors.New("it is standard input, too, and is to be written: name another file")
	}
	return fmt.Errorf("it is the same file as %s, and is to be written: name another file", input)
}

// checkEmpty returns an error if a file without a line would replace one that is there, and -force
// is missing: the input may be that of a failed download.
func (f *target) checkEmpty(input string, empty bool) error {
	info, err := os.Stat(f.path)
	if !empty || f.force || err != nil || info.Size() == 0 {
		return nil
	}
	return fmt.Errorf("%s no line, and %s stays as it is; with -force the new one replaces it",
		input, f.output)
}

// same reports whether two paths lead to one file, which may be missing.
func same(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(infoA, infoB)
	}
	if errA == nil || errB == nil {
		return false
	}
	a, errA = filepath.Abs(a)
	b, errB = filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// waitForLock locks the file, or waits as long as -wait says.
//
// Saving replaces the file, so the file itself cannot be locked. An empty file beside it is. The
// system unlocks it when its process ends in any way. A process that is killed leaves the empty
// file there, for the next one to lock and to remove.
func (f *target) waitForLock(ctx context.Context) (release func(), err error) {
	lock := flock.New(beside(f.path, "bloom-lock"), flock.SetPermissions(0o666))
	notice := time.AfterFunc(time.Second, func() {
		say("waiting for another bloom that changes %s", f.path)
	})
	defer notice.Stop()
	for start := time.Now(); ; {
		release, err := tryLock(lock)
		if err != nil && !mayPass(err, lock.Path()) {
			return nil, fmt.Errorf("%s: %w", f.path, cause(err))
		}
		if release != nil {
			return release, nil
		}
		if time.Since(start) >= f.wait {
			if err != nil {
				return nil, err
			}
			return nil, fmt.Errorf(
				"%s is in use: another bloom changes it, and has not ended in %v (-wait)",
				f.path, f.wait)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryLock returns what unlocks lock and removes its file, or nil if another process has it locked.
func tryLock(lock *flock.Flock) (release func(), err error) {
	path := lock.Path()
	locked, err := lock.TryLock()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK) {
		os.Remove(path)
		return func() {}, nil // some network file systems have no locks
	}
	if err != nil || !locked {
		return nil, err
	}
	mine, err := lock.Stat()
	there, thereErr := os.Lstat(path)
	if err != nil || thereErr != nil || !os.SameFile(mine, there) {
		lock.Unlock() // another process removed the file since it was opened
		return nil, nil
	}
	os.Chmod(path, 0o666) // regardless of the umask: other users of the directory wait, too
	return func() {
		os.Remove(path) // before it is unlocked: later it may be another process's
		lock.Unlock()
		if runtime.GOOS == "windows" { // it removes no open file, and so no other process's
			os.Remove(path)
		}
	}, nil
}

// mayPass reports whether an error of locking may pass: Windows opens no file that is being
// removed, and another user who made the file may be about to permit its use.
func mayPass(err error, path string) bool {
	return runtime.GOOS == "windows" || errors.Is(err, fs.ErrPermission) && exists(path)
}

// linkedTo returns the path of the file that is replaced when path is saved: where symbolic links
// lead, or path. So every name of one file locks the same file.
func linkedTo(path string) (string, error) {
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
