package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/internal/files"
)

// target is a file that a command replaces or appends to. The command locks it first; see lock.
type target struct {
	wait    time.Duration // the value of --wait
	makes   bool          // the command may discard the old content of the file
	appends bool          // the command appends to the file
	force   bool          // the value of --force
	output  string        // the value of -o
	path    string        // the path of the locked file, with symbolic links followed
	base    *files.Base   // what save compares with the file; nil unless reads was called
}

func (f *target) register(flags *pflag.FlagSet) {
	flags.DurationVar(&f.wait, "wait", time.Minute,
		"time to wait for another bloom")
}

// addForce is like register, and adds --force, for commands that may discard the file's old
// content.
func (f *target) addForce(flags *pflag.FlagSet) {
	f.register(flags)
	f.makes = true
	flags.BoolVar(&f.force, "force", false,
		"replace FILE, whatever it is")
}

// addOutput is like addForce, and adds -o, for commands that may write to standard output.
func (f *target) addOutput(flags *pflag.FlagSet) {
	f.addForce(flags)
	flags.StringVarP(&f.output, "output", "o", "", "`FILE` to write; - is standard output")
}

// lock makes this process the only bloom that changes the file at path, until release is called. If
// the file system has no locks, other processes may change the file, too. While another bloom
// changes the file, lock waits for up to --wait. It sets f.path to the path of the file to change.
// Without --force it returns an error if the file is one of the inputs, or if f.makes is true and
// replaceable returns false.
func (f *target) lock(ctx context.Context, path string, inputs ...string) (
	release func(), err error,
) {
	if isStdout(path) {
		return nil, usageError{fmt.Errorf("%s is not a file: bloom can change only files", path)}
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		hint := ""
		if path == f.output {
			hint = ": -o - writes to standard output"
		}
		return nil, fmt.Errorf("%s is not a regular file%s", path, hint)
	}
	if f.path, err = files.Follow(path); err != nil {
		return nil, err
	}
	if !f.appends {
		if err := files.Replaceable(f.path); err != nil {
			return nil, err
		}
	}
	if f.force {
		return f.waitForLock(ctx)
	}
	if f.makes && !replaceable(f.path) {
		what := "is not a filter"
		if checkPacked(f.path) != nil {
			what = "is compressed"
		}
		return nil, fmt.Errorf("%s %s, and stays as it is; --force replaces it", f.path, what)
	}
	for _, input := range inputs {
		if same(f.path, input) {
			return nil, usageError{fmt.Errorf("%s: %w", path, namedTwice(path, input))}
		}
	}
	return f.waitForLock(ctx)
}

func isStdout(path string) bool {
	switch filepath.Clean(path) {
	case lines.Stdin, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1":
		return true
	}
	return false
}

func namedTwice(path, input string) error {
	switch input {
	case path:
		return errors.New("it would be both read and written: name another file")
	case lines.Stdin:
		return errors.New("it would be written, but is also standard input: name another file")
	}
	return fmt.Errorf("it would be written, but is the same file as %s: name another file", input)
}

// checkEmpty returns an error if an empty result would replace a file that is not empty, unless
// --force is given. An input without lines may come from a failed download.
func (f *target) checkEmpty(input string, empty bool) error {
	info, err := os.Stat(f.path)
	if !empty || f.force || err != nil || info.Size() == 0 {
		return nil
	}
	return fmt.Errorf("%s no lines, so %s stays as it is; --force replaces it anyway",
		input, f.output)
}

// same reports whether two paths lead to the same file or, if neither file exists, are equal.
func same(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(infoA, infoB)
	}
	a, errA = filepath.Abs(a)
	b, errB = filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// waitForLock waits up to --wait for the lock on the file.
func (f *target) waitForLock(ctx context.Context) (release func(), err error) {
	notice := time.AfterFunc(time.Second, func() {
		logf("waiting for another bloom that changes %s", f.path)
	})
	defer notice.Stop()
	waiting, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()
	_, unlock, err := files.Lock(waiting, f.path)
	switch {
	case err == nil:
		return func() { unlock() }, nil
	case errors.Is(err, errors.ErrUnsupported): // some network file systems have no locks
		return func() {}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf(
			"%s is in use: another bloom that changes it has not ended in %v (--wait)",
			f.path, f.wait)
	}
	return nil, lockError(f.path, err)
}

// lockError returns the error for a file that cannot be locked. It names the lock's own file, which
// the user does not know, only if locking that file failed.
func lockError(path string, err error) error {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) && pathErr.Op != "lock" {
		err = pathErr.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
