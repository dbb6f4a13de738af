package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// saver is a filter, a bank or a patch.
type saver interface{ SaveFile(path string) error }

func save(f saver, path string) error {
	if err := f.SaveFile(path); err != nil {
		return fmt.Errorf("%s was not saved: %w", path, cause(err))
	}
	return nil
}

// saveOver saves made at path in place of f, which was loaded from there. It returns an error if
// another program, which did not wait for the lock, has written the file since, because the keys of
// that program would be lost.
func (f *loaded) saveOver(made saver, path string) error {
	info, err := os.Stat(path)
	if err == nil && (info.Size() != f.size || !info.ModTime().Equal(f.modified)) {
		return fmt.Errorf("%s was changed by another program meanwhile, and is as that left it: "+
			"run bloom again", path)
	}
	return save(made, path)
}

// produce locks the file of -o, and saves the result of create there, or writes it to standard
// output with -o -.
func (f *target) produce(c *cobra.Command, create func() (saver, error)) error {
	read := inputs(c.Flags().Args())
	switch {
	case !c.Flags().Changed("output"):
		return usageError{fmt.Errorf("%s needs -o FILE; see bloom help %s", c.Name(), c.Name())}
	case f.output == lines.Stdin:
		return f.produceStdout(read, create)
	}
	if c.Name() == "merge" {
		read = nil // The output may be one of the inputs: the union has all lines of that input.
	}
	release, err := f.lock(c.Context(), f.output, read...)
	if err != nil {
		return err
	}
	defer release()
	made, err := create()
	if err != nil {
		return err
	}
	return save(made, f.path)
}

// produceStdout writes the result of create to a temporary file, and copies that to standard
// output.
func (f *target) produceStdout(read []string, create func() (saver, error)) error {
	if isatty.IsTerminal(os.Stdout.Fd()) {
		return usageError{errors.New("-o - would write a filter to the terminal")}
	}
	if stdoutClosed() {
		return errors.New("standard output is closed: -o FILE writes a file")
	}
	if err := checkStdout(read...); err != nil {
		return err
	}
	made, err := create()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bloom-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "filter")
	if err := save(made, path); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(os.Stdout, file)
	return err
}

// temporary returns a new temporary file. If the system permits, its name is removed immediately:
// nothing is left, however the process ends.
func temporary(pattern string) (*os.File, error) {
	file, err := os.CreateTemp("", pattern)
	if err == nil {
		os.Remove(file.Name())
	}
	return file, err
}

func discard(file *os.File) {
	file.Close()
	os.Remove(file.Name())
}

// cause returns the system's error in err. The rest of err may name a temporary file.
func cause(err error) error {
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		return of.Err
	}
	if of := (*os.LinkError)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
