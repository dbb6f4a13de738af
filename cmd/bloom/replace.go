package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// saver is a filter, a bank or a patch. WriteTo writes the bytes of its file, except for the
// trailer of a bloom.Filter's file.
type saver = io.WriterTo

// writeFile writes the bytes of f's file, with the trailer if f is a bloom.Filter.
func writeFile(w io.Writer, f saver) error {
	if l, ok := f.(*loaded); ok {
		f = l.filter
	}
	g, ok := f.(*bloom.Filter)
	if !ok {
		_, err := f.WriteTo(w)
		return err
	}
	info := form.Info(g.Info())
	if err := g.Info().Check(); err != nil {
		return err
	}
	h, words := door.Words(g)
	return form.Guava("bloom").WriteFile(w, h, words, info)
}

// reads must be called before a command reads the file that it will replace, so that save can see
// later changes.
func (f *target) reads() error {
	base, err := files.BaseOf(f.path)
	f.base = &base
	return err
}

// save replaces the file with data. If the command has read the file, and a program that did not
// wait for the lock has written it since, save returns an error: that program's keys would be lost.
func (f *target) save(data saver) error {
	replace := files.Write
	if f.base != nil {
		replace = f.base.Write
	}
	err := replace(f.path, func(w io.Writer) error { return writeFile(w, data) })
	switch {
	case errors.Is(err, files.ErrChanged):
		return fmt.Errorf("%s was changed by another program, and bloom did not replace it: "+
			"run bloom again", f.path)
	case err != nil:
		return fmt.Errorf("%s was not saved: %w", f.path, cause(err))
	}
	return nil
}

// produce locks the file of -o, calls create, and saves the result there. With -o - it writes the
// result to standard output.
func (f *target) produce(c *cobra.Command, create func() (saver, error)) error {
	read := inputs(c.Flags().Args())
	switch {
	case !c.Flags().Changed("output"):
		return usageError{fmt.Errorf("%s needs -o FILE; see bloom help %s", c.Name(), c.Name())}
	case isStdout(f.output):
		return f.produceStdout(read, create)
	}
	// The output of merge may be an input, because the union has all of its lines.
	isMerge := c.Name() == "merge"
	others := read
	if isMerge {
		others = nil
	}
	release, err := f.lock(c.Context(), f.output, others...)
	if err != nil {
		return err
	}
	defer release()
	isInput := func(name string) bool { return same(f.path, name) }
	if isMerge && slices.ContainsFunc(read, isInput) {
		if err := f.reads(); err != nil {
			return err
		}
	}
	result, err := create()
	if err != nil {
		return err
	}
	return f.save(result)
}

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
	result, err := create()
	if err != nil {
		return err
	}
	return writeFile(os.Stdout, result)
}

// temporary returns a new temporary file. If the system permits, its name is removed immediately,
// so that nothing is left however the process ends.
func temporary(pattern string) (*os.File, error) {
	file, err := createTemporary(pattern)
	if err == nil {
		os.Remove(file.Name())
	}
	return file, err
}

func createTemporary(pattern string) (*os.File, error) {
	file, err := os.CreateTemp("", pattern)
	if err != nil {
		return nil, fmt.Errorf("cannot create a temporary file in %s ($TMPDIR): %w",
			os.TempDir(), cause(err))
	}
	return file, nil
}

// temporaryAt is like temporary, for a file that is opened again, at path. If a file without a name
// cannot be opened, the file keeps its name until discard is called.
func temporaryAt(pattern string) (file *os.File, path string, err error) {
	file, err = createTemporary(pattern)
	if err != nil {
		return nil, "", err
	}
	stat, err := file.Stat()
	path = fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	if there, thereErr := os.Stat(path); err != nil || thereErr != nil || !os.SameFile(stat, there) {
		return file, file.Name(), nil
	}
	os.Remove(file.Name())
	return file, path, nil
}

func discard(file *os.File) {
	file.Close()
	os.Remove(file.Name())
}

// cause returns the system's error in err, or err if there is none. The rest of err may name a
// temporary file.
func cause(err error) error {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err
	}
	if pathErr := (*os.LinkError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
